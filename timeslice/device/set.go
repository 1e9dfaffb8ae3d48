package device

import (
	"context"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/timeslice"
)

// sliceTolerance is how far a slice that is read may be from the one that was
// set, in ns: a driver may keep whole microseconds.
const sliceTolerance = 1000

// Set gives the scheduler of an engine a setting and returns what it is like then.
// It works only while no vGPU runs there (ErrNotSettable). The setting is checked
// first, by what the device reports, with the errors of
// [timeslice.VGPUScheduler.Validate]; engines other than graphics take best effort
// only. Afterwards it is read back: what is shown and differs is an ErrUnverified.
// The driver shows factor and slice only while the result is Active.
func (s *Scheduler) Set(ctx context.Context, engine timeslice.VGPUEngine, to timeslice.VGPUScheduler) (State, error) {
	const op = "set the scheduler"
	return do(ctx, s, op, engine, func(ctx context.Context) (State, error) {
		if err := s.check(engine, to); err != nil {
			return State{}, err
		}
		if _, err := s.read(engine); err != nil {
			return State{}, err
		}
		if ctx.Err() != nil {
			return State{}, ended(ctx)
		}
		switch ret := s.write(engine, to, uint32(to.ARR)); ret {
		case nvml.SUCCESS:
			return s.verify(op, engine, to)
		case nvml.ERROR_NOT_SUPPORTED:
			return State{}, fmt.Errorf("%w: %w", ErrNotSettable, ret)
		case nvml.ERROR_FUNCTION_NOT_FOUND:
			return State{}, fmt.Errorf("the driver has no call that takes %s: %w", to, ret)
		default:
			return State{}, s.unsettled(op, engine, code(ret))
		}
	})
}

// check says what speaks against a setting.
func (s *Scheduler) check(engine timeslice.VGPUEngine, to timeslice.VGPUScheduler) error {
	if engine != timeslice.EngineGraphics {
		return to.Validate(timeslice.VGPUCapabilities{Policies: []timeslice.VGPUPolicy{timeslice.VGPUBestEffort}})
	}
	c, ret := s.calls.capabilities()
	switch {
	case ret == nvml.SUCCESS:
		return to.Validate(capabilities(c))
	case ret == nvml.ERROR_FUNCTION_NOT_FOUND, ret == nvml.ERROR_NOT_SUPPORTED && s.instance != None:
		return to.Validate(timeslice.DocumentedVGPUCapabilities())
	default:
		return s.explain(ret)
	}
}

// write sets a setting, in the second version of the calls if that can say it. arr
// is what the first version is told about the mode.
func (s *Scheduler) write(engine timeslice.VGPUEngine, to timeslice.VGPUScheduler, arr uint32) nvml.Return {
	if needsV1(to) {
		return s.calls.set(v1, engine, to, arr)
	}
	_, ret := prefer(func(v version) (any, nvml.Return) { return nil, s.calls.set(v, engine, to, arr) })
	return ret
}

// needsV1 says whether a setting can only be told, and read back, in the first
// version: a slice.
func needsV1(to timeslice.VGPUScheduler) bool {
	return to.Policy != timeslice.VGPUBestEffort && !to.UsesARR()
}

// verify reads a setting back.
func (s *Scheduler) verify(op string, engine timeslice.VGPUEngine, to timeslice.VGPUScheduler) (State, error) {
	modeShown := false
	readBack := func() (State, error) {
		if needsV1(to) {
			if st, ret := s.calls.state(v1, engine); ret == nvml.SUCCESS {
				modeShown = true
				return st, nil
			}
		}
		return s.read(engine)
	}
	st, err := readBack()
	if err == nil && to.ARR == timeslice.ARROff && st.ARR == timeslice.ARROn && st.Policy == to.Policy {
		// The driver took the number for off as a flag that is set.
		if ret := s.write(engine, to, 0); ret == nvml.SUCCESS {
			st, err = readBack()
		}
	}
	if err != nil {
		return State{}, s.unsettled(op, engine, fmt.Errorf("%w: %w", ErrUnverified, err))
	}
	if what := differs(to, st, modeShown); what != "" {
		return State{}, s.unsettled(op, engine, fmt.Errorf("%w: %s after %s", ErrUnverified, what, to))
	}
	return st, nil
}

// differs says what of a state is not as it was set; empty if nothing is. Whether
// ARR is on is shown by the first version of the calls, and otherwise by factor and
// slice.
func differs(to timeslice.VGPUScheduler, st State, modeShown bool) string {
	switch {
	case st.Policy != to.Policy:
		return fmt.Sprintf("policy %s", st.Policy)
	case to.Policy == timeslice.VGPUBestEffort:
		return ""
	case to.ARR == timeslice.ARROff && st.ARR != timeslice.ARROff && (modeShown || st.ARR == timeslice.ARROn),
		to.ARR == timeslice.ARROn && st.ARR == timeslice.ARROff:
		return fmt.Sprintf("ARR %s", st.ARR)
	case !st.Active():
		return ""
	case to.Factor != 0 && st.Factor != to.Factor:
		return fmt.Sprintf("averaging factor %d", st.Factor)
	}
	want := to.Slice
	if to.Frequency != 0 {
		want = timeslice.SliceOfFrequency(to.Frequency)
	}
	if want != 0 && (st.Slice < want-sliceTolerance || st.Slice > want+sliceTolerance) {
		return fmt.Sprintf("slice %d ns, not %d", st.Slice, want)
	}
	return ""
}

// unsettled is the error of a Set that may have changed something.
func (s *Scheduler) unsettled(op string, engine timeslice.VGPUEngine, err error) error {
	e := s.failed(op, engine, err)
	if st, readErr := s.read(engine); readErr == nil {
		e.Now = &st
	}
	return e
}
