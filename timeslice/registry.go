package timeslice

import "fmt"

// PVMRL is the value of the driver's registry key RmPVMRL, which sets the vGPU
// scheduler of every GPU of a host when the driver is loaded:
//
//	31     24 23         12 11    8 7    4 3 2 1 0
//	| factor | frequency    |       | policy |w|-|a|e|     a=0: ARR on
//	| factor | slice |      |       | policy |w|-|a|e|     a=1: ARR off
//
// e enables it (0: best effort), w disables weights; the frequency is 10 bits
// (21:12) in Hz and overlaps the slice (23:16) in ms; policy 0 is equal share, 1 fixed.
type PVMRL uint32

const (
	pvmrlEnable     = 1 << 0
	pvmrlARROff     = 1 << 1
	pvmrlReserved2  = 1 << 2
	pvmrlWeightsOff = 1 << 3

	pvmrlPolicyShift    = 4
	pvmrlPolicyBits     = 0xf
	pvmrlReservedHigh   = 0xf << 8
	pvmrlFrequencyShift = 12
	pvmrlFrequencyBits  = 0x3ff
	pvmrlSliceShift     = 16
	pvmrlSliceBits      = 0xff
	pvmrlFactorShift    = 24
	pvmrlFactorBits     = 0xff
)

// PVMRLReading is what a registry value means.
type PVMRLReading struct {
	// Scheduler is the reading by the header of the driver: the fields as they
	// are written, 0 where they are; Effective adds defaults and bounds.
	Scheduler VGPUScheduler

	// Weights says that weights are in use, which [ElasticCap] needs.
	Weights bool

	// Guide is the other reading, nil where there is none: the vendor's guide
	// describes values such as 0x00180011 as a slice of 24 ms, although they leave
	// the bit clear that turns ARR off, so that by the header they are a frequency.
	// Which of the two a driver follows is not confirmed.
	Guide *VGPUScheduler

	// Warnings are sentences about what is ambiguous, ignored or out of bounds,
	// in the order of the bits they are about, the ambiguity first.
	Warnings []string
}

// Decode reads a value. There is no value that it refuses: what is odd about one
// is in the warnings, and a policy that is not known is [VGPUUnknown].
func (v PVMRL) Decode() PVMRLReading {
	if v&pvmrlEnable == 0 {
		r := PVMRLReading{Scheduler: VGPUScheduler{Policy: VGPUBestEffort}}
		if v != 0 {
			r.warn("bit 0 is clear: best effort, the other bits of %#08x are ignored", uint32(v))
		}
		return r
	}
	var r PVMRLReading
	r.Weights = v&pvmrlWeightsOff == 0
	r.Scheduler.Policy = VGPUUnknown
	switch v >> pvmrlPolicyShift & pvmrlPolicyBits {
	case 0:
		r.Scheduler.Policy = VGPUEqualShare
	case 1:
		r.Scheduler.Policy = VGPUFixedShare
	}
	if v&pvmrlARROff == 0 {
		r.readARR(v)
	} else {
		r.readSlice(v)
	}
	if odd := v & (pvmrlReserved2 | pvmrlReservedHigh); odd != 0 {
		r.warn("bits %#x have no published meaning", uint32(odd))
	}
	if r.Scheduler.Policy == VGPUUnknown {
		r.warn("policy %d in bits 7:4 is neither 0 (equal share) nor 1 (fixed share)", v>>pvmrlPolicyShift&pvmrlPolicyBits)
	}
	return r
}

func (r *PVMRLReading) readARR(v PVMRL) {
	frequency := uint32(v >> pvmrlFrequencyShift & pvmrlFrequencyBits)
	factor := uint32(v >> pvmrlFactorShift & pvmrlFactorBits)
	r.Scheduler.ARR, r.Scheduler.Frequency, r.Scheduler.Factor = ARROn, frequency, factor
	if v.ambiguous() {
		slice := int64(v>>pvmrlSliceShift&pvmrlSliceBits) * 1_000_000
		r.Guide = &VGPUScheduler{Policy: r.Scheduler.Policy, ARR: ARROff, Slice: slice}
		r.warn("bit 1 is clear, so by the header this is a frequency of %d Hz; the vendor's guide describes such values as a slice of %d ms",
			frequency, slice/1_000_000)
	}
	if frequency != 0 && (frequency < MinVGPUFrequency || frequency > MaxVGPUFrequency) {
		r.warn("frequency %d Hz is taken as %d Hz", frequency, min(max(frequency, MinVGPUFrequency), MaxVGPUFrequency))
	}
	if v>>22&3 != 0 {
		r.warn("bits 23:22 are set: they belong to the slice, which is not used with ARR on")
	}
	if factor > MaxVGPUFactor {
		r.warn("averaging factor %d is taken as %d", factor, MaxVGPUFactor)
	}
}

func (r *PVMRLReading) readSlice(v PVMRL) {
	ms := int64(v >> pvmrlSliceShift & pvmrlSliceBits)
	r.Scheduler.ARR, r.Scheduler.Slice = ARROff, ms*1_000_000
	if v>>pvmrlFrequencyShift&0xf != 0 {
		r.warn("bits 15:12 are set: they belong to the frequency, which is not used with ARR off")
	}
	if r.Scheduler.Slice > MaxVGPUSlice {
		r.warn("slice %d ms is taken as %d ms", ms, MaxVGPUSlice/1_000_000)
	}
	if factor := v >> pvmrlFactorShift & pvmrlFactorBits; factor != 0 {
		r.warn("averaging factor %d is not used with ARR off", factor)
	}
}

func (r *PVMRLReading) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// ambiguous says whether a value with ARR on looks like the examples of the guide
// that are described as slices: nothing in the low bits of the frequency, no
// averaging factor, and a number of milliseconds that a slice may have.
func (v PVMRL) ambiguous() bool {
	ms := int64(v >> pvmrlSliceShift & pvmrlSliceBits)
	return v&pvmrlEnable != 0 && v&pvmrlARROff == 0 && ms != 0 && ms*1_000_000 <= MaxVGPUSlice &&
		v>>pvmrlFrequencyShift&0xf == 0 && v>>pvmrlFactorShift == 0
}

// EncodePVMRL is the registry value for a setting within the documented bounds.
// Slices are whole milliseconds. Its value always has one reading: where a
// frequency alone could be taken for a slice (480 Hz for 30 ms), the default
// averaging factor is written out. Otherwise errors are those of
// [VGPUScheduler.Validate].
func EncodePVMRL(s VGPUScheduler) (PVMRL, error) {
	if err := s.Validate(DocumentedVGPUCapabilities()); err != nil {
		return 0, err
	}
	var v PVMRL
	switch s.Policy {
	case VGPUEqualShare:
		v = pvmrlEnable
	case VGPUFixedShare:
		v = pvmrlEnable | 1<<pvmrlPolicyShift
	default:
		return 0, nil
	}
	if s.UsesARR() {
		v |= PVMRL(s.Frequency)<<pvmrlFrequencyShift | PVMRL(s.Factor)<<pvmrlFactorShift
		if v.ambiguous() {
			v |= PVMRL(DefaultFactor) << pvmrlFactorShift
		}
		return v, nil
	}
	if s.Slice%1_000_000 != 0 {
		return 0, fmt.Errorf("%w: slice %d ns is no whole number of milliseconds", ErrInput, s.Slice)
	}
	return v | pvmrlARROff | PVMRL(s.Slice/1_000_000)<<pvmrlSliceShift, nil
}

// ElasticCap is the value of the registry key RmPVMRLElasticSchedulingCap: how
// much extra engine time a vGPU may get under fixed share while fewer vGPUs run
// than the type allows, as a fraction of its own share. 0 is none. It works
// only under fixed share with weights ([PVMRLReading]); with it, fixed share does
// give idle time away.
type ElasticCap struct {
	Num, Den uint16
}

// MaxElasticCap bounds the fraction Num/Den.
const MaxElasticCap = 32

// EncodeElasticCap is the registry value of a cap. [ErrInput] for a fraction
// without a denominator or above [MaxElasticCap].
func EncodeElasticCap(c ElasticCap) (uint32, error) {
	if c.Den == 0 && c.Num != 0 {
		return 0, fmt.Errorf("%w: elastic cap %d/0", ErrInput, c.Num)
	}
	if uint32(c.Num) > MaxElasticCap*uint32(c.Den) {
		return 0, fmt.Errorf("%w: elastic cap %d/%d is above %d", ErrInput, c.Num, c.Den, MaxElasticCap)
	}
	return uint32(c.Num)<<16 | uint32(c.Den), nil
}

// DecodeElasticCap reads a registry value; a fraction above [MaxElasticCap] comes
// back as that. [ErrInput] for a numerator without a denominator.
func DecodeElasticCap(v uint32) (ElasticCap, error) {
	c := ElasticCap{Num: uint16(v >> 16), Den: uint16(v)}
	if c.Den == 0 && c.Num != 0 {
		return ElasticCap{}, fmt.Errorf("%w: elastic cap %#08x has no denominator", ErrInput, v)
	}
	if uint32(c.Num) > MaxElasticCap*uint32(c.Den) {
		return ElasticCap{Num: MaxElasticCap, Den: 1}, nil
	}
	return c, nil
}

// Limit is the most that a vGPU with this share gets, in the unit of the share,
// rounded down: share * (1 + Num/Den), saturating.
func (c ElasticCap) Limit(share int64) int64 {
	if c.Den == 0 || share <= 0 {
		return share
	}
	return satAdd(share, mulDiv(share, int64(c.Num), int64(c.Den)))
}
