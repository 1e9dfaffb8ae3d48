package timeslice

import "fmt"

// Discipline is a rule that decides who has the GPU when. The zero value is the
// round robin of a plain driver.
type Discipline uint8

// The disciplines that [Sim] runs and [Shares] describes.
const (
	// RoundRobin gives a slice to each client with work in turn and skips the
	// others: what a driver does with the processes on one GPU. Nothing is left
	// idle while somebody has work.
	RoundRobin Discipline = iota
	// BestEffort is the default scheduler of a vGPU host. It divides as RoundRobin does.
	BestEffort
	// EqualShare gives a slot to each client that is present, in turn, whether
	// it has work or not.
	EqualShare
	// FixedShare gives a slot to each of a fixed number of places, in turn,
	// whether a client sits there or not.
	FixedShare
	// StrictFraction gives each client its fraction of the slots by a timetable
	// that nobody else can change; what is not asked for stays idle.
	StrictFraction
	// FairFraction gives each client at least its fraction while it has work, and
	// what is left to those that want more, in turn.
	FairFraction
	// ExclusiveTurn gives the GPU to one client, first come first served, until
	// its turn is over or it has no work. The slice is the turn: seconds, since
	// the memory of the others is paged out meanwhile.
	ExclusiveTurn
)

var disciplineNames = [...]string{
	RoundRobin:     "round-robin",
	BestEffort:     "best-effort",
	EqualShare:     "equal-share",
	FixedShare:     "fixed-share",
	StrictFraction: "strict-fraction",
	FairFraction:   "fair-fraction",
	ExclusiveTurn:  "exclusive-turn",
}

// Disciplines lists all of them, in the order of their values.
func Disciplines() []Discipline {
	all := make([]Discipline, len(disciplineNames))
	for i := range all {
		all[i] = Discipline(i)
	}
	return all
}

// ParseDiscipline reads a name as String writes it; the error wraps [ErrInput]
// and lists the names.
func ParseDiscipline(name string) (Discipline, error) {
	for d, known := range disciplineNames {
		if name == known {
			return Discipline(d), nil
		}
	}
	return 0, fmt.Errorf("%w: discipline %q is none of %q", ErrInput, name, disciplineNames[:])
}

// String is the name, such as "round-robin".
func (d Discipline) String() string {
	if int(d) < len(disciplineNames) {
		return disciplineNames[d]
	}
	return fmt.Sprintf("discipline(%d)", uint8(d))
}

// WorkConserving says whether the GPU never idles while a client has work (of a
// [Sim]: with no Linger).
func (d Discipline) WorkConserving() bool {
	switch d {
	case RoundRobin, BestEffort, FairFraction, ExclusiveTurn:
		return true
	case EqualShare, FixedShare, StrictFraction:
	}
	return false
}

// VGPUPolicy is a scheduler of a vGPU host, by the number that NVML has for it.
// The resource manager of the driver numbers them otherwise.
type VGPUPolicy uint32

// The policies of NVML.
const (
	VGPUUnknown    VGPUPolicy = 0
	VGPUBestEffort VGPUPolicy = 1
	VGPUEqualShare VGPUPolicy = 2
	VGPUFixedShare VGPUPolicy = 3
)

// String is "best-effort", "equal-share", "fixed-share" or "unknown".
func (p VGPUPolicy) String() string {
	if d, ok := p.Discipline(); ok {
		return d.String()
	}
	if p == VGPUUnknown {
		return "unknown"
	}
	return fmt.Sprintf("vgpu policy(%d)", uint32(p))
}

// ParseVGPUPolicy reads "best-effort", "equal-share" or "fixed-share"; the error
// wraps [ErrInput].
func ParseVGPUPolicy(name string) (VGPUPolicy, error) {
	for _, p := range []VGPUPolicy{VGPUBestEffort, VGPUEqualShare, VGPUFixedShare} {
		if p.String() == name {
			return p, nil
		}
	}
	return VGPUUnknown, fmt.Errorf("%w: vGPU policy %q is none of best-effort, equal-share, fixed-share", ErrInput, name)
}

// Discipline is the rule that a policy follows; false for one that is not known.
func (p VGPUPolicy) Discipline() (Discipline, bool) {
	switch p {
	case VGPUBestEffort:
		return BestEffort, true
	case VGPUEqualShare:
		return EqualShare, true
	case VGPUFixedShare:
		return FixedShare, true
	case VGPUUnknown:
	}
	return RoundRobin, false
}

// ARRMode says whether adaptive round robin (ARR, also "strict round robin") is
// on, by the number that NVML has for it.
type ARRMode uint32

// The modes of NVML. ARRDefault is on, for equal and fixed share.
const (
	ARRDefault ARRMode = 0
	ARROff     ARRMode = 1
	ARROn      ARRMode = 2
)

// String is "default", "off" or "on".
func (m ARRMode) String() string {
	switch m {
	case ARRDefault:
		return "default"
	case ARROff:
		return "off"
	case ARROn:
		return "on"
	}
	return fmt.Sprintf("arr mode(%d)", uint32(m))
}

// VGPUEngine is an engine with a vGPU scheduler of its own, by the number that
// NVML has for it.
type VGPUEngine uint32

// The engines of NVML.
const (
	EngineGraphics VGPUEngine = 1
	EngineNVENC1   VGPUEngine = 2
	EngineNVENC0   VGPUEngine = 3
)

// String is "graphics", "nvenc1" or "nvenc0".
func (e VGPUEngine) String() string {
	switch e {
	case EngineGraphics:
		return "graphics"
	case EngineNVENC1:
		return "nvenc1"
	case EngineNVENC0:
		return "nvenc0"
	}
	return fmt.Sprintf("engine(%d)", uint32(e))
}
