package timeslice

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrVGPUScheduler is wrapped where a device does not offer what is asked of its
// vGPU scheduler.
var ErrVGPUScheduler = errors.New("the vGPU scheduler of the device does not offer this")

// Documented bounds and defaults of the vGPU scheduler. What a device reports
// ([VGPUCapabilities]) goes before them.
const (
	MinVGPUSlice     int64  = 1_000_000 // ns
	MaxVGPUSlice     int64  = 30_000_000
	MinVGPUFrequency uint32 = 63 // Hz
	MaxVGPUFrequency uint32 = 960
	MinVGPUFactor    uint32 = 1
	MaxVGPUFactor    uint32 = 60
	DefaultFactor    uint32 = 33

	// FewVGPUs is the border between the two sets of defaults: a type of which
	// at most so many fit on a GPU has slices of 2 ms (480 Hz), another of 1 ms
	// (960 Hz). The vendor's text and table differ about exactly 8; this is the table.
	FewVGPUs = 8
)

// VGPUScheduler is what a vGPU host is told, or says, about its scheduler: a
// policy, and either adaptive round robin with a frequency and an averaging
// factor, or a slice. 0 stands for the default in each of the three. Under best
// effort none of them has a meaning.
type VGPUScheduler struct {
	Policy VGPUPolicy
	ARR    ARRMode

	Factor    uint32 // averaging factor; ARR on: an overrun is paid back in parts of 1/Factor
	Frequency uint32 // Hz; ARR on: the slice is 1/Frequency
	Slice     int64  // ns; ARR off
}

// VGPUCapabilities is what a device reports that its scheduler takes.
type VGPUCapabilities struct {
	Policies []VGPUPolicy // in the device's order

	MinSlice, MaxSlice int64 // ns; both bounds are allowed

	ARR                        bool // adaptive round robin is offered
	MinFrequency, MaxFrequency uint32
	MinFactor, MaxFactor       uint32
}

// DocumentedVGPUCapabilities are the vendor's documented bounds, with all three
// policies: for checks without a device. The caller owns the value.
func DocumentedVGPUCapabilities() VGPUCapabilities {
	return VGPUCapabilities{
		Policies: []VGPUPolicy{VGPUBestEffort, VGPUEqualShare, VGPUFixedShare},
		MinSlice: MinVGPUSlice, MaxSlice: MaxVGPUSlice,
		ARR:          true,
		MinFrequency: MinVGPUFrequency, MaxFrequency: MaxVGPUFrequency,
		MinFactor: MinVGPUFactor, MaxFactor: MaxVGPUFactor,
	}
}

// UsesARR says whether a slice comes from the frequency: under equal and fixed
// share, unless ARR is off.
func (s VGPUScheduler) UsesARR() bool {
	return s.ARR != ARROff && (s.Policy == VGPUEqualShare || s.Policy == VGPUFixedShare)
}

// Validate checks a setting before a device is asked: [ErrInput] for one that
// contradicts itself (a slice beside ARR, a frequency without it), or else
// [ErrVGPUScheduler] for a policy, a mode or a value outside of what the device
// reports. 0, the default, is always inside.
func (s VGPUScheduler) Validate(c VGPUCapabilities) error {
	if err := s.consistent(); err != nil {
		return err
	}
	if !slices.Contains(c.Policies, s.Policy) {
		return fmt.Errorf("%w: policy %s (it offers %v)", ErrVGPUScheduler, s.Policy, c.Policies)
	}
	if !c.ARR && (s.ARR == ARROn || s.Frequency != 0 || s.Factor != 0) {
		return fmt.Errorf("%w: adaptive round robin", ErrVGPUScheduler)
	}
	if s.Frequency != 0 && (s.Frequency < c.MinFrequency || s.Frequency > c.MaxFrequency) {
		return fmt.Errorf("%w: frequency %d Hz outside %d to %d", ErrVGPUScheduler, s.Frequency, c.MinFrequency, c.MaxFrequency)
	}
	if s.Factor != 0 && (s.Factor < c.MinFactor || s.Factor > c.MaxFactor) {
		return fmt.Errorf("%w: averaging factor %d outside %d to %d", ErrVGPUScheduler, s.Factor, c.MinFactor, c.MaxFactor)
	}
	if s.Slice != 0 && (s.Slice < c.MinSlice || s.Slice > c.MaxSlice) {
		return fmt.Errorf("%w: slice %d ns outside %d to %d", ErrVGPUScheduler, s.Slice, c.MinSlice, c.MaxSlice)
	}
	return nil
}

func (s VGPUScheduler) consistent() error {
	switch s.Policy {
	case VGPUBestEffort:
		if s.ARR == ARROn || s.Factor != 0 || s.Frequency != 0 || s.Slice != 0 {
			return fmt.Errorf("%w: best effort takes no parameters, got %s", ErrInput, s)
		}
	case VGPUEqualShare, VGPUFixedShare:
	case VGPUUnknown:
		return fmt.Errorf("%w: no vGPU policy given", ErrInput)
	default:
		return fmt.Errorf("%w: %s", ErrInput, s.Policy)
	}
	if s.ARR > ARROn {
		return fmt.Errorf("%w: %s", ErrInput, s.ARR)
	}
	if s.Slice < 0 {
		return fmt.Errorf("%w: slice %d ns is negative", ErrInput, s.Slice)
	}
	if s.UsesARR() && s.Slice != 0 {
		return fmt.Errorf("%w: slice %d ns with adaptive round robin, which takes a frequency", ErrInput, s.Slice)
	}
	if !s.UsesARR() && (s.Frequency != 0 || s.Factor != 0) {
		return fmt.Errorf("%w: frequency %d and factor %d without adaptive round robin", ErrInput, s.Frequency, s.Factor)
	}
	return nil
}

// DefaultVGPUSlice is the slice (ns) that a vGPU has, ARR off, if nothing is set
// and maxVGPUs of its type fit on the GPU.
func DefaultVGPUSlice(maxVGPUs int) int64 {
	if maxVGPUs <= FewVGPUs {
		return 2_000_000
	}
	return 1_000_000
}

// defaultVGPUFrequency is the same for ARR, in Hz.
func defaultVGPUFrequency(maxVGPUs int) uint32 {
	if maxVGPUs <= FewVGPUs {
		return 480
	}
	return 960
}

// Effective is the setting that a driver follows when it is told s by registry
// key for a type of which maxVGPUs fit on the GPU: what is 0 becomes the default,
// what lies outside the documented bounds the bound, what has no meaning 0.
func (s VGPUScheduler) Effective(maxVGPUs int) VGPUScheduler {
	switch {
	case s.UsesARR():
		s.ARR, s.Slice = ARROn, 0
		s.Frequency = effective(s.Frequency, defaultVGPUFrequency(maxVGPUs), MinVGPUFrequency, MaxVGPUFrequency)
		s.Factor = effective(s.Factor, DefaultFactor, MinVGPUFactor, MaxVGPUFactor)
	case s.Policy == VGPUEqualShare || s.Policy == VGPUFixedShare:
		s.Frequency, s.Factor = 0, 0
		s.Slice = effective(s.Slice, DefaultVGPUSlice(maxVGPUs), MinVGPUSlice, MaxVGPUSlice)
	default:
		return VGPUScheduler{Policy: s.Policy}
	}
	return s
}

func effective[T int64 | uint32](v, byDefault, lo, hi T) T {
	if v == 0 {
		return byDefault
	}
	return min(max(v, lo), hi)
}

// SliceLength is how long a turn lasts in ns, by the effective values: the slice,
// or 1/frequency rounded down. 0 under best effort, whose slice is not published.
func (s VGPUScheduler) SliceLength(maxVGPUs int) int64 {
	e := s.Effective(maxVGPUs)
	if e.Frequency > 0 {
		return SliceOfFrequency(e.Frequency)
	}
	return e.Slice
}

// SliceOfFrequency is 1/hz in ns, rounded down: 480 Hz are 2,083,333 ns. 0 for 0.
func SliceOfFrequency(hz uint32) int64 {
	if hz == 0 {
		return 0
	}
	return 1_000_000_000 / int64(hz)
}

// String names the policy and what is set beside it, such as
// "fixed-share arr=on frequency=480Hz factor=33" or "equal-share arr=off slice=3ms".
func (s VGPUScheduler) String() string {
	text := s.Policy.String()
	if s.ARR != ARRDefault {
		text += " arr=" + s.ARR.String()
	}
	if s.Frequency != 0 {
		text += fmt.Sprintf(" frequency=%dHz", s.Frequency)
	}
	if s.Factor != 0 {
		text += fmt.Sprintf(" factor=%d", s.Factor)
	}
	if s.Slice != 0 {
		text += " slice=" + time.Duration(s.Slice).String()
	}
	return text
}
