package replay

import (
	"time"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// Result is what a replay gives.
type Result struct {
	Metrics
	// Elapsed is the time from the first arrival to the end, by Config.Now: it is
	// spent deciding, booking and measuring, and in Observe and Progress. 0 without
	// a clock.
	Elapsed time.Duration
	// Cluster holds the final books; it belongs to the caller.
	Cluster *placement.Cluster
}

// DecisionsPerSecond returns how many tasks were offered per second of Elapsed;
// 0 without a clock.
func (r *Result) DecisionsPerSecond() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Final.Tasks) / r.Elapsed.Seconds()
}

// Metrics is the part of a result that equal configurations give equal.
type Metrics struct {
	// Samples[c] is the state after the arrival with which the arrived share
	// first reached c percent; Samples[0] is the empty cluster. An arrival that
	// passes several percents is the sample of each.
	Samples []Sample
	// Final is the state after the last arrival: the tasks that would leave
	// later are still there.
	Final    Sample
	Offered  Counts    // all tasks
	Accepted Counts    // those that were placed
	Failures []Failure // why the others were not, by kind
	Steady   Tally     // of the arrivals after the warm-up
	Moves    int       // tasks that repair moved, whenever
}

// Tally counts arrivals and what of them found no place. Compute slices are those
// of MIG instances: a rule that refuses the large ones alone looks good by count,
// one that repacks for them looks good by slices, so look at both.
type Tally struct {
	Offered, Rejected             Counts
	OfferedSlices, RejectedSlices int
	OfferedCPU, RejectedCPU       int64 // milli-vCPU of the tasks without GPU
	OfferedMilli, RejectedMilli   int64 // milli-GPU, see Asked
	Moves                         int   // tasks that repair moved
}

// RejectedPercent returns the tasks without a place over all.
func (t Tally) RejectedPercent() float64 {
	return percent(float64(t.Rejected.Total()), int64(t.Offered.Total()))
}

// RejectedSlicesPercent returns the compute slices without a place over all.
func (t Tally) RejectedSlicesPercent() float64 {
	return percent(float64(t.RejectedSlices), int64(t.OfferedSlices))
}

// Failure counts tasks that were not placed for a reason: that of the node that
// came closest to fitting when the task arrived.
type Failure struct {
	Kind  placement.Kind
	Tasks int
}

// Sample is the state of a cluster. Amounts of GPU are milli-GPU; a MIG
// instance counts by its memory slices, a cut GPU as 1000.
type Sample struct {
	Tasks     int   // offered so far
	Placed    int   // of them, placed, whether or not they have left
	Arrived   int64 // milli-GPU asked for by the tasks offered so far, see Asked
	Capacity  int64 // of all GPUs
	Allocated int64 // held by the tasks that are there
	CPU       int64 // milli-vCPU held
	GPUsInUse int   // GPUs with any task on them
	// Fragment is what is left and of no use to the mix of Config.Value; 0 if
	// that is nil. It is exact but for the last rounding.
	Fragment float64
}

// ArrivedPercent returns what has arrived over the capacity.
func (s Sample) ArrivedPercent() float64 { return percent(float64(s.Arrived), s.Capacity) }

// AllocatedPercent returns what is held over the capacity.
func (s Sample) AllocatedPercent() float64 { return percent(float64(s.Allocated), s.Capacity) }

// UnallocatedGPUs returns what is left, in GPUs.
func (s Sample) UnallocatedGPUs() float64 {
	return float64(s.Capacity-s.Allocated) / fragmentation.Whole
}

// FragmentPercent returns the fragmentation amount: what is of no use over the
// capacity.
func (s Sample) FragmentPercent() float64 { return percent(s.Fragment, s.Capacity) }

// FragmentRate returns what is of no use over what is left, in percent; 0 if
// nothing is left.
func (s Sample) FragmentRate() float64 { return percent(s.Fragment, s.Capacity-s.Allocated) }

func percent(part float64, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * part / float64(whole)
}
