package pluginconfig

import (
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"

	"github.com/gpushare/gpushare/internal/yaml11"
)

const (
	// mostNodes bounds what a file may expand to: a few lines of aliases can stand
	// for more than any memory holds.
	mostNodes = 1 << 18

	// mostFindings keeps a report readable.
	mostFindings = 200
)

// reader walks over a document and collects what is to be said about it.
type reader struct {
	nodes    int // visited so far
	full     bool
	findings []Finding
}

func (r *reader) add(s Severity, c Code, field string, p Pos, format string, args ...any) {
	if r.full {
		return
	}
	r.findings = append(r.findings, Finding{
		Severity: s, Code: c, Field: field, Line: p.Line, Column: p.Column, Message: fmt.Sprintf(format, args...),
	})
	if len(r.findings) == mostFindings {
		r.full = true
		r.findings = append(r.findings, Finding{
			Severity: Error, Code: Syntax, Line: p.Line, Column: p.Column, Message: "more findings are not listed",
		})
	}
}

func (r *reader) fail(c Code, field string, p Pos, format string, args ...any) {
	r.add(Error, c, field, p, format, args...)
}

// visit counts a node and returns what it is an alias of. It is false when the
// document has become too large.
func (r *reader) visit(n *yaml.Node) (*yaml.Node, bool) {
	r.nodes++
	if r.nodes > mostNodes {
		if r.nodes == mostNodes+1 {
			r.fail(Syntax, "", at(n), "the aliases of the file stand for more than %d values", mostNodes)
			r.full = true
		}
		return n, false
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n, true
}

func at(n *yaml.Node) Pos { return Pos{Line: n.Line, Column: n.Column} }

// document returns the root of the only document, or nil for a text without any.
func (r *reader) document(data []byte) *yaml.Node {
	root, fault := yaml11.Document(data, "the device plugin")
	if fault != nil {
		r.fail(Syntax, "", Pos{fault.Line, fault.Column}, "%s", fault.Message)
		return nil
	}
	if root == nil {
		return nil
	}
	if n := contained(root, map[*yaml.Node]bool{}); n != nil {
		r.fail(Syntax, "", at(n), "%s stands within the value that it is an alias of", yaml11.Quote("*"+n.Value))
		return nil
	}
	return root
}

// contained returns the first alias of a value that it is part of; nil if there is
// none. An anchor stands before its aliases, so that no other way leads in a circle.
func contained(n *yaml.Node, around map[*yaml.Node]bool) *yaml.Node {
	if n.Kind == yaml.AliasNode && around[n.Alias] {
		return n
	}
	around[n] = true
	defer delete(around, n)
	for _, child := range n.Content {
		if found := contained(child, around); found != nil {
			return found
		}
	}
	return nil
}

// pair is a key of a mapping with its value, aliases resolved.
type pair struct {
	key   string
	at    Pos
	value *yaml.Node
}

// pairs returns the keys of a mapping in the order of the file, those that it
// merges in ("<<") behind them. A key twice is an error, since nobody can tell which
// is meant; the plugin takes the last.
func (r *reader) pairs(field string, n *yaml.Node) []pair {
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
			r.fail(Syntax, field, at(n.Content[i]), "a key must be a text")
			continue
		}
		if first, twice := own[name]; twice {
			r.fail(DuplicateKey, join(field, name), at(n.Content[i]),
				"%s stands there twice, first in line %d; the device plugin takes the last", yaml11.Quote(name), first.Line)
			continue
		}
		own[name] = at(n.Content[i])
		v, ok := r.visit(n.Content[i+1])
		if !ok {
			return nil
		}
		list = append(list, pair{name, at(n.Content[i]), v})
	}
	for _, m := range merges {
		list = r.merge(list, own, field, m)
	}
	return list
}

// merge adds the keys of a mapping, or of a list of mappings, that are not there
// yet.
func (r *reader) merge(into []pair, have map[string]Pos, field string, n *yaml.Node) []pair {
	from, ok := r.visit(n)
	if !ok {
		return into
	}
	switch from.Kind {
	case yaml.SequenceNode:
		for _, item := range from.Content {
			into = r.merge(into, have, field, item)
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
			v, ok := r.visit(from.Content[i+1])
			if !ok {
				return into
			}
			have[name] = at(key)
			into = append(into, pair{name, at(key), v})
		}
		for _, m := range deeper {
			into = r.merge(into, have, field, m)
		}
	default:
		r.fail(Syntax, field, at(n), "a merge key needs a map or a list of maps")
	}
	return into
}

// join makes the name of a field in a field; a key that could be taken for more
// than one, or makes lines long, is quoted.
func join(field, key string) string {
	if !plainKey.MatchString(key) {
		key = yaml11.Quote(key)
	}
	if field == "" {
		return key
	}
	return field + "." + key
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// text reads a text that is one: where the plugin refuses numbers and booleans.
func text(n *yaml.Node) (string, bool) {
	// What looks like a time is a text in JSON.
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" && n.ShortTag() != "!!timestamp" {
		return "", false
	}
	if _, isBool := yaml11.Bool(n); isBool {
		return "", false
	}
	return n.Value, true
}
