package mps

import (
	"fmt"
	"math"
)

// SMsPerTPC is how many SMs are provisioned together on every GPU that was measured.
const SMsPerTPC = 2

// The most that a Capacity may have: far above any device, so that no sum overflows.
const (
	maxSMs       = 2048
	maxMemoryMiB = 1 << 32
)

// Capacity is what there is to share: a GPU, or a MIG instance.
type Capacity struct {
	Device    string // what to call it in answers; may be empty
	SMs       int    // multiprocessors of the device, 1 to 2048
	SMsPerTPC int    // multiprocessors that are given out together; 0 means 2
	MemoryMiB int64  // memory that there is to give, as the driver reports it; 0: not known
}

// valid returns the number of SMs that go together, or what is wrong.
func (c Capacity) valid() (perTPC int, err error) {
	perTPC = c.SMsPerTPC
	if perTPC == 0 {
		perTPC = SMsPerTPC
	}
	switch {
	case c.SMs < 1 || c.SMs > maxSMs:
		return 0, fmt.Errorf("%w: %d SMs: want 1 to %d", ErrInput, c.SMs, maxSMs)
	case perTPC < 1 || perTPC > c.SMs:
		return 0, fmt.Errorf("%w: %d SMs per TPC on %d SMs", ErrInput, perTPC, c.SMs)
	case c.MemoryMiB < 0 || c.MemoryMiB > maxMemoryMiB:
		return 0, fmt.Errorf("%w: %d MiB of memory", ErrInput, c.MemoryMiB)
	}
	return perTPC, nil
}

// EffectiveSMs is the number of SMs that a client with this active thread percentage
// sees: its part of the SMs, rounded down to whole TPCs. That is the rule which fits
// every published measurement; NVIDIA only says "rounded down".
//
// The percentage is above 0, at most 100, and has at most two decimals, as many as the
// daemon ever prints (whether it takes any is not known). The error wraps ErrInput, and
// ErrNoSMs if not even one TPC is left.
func (c Capacity) EffectiveSMs(percent float64) (int, error) {
	perTPC, err := c.valid()
	if err != nil {
		return 0, err
	}
	hundredths, err := percentHundredths(percent)
	if err != nil {
		return 0, err
	}
	sms := c.SMs * hundredths / (10000 * perTPC) * perTPC
	if sms == 0 {
		return 0, fmt.Errorf("%w: %v %% of %d SMs is less than one TPC of %d SMs",
			ErrNoSMs, percent, c.SMs, perTPC)
	}
	return sms, nil
}

// SmallestPercent is the smallest whole percentage whose EffectiveSMs are at least so
// many. More SMs than whole TPCs hold are refused.
func (c Capacity) SmallestPercent(sms int) (int, error) {
	perTPC, err := c.valid()
	if err != nil {
		return 0, err
	}
	if most := c.SMs / perTPC * perTPC; sms < 1 || sms > most {
		return 0, fmt.Errorf("%w: %d SMs asked of a device that gives 1 to %d", ErrInput, sms, most)
	}
	return smallestPercent(c.SMs, perTPC, (sms+perTPC-1)/perTPC), nil
}

// smallestPercent is the smallest whole percentage of the SMs that holds so many TPCs.
func smallestPercent(sms, perTPC, tpcs int) int {
	return (100*perTPC*tpcs + sms - 1) / sms
}

// percentHundredths is the percentage as an exact number of hundredths.
func percentHundredths(percent float64) (int, error) {
	scaled := math.Round(percent * 100)
	switch {
	case math.IsNaN(percent) || percent <= 0 || percent > 100:
		return 0, fmt.Errorf("%w: percentage %v: want above 0 and at most 100", ErrInput, percent)
	case scaled == 0 || math.Abs(percent*100-scaled) > 1e-6:
		return 0, fmt.Errorf("%w: percentage %v: more than two decimals", ErrInput, percent)
	}
	return int(scaled), nil
}
