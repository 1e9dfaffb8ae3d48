package parted

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gpushare/gpushare/internal/yaml11"
)

// entry returns an entry, and whether it is right.
func (r *reader) entry(item *yaml.Node) (Entry, bool) {
	n, ok := r.visit(item)
	if !ok {
		return Entry{}, false
	}
	r.field = ""
	if n.Kind != yaml.MappingNode {
		r.fail(at(n), "%s instead of an entry, which is a map with devices and mig-enabled", yaml11.Describe(n))
		return Entry{}, false
	}
	before := len(r.problems)
	e := Entry{Pos: at(item)}
	var hasDevices, hasEnabled, hasInstances bool
	instancesAt := at(item)
	for _, p := range r.pairs(n) {
		v, ok := r.visit(p.value)
		if !ok {
			return Entry{}, false
		}
		r.field = p.key
		switch p.key {
		case "device-filter":
			e.Filters = r.filters(v)
		case "devices":
			hasDevices = true
			e.All, e.Devices = r.devices(v)
		case "mig-enabled":
			hasEnabled = true
			if e.Enabled, ok = yaml11.Bool(v); !ok && !yaml11.IsNull(v) {
				r.fail(at(v), "%s instead of true or false", yaml11.Describe(v))
			}
		case "mig-devices":
			hasInstances, instancesAt = !yaml11.IsNull(v), p.at
			e.Instances = r.instances(v)
		default:
			r.field = ""
			r.fail(p.at, "unexpected field %q; device-filter, devices, mig-enabled and mig-devices are known", p.key)
		}
		r.field = ""
	}
	for _, f := range []struct {
		name  string
		there bool
	}{{"devices", hasDevices}, {"mig-enabled", hasEnabled}} {
		if !f.there {
			r.fail(at(item), "missing field %q", f.name)
		}
	}
	if hasEnabled && len(r.problems) == before {
		r.field = "mig-devices"
		if e.Enabled && !hasInstances {
			r.fail(at(item), "missing, and needed where mig-enabled is true; {} asks for no instances")
		}
		if !e.Enabled && len(e.Instances) > 0 {
			r.fail(instancesAt, "not allowed where mig-enabled is false")
		}
		r.field = ""
	}
	return e, len(r.problems) == before && !r.full
}

func (r *reader) filters(n *yaml.Node) []Filter {
	if yaml11.IsNull(n) {
		return nil
	}
	if s, ok := text(n); ok {
		if s == "" {
			return nil
		}
		return []Filter{{Text: s, Pos: at(n)}}
	}
	if n.Kind != yaml.SequenceNode {
		hint := ""
		if n.Kind == yaml.ScalarNode && strings.HasPrefix(n.Value, "0x") {
			hint = "; put it in quotes"
		}
		r.fail(at(n), "%s instead of a text or a list of texts%s", yaml11.Describe(n), hint)
		return nil
	}
	var all []Filter
	for _, item := range n.Content {
		v, ok := r.visit(item)
		if !ok {
			return nil
		}
		s, ok := text(v)
		if !ok {
			r.fail(at(item), "%s in the list instead of a text in quotes", yaml11.Describe(v))
			continue
		}
		all = append(all, Filter{Text: s, Pos: at(item)})
	}
	return all
}

func (r *reader) devices(n *yaml.Node) (all bool, indices []int) {
	if s, ok := text(n); ok && s == "all" {
		return true, nil
	}
	if n.Kind != yaml.SequenceNode {
		r.fail(at(n), "%s instead of all or a list of indices", yaml11.Describe(n))
		return false, nil
	}
	for _, item := range n.Content {
		v, ok := r.visit(item)
		if !ok {
			return false, nil
		}
		i, ok := yaml11.Int(v)
		if !ok {
			r.fail(at(item), "%s in the list instead of the index of a GPU", yaml11.Describe(v))
			continue
		}
		indices = append(indices, i)
	}
	return false, indices
}

func (r *reader) instances(n *yaml.Node) []Count {
	if yaml11.IsNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.fail(at(n), "%s instead of a map from profiles to counts", yaml11.Describe(n))
		return nil
	}
	before := len(r.problems)
	var all []Count
	positive := false
	for _, p := range r.pairs(n) {
		v, ok := r.visit(p.value)
		if !ok {
			return nil
		}
		if _, err := parseName(p.key); err != nil {
			r.fail(p.at, "profile %q: %v", p.key, err)
			continue
		}
		count, ok := yaml11.Int(v)
		switch {
		case yaml11.IsNull(v):
			count = 0 // as JSON reads it
		case !ok:
			r.fail(at(v), "%s: %s instead of a count", p.key, yaml11.Describe(v))
			continue
		case count < 0:
			r.fail(at(v), "%s: count %d is negative", p.key, count)
			continue
		}
		positive = positive || count > 0
		all = append(all, Count{Profile: p.key, Count: count, Pos: p.at})
	}
	if len(all) > 0 && !positive && len(r.problems) == before {
		r.fail(at(n), "all counts are zero; {} asks for no instances")
	}
	return all
}
