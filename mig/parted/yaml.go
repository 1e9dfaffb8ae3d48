package parted

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/gpushare/gpushare/internal/yaml11"
)

// mostNodes bounds what a file may expand to: a few lines of aliases can stand
// for more than any memory holds.
const mostNodes = 1 << 18

// reader walks over a document and collects what is wrong with it.
type reader struct {
	file     string
	label    string // where the walk is
	field    string
	nodes    int // visited so far
	problems []*SyntaxError
	full     bool // more problems are not collected
}

// mostProblems keeps a report readable.
const mostProblems = 100

func (r *reader) fail(at Pos, format string, args ...any) {
	if r.full {
		return
	}
	r.problems = append(r.problems, &SyntaxError{
		File: r.file, Pos: at, Label: r.label, Field: r.field, Message: fmt.Sprintf(format, args...),
	})
	r.full = len(r.problems) == mostProblems
}

func (r *reader) err() error {
	var errs []error
	for _, p := range r.problems {
		errs = append(errs, p)
	}
	return errors.Join(errs...)
}

// visit counts a node and returns what it is an alias of. It is false when the
// document has become too large.
func (r *reader) visit(n *yaml.Node) (*yaml.Node, bool) {
	r.nodes++
	if r.nodes > mostNodes {
		if r.nodes == mostNodes+1 {
			r.fail(at(n), "the aliases of the file stand for more than %d values", mostNodes)
			r.full = true
		}
		return n, false
	}
	for range 2 {
		if n.Kind == yaml.AliasNode && n.Alias != nil {
			n = n.Alias
		}
	}
	return n, true
}

func at(n *yaml.Node) Pos { return Pos{Line: n.Line, Column: n.Column} }

// document returns the root of the only document, or nil for a text without any.
func (r *reader) document(data []byte) *yaml.Node {
	root, fault := yaml11.Document(data, "mig-parted")
	if fault != nil {
		r.fail(Pos{fault.Line, fault.Column}, "%s", fault.Message)
	}
	return root
}

// pair is a key of a mapping with its value.
type pair struct {
	key   string
	at    Pos
	value *yaml.Node
}

// pairs returns the keys of a mapping in the order of the file, those that it
// merges in ("<<") behind them. A key twice is a problem: mig-parted would take
// the last.
func (r *reader) pairs(n *yaml.Node) []pair {
	var list []pair
	own := map[string]Pos{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, ok := r.visit(n.Content[i])
		if !ok {
			return nil
		}
		if key.ShortTag() == "!!merge" {
			merges = append(merges, n.Content[i+1])
			continue
		}
		name, ok := yaml11.Key(key)
		if !ok {
			r.fail(at(key), "a key must be a text")
			continue
		}
		if first, twice := own[name]; twice {
			r.fail(at(n.Content[i]), "%q stands there twice, first in line %d", name, first.Line)
			continue
		}
		own[name] = at(n.Content[i])
		list = append(list, pair{name, at(n.Content[i]), n.Content[i+1]})
	}
	for _, m := range merges {
		list = r.merge(list, own, m, 0)
	}
	return list
}

// merge adds the keys of a mapping, or of a list of mappings, that are not there
// yet.
func (r *reader) merge(into []pair, have map[string]Pos, n *yaml.Node, depth int) []pair {
	// A mapping can merge in itself.
	const mostDepth = 32
	from, ok := r.visit(n)
	if !ok {
		return into
	}
	if depth > mostDepth {
		r.fail(at(n), "merge keys are nested too deeply")
		return into
	}
	switch from.Kind {
	case yaml.SequenceNode:
		for _, item := range from.Content {
			into = r.merge(into, have, item, depth+1)
		}
	case yaml.MappingNode:
		var deeper []*yaml.Node
		for i := 0; i+1 < len(from.Content); i += 2 {
			key, ok := r.visit(from.Content[i])
			if !ok {
				return into
			}
			if key.ShortTag() == "!!merge" {
				deeper = append(deeper, from.Content[i+1])
				continue
			}
			name, ok := yaml11.Key(key)
			if _, there := have[name]; !ok || there {
				continue // a bad key is reported where the mapping stands
			}
			have[name] = at(key)
			into = append(into, pair{name, at(key), from.Content[i+1]})
		}
		for _, m := range deeper {
			into = r.merge(into, have, m, depth+1)
		}
	default:
		r.fail(at(n), "a merge key needs a map or a list of maps")
	}
	return into
}

// text reads a string.
func text(n *yaml.Node) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return "", false
	}
	return n.Value, true
}
