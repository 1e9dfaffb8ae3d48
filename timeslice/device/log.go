package device

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/timeslice"
)

// LogCapacity is how many entries the driver keeps of a log, at most.
const LogCapacity = nvml.SCHEDULER_SW_MAX_LOG_ENTRIES

// Log is what the driver kept of a scheduler's log. It is plain data.
type Log struct {
	State   State
	Entries []Entry // by time, at most LogCapacity
}

// Entry is a turn that has ended. All times are in ns.
type Entry struct {
	At      int64  // when it was preempted, by the driver's clock
	RunList uint32 // the software run list: that of one vGPU

	Ran      int64 // in this turn
	RanTotal int64 // of the run list, with this turn

	Target int64 // the turn's slice, less what ARR took off for overruns before

	Preemption int64 // time that preemptions of the run list have taken, summed up

	Weight uint32 // of the run list; 0 where the driver has only the first version of the call
}

// Log returns the log of an engine's scheduler. The driver keeps the last 200
// turns, which are 0.2 s of turns of 1 ms: to miss none, see Follow.
func (s *Scheduler) Log(ctx context.Context, engine timeslice.VGPUEngine) (Log, error) {
	return do(ctx, s, "read the log of the scheduler", engine, func(context.Context) (Log, error) {
		l, ret := prefer(func(v version) (Log, nvml.Return) { return s.calls.log(v, engine) })
		if ret != nvml.SUCCESS {
			return Log{}, s.explain(ret)
		}
		return l, nil
	})
}

func readLogV2(engine timeslice.VGPUEngine, l *nvml.VgpuSchedulerLogInfo_v2) Log {
	kept := Log{State: readStateV2(engine, l.SchedulerPolicy, l.AvgFactor, l.Timeslice)}
	count := min(l.EntriesCount, LogCapacity)
	kept.Entries = slices.Grow(kept.Entries, int(count))
	for _, e := range l.LogEntries[:count] {
		kept.Entries = append(kept.Entries, Entry{
			At: ns(e.Timestamp), RunList: e.SwRunlistId, Ran: ns(e.TimeRun), RanTotal: ns(e.TimeRunTotal),
			Target: ns(e.TargetTimeSlice), Preemption: ns(e.CumulativePreemptionTime), Weight: e.Weight,
		})
	}
	return kept.sorted()
}

func readEntries(list []nvml.VgpuSchedulerLogEntry, count uint32) []Entry {
	var kept Log
	count = min(count, LogCapacity)
	kept.Entries = slices.Grow(kept.Entries, int(count))
	for _, e := range list[:count] {
		kept.Entries = append(kept.Entries, Entry{
			At: ns(e.Timestamp), RunList: e.SwRunlistId, Ran: ns(e.TimeRun), RanTotal: ns(e.TimeRunTotal),
			Target: ns(e.TargetTimeSlice), Preemption: ns(e.CumulativePreemptionTime),
		})
	}
	return kept.sorted().Entries
}

// sorted puts the entries in the order of time: that of the driver's buffer is
// not documented.
func (l Log) sorted() Log {
	slices.SortStableFunc(l.Entries, func(a, b Entry) int { return cmp.Compare(a.At, b.At) })
	return l
}

// ns is a time that fits.
func ns(t uint64) int64 { return int64(min(t, math.MaxInt64)) }
