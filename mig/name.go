package mig

import (
	"fmt"
	"math"
	"strings"
)

// Attrs is the set of attributes of a profile name.
type Attrs uint8

// The attributes that the driver knows, in the order in which they are printed.
const (
	MediaExtensions Attrs = 1 << iota // "+me": the engines that one instance of a GPU can have
	AllMedia                          // "+me.all": every media engine
	Graphics                          // "+gfx": graphics APIs
	NoMedia                           // "-me": no media engine
)

type attrName struct {
	attr Attrs
	text string
}

var attrNames = [...]attrName{
	{MediaExtensions, "me"},
	{AllMedia, "me.all"},
	{Graphics, "gfx"},
}

// String returns the suffix of a name: "+me", "+gfx,me", "-me" or nothing.
func (a Attrs) String() string {
	if a == NoMedia {
		return "-me"
	}
	var words []string
	for _, n := range attrNames {
		if a&n.attr != 0 {
			words = append(words, n.text)
		}
	}
	if words == nil {
		return ""
	}
	return "+" + strings.Join(words, ",")
}

// compatible reports whether instances of the two kinds may stand on one GPU.
func (a Attrs) compatible(b Attrs) bool {
	const exclusive = MediaExtensions | AllMedia
	if a&exclusive != 0 && b&exclusive != 0 {
		return false
	}
	if a&AllMedia != 0 && b&NoMedia == 0 || b&AllMedia != 0 && a&NoMedia == 0 {
		return false
	}
	return true
}

// Name is a profile name in parts: "1c.3g.20gb+me" has one compute slice of a
// GPU instance of three GPU slices and 20 GB.
type Name struct {
	ComputeSlices int // of the compute instance; 0 or equal to GPUSlices: all of them
	GPUSlices     int // 1 to 8
	MemoryGB      int // 0 where the memory is the CPU's
	Attrs         Attrs
}

// String returns the canonical form. The compute slices are written only where
// they differ from the GPU slices.
func (n Name) String() string {
	s := fmt.Sprintf("%dg.%dgb%s", n.GPUSlices, n.MemoryGB, n.Attrs)
	if n.ComputeSlices != 0 && n.ComputeSlices != n.GPUSlices {
		s = fmt.Sprintf("%dc.%s", n.ComputeSlices, s)
	}
	return s
}

// The slice counts that NVML has profile constants for.
const (
	maxSlices   = 8
	maxMemoryGB = 9999
)

// ParseName reads a profile name, strictly: no blanks, no signs, no leading
// zeros, 1 to 8 slices, compute slices no more than GPU slices, and only
// attributes that the driver knows, each once, either after "+" or after "-".
// Whether a model offers the profile is another question: see Model.Profile.
// The error wraps ErrBadName.
func ParseName(s string) (Name, error) {
	bad := func(format string, args ...any) (Name, error) {
		return Name{}, fmt.Errorf("mig: name %q: %s: %w", s, fmt.Sprintf(format, args...), ErrBadName)
	}
	parts := strings.SplitN(s, ".", 3)
	var n Name
	var err error
	compute := 0
	if len(parts) == 3 && strings.HasSuffix(parts[0], "c") {
		if compute, err = numberBefore(parts[0], "c", maxSlices); err != nil {
			return bad("compute slices %q %v", parts[0], err)
		}
		parts = parts[1:]
	} else {
		parts = strings.SplitN(s, ".", 2)
	}
	if len(parts) != 2 {
		return bad("not of the form \"1g.5gb\"")
	}
	if n.GPUSlices, err = numberBefore(parts[0], "g", maxSlices); err != nil {
		return bad("GPU slices %q %v", parts[0], err)
	}
	memory, attrs := parts[1], ""
	if i := strings.IndexAny(memory, "+-"); i >= 0 {
		memory, attrs = memory[:i], memory[i:]
	}
	if n.MemoryGB, err = numberBefore(memory, "gb", maxMemoryGB); err != nil {
		return bad("memory %q %v", memory, err)
	}
	if n.Attrs, err = parseAttrs(attrs); err != nil {
		return bad("attributes %q: %v", attrs, err)
	}
	switch {
	case n.GPUSlices == 0:
		return bad("no GPU slices")
	case strings.HasPrefix(s, "0c."):
		return bad("no compute slices")
	case compute == 0:
		compute = n.GPUSlices
	case compute > n.GPUSlices:
		return bad("%d compute slices in %d GPU slices", compute, n.GPUSlices)
	}
	n.ComputeSlices = compute
	return n, nil
}

// ParseDeviceName reads the profile at the end of what NVML and nvidia-smi print:
// "MIG 1g.5gb" for a profile, "NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb" for a MIG
// device. The profile is read as strictly as by ParseName. The error wraps
// ErrBadName, also where there is no "MIG " before the profile.
func ParseDeviceName(s string) (Name, error) {
	i := strings.LastIndex(s, "MIG ")
	if i < 0 || i > 0 && s[i-1] != ' ' {
		return Name{}, fmt.Errorf("mig: device name %q has no word MIG before a profile: %w", s, ErrBadName)
	}
	n, err := ParseName(s[i+len("MIG "):])
	if err != nil {
		return Name{}, fmt.Errorf("mig: device name %q: %w", s, err)
	}
	return n, nil
}

// numberBefore reads a number without sign or leading zeros, followed by unit.
func numberBefore(s, unit string, most int) (int, error) {
	digits, found := strings.CutSuffix(s, unit)
	if !found {
		return 0, fmt.Errorf("does not end in %q", unit)
	}
	if digits == "" || len(digits) > 4 {
		return 0, fmt.Errorf("is not a number before %q", unit)
	}
	if len(digits) > 1 && digits[0] == '0' {
		return 0, fmt.Errorf("has a leading zero")
	}
	v := 0
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("is not a number before %q", unit)
		}
		v = v*10 + int(c-'0')
	}
	if v > most {
		return 0, fmt.Errorf("is more than %d", most)
	}
	return v, nil
}

func parseAttrs(s string) (Attrs, error) {
	if s == "" {
		return 0, nil
	}
	if s[0] == '-' {
		if s != "-me" {
			return 0, fmt.Errorf("unknown; the driver knows -me")
		}
		return NoMedia, nil
	}
	var a Attrs
words:
	for word := range strings.SplitSeq(s[1:], ",") {
		for _, n := range attrNames {
			if word != n.text {
				continue
			}
			if a&n.attr != 0 {
				return 0, fmt.Errorf("%q stands there twice", word)
			}
			a |= n.attr
			continue words
		}
		return 0, fmt.Errorf("%q is unknown; the driver knows me, me.all, gfx", word)
	}
	return a, nil
}

// MemoryGB returns the memory number that the driver puts into a profile name:
// the instance's share of the GPU, rounded up to eighths, of the GPU's total
// memory in whole GiB, rounded up; halves round away from zero. Both arguments
// are in MiB. It returns 0 unless 0 < instanceMiB <= totalMiB.
//
// The result depends on the total that the device reports, so two boards with
// one PCI id can have different names. Source: the vendor's Go library, which
// states that it is the driver's calculation.
func MemoryGB(instanceMiB, totalMiB int) int {
	if instanceMiB <= 0 || totalMiB <= 0 || instanceMiB > totalMiB {
		return 0
	}
	eighths := (8*instanceMiB + totalMiB - 1) / totalMiB
	total := (totalMiB + 1023) / 1024
	return int(math.Round(float64(eighths*total) / 8))
}
