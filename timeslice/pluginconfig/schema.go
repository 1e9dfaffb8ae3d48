package pluginconfig

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kind is what the plugin takes as the value of a key.
type kind uint8

const (
	block    kind = iota // a map with a schema of its own, or nothing
	flag                 // a text
	switched             // true or false
	interval             // a text with a unit, or nanoseconds
	texts                // a text, or a list of them
	numbers              // a list of whole numbers
	list                 // of maps, or nothing
)

// known is a key that is read, and the texts that are accepted, if not all are.
type known struct {
	key    string
	kind   kind
	values []string
}

// sectionSchema is one that the plugin reads with or without regard to case.
type sectionSchema struct {
	exact bool
	keys  []known
}

const (
	timeSlicingField = "sharing.timeSlicing"
	mpsField         = "sharing.mps"
)

// schema returns the keys of a section. "[]" stands for the entries of a list.
func schema(section string) sectionSchema {
	switch section {
	case "":
		return sectionSchema{keys: []known{
			{key: "version", kind: flag},
			{key: "flags", kind: block},
			{key: "resources", kind: block},
			{key: "sharing", kind: block},
			{key: "imex", kind: block},
		}}
	case "flags":
		return sectionSchema{keys: []known{
			{key: "migStrategy", kind: flag, values: []string{"none", "single", "mixed"}},
			{key: "failOnInitError", kind: switched},
			{key: "mpsRoot", kind: flag},
			{key: "nvidiaDriverRoot", kind: flag},
			{key: "nvidiaDevRoot", kind: flag},
			{key: "gdrcopyEnabled", kind: switched},
			{key: "gdsEnabled", kind: switched},
			{key: "mofedEnabled", kind: switched},
			{key: "useNodeFeatureAPI", kind: switched},
			{key: "deviceDiscoveryStrategy", kind: flag, values: []string{"auto", "nvml", "tegra"}},
			{key: "plugin", kind: block},
			{key: "gfd", kind: block},
		}}
	case "flags.plugin":
		return sectionSchema{keys: []known{
			{key: "passDeviceSpecs", kind: switched},
			{key: "deviceListStrategy", kind: texts, values: []string{"envvar", "volume-mounts", "cdi-annotations", "cdi-cri"}},
			{key: "deviceIDStrategy", kind: flag, values: []string{"uuid", "index"}},
			{key: "cdiAnnotationPrefix", kind: flag},
			{key: "nvidiaCTKPath", kind: flag},
			{key: "containerDriverRoot", kind: flag},
			{key: "sharedDevicesAllocationPolicy", kind: flag, values: []string{"distributed", "packed"}},
		}}
	case "flags.gfd":
		return sectionSchema{keys: []known{
			{key: "oneshot", kind: switched},
			{key: "noTimestamp", kind: switched},
			{key: "sleepInterval", kind: interval},
			{key: "outputFile", kind: flag},
			{key: "machineTypeFile", kind: flag},
		}}
	case "resources":
		return sectionSchema{keys: []known{{key: "gpus", kind: list}, {key: "mig", kind: list}}}
	case "resources[]":
		return sectionSchema{exact: true, keys: []known{{key: "pattern", kind: flag}, {key: "name", kind: flag}}}
	case "sharing":
		return sectionSchema{keys: []known{{key: "timeSlicing", kind: block}, {key: "mps", kind: block}}}
	case "sharing.":
		return sectionSchema{exact: true, keys: []known{
			{key: "renameByDefault", kind: switched},
			{key: "failRequestsGreaterThanOne", kind: switched},
			{key: "resources", kind: list},
		}}
	case "sharing.[]":
		return sectionSchema{exact: true, keys: []known{
			{key: "name", kind: flag}, {key: "rename", kind: flag}, {key: "devices", kind: flag}, {key: "replicas", kind: flag},
		}}
	case "imex":
		return sectionSchema{keys: []known{{key: "channelIDs", kind: numbers}, {key: "required", kind: switched}}}
	}
	return sectionSchema{}
}

// homes lists the sections whose keys are looked for elsewhere, in words.
func homes() []struct{ section, name string } {
	return []struct{ section, name string }{
		{"", "the top level"},
		{"flags", "flags"},
		{"flags.plugin", "flags.plugin"},
		{"flags.gfd", "flags.gfd"},
		{"sharing", "sharing"},
		{"sharing.", timeSlicingField + " or " + mpsField},
		{"sharing.[]", "an entry of the resources of " + timeSlicingField + " or " + mpsField},
		{"resources", "resources at the top level"},
		{"imex", "imex"},
	}
}

func (s sectionSchema) names() string {
	var names []string
	for _, k := range s.keys {
		names = append(names, k.key)
	}
	return strings.Join(names, ", ")
}

// find returns the key that the plugin reads for a name.
func (s sectionSchema) find(name string) (known, bool) {
	for _, k := range s.keys {
		if k.key == name || !s.exact && strings.EqualFold(k.key, name) {
			return k, true
		}
	}
	return known{}, false
}

// entry is a value of a section under the name that it is read by.
type entry struct {
	pair
	known known
	field string
}

// section returns what the plugin reads of a map, and tells about the rest.
func (r *reader) section(section, field string, n *yaml.Node) []entry {
	s := schema(section)
	var entries []entry
	for _, p := range r.pairs(field, n) {
		k, ok := s.find(p.key)
		if !ok {
			r.unread(section, s, field, p)
			continue
		}
		if i := slices.IndexFunc(entries, func(e entry) bool { return e.known.key == k.key }); i >= 0 {
			r.fail(DuplicateKey, join(field, p.key), p.at,
				"the device plugin reads this as %s, which stands in line %d too", k.key, entries[i].at.Line)
			continue
		}
		if k.key != p.key {
			r.add(Note, WrongCase, join(field, p.key), p.at,
				"it is written %s; the device plugin reads it all the same, others need not", k.key)
		}
		entries = append(entries, entry{p, k, join(field, k.key)})
	}
	return entries
}

// unread tells about a key that the plugin ignores, and where it belongs.
func (r *reader) unread(section string, s sectionSchema, field string, p pair) {
	for _, k := range s.keys {
		if strings.EqualFold(k.key, p.key) {
			r.add(Warning, WrongCase, join(field, p.key), p.at, "the device plugin ignores it: it is written %s", k.key)
			return
		}
	}
	if found, key := elsewhere(section, p.key); found != "" {
		r.add(Warning, WrongParent, join(field, p.key), p.at,
			"the device plugin ignores it here: %s belongs under %s", key, found)
		return
	}
	hint := "; it knows " + s.names()
	for _, k := range s.keys {
		if near(strings.ToLower(k.key), strings.ToLower(p.key)) {
			hint = "; " + k.key + " may be meant"
		}
	}
	r.add(Warning, UnknownKey, join(field, p.key), p.at, "the device plugin ignores this key%s", hint)
}

// elsewhere names the sections that know a key, and how they write it.
func elsewhere(section, name string) (found, key string) {
	for _, home := range homes() {
		for _, k := range schema(home.section).keys {
			if home.section == section || !strings.EqualFold(k.key, name) {
				continue
			}
			if found != "" {
				found += ", or "
			}
			found, key = found+home.name, k.key
		}
	}
	return found, key
}

// near reports whether two keys differ by two letters at most.
func near(a, b string) bool {
	const most = 2
	if len(a) > len(b)+most || len(b) > len(a)+most {
		return false
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)] <= most && len(b) > 3
}
