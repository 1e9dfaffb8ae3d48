package pluginconfig

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gpushare/gpushare/internal/yaml11"
)

func (r *reader) sharing(c *Config, e entry) {
	for _, e := range r.block("sharing", e) {
		// Nothing instead of a section is an empty one for time-slicing, which the
		// plugin refuses, and none at all for MPS.
		if e.known.key == "mps" {
			if !yaml11.IsNull(e.value) {
				c.MPS = r.replicated(e)
			}
			continue
		}
		c.TimeSlicing = r.replicated(e)
	}
}

func (r *reader) replicated(e entry) *Section {
	s := &Section{Pos: e.at}
	here, hasResources := e, false
	for _, e := range r.block("sharing.", e) {
		switch e.known.key {
		case "renameByDefault":
			s.RenameByDefault = r.truth(e)
		case "failRequestsGreaterThanOne":
			if !yaml11.IsNull(e.value) {
				v := r.truth(e)
				s.FailRequests = &v
			}
		case "resources":
			hasResources = !yaml11.IsNull(e.value)
			for i, n := range r.items("sharing.[]", e) {
				if n != nil {
					s.Resources = append(s.Resources, r.resource(element(e.field, i), n))
				}
			}
			if e.value.Kind == yaml.SequenceNode && len(e.value.Content) == 0 {
				r.fail(Missing, e.field, at(e.value), "at least one resource is needed")
			}
		}
	}
	if !hasResources && (yaml11.IsNull(here.value) || here.value.Kind == yaml.MappingNode) {
		r.fail(Missing, here.field, here.at, "resources is missing: at least one is needed")
	}
	return s
}

func (r *reader) truth(e entry) bool {
	v, ok := yaml11.Bool(e.value)
	if !ok && !yaml11.IsNull(e.value) {
		r.fail(Syntax, e.field, at(e.value), "%s instead of true or false", yaml11.Describe(e.value))
	}
	return v
}

func (r *reader) resource(field string, n *yaml.Node) Resource {
	res := Resource{Pos: at(n)}
	there := map[string]bool{}
	for _, e := range r.section("sharing.[]", field, n) {
		there[e.known.key] = true
		switch e.known.key {
		case "name":
			res.Name, res.Pos = r.name(e), e.at
		case "rename":
			res.Rename, res.RenamePos = r.name(e), e.at
		case "devices":
			res.Devices, res.DevicesPos = r.devices(e), e.at
		case "replicas":
			v, ok := yaml11.Int(e.value)
			if !ok && !yaml11.IsNull(e.value) {
				r.fail(Syntax, e.field, at(e.value), "resource %s: %s instead of a whole number", nameOr(res.Name), yaml11.Describe(e.value))
				v = minReplicas
			} else if v < minReplicas {
				r.fail(BadValue, e.field, at(e.value), "resource %s: %d replicas; at least %d are needed, for MPS too",
					nameOr(res.Name), v, minReplicas)
			}
			res.Replicas = v
		}
	}
	for _, key := range []string{"name", "replicas"} {
		if !there[key] {
			r.fail(Missing, field, at(n), "resource %s: %s is missing", nameOr(res.Name), key)
		}
	}
	return res
}

func nameOr(name string) string {
	if name == "" {
		return "without a name"
	}
	return name
}

// name reads a resource name and puts the prefix before it.
func (r *reader) name(e entry) string {
	s, ok := text(e.value)
	if !ok && !yaml11.IsNull(e.value) {
		r.fail(Syntax, e.field, at(e.value), "%s instead of a resource name", yaml11.Describe(e.value))
		return ""
	}
	full := s
	if !strings.HasPrefix(full, prefix) {
		full = prefix + full
	}
	if problem := badName(full); problem != "" {
		r.fail(BadName, e.field, at(e.value), "%s: %s", yaml11.Quote(s), problem)
		return ""
	}
	if full != s {
		r.add(Note, PrefixAdded, e.field, at(e.value), "%s is read as %s", yaml11.Quote(s), full)
	}
	return full
}

// badName says what is wrong with a resource name, which has its prefix.
func badName(full string) string {
	const most = 63
	if len(full) > most {
		return "more than 63 characters with its prefix"
	}
	for label := range strings.SplitSeq(strings.TrimPrefix(full, prefix), ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return "not of labels divided by dots, each with a letter or digit at both ends"
		}
		for _, c := range []byte(label) {
			if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
				return "only small letters, digits, dashes and dots can stand behind " + prefix
			}
		}
	}
	return ""
}

func (r *reader) devices(e entry) Devices {
	v := e.value
	if s, ok := text(v); ok && s == "all" {
		return Devices{}
	}
	if n, ok := yaml11.Int(v); ok {
		if n <= 0 {
			r.fail(BadValue, e.field, at(v), "a count of %d devices; at least 1 is needed", n)
			return Devices{}
		}
		return Devices{Count: n}
	}
	if v.Kind != yaml.SequenceNode {
		r.fail(BadValue, e.field, at(v), "%s instead of all, a count or a list of devices", yaml11.Describe(v))
		return Devices{}
	}
	if len(v.Content) == 0 {
		r.fail(BadValue, e.field, at(v), "an empty list selects no device, and the device plugin takes it for all of them")
	}
	var d Devices
	first := map[string]Pos{}
	for i, item := range v.Content {
		n, ok := r.visit(item)
		if !ok {
			return Devices{}
		}
		ref, ok := deviceRef(n)
		if yaml11.IsNull(n) {
			r.fail(BadValue, element(e.field, i), at(n), "nothing in a list of devices, which the device plugin reads as GPU 0")
			continue
		}
		if !ok {
			r.fail(BadValue, element(e.field, i), at(n),
				"%s is neither an index such as 0, an index of a MIG device such as 0:1, nor a UUID", yaml11.Describe(n))
			continue
		}
		if p, twice := first[ref]; twice {
			r.fail(DuplicateDevice, element(e.field, i), at(n), "device %s stands there twice, first in line %d", ref, p.Line)
			continue
		}
		first[ref] = at(n)
		d.List = append(d.List, ref)
	}
	return d
}

// deviceRef reads a reference to a device, in its shortest form.
func deviceRef(n *yaml.Node) (string, bool) {
	if i, ok := yaml11.Int(n); ok {
		return shortRef(itoa(i))
	}
	s, ok := text(n)
	if !ok {
		return "", false
	}
	return shortRef(s)
}
