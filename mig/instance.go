package mig

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Instance is a GPU instance: a profile that begins at a memory slice.
type Instance struct {
	Profile string `json:"profile"`
	Start   int    `json:"start"` // first memory slice
	Size    int    `json:"size"`  // memory slices covered; 0 on input: as the table says
}

// String returns the form "3g.20gb@4".
func (i Instance) String() string { return i.Profile + "@" + strconv.Itoa(i.Start) }

// ParseInstance reads the form "3g.20gb@4". Only the form is checked, not
// whether a model offers the profile there. The error wraps ErrBadInstance and,
// where the name is at fault, ErrBadName.
func ParseInstance(s string) (Instance, error) {
	name, at, found := strings.Cut(s, "@")
	if !found {
		return Instance{}, fmt.Errorf("mig: instance %q has no \"@start\": %w", s, ErrBadInstance)
	}
	n, err := ParseName(name)
	if err != nil {
		return Instance{}, fmt.Errorf("mig: instance %q: %w: %w", s, ErrBadInstance, err)
	}
	start, err := parseCount(at)
	if err != nil {
		return Instance{}, fmt.Errorf("mig: instance %q: start %q %w: %w", s, at, err, ErrBadInstance)
	}
	return Instance{Profile: n.String(), Start: start}, nil
}

// Demand says how many instances of each profile are wanted. A count of zero
// asks for nothing and is the same as no entry.
type Demand map[string]int

// ParseDemand reads the form "3g.20gb=1,2g.10gb=2". The error wraps
// ErrBadDemand, and ErrBadName where a name is at fault. A profile may stand
// there once.
func ParseDemand(s string) (Demand, error) {
	d := Demand{}
	for _, item := range items(s) {
		name, count, found := strings.Cut(item, "=")
		if !found {
			return nil, fmt.Errorf("mig: demand %q: item %q has no \"=count\": %w", s, item, ErrBadDemand)
		}
		n, err := ParseName(name)
		if err != nil {
			return nil, fmt.Errorf("mig: demand %q: %w: %w", s, ErrBadDemand, err)
		}
		c, err := parseCount(count)
		if err != nil {
			return nil, fmt.Errorf("mig: demand %q: count %q of %s %w: %w", s, count, name, err, ErrBadDemand)
		}
		if _, twice := d[n.String()]; twice {
			return nil, fmt.Errorf("mig: demand %q: profile %s stands there twice: %w", s, n, ErrBadDemand)
		}
		d[n.String()] = c
	}
	return d, nil
}

// items splits a list at its commas, but for those between the attributes of a
// name: "1g.24gb+me,gfx=1,2g.48gb=1" has two items.
func items(s string) []string {
	var list []string
	for piece := range strings.SplitSeq(s, ",") {
		word, _, _ := strings.Cut(piece, "=")
		attribute := slices.ContainsFunc(attrNames[:], func(n attrName) bool { return n.text == word })
		if last := len(list) - 1; attribute && last >= 0 && !strings.Contains(list[last], "=") {
			list[last] += "," + piece
			continue
		}
		list = append(list, piece)
	}
	return list
}

// String returns the form that ParseDemand reads, in the order of names,
// without zero counts. Counts below 0 or above 999 are written but not read.
func (d Demand) String() string {
	var items []string
	for _, name := range d.names() {
		items = append(items, name+"="+strconv.Itoa(d[name]))
	}
	return strings.Join(items, ",")
}

// Total returns the number of instances wanted.
func (d Demand) Total() int {
	total := 0
	for _, c := range d {
		total += c
	}
	return total
}

// names returns the profiles with a count other than zero, in order.
func (d Demand) names() []string {
	var names []string
	for name, c := range d {
		if c != 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names
}

// parseCount reads a number without sign or leading zeros, up to 999.
func parseCount(s string) (int, error) {
	if s == "" {
		return 0, fmt.Errorf("is missing")
	}
	if len(s) > 1 && s[0] == '0' {
		return 0, fmt.Errorf("has a leading zero")
	}
	if len(s) > 3 {
		return 0, fmt.Errorf("is not a number from 0 to 999")
	}
	v := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("is not a number from 0 to 999")
		}
		v = v*10 + int(c-'0')
	}
	return v, nil
}
