package timeslice

import "math/bits"

// Report is what came of a simulation. Working, Switching and Idle add up to Horizon.
type Report struct {
	Horizon   int64 // ns, simulated
	Working   int64 // ns in which some client ran
	Switching int64
	Idle      int64
	Wasted    int64 // ns of Idle in which some client had work
	Clients   []ClientReport
}

// Efficiency is the part of the time not spent idle in which work was done.
func (r Report) Efficiency() Ratio { return Ratio{Num: r.Working, Den: r.Working + r.Switching} }

// ClientReport is what came of one client. Times are in ns.
type ClientReport struct {
	Name string

	Present   int64 // time in which it was there
	Ready     int64 // time in which it had work, done or waiting
	Served    int64 // time in which it ran
	Switching int64 // time of the switches to it
	Turns     int64 // turns in which it ran
	Jobs      int64 // jobs done

	// Waits are the times from when it was ready, or its turn ended with work
	// left, until it ran; one for each time it began to run.
	Waits Histogram

	// Turnarounds are the times from the arrival of a job until it was done.
	// Jobs that were not done at the end are not among them.
	Turnarounds Histogram

	// Solo is the sum of the turnarounds that the same jobs would have had, had
	// the client been alone. Saturates.
	Solo int64
}

// Share is the part of its time on the GPU in which the client ran.
func (c ClientReport) Share() Ratio { return Ratio{Num: c.Served, Den: c.Present} }

// Slowdown is the time with work by the time of running: n (S + C) / S for
// endless work in turns.
func (c ClientReport) Slowdown() Ratio { return Ratio{Num: c.Ready, Den: c.Served} }

// Stretch is how many times longer the jobs that were done took than they would
// have taken alone.
func (c ClientReport) Stretch() Ratio { return Ratio{Num: c.Turnarounds.Sum(), Den: c.Solo} }

// histogramBits is log2 of the buckets for each doubling.
const histogramBits = 6

// Histogram counts times (ns) in a memory that does not grow with their number: at
// most 3,712 counts. Count, Sum, Min, Max and Mean are exact; a quantile is at most 1/64
// above the true one, and exact below 128 ns. The zero value is empty. Copies
// of one that is still written to share their counts.
type Histogram struct {
	counts   []int64
	count    int64
	sum      int64
	min, max int64
}

func (h *Histogram) add(v int64) {
	b := bucket(v)
	if b >= len(h.counts) {
		h.counts = append(h.counts, make([]int64, b+1-len(h.counts))...)
	}
	h.counts[b]++
	if h.count == 0 || v < h.min {
		h.min = v
	}
	h.max = max(h.max, v)
	h.count++
	h.sum = satAdd(h.sum, v)
}

// bucket numbers the values: each below 2^(histogramBits+1) has its own, and then
// each doubling has 2^histogramBits of them.
func bucket(v int64) int {
	shift := max(0, bits.Len64(uint64(v))-1-histogramBits)
	return shift<<histogramBits + int(v>>shift)
}

// bucketEnd is the largest value of a bucket.
func bucketEnd(b int) int64 {
	shift := max(0, b>>histogramBits-1)
	return (int64(b-shift<<histogramBits)+1)<<shift - 1
}

// Count is how many times there are.
func (h Histogram) Count() int64 { return h.count }

// Sum is the sum of the times; saturates.
func (h Histogram) Sum() int64 { return h.sum }

// Min is the shortest; 0 if there is none.
func (h Histogram) Min() int64 { return h.min }

// Max is the longest; 0 if there is none.
func (h Histogram) Max() int64 { return h.max }

// Mean is Sum by Count.
func (h Histogram) Mean() Ratio { return Ratio{Num: h.sum, Den: h.count} }

// Quantile is a time that at least permille/1000 of the times do not exceed, the
// smallest but for the width of a bucket: Quantile(990) is p99. Below 1 it is Min,
// from 1000 on Max; 0 if there is no time.
func (h Histogram) Quantile(permille int) int64 {
	if permille < 1 {
		return h.min
	}
	if h.count == 0 || permille >= 1000 {
		return h.max
	}
	rank := mulDivUp(h.count, int64(permille), 1000)
	for b, n := range h.counts {
		if rank -= n; rank <= 0 {
			return min(bucketEnd(b), h.max)
		}
	}
	return h.max
}
