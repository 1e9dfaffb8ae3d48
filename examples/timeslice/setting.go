package main

import (
	"fmt"

	"github.com/gpushare/gpushare/timeslice"
)

// settingFlags are the flags that describe a vGPU scheduler.
type settingFlags struct {
	policy, arr       string
	slice             span
	frequency, factor uint
}

func (f *settingFlags) define(inv *invocation) {
	inv.Flags.StringVar(&f.policy, "policy", "", "")
	inv.Flags.StringVar(&f.arr, "arr", "", "")
	inv.Flags.Var(&f.slice, "slice", "")
	inv.Flags.UintVar(&f.frequency, "frequency", 0, "")
	inv.Flags.UintVar(&f.factor, "factor", 0, "")
}

// given returns the first of the flags that is given; empty if none is.
func (f *settingFlags) given(inv *invocation) string {
	for _, name := range []string{"policy", "arr", "slice", "frequency", "factor"} {
		if inv.Given(name) {
			return name
		}
	}
	return ""
}

// setting returns what the flags ask for; whether it can be had is for whoever is
// asked.
func (f *settingFlags) setting() (timeslice.VGPUScheduler, error) {
	s := timeslice.VGPUScheduler{Slice: int64(f.slice)}
	var err error
	if s.Policy, err = vgpuPolicy(f.policy); err != nil {
		return s, fmt.Errorf("-policy: %w", err)
	}
	for _, n := range []struct {
		name string
		from uint
		to   *uint32
	}{{"frequency", f.frequency, &s.Frequency}, {"factor", f.factor, &s.Factor}} {
		const most = 1_000_000
		if n.from > most {
			return s, fmt.Errorf("-%s: %d is above %d", n.name, n.from, most)
		}
		*n.to = uint32(n.from)
	}
	switch f.arr {
	case "on":
		s.ARR = timeslice.ARROn
	case "off":
		s.ARR = timeslice.ARROff
	case "":
		if s.Slice != 0 {
			s.ARR = timeslice.ARROff
		}
	default:
		return s, fmt.Errorf("-arr: %q is neither on nor off", f.arr)
	}
	return s, nil
}

// vgpuPolicy reads a policy, by the short name or the library's.
func vgpuPolicy(name string) (timeslice.VGPUPolicy, error) {
	for _, p := range []timeslice.VGPUPolicy{timeslice.VGPUBestEffort, timeslice.VGPUEqualShare, timeslice.VGPUFixedShare} {
		if d, _ := p.Discipline(); name == policyNames[d] || name == p.String() {
			return p, nil
		}
	}
	return timeslice.VGPUUnknown, fmt.Errorf("%q is none of besteffort, equal, fixed", name)
}
