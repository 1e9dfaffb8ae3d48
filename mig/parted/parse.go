package parted

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/gpushare/gpushare/internal/yaml11"
)

// Parse reads a configuration from YAML or JSON. The name is that of the file,
// for messages. An empty text has no labels and is accepted.
//
// Everything that mig-parted refuses is refused, and four things that it reads in
// silence: a key that stands twice, a second document, null in a list, and UTF-16.
// Profiles need only be well formed, and filters may be any text: whether a GPU
// offers the one and has the other is what Lint and Select say. A label without
// quotes is what YAML 1.1 makes of it, as for mig-parted: the label off is called
// "false".
//
// The error joins a *SyntaxError, which wraps ErrFormat, for every problem found,
// in the order of the file and up to a hundred; the Config is then nil.
func Parse(data []byte, name string) (*Config, error) {
	c, problems := parse(data, name)
	if problems != nil {
		r := reader{problems: problems}
		return nil, r.err()
	}
	return c, nil
}

// parse returns what could be read: every label of which at least one entry is
// right.
func parse(data []byte, name string) (*Config, []*SyntaxError) {
	r := &reader{file: name}
	c := &Config{Name: name}
	if root := r.document(data); root != nil {
		r.root(c, root)
	}
	slices.SortStableFunc(r.problems, func(a, b *SyntaxError) int { return a.Pos.compare(b.Pos) })
	return c, r.problems
}

func (r *reader) root(c *Config, n *yaml.Node) {
	n, ok := r.visit(n)
	if !ok {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.fail(at(n), "%s instead of a map with version and mig-configs", yaml11.Describe(n))
		return
	}
	hasVersion := false
	for _, p := range r.pairs(n) {
		r.field = p.key
		switch p.key {
		case "version":
			hasVersion = true
			r.version(p.value)
		case "mig-configs":
			r.labels(c, p.value)
		default:
			r.field = ""
			r.fail(p.at, "unexpected field %q; version and mig-configs are known", p.key)
		}
		r.field = ""
	}
	if !hasVersion {
		r.fail(at(n), "missing field \"version\"")
	}
}

func (r *reader) version(n *yaml.Node) {
	n, ok := r.visit(n)
	if !ok {
		return
	}
	if s, ok := text(n); !ok || s != Version {
		r.fail(at(n), "%s instead of %q", yaml11.Describe(n), Version)
	}
}

func (r *reader) labels(c *Config, n *yaml.Node) {
	v, ok := r.visit(n)
	if !ok {
		return
	}
	if v.Kind != yaml.MappingNode && !yaml11.IsNull(v) {
		r.fail(at(v), "%s instead of a map of labels", yaml11.Describe(v))
		return
	}
	pairs := r.pairs(v)
	if len(v.Content) == 0 {
		r.fail(at(v), "at least one label is needed")
	}
	for _, p := range pairs {
		r.label, r.field = p.key, ""
		l := Label{Name: p.key, Pos: p.at}
		entries, ok := r.visit(p.value)
		switch {
		case !ok:
			return
		case entries.Kind == yaml.SequenceNode && len(entries.Content) > 0:
			for _, item := range entries.Content {
				if e, ok := r.entry(item); ok {
					l.Entries = append(l.Entries, e)
				}
			}
		case entries.Kind == yaml.SequenceNode || yaml11.IsNull(entries):
			r.fail(p.at, "at least one entry is needed")
		default:
			r.fail(at(entries), "%s instead of a list of entries", yaml11.Describe(entries))
		}
		if len(l.Entries) > 0 {
			c.Labels = append(c.Labels, l)
		}
		r.label = ""
	}
}
