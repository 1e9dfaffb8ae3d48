package parted

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gpushare/gpushare/mig"
)

// Version is the only version of the format.
const Version = "v1"

// Pos is a place in a file: both numbers count from 1, columns in characters. The
// zero Pos is that of something that no file holds.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

func (p Pos) compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// Config is a file. It is plain data: whoever builds one by hand may leave out
// every Pos, and Write refuses what Parse would refuse.
type Config struct {
	Name   string  // of the file, for messages
	Labels []Label // in the order of the file, each name once
}

// Label is a named configuration, of which an operator selects one for a node.
type Label struct {
	Name    string
	Entries []Entry // in the order of the file, which is that of applying; at least one
	Pos     Pos
}

// Entry says what the GPUs that it matches should look like. A GPU matches when
// one of the filters and the device list do.
type Entry struct {
	Filters []Filter // none: every GPU
	All     bool     // "devices: all"; then there are no Devices
	Devices []int    // indices of GPUs, in the order of PCI addresses
	Enabled bool     // MIG mode

	// Instances is what is wanted on each GPU; empty where the mode is off. An
	// enabled entry without any wants MIG on and nothing in it.
	Instances []Count
	Pos       Pos
}

// Count is how many instances of a profile are wanted.
type Count struct {
	Profile string // as it is written: see Canonical
	Count   int    // 0 is the same as no entry
	Pos     Pos    // of the name
}

// Canonical returns the name as a driver would print it: "1g.5gb" for
// "1c.1g.5gb". A text that is no profile name is returned as it is.
func (c Count) Canonical() string { return canonical(c.Profile) }

// Demand returns what the entry wants on each GPU, under canonical names. Two
// spellings of one profile add up, as they do when mig-parted creates them, and
// zero counts are left out.
func (e *Entry) Demand() mig.Demand {
	d := mig.Demand{}
	for _, c := range e.Instances {
		if c.Count > 0 {
			name := c.Canonical()
			d[name] += min(c.Count, math.MaxInt-d[name])
		}
	}
	return d
}

// Label returns the label with that name. An empty name stands for the only
// label. The error wraps ErrUnknownLabel and names the labels that exist.
func (c *Config) Label(name string) (*Label, error) {
	if c == nil {
		c = &Config{}
	}
	if name == "" && len(c.Labels) == 1 {
		return &c.Labels[0], nil
	}
	for i := range c.Labels {
		if name != "" && c.Labels[i].Name == name {
			return &c.Labels[i], nil
		}
	}
	known := "there are none"
	if len(c.Labels) > 0 {
		names := make([]string, len(c.Labels))
		for i := range c.Labels {
			names[i] = c.Labels[i].Name
		}
		known = "there are " + list(names)
	}
	if name == "" {
		return nil, fmt.Errorf("parted: %sno label given: %w (%s)", c.prefix(), ErrUnknownLabel, known)
	}
	return nil, fmt.Errorf("parted: %slabel %q: %w (%s)", c.prefix(), name, ErrUnknownLabel, known)
}

// prefix is the name of the file, for messages.
func (c *Config) prefix() string {
	if c.Name == "" {
		return ""
	}
	return c.Name + ": "
}
