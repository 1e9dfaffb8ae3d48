package device

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/timeslice"
)

// State is what a scheduler is like, as it is read. It is plain data.
type State struct {
	Engine timeslice.VGPUEngine
	Policy timeslice.VGPUPolicy

	// ARR is as the driver says it. The second version of NVML's calls does not:
	// it is then ARROn if there is a factor, ARROff if there is only a slice, and
	// ARRDefault where nothing is scheduled.
	ARR timeslice.ARRMode

	// Factor is the averaging factor of ARR, Slice the length of a turn in ns. Both
	// are 0 while nothing is scheduled, and have no meaning under best effort.
	Factor uint32
	Slice  int64
}

// Active says whether the driver tells the length of a turn. While it does not,
// nothing is scheduled.
func (s State) Active() bool { return s.Slice > 0 }

// Setting returns the setting that leads to this state, for Set: with ARR the
// slice becomes the nearest frequency. What is 0 stays 0, the default.
func (s State) Setting() timeslice.VGPUScheduler {
	to := timeslice.VGPUScheduler{Policy: s.Policy}
	switch {
	case s.Policy != timeslice.VGPUEqualShare && s.Policy != timeslice.VGPUFixedShare:
	case s.ARR == timeslice.ARROff:
		to.ARR, to.Slice = s.ARR, s.Slice
	default:
		to.ARR, to.Factor = s.ARR, s.Factor
		if s.Slice > 0 {
			to.Frequency = uint32((1_000_000_000 + s.Slice/2) / s.Slice)
		}
	}
	return to
}

// String has the form "fixed-share arr=on factor=33 slice=2.083333ms".
func (s State) String() string {
	text := s.Policy.String()
	if s.ARR != timeslice.ARRDefault {
		text += " arr=" + s.ARR.String()
	}
	if s.Factor != 0 {
		text += fmt.Sprintf(" factor=%d", s.Factor)
	}
	if s.Slice != 0 {
		text += " slice=" + time.Duration(s.Slice).String()
	}
	return text
}

// words takes a union of NVML apart: two numbers in the byte order of the machine.
func words(params [8]byte) (first, second uint32) {
	return binary.NativeEndian.Uint32(params[:4]), binary.NativeEndian.Uint32(params[4:])
}

// params puts a union together.
func params(first, second uint32) (b [8]byte) {
	binary.NativeEndian.PutUint32(b[:4], first)
	binary.NativeEndian.PutUint32(b[4:], second)
	return b
}

// readState reads the union of the first version of the calls: {factor, slice}
// with ARR, {slice} without. Where the mode is the default, which of the two it is
// shows in the words: no factor is as large as a slice, and only with ARR is there
// something in the second one.
func readState(engine timeslice.VGPUEngine, policy, arr uint32, union [8]byte) State {
	s := State{Engine: engine, Policy: timeslice.VGPUPolicy(policy), ARR: timeslice.ARRMode(arr)}
	first, second := words(union)
	if s.ARR == timeslice.ARROff || s.ARR == timeslice.ARRDefault && second == 0 && first > timeslice.MaxVGPUFactor {
		s.Slice = int64(first)
		return s
	}
	s.Factor, s.Slice = first, int64(second)
	return s
}

func readStateV2(engine timeslice.VGPUEngine, policy, factor, slice uint32) State {
	s := State{Engine: engine, Policy: timeslice.VGPUPolicy(policy), Factor: factor, Slice: int64(slice)}
	switch {
	case factor > 0:
		s.ARR = timeslice.ARROn
	case slice > 0:
		s.ARR = timeslice.ARROff
	}
	return s
}

// written is the union that the first version of the calls is given: {factor,
// frequency} with ARR, {slice} without.
func written(to timeslice.VGPUScheduler) [8]byte {
	if to.UsesARR() {
		return params(to.Factor, to.Frequency)
	}
	return params(uint32(to.Slice), 0) // 0 under best effort
}

// writtenV2 is what the second version is given. It knows no slice.
func writtenV2(engine timeslice.VGPUEngine, to timeslice.VGPUScheduler) nvml.VgpuSchedulerState_v2 {
	return nvml.VgpuSchedulerState_v2{
		EngineId: uint32(engine), SchedulerPolicy: uint32(to.Policy), AvgFactor: to.Factor, Frequency: to.Frequency,
	}
}
