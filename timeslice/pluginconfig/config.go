package pluginconfig

import (
	"slices"

	"github.com/gpushare/gpushare/timeslice"
)

// Version is the only version of the format; a file without one has it.
const Version = "v1"

// Pos is a place in a file: both numbers count from 1, columns in characters. The
// zero Pos is that of something that no file holds.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Config is what a file says, as far as it has to do with sharing. It is plain
// data: whoever builds one by hand may leave out every Pos, and asks [Check].
type Config struct {
	Name        string // of the file, for messages
	Flags       Flags
	Patterns    []Pattern // custom names, which the plugin drops when it starts
	TimeSlicing *Section
	MPS         *Section // where it is there the plugin looks at no other
}

// Flags are those settings of the section "flags" that sharing depends on. A
// command line, or a variable of the environment, goes before the file: change the
// value to see what comes of it.
type Flags struct {
	MIGStrategy      MIGStrategy
	MPSRoot          string // empty: not in the file
	AllocationPolicy timeslice.Policy
}

// MIGStrategy says as what MIG devices are advertised.
type MIGStrategy string

// The strategies. The empty one is MIGNone.
const (
	MIGNone   MIGStrategy = "none"   // not at all
	MIGSingle MIGStrategy = "single" // as nvidia.com/gpu; all of a node are alike
	MIGMixed  MIGStrategy = "mixed"  // as nvidia.com/mig-<profile>
)

// Pattern gives devices a custom resource name.
type Pattern struct {
	MIG     bool   // the pattern is of profiles, not of product names
	Pattern string // "*" stands for any text
	Name    string // with the prefix
	Pos     Pos
}

// Section is how resources are shared one way: "timeSlicing" or "mps".
type Section struct {
	RenameByDefault bool
	FailRequests    *bool // failRequestsGreaterThanOne; nil where it is not set
	Resources       []Resource
	Pos             Pos
}

// Resource says how many replicas there are of each device of a resource.
type Resource struct {
	Name     string // with the prefix: "nvidia.com/gpu"
	Rename   string // with the prefix; empty where it is not set
	Devices  Devices
	Replicas int // at least 2

	Pos, RenamePos, DevicesPos Pos
}

// Devices selects devices of a resource: all, unless it has a Count or a List.
type Devices struct {
	Count int      // so many of them
	List  []string // each an index, "i:j" (a MIG device) or a UUID
}

// All reports whether nothing is selected.
func (d Devices) All() bool { return d.Count == 0 && len(d.List) == 0 }

const (
	prefix       = "nvidia.com/"
	sharedSuffix = ".shared"
	resourceGPU  = prefix + "gpu"
	minReplicas  = 2
)

// Effective is a new Config: what the plugin makes of this one when it starts. Each
// difference is a finding of [Check]. Custom names are gone; of the sections MPS is
// left if it is there, with failRequestsGreaterThanOne true unless it is set; no
// resource has a selection of devices, or another new name than that of
// renameByDefault; of entries for one resource the one with the most replicas is left.
func (c *Config) Effective() *Config {
	if c == nil {
		c = &Config{}
	}
	e := &Config{Name: c.Name, Flags: c.Flags}
	e.Flags.MIGStrategy = c.Flags.strategy()
	switch {
	case c.MPS != nil:
		e.MPS = c.MPS.effective()
		if e.MPS.FailRequests == nil {
			forced := true
			e.MPS.FailRequests = &forced
		}
	case c.TimeSlicing != nil:
		e.TimeSlicing = c.TimeSlicing.effective()
	}
	return e
}

func (f Flags) strategy() MIGStrategy {
	if f.MIGStrategy == "" {
		return MIGNone
	}
	return f.MIGStrategy
}

func (s *Section) effective() *Section {
	e := &Section{RenameByDefault: s.RenameByDefault, Pos: s.Pos}
	if s.FailRequests != nil {
		v := *s.FailRequests
		e.FailRequests = &v
	}
	for _, r := range s.Resources {
		r.Rename, r.Devices = "", Devices{}
		if s.RenameByDefault {
			r.Rename = r.Name + sharedSuffix
		}
		if i := slices.IndexFunc(e.Resources, func(o Resource) bool { return o.Name == r.Name }); i < 0 {
			e.Resources = append(e.Resources, r)
		} else if e.Resources[i].Replicas < r.Replicas {
			e.Resources[i] = r
		}
	}
	return e
}

// named is the resource name that replicas of r are advertised as, as written.
func (s *Section) named(r Resource) string {
	switch {
	case r.Rename != "":
		return r.Rename
	case s.RenameByDefault:
		return r.Name + sharedSuffix
	}
	return r.Name
}
