package mpsfake

import (
	"fmt"
	"slices"

	"github.com/gpushare/gpushare/mps"
)

// partitionTarget takes the server and the device of a partition command.
func (d *Daemon) partitionTarget(r *request, f func(s *server, ordinal int) mps.Output) mps.Output {
	name, _ := r.take("server")
	device, _ := r.take("device")
	return d.withNamed(name, func(s *server) mps.Output {
		i := findGPU(device, d.gpus)
		if i < 0 || !slices.Contains(s.onDevices, i) {
			return d.refuse("Invalid device %.100s", orDash(device))
		}
		return f(s, i)
	})
}

func (d *Daemon) partitionCreate(r *request) mps.Output {
	return d.partitionTarget(r, func(s *server, ordinal int) mps.Output {
		chunksText, _ := r.take("chunks")
		chunks, okChunks := number(chunksText)
		remainderText, hasRemainder := r.take("include-remainder")
		remainder, okRemainder := boolean(remainderText)
		p := &partition{
			ordinal: ordinal, chunks: chunks, name: r.arg(0), server: s.name, remainder: remainder,
			sms: chunks * d.gpus[ordinal].ChunkSMs,
		}
		switch strange := r.only("server", "device", "chunks", "include-remainder"); {
		case strange != "" || len(r.args) != 1:
			return d.refuse("Invalid argument %.100s", orDash(strange))
		case !validName(p.name):
			return d.refuse("Invalid partition name %.100s", p.name)
		case !okChunks || chunks < 1:
			return d.refuse("Invalid number of chunks %.100s", chunksText)
		case hasRemainder && !okRemainder:
			return d.refuse("Invalid value %.100s", remainderText)
		case d.partitionNamed(s, ordinal, p.name) != nil:
			return d.refuse("Partition %s already exists", p.name)
		case s.state == initializing:
			d.parts = append(d.parts, p) // recorded only
			return d.done("SM partition '%s' recorded", p.name)
		case d.clientsOn(s, ordinal) > 0:
			return d.refuse("Device %s has active clients", d.gpus[ordinal].UUID)
		case s.locality:
			return d.refuse("Locality domains are enabled")
		case chunks > d.freeChunks(ordinal):
			return d.refuse("Insufficient chunks: %d of %d", chunks, d.freeChunks(ordinal))
		}
		d.parts = append(d.parts, p)
		d.create(p)
		return mps.Output{Stdout: fmt.Sprintf("SM partition '%s' created on device %s (sm-count=%d)\nCUDA_MPS_SM_PARTITION=%s\n",
			p.name, d.gpus[ordinal].UUID, p.sms, d.fullID(p))}
	})
}

// create takes the chunks of a partition that fits, and the SMs in no chunk if it
// asks for them and nobody has them.
func (d *Daemon) create(p *partition) {
	g := d.gpus[p.ordinal]
	p.sms = p.chunks * g.ChunkSMs
	taken := slices.ContainsFunc(d.parts, func(x *partition) bool {
		return x != p && x.ordinal == p.ordinal && x.id != "" && x.remainder
	})
	if p.remainder && !taken {
		p.sms += g.SMs - g.Chunks*g.ChunkSMs
	}
	d.allot(p)
}

// createPartitions creates what was recorded for a server before it was ready. What
// does not fit stays recorded.
func (d *Daemon) createPartitions(s *server) {
	for _, p := range d.parts {
		if p.server == s.name && s.name != "" && p.id == "" && !s.locality && p.chunks <= d.freeChunks(p.ordinal) {
			d.create(p)
		}
	}
}

func (d *Daemon) partitionNamed(s *server, ordinal int, name string) *partition {
	for _, p := range d.parts {
		if p.server == s.name && p.ordinal == ordinal && p.name == name {
			return p
		}
	}
	return nil
}

func (d *Daemon) partitionDelete(r *request) mps.Output {
	return d.partitionTarget(r, func(s *server, ordinal int) mps.Output {
		if strange := r.only("server", "device"); strange != "" || len(r.args) != 1 {
			return d.refuse("Invalid argument %.100s", orDash(strange))
		}
		p := d.partitionNamed(s, ordinal, r.arg(0))
		switch {
		case p == nil:
			return d.refuse("Partition %.100s not found", r.arg(0))
		case d.inUse(p):
			return d.refuse("Partition %s in use", p.name)
		}
		d.parts = slices.DeleteFunc(d.parts, func(x *partition) bool { return x == p })
		return say("SM partition '%s' deleted from device %s", p.name, d.gpus[ordinal].UUID)
	})
}

func (d *Daemon) partitionTable(r *request) mps.Output {
	if strange := r.only("format", "server", "device", "all"); strange != "" || len(r.args) > 0 {
		return d.refuse("Invalid argument %.100s", orDash(strange))
	}
	server, _ := r.take("server")
	device, has := r.take("device")
	ordinal := findGPU(device, d.gpus)
	if has && ordinal < 0 {
		return d.refuse("Invalid device %.100s", device)
	}
	var rows [][]string
	for _, p := range d.parts {
		if server != "" && p.server != server || has && p.ordinal != ordinal {
			continue
		}
		status, id, sms := "configured", "-", "-"
		if p.id != "" {
			status, id, sms = "created", p.id, itoa(p.sms) // the documented sample has no UUID before it
		}
		rows = append(rows, []string{
			p.server, d.gpus[p.ordinal].UUID, p.name, itoa(p.chunks), sms, boolText(p.remainder), status, id,
		})
	}
	if r.flag("all") {
		rows = append(rows, d.unallocated(server, ordinal, has)...)
	}
	return d.list(r, partitionColumns[:], rows)
}

// unallocated are the rows of what is left of the devices of the servers.
func (d *Daemon) unallocated(server string, ordinal int, only bool) [][]string {
	var rows [][]string
	for _, s := range d.servers {
		for _, i := range s.onDevices {
			n := d.freeChunks(i)
			if n == 0 || server != "" && s.name != server || only && i != ordinal {
				continue
			}
			sms := itoa(n * d.gpus[i].ChunkSMs)
			rows = append(rows, []string{s.name, d.gpus[i].UUID, "-", itoa(n), sms, "false", "unallocated", "-"})
		}
	}
	return rows
}
