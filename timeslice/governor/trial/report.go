package trial

import (
	"slices"
	"time"
)

// A Report is what came out of a trial.
type Report struct {
	Length time.Duration
	// Switching is the time that went to changes of client.
	Switching time.Duration
	Clients   []ClientReport
}

// A ClientReport is what one client got.
type ClientReport struct {
	Name string
	// GPUTime is the time it ran.
	GPUTime time.Duration
	// Launches and Requests are those that ended.
	Launches, Requests int
	// Asked is how often the governor was asked, Refused how often it said no.
	Asked, Refused int

	latencies []time.Duration // sorted
}

// Latency is the time from arrival to end that so many thousandths of the requests
// of a client with a Gap kept within (nearest rank; 990 is the 99th percentile).
// Zero if there are none.
func (c *ClientReport) Latency(thousandths int) time.Duration {
	n := len(c.latencies)
	if n == 0 {
		return 0
	}
	rank := (n*min(max(thousandths, 0), 1000) + 999) / 1000
	return c.latencies[max(rank, 1)-1]
}

// Share is GPUTime in thousandths of the length of the trial.
func (c *ClientReport) Share(r Report) int {
	if r.Length <= 0 {
		return 0
	}
	return int(c.GPUTime * 1000 / r.Length)
}

func (c *ClientReport) finish() { slices.Sort(c.latencies) }
