package pluginconfig

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/internal/yaml11"
	"github.com/gpushare/gpushare/timeslice"
)

// Check says what is wrong with the values of a configuration, and what the plugin
// does to them when it starts. There is always a list, sorted by position.
func Check(c *Config) []Finding {
	if c == nil {
		c = &Config{}
	}
	k := &checker{c: c}
	k.values()
	k.surprises()
	return sorted(k.findings)
}

type checker struct {
	c        *Config
	findings []Finding
}

func (k *checker) add(s Severity, code Code, field string, p Pos, format string, args ...any) {
	k.findings = append(k.findings, Finding{
		Severity: s, Code: code, Field: field, Line: p.Line, Column: p.Column, Message: fmt.Sprintf(format, args...),
	})
}

// way is a section with its name.
type way struct {
	*Section
	field string
}

func (c *Config) ways() []way {
	var all []way
	if c.TimeSlicing != nil {
		all = append(all, way{c.TimeSlicing, timeSlicingField})
	}
	if c.MPS != nil {
		all = append(all, way{c.MPS, mpsField})
	}
	return all
}

func (w way) resource(i int) string { return element(w.field+".resources", i) }

// values finds what Lint never lets through, in a configuration made by hand.
func (k *checker) values() {
	switch k.c.Flags.strategy() {
	case MIGNone, MIGSingle, MIGMixed:
	default:
		k.add(Error, BadValue, "flags.migStrategy", Pos{}, "%s is none of none, single, mixed", yaml11.Quote(string(k.c.Flags.MIGStrategy)))
	}
	if p := k.c.Flags.AllocationPolicy; p != timeslice.Distributed && p != timeslice.Packed {
		k.add(Error, BadValue, "flags.plugin.sharedDevicesAllocationPolicy", Pos{}, "the device plugin has no policy %s", p)
	}
	for _, p := range k.c.Patterns {
		k.name("resources", p.Name, p.Pos)
	}
	for _, w := range k.c.ways() {
		if len(w.Resources) == 0 {
			k.add(Error, Missing, w.field, w.Pos, "at least one resource is needed")
		}
		for i, r := range w.Resources {
			k.name(w.resource(i)+".name", r.Name, r.Pos)
			if r.Rename != "" {
				k.name(w.resource(i)+".rename", r.Rename, r.RenamePos)
			}
			if r.Replicas < minReplicas {
				k.add(Error, BadValue, w.resource(i)+".replicas", r.Pos, "resource %s: %d replicas; at least %d are needed, for MPS too",
					nameOr(r.Name), r.Replicas, minReplicas)
			}
			k.devices(w.resource(i)+".devices", r)
		}
	}
}

func (k *checker) name(field, name string, p Pos) {
	switch problem := badName(name); {
	case !strings.HasPrefix(name, prefix):
		k.add(Error, BadName, field, p, "%s does not begin with %s", yaml11.Quote(name), prefix)
	case problem != "":
		k.add(Error, BadName, field, p, "%s: %s", yaml11.Quote(name), problem)
	}
}

func (k *checker) devices(field string, r Resource) {
	d := r.Devices
	if d.Count < 0 || d.Count > 0 && len(d.List) > 0 {
		k.add(Error, BadValue, field, r.DevicesPos, "a count of %d devices and a list of %d", d.Count, len(d.List))
	}
	seen := map[string]bool{}
	for _, s := range d.List {
		switch ref, ok := shortRef(s); {
		case !ok || ref != s:
			k.add(Error, BadValue, field, r.DevicesPos, "%s is no device", yaml11.Quote(s))
		case seen[ref]:
			k.add(Error, DuplicateDevice, field, r.DevicesPos, "device %s stands there twice", ref)
		default:
			seen[ref] = true
		}
	}
}

// surprises finds what the plugin makes of the values.
func (k *checker) surprises() {
	c := k.c
	if len(c.Patterns) > 0 {
		k.add(Warning, CustomResources, "resources", c.Patterns[0].Pos,
			"the device plugin drops custom resource names when it starts: devices keep their default names")
	}
	active := c.ways()
	if c.MPS != nil {
		k.mps()
		if c.TimeSlicing != nil {
			k.add(Warning, MPSWins, timeSlicingField, c.TimeSlicing.Pos,
				"the device plugin ignores this section, since sharing.mps is there: %s", k.lost())
			active = active[1:]
		}
	}
	for _, w := range active {
		k.requests(w)
		for i := range w.Resources {
			k.resets(w, i)
			k.twice(w, i)
			k.unserved(w, i)
		}
	}
}

// lost names the resources that only the ignored section shares.
func (k *checker) lost() string {
	var names []string
	for _, r := range k.c.TimeSlicing.Resources {
		if !slices.ContainsFunc(k.c.MPS.Resources, func(o Resource) bool { return o.Name == r.Name }) {
			names = append(names, nameOr(r.Name))
		}
	}
	if len(names) == 0 {
		return "its resources are shared by MPS"
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ") + " is not shared at all"
}

const (
	// mpsClients is how many replicas the plugin lets MPS have on a GPU of compute
	// capability 7.5 or more; older ones have fewer.
	mpsClients    = 48
	mpsOldClients = 16
)

func (k *checker) mps() {
	s, flags := k.c.MPS, k.c.Flags
	switch flags.strategy() {
	case MIGMixed:
		k.add(Error, MPSRequires, mpsField, s.Pos, "the device plugin does not start with MPS and migStrategy mixed")
	case MIGSingle:
		k.add(Warning, MPSRequires, mpsField, s.Pos, "MIG devices cannot be shared by MPS: the device plugin does not start where there are any")
	case MIGNone:
	}
	if flags.MPSRoot == "" {
		k.add(Note, MPSRequires, mpsField, s.Pos,
			"MPS needs mpsRoot: under flags, on the command line or in the environment")
	}
	if s.FailRequests == nil {
		k.add(Note, FailForced, mpsField+".failRequestsGreaterThanOne", s.Pos,
			"with MPS it is true unless it is set to false (older plugins: always): a request for more than one is refused")
	}
	for i, r := range s.Resources {
		field := way{s, mpsField}.resource(i) + ".replicas"
		switch {
		case r.Replicas > mpsClients:
			k.add(Error, MPSLimit, field, r.Pos, "resource %s: %d replicas; MPS takes %d clients", nameOr(r.Name), r.Replicas, mpsClients)
		case r.Replicas > mpsOldClients:
			k.add(Note, MPSLimit, field, r.Pos, "resource %s: %d replicas; below compute capability 7.5 the device plugin takes %d at most",
				nameOr(r.Name), r.Replicas, mpsOldClients)
		}
	}
}

func (k *checker) requests(w way) {
	if w.FailRequests != nil && *w.FailRequests || w.Section == k.c.MPS && w.FailRequests == nil {
		return
	}
	k.add(Note, NotProportional, w.field+".failRequestsGreaterThanOne", w.Pos,
		"a container that asks for two replicas may get one GPU, and gets no larger part of it; true refuses such requests")
}

func (k *checker) resets(w way, i int) {
	r := w.Resources[i]
	effective := r.Name
	if w.RenameByDefault {
		effective += sharedSuffix
	}
	if r.Rename != "" && r.Rename != effective {
		k.add(Warning, RenameReset, w.resource(i)+".rename", r.RenamePos,
			"the device plugin drops %s when it starts: replicas are advertised as %s", r.Rename, effective)
	}
	if !r.Devices.All() {
		k.add(Warning, DevicesReset, w.resource(i)+".devices", r.DevicesPos,
			"the device plugin drops the selection when it starts: all devices of %s are shared", nameOr(r.Name))
	}
}

func (k *checker) twice(w way, i int) {
	r := w.Resources[i]
	first := slices.IndexFunc(w.Resources[:i], func(o Resource) bool { return o.Name == r.Name })
	if first < 0 {
		return
	}
	most := 0
	for _, o := range w.Resources {
		if o.Name == r.Name {
			most = max(most, o.Replicas)
		}
	}
	k.add(Warning, DuplicateResource, w.resource(i)+".name", r.Pos,
		"%s is there already, in entry %d: the device plugin makes %d replicas of every device, the most that an entry says",
		nameOr(r.Name), first, most)
}

var wholeProfile = regexp.MustCompile(`^mig-[0-9]+g\.[0-9]+gb`)

func (k *checker) unserved(w way, i int) {
	r := w.Resources[i]
	name := strings.TrimPrefix(r.Name, prefix)
	strategy := k.c.Flags.strategy()
	switch {
	case r.Name == "" || r.Name == resourceGPU || strategy == MIGMixed && wholeProfile.MatchString(name):
	case wholeProfile.MatchString(name):
		k.add(Warning, Unserved, w.resource(i)+".name", r.Pos,
			"with migStrategy %s nothing is advertised as %s, so the entry has no effect; it needs mixed", strategy, r.Name)
	default:
		k.add(Warning, Unserved, w.resource(i)+".name", r.Pos,
			"nothing is advertised as %s, so the entry has no effect; there is nvidia.com/gpu and, with migStrategy mixed, "+
				"nvidia.com/mig-<profile>", r.Name)
	}
}
