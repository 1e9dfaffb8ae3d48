package mpsfake

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// devicesOf are the ordinals that a client sees of those of its server. A client
// that names a device which is not there fails.
func (d *Daemon) devicesOf(c *client, s *server) ([]int, bool) {
	gpus := make([]GPU, len(s.onDevices))
	for k, i := range s.onDevices {
		gpus[k] = d.gpus[i]
	}
	seen := visible(c.Env, gpus)
	if list, set := c.Env["CUDA_VISIBLE_DEVICES"]; set && strings.Count(list, ",")+1 != len(seen) {
		return nil, false
	}
	devices := make([]int, len(seen))
	for k, i := range seen {
		devices[k] = s.onDevices[i]
	}
	return devices, len(devices) > 0
}

// clientsOn counts the clients of a server that use a device.
func (d *Daemon) clientsOn(s *server, ordinal int) int {
	n := 0
	for _, c := range d.attached(s) {
		if c.uses(ordinal) {
			n++
		}
	}
	return n
}

func (c *client) uses(ordinal int) bool {
	return slices.ContainsFunc(c.at.Shares, func(s Share) bool { return s.Ordinal == ordinal })
}

// share is what a client gets of a device.
func (d *Daemon) share(c *client, s *server, ordinal int) Share {
	g := d.gpus[ordinal]
	sh := Share{Ordinal: ordinal, UUID: g.UUID}
	if c.part != nil {
		sh.SMs = c.part.sms
	} else {
		sh.Percent = d.percentOf(c, s)
		sh.SMs = effectiveSMs(g.SMs, sh.Percent)
	}
	bytes := d.memoryOf(c, s, ordinal)
	sh.LimitMiB = bytes >> 20
	if bytes > 0 {
		sh.LimitMiB = max(sh.LimitMiB, 1)
	}
	return sh
}

// percentOf is the smaller of the server's percentage and the client's. Under
// protocol 3 that of the namespace counts alone where there is one.
func (d *Daemon) percentOf(c *client, s *server) float64 {
	percent := s.percent
	if c.namespace != nil {
		if c.namespace.percent > 0 {
			return c.namespace.percent
		}
		percent = 100
	}
	if p, ok := percentage(c.Env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"]); ok {
		percent = math.Min(percent, p)
	}
	return percent
}

// memoryOf is the memory limit in bytes, 0 if there is none: the smaller of the
// server's and the client's. A client that names a device it cannot see has none.
func (d *Daemon) memoryOf(c *client, s *server, ordinal int) int64 {
	bytes := d.limitOf(s.limits, ordinal)
	if c.namespace != nil {
		bytes = c.namespace.bytes
	}
	list := c.Env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"]
	if list == "" {
		return bytes
	}
	seen, _ := d.devicesOf(c, s)
	gpus := make([]GPU, len(seen))
	for k, i := range seen {
		gpus[k] = d.gpus[i]
	}
	for _, l := range parseLimits(list) {
		k := findGPU(l.key, gpus)
		if k < 0 {
			return 0
		}
		if seen[k] == ordinal && (bytes == 0 || l.bytes < bytes) {
			bytes = l.bytes
		}
	}
	return bytes
}

func (d *Daemon) priorityOf(c *client, s *server) int {
	if p, err := strconv.Atoi(c.Env["CUDA_MPS_CLIENT_PRIORITY"]); err == nil && (p == 0 || p == 1) {
		return p
	}
	if c.namespace != nil {
		return max(c.namespace.priority, 0)
	}
	return s.priority
}
