package pluginconfig

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/gpushare/gpushare/internal/yaml11"
	"github.com/gpushare/gpushare/timeslice"
)

// Parse reads a configuration, YAML or JSON, for those who accept no surprise: the
// error joins every finding of [Lint] that is an [Error] or a [Warning], and wraps
// [ErrFormat]; the Config is then nil. The name stands in messages.
func Parse(data []byte, name string) (*Config, error) {
	c, findings := Lint(data, name)
	if err := asError(name, findings, Error, Warning); err != nil {
		return nil, err
	}
	return c, nil
}

// Lint reads a configuration as the device plugin does, and says what it makes of
// it: of the text, and of the values as [Check] does. The findings are in the order
// of the file, two hundred at the most; there is always a list. The Config is nil if
// and only if one of them is an [Error]: the plugin refuses the file, or reads
// something of which nobody can tell whether it is meant (a key or a device that
// stands there twice, an empty list of devices, a second document). An empty text
// shares nothing.
func Lint(data []byte, name string) (*Config, []Finding) {
	r := &reader{}
	c := &Config{Name: name}
	if root := r.document(data); root != nil {
		r.root(c, root)
	}
	if !r.full {
		k := &checker{c: c} // what is wrong with the values, the reader has said
		k.surprises()
		r.findings = append(r.findings, k.findings...)
	}
	findings := sorted(r.findings)
	if has(findings, Error) {
		return nil, findings
	}
	return c, findings
}

func (r *reader) root(c *Config, n *yaml.Node) {
	n, ok := r.visit(n)
	if !ok {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.fail(Syntax, "", at(n), "%s instead of a map with version, flags and sharing", yaml11.Describe(n))
		return
	}
	for _, e := range r.section("", "", n) {
		switch e.known.key {
		case "version":
			if v, ok := text(e.value); !yaml11.IsNull(e.value) && (!ok || v != "" && v != Version) {
				r.fail(BadValue, e.field, at(e.value), "%s instead of %q", yaml11.Describe(e.value), Version)
			}
		case "flags":
			r.flags(&c.Flags, "flags", e)
		case "resources":
			r.patterns(c, e)
		case "sharing":
			r.sharing(c, e)
		case "imex":
			for _, e := range r.block("imex", e) {
				r.setting(e)
			}
		}
	}
}

// block returns the entries of a section that may be left empty.
func (r *reader) block(section string, e entry) []entry {
	switch {
	case yaml11.IsNull(e.value):
		return nil
	case e.value.Kind != yaml.MappingNode:
		r.fail(Syntax, e.field, at(e.value), "%s instead of a map with %s", yaml11.Describe(e.value), schema(section).names())
		return nil
	}
	return r.section(section, e.field, e.value)
}

func (r *reader) flags(f *Flags, section string, e entry) {
	for _, e := range r.block(section, e) {
		if e.known.kind == block {
			r.flags(f, section+"."+e.known.key, e)
			continue
		}
		value, ok := r.setting(e)
		if !ok {
			continue
		}
		switch e.known.key {
		case "migStrategy":
			f.MIGStrategy = MIGStrategy(value)
		case "mpsRoot":
			f.MPSRoot = value
		case "sharedDevicesAllocationPolicy":
			f.AllocationPolicy, _ = timeslice.ParsePolicy(value) // one of the known values
		}
	}
}

// setting checks the value of a key that holds no keys, and returns its text.
func (r *reader) setting(e entry) (string, bool) {
	v := e.value
	if yaml11.IsNull(v) {
		return "", false
	}
	switch e.known.kind {
	case switched:
		if _, ok := yaml11.Bool(v); !ok {
			r.fail(Syntax, e.field, at(v), "%s instead of true or false", yaml11.Describe(v))
		}
		return "", false
	case flag:
		s, ok := text(v)
		if !ok {
			r.fail(Syntax, e.field, at(v), "%s instead of a text", yaml11.Describe(v))
			return "", false
		}
		return s, r.allowed(e, s, v)
	case interval:
		r.interval(e)
	case texts:
		if v.Kind == yaml.SequenceNode {
			for _, item := range v.Content {
				r.listed(e, item)
			}
		} else {
			r.listed(e, v)
		}
	case numbers:
		r.channels(e)
	case block, list:
	}
	return "", false
}

func (r *reader) listed(e entry, item *yaml.Node) {
	v, ok := r.visit(item)
	if !ok {
		return
	}
	s, ok := text(v)
	if !ok {
		r.fail(Syntax, e.field, at(v), "%s instead of a text", yaml11.Describe(v))
		return
	}
	r.allowed(e, s, v)
}

func (r *reader) allowed(e entry, s string, v *yaml.Node) bool {
	if len(e.known.values) == 0 || slices.Contains(e.known.values, s) {
		return true
	}
	r.fail(BadValue, e.field, at(v), "%s is none of %s", yaml11.Quote(s), strings.Join(e.known.values, ", "))
	return false
}

func (r *reader) interval(e entry) {
	v := e.value
	if s, ok := text(v); ok {
		if _, err := time.ParseDuration(s); err != nil && s != "infinite" {
			r.fail(BadValue, e.field, at(v), "%s is no time such as 60s", yaml11.Quote(s))
		}
		return
	}
	if v.Kind != yaml.ScalarNode || v.ShortTag() != "!!int" && v.ShortTag() != "!!float" {
		r.fail(Syntax, e.field, at(v), "%s instead of a time such as 60s", yaml11.Describe(v))
	}
}

// channels checks the IMEX channels: none, or channel 0.
func (r *reader) channels(e entry) {
	v := e.value
	if v.Kind != yaml.SequenceNode {
		r.fail(Syntax, e.field, at(v), "%s instead of a list of numbers", yaml11.Describe(v))
		return
	}
	for i, item := range v.Content {
		n, ok := r.visit(item)
		if !ok {
			return
		}
		if id, ok := yaml11.Int(n); !ok || id != 0 || i > 0 {
			r.fail(BadValue, e.field, at(n), "%s in the list; channel 0, once, is all that is supported", yaml11.Describe(n))
			return
		}
	}
}

// items returns the entries of a list of maps.
func (r *reader) items(section string, e entry) (items []*yaml.Node) {
	if yaml11.IsNull(e.value) {
		return nil
	}
	if e.value.Kind != yaml.SequenceNode {
		r.fail(Syntax, e.field, at(e.value), "%s instead of a list", yaml11.Describe(e.value))
		return nil
	}
	for i, item := range e.value.Content {
		n, ok := r.visit(item)
		if !ok {
			return items
		}
		if n.Kind != yaml.MappingNode {
			r.fail(Syntax, element(e.field, i), at(n), "%s instead of a map with %s", yaml11.Describe(n), schema(section).names())
			n = nil
		}
		items = append(items, n)
	}
	return items
}

func element(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

// patterns reads the custom names, which matter for what is written only.
func (r *reader) patterns(c *Config, e entry) {
	for _, e := range r.block("resources", e) {
		for i, n := range r.items("resources[]", e) {
			if n == nil {
				continue
			}
			p := Pattern{MIG: e.known.key == "mig", Pos: at(n)}
			field := element(e.field, i)
			there := map[string]bool{}
			for _, e := range r.section("resources[]", field, n) {
				there[e.known.key] = true
				if e.known.key == "name" {
					p.Name = r.name(e)
				} else if s, ok := text(e.value); ok || yaml11.IsNull(e.value) {
					p.Pattern = s
				} else {
					r.fail(Syntax, e.field, at(e.value), "%s instead of a text", yaml11.Describe(e.value))
				}
			}
			for _, key := range []string{"pattern", "name"} {
				if !there[key] {
					r.fail(Missing, field, at(n), "%s is missing", key)
				}
			}
			c.Patterns = append(c.Patterns, p)
		}
	}
}
