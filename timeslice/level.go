package timeslice

import (
	"fmt"
	"slices"
	"strings"
)

// Level is how long a turn of a process lasts on a GPU, as the driver has it: one
// of four, of no published length. The zero value is the driver's default.
//
// A driver keeps it for each GPU in memory: it is gone when the kernel module is
// loaded again. Turing and later have it. Whether contexts that exist already
// follow a change is not published.
type Level uint8

// The levels, by the number that nvidia-smi has for them.
const (
	LevelDefault Level = 0
	LevelShort   Level = 1
	LevelMedium  Level = 2
	LevelLong    Level = 3
)

var levelNames = [...]string{"Default", "Short", "Medium", "Long"}

// Levels lists all of them, in the order of their numbers.
func Levels() []Level { return []Level{LevelDefault, LevelShort, LevelMedium, LevelLong} }

// String is "Default", "Short", "Medium" or "Long", as the DRA driver has it.
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("level(%d)", uint8(l))
}

// ParseLevel reads a name as String writes it, letter by letter: "short" is no
// name. The error wraps [ErrInput] and lists the names. A setting that is absent is
// the zero Level, not an empty name.
func ParseLevel(name string) (Level, error) {
	if i := slices.Index(levelNames[:], name); i >= 0 {
		return Level(i), nil
	}
	return 0, fmt.Errorf("%w: time-slice level %q is none of %s", ErrInput, name, strings.Join(levelNames[:], ", "))
}

// MarshalText is String; the error wraps [ErrInput] for what is no level.
func (l Level) MarshalText() ([]byte, error) {
	if int(l) >= len(levelNames) {
		return nil, fmt.Errorf("%w: %s", ErrInput, l)
	}
	return []byte(l.String()), nil
}

// UnmarshalText is ParseLevel.
func (l *Level) UnmarshalText(text []byte) error {
	parsed, err := ParseLevel(string(text))
	if err != nil {
		return err
	}
	*l = parsed
	return nil
}

// KernelSlice is the slice (ns) that the open kernel driver gives to a group of
// channels which nobody has set another for. That the levels start from it is
// not confirmed.
const KernelSlice int64 = 1_024_000

// Lengths says how long the levels are, in ns, by Level: what somebody measured on
// a GPU and driver. Nobody has published it, so there are no defaults; 0 is not
// known.
type Lengths [4]int64

// Of is the length (ns) of a level. The error wraps [ErrUnknownLevel] where it is
// not given, [ErrInput] where it is negative or there is no such level.
func (s Lengths) Of(l Level) (int64, error) {
	switch {
	case int(l) >= len(s):
		return 0, fmt.Errorf("%w: %s", ErrInput, l)
	case s[l] < 0:
		return 0, fmt.Errorf("%w: length of %s is %d ns", ErrInput, l, s[l])
	case s[l] == 0:
		return 0, fmt.Errorf("%w: no length given for %s", ErrUnknownLevel, l)
	}
	return s[l], nil
}
