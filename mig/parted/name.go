package parted

import (
	"errors"
	"strconv"
	"strings"

	"github.com/gpushare/gpushare/mig"
)

// profileName is a profile name in parts. The format allows more than any driver
// has: "9g.999gb+foo" is well formed, and that no GPU offers it is found later.
type profileName struct {
	compute, slices, memory int
	sign                    string // "", "+" or "-"
	attrs                   []string
}

// parseName reads a name as mig-parted does when it loads a file.
func parseName(s string) (profileName, error) {
	var n profileName
	fields := s
	if i := strings.IndexAny(s, "+-"); i >= 0 {
		fields, n.sign = s[:i], s[i:i+1]
		n.attrs = strings.Split(s[i+1:], ",")
	}
	parts := strings.Split(fields, ".")
	var err error
	switch len(parts) {
	case 3:
		if n.compute, err = numberBefore(parts[0], "c"); err != nil {
			return profileName{}, err
		}
		parts = parts[1:]
	case 2:
	default:
		return profileName{}, errors.New(`not of the form "1g.5gb" or "1c.3g.20gb"`)
	}
	if n.slices, err = numberBefore(parts[0], "g"); err != nil {
		return profileName{}, err
	}
	if n.memory, err = numberBefore(parts[1], "gb"); err != nil {
		return profileName{}, err
	}
	if len(strings.Split(fields, ".")) == 2 {
		n.compute = n.slices
	}
	seen := map[string]bool{}
	for _, a := range n.attrs {
		if !validAttr(a) {
			return profileName{}, errors.New("attribute " + strconv.Quote(a) + " is malformed")
		}
		if seen[a] {
			return profileName{}, errors.New("attribute " + strconv.Quote(a) + " stands there twice")
		}
		seen[a] = true
	}
	return n, nil
}

func numberBefore(s, unit string) (int, error) {
	digits, found := strings.CutSuffix(s, unit)
	if !found {
		return 0, errors.New(strconv.Quote(s) + " does not end in " + strconv.Quote(unit))
	}
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, errors.New(strconv.Quote(s) + " is not a number before " + strconv.Quote(unit))
		}
	}
	v, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return 0, errors.New(strconv.Quote(s) + " is not a number before " + strconv.Quote(unit))
	}
	return int(v), nil
}

// validAttr allows letters, digits and dots: no digit or dot at the beginning,
// no dot at the end.
func validAttr(s string) bool {
	if s == "" || s[0] == '.' || s[len(s)-1] == '.' || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for _, c := range []byte(s) {
		if c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

func (n profileName) String() string {
	s := strconv.Itoa(n.slices) + "g." + strconv.Itoa(n.memory) + "gb" + n.sign + strings.Join(n.attrs, ",")
	if n.compute != n.slices {
		s = strconv.Itoa(n.compute) + "c." + s
	}
	return s
}

// canonical returns the one spelling that all spellings of a name share.
func canonical(name string) string {
	n, err := parseName(name)
	if err != nil {
		return name
	}
	s := n.String()
	if known, err := mig.ParseName(s); err == nil {
		return known.String()
	}
	return s
}

// whole returns the name of the GPU instance that a compute instance stands in,
// and whether the name is that of a compute instance smaller than it.
func whole(name string) (gpuInstance string, smaller bool) {
	n, err := parseName(name)
	if err != nil || n.compute == n.slices {
		return name, false
	}
	n.compute = n.slices
	return n.String(), true
}
