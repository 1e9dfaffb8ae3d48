package mpsfake

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// noUser is no UID.
const noUser = -1

// world is what a daemon forgets when it ends.
type world struct {
	gpus     []GPU // that it sees, by ordinal
	percent  float64
	priority int
	limits   limits
	servers  []*server // in the order of their start
	leaving  []leaving
	wanted   int // UID of a start_server that waits for its turn
	parts    []*partition
	made     int // partitions so far

	memacctOff, contextShareOff, auditLog bool // features of protocol 3
}

// leaving is a server that has ended and is still listed.
type leaving struct{ pid, polls int }

// fresh is the state of a daemon that starts, as its environment says. What the
// environment has that cannot be read counts as not set.
func (d *Daemon) fresh() world {
	w := world{percent: 100, wanted: noUser}
	env := d.cfg.Env
	for _, i := range visible(env, d.cfg.GPUs) {
		w.gpus = append(w.gpus, d.cfg.GPUs[i])
	}
	if p, ok := percentage(env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"]); ok {
		w.percent = p
	}
	if env["CUDA_MPS_CLIENT_PRIORITY"] == "1" {
		w.priority = 1
	}
	w.limits = parseLimits(env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"])
	return w
}

// visible are the indices of the GPUs that CUDA_VISIBLE_DEVICES leaves, in its
// order; an entry that names none hides itself and what follows.
func visible(env map[string]string, gpus []GPU) []int {
	list, set := env["CUDA_VISIBLE_DEVICES"]
	if !set {
		all := make([]int, len(gpus))
		for i := range all {
			all[i] = i
		}
		return all
	}
	var found []int
	for entry := range strings.SplitSeq(list, ",") {
		i := findGPU(strings.TrimSpace(entry), gpus)
		if i < 0 || slices.Contains(found, i) {
			break
		}
		found = append(found, i)
	}
	return found
}

// findGPU is the index of the GPU with this ordinal, UUID or unique beginning of a
// UUID, or -1.
func findGPU(key string, gpus []GPU) int {
	if n, ok := number(key); ok {
		if n < len(gpus) {
			return n
		}
		return -1
	}
	if !strings.HasPrefix(key, "GPU-") && !strings.HasPrefix(key, "MIG-") || len(key) < 5 {
		return -1
	}
	found := -1
	for i, g := range gpus {
		switch {
		case g.UUID == key:
			return i
		case !strings.HasPrefix(g.UUID, key):
		case found >= 0:
			return -1
		default:
			found = i
		}
	}
	return found
}

// percentage reads a number above 0 and up to 100.
func percentage(s string) (float64, bool) {
	p, err := strconv.ParseFloat(s, 64)
	return p, err == nil && p > 0 && p <= 100
}

// effectiveSMs is what a percentage of n SMs comes to: whole pairs, rounded down.
func effectiveSMs(n int, percent float64) int {
	// A percentage such as 28.6 is a little less than itself in binary.
	return int(math.Floor(float64(n)*percent/200+1e-9)) * 2
}

// limit is a limit of pinned device memory as it was set.
type limit struct {
	key, value string
	bytes      int64
}

// limits are in the order in which they were set: of two that mean one device the
// later counts.
type limits []limit

func (l limits) set(key, value string, bytes int64) limits {
	l = slices.DeleteFunc(slices.Clone(l), func(x limit) bool { return x.key == key })
	return append(l, limit{key, value, bytes})
}

// get is the value under exactly this key, "" if there is none.
func (l limits) get(key string) string {
	for _, x := range l {
		if x.key == key {
			return x.value
		}
	}
	return ""
}

// of is what applies to a device, in bytes; 0 is no limit.
func (d *Daemon) limitOf(l limits, ordinal int) int64 {
	var bytes int64
	for _, x := range l {
		_, ordinalKey := number(x.key)
		if !ordinalKey && d.cfg.IgnoreUUIDLimits {
			continue
		}
		if findGPU(x.key, d.gpus) == ordinal {
			bytes = x.bytes
		}
	}
	return bytes
}

// parseLimit reads a whole number with a binary unit, one letter of units.
func parseLimit(s, units string) (bytes int64, ok bool) {
	if len(s) < 2 || !strings.Contains(units, s[len(s)-1:]) {
		return 0, false
	}
	n, ok := number(s[:len(s)-1])
	shift := map[byte]uint{'K': 10, 'M': 20, 'G': 30}[s[len(s)-1]]
	if !ok || n < 1 || int64(n) > math.MaxInt64>>shift {
		return 0, false
	}
	return int64(n) << shift, true
}

// parseLimits reads a list of device=limit and leaves out what is none.
func parseLimits(list string) limits {
	var l limits
	for entry := range strings.SplitSeq(list, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(entry), "=")
		if bytes, ok := parseLimit(value, "GM"); ok && key != "" {
			l = l.set(key, value, bytes)
		}
	}
	return l
}

func percentText(p float64) string { return fmt.Sprintf("%.1f", p) }
