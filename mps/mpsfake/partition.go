package mpsfake

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/mps"
)

// partition is a static SM partition.
type partition struct {
	ordinal int
	id      string // "" while it is only configured
	chunks  int
	sms     int

	// Of protocol 3 only.
	name, server string
	remainder    bool
}

// smPartition is add and rm of protocol 2.
func (d *Daemon) smPartition(args []string) mps.Output {
	switch {
	case len(args) != 3 || args[0] != "add" && args[0] != "rm":
		return d.refuse("Invalid arguments for sm_partition")
	case !d.static:
		return d.refuse("Static partitioning is not enabled")
	}
	ordinal := -1
	if _, isOrdinal := number(args[1]); !isOrdinal {
		ordinal = findGPU(args[1], d.gpus)
	}
	if ordinal < 0 {
		return d.refuse("Invalid device %.100s", args[1])
	}
	if args[0] == "rm" {
		return d.removePartition(ordinal, args[2])
	}
	n, ok := number(args[2])
	if !ok || n < 1 {
		return d.refuse("Invalid number of chunks %.100s", args[2])
	}
	if n > d.freeChunks(ordinal) {
		return say("Failed to fulfill the requested SM partition of %d chunks, "+
			"error CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", n)
	}
	p := &partition{ordinal: ordinal, chunks: n, sms: n * d.gpus[ordinal].ChunkSMs}
	d.allot(p)
	d.parts = append(d.parts, p)
	if d.cfg.Style == Documented {
		return say("%s", d.fullID(p))
	}
	return say("Partition %s created", d.fullID(p))
}

func (d *Daemon) removePartition(ordinal int, id string) mps.Output {
	for i, p := range d.parts {
		if p.ordinal != ordinal || p.id != id {
			continue
		}
		if d.inUse(p) {
			// The real one does not fill it in either.
			return mps.Output{Stdout: "Partition %s in use. Terminate all clients before removing.\n"}
		}
		d.parts = slices.Delete(d.parts, i, i+1)
		return d.done("Partition removed")
	}
	return d.refuse("Partition %.100s not found", id)
}

func (d *Daemon) freeChunks(ordinal int) int {
	free := d.gpus[ordinal].Chunks
	for _, p := range d.parts {
		if p.ordinal == ordinal && p.id != "" {
			free -= p.chunks
		}
	}
	return free
}

func (d *Daemon) inUse(p *partition) bool {
	return slices.ContainsFunc(d.clients, func(c *client) bool { return c.part == p })
}

// fullID is what a client sets to be in the partition.
func (d *Daemon) fullID(p *partition) string { return d.gpus[p.ordinal].UUID + "/" + p.id }

// allot gives a partition an id: 36 characters of base64, often with a slash, which
// is what breaks a reader that splits at the last one.
func (d *Daemon) allot(p *partition) {
	var seed [16]byte
	binary.BigEndian.PutUint64(seed[:8], d.births)
	binary.BigEndian.PutUint64(seed[8:], uint64(d.made))
	sum := sha256.Sum256(seed[:])
	if d.made%2 == 0 {
		sum[3] = 0xff // makes the fifth character a slash
	}
	d.made++
	p.id = base64.StdEncoding.EncodeToString(sum[:27])
}

// partitionOf is the partition that a client names, and its one device. Under static
// partitioning every client has to name one.
func (d *Daemon) partitionOf(c *client, s *server, devices []int) (*partition, []int, bool) {
	key := c.Env["CUDA_MPS_SM_PARTITION"]
	if key == "" || !d.static && d.protocol != 3 {
		return nil, devices, !d.static
	}
	prefix, id, _ := strings.Cut(key, "/")
	ordinal := findGPU(prefix, d.gpus)
	for _, p := range d.parts {
		if p.id != "" && p.id == id && p.ordinal == ordinal && p.server == s.name && slices.Contains(devices, ordinal) {
			return p, []int{ordinal}, true
		}
	}
	return nil, nil, false
}

// lspart is the table of chunks and partitions.
func (d *Daemon) lspart([]string) mps.Output {
	if !d.static {
		return d.refuse("Static partitioning is not enabled")
	}
	none, unit, length := "", "chunks", d.prefixLength()
	if d.cfg.Style == Documented {
		none, unit, length = "-", "chunk", len("GPU-xxxxxxxx")
	}
	var b strings.Builder
	row := func(cells ...any) { b.WriteString(strings.TrimRight(fmt.Sprintf(lspartRow, cells...), " ") + "\n") }
	row("GPU", "Partition", "free", "used", "free", "used", "clients")
	row("", "", unit, unit, "SM", "SM", "")
	for i, g := range d.gpus {
		prefix := g.UUID[:min(length, len(g.UUID))]
		free, used := d.freeChunks(i), 0
		for _, p := range d.parts {
			if p.ordinal == i {
				used += p.sms
			}
		}
		row(prefix, none, itoa(free), itoa(g.Chunks-free), itoa(g.SMs-used), itoa(used), none)
		for _, p := range d.parts {
			if p.ordinal != i {
				continue
			}
			clients := "No"
			if d.inUse(p) {
				clients = "Yes"
			}
			row(prefix, p.id, none, itoa(p.chunks), none, itoa(p.sms), clients)
		}
	}
	return mps.Output{Stdout: b.String()}
}

const lspartRow = "%-14s %-36s  %-6s  %-6s  %-4s  %-4s  %s"

// prefixLength is the length of the shortest beginning that tells the GPUs apart,
// two digits at least.
func (d *Daemon) prefixLength() int {
	for n := len("GPU-") + 2; ; n++ {
		seen := map[string]bool{}
		for _, g := range d.gpus {
			seen[g.UUID[:min(n, len(g.UUID))]] = true
		}
		if len(seen) == len(d.gpus) {
			return n
		}
	}
}
