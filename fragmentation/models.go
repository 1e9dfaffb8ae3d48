package fragmentation

import (
	"slices"
	"strings"
)

// Models is a list of GPU models, separated by vertical bars. An empty list
// accepts every node; a node without a model is accepted by no other list. Lists
// are compared as text: one in another order accepts the same nodes and yet makes
// another shape, which is counted and remembered apart. AnyOf writes a list in one
// way.
type Models string

// AnyOf returns the list of the given models, sorted and each once. Empty names
// are dropped and a name that is a list counts as its parts; without a name the
// list accepts every node.
func AnyOf(models ...string) Models {
	parts := strings.Split(strings.Join(models, "|"), "|")
	slices.Sort(parts)
	parts = slices.Compact(parts)
	if parts[0] == "" {
		parts = parts[1:]
	}
	return Models(strings.Join(parts, "|"))
}

// Accept reports whether a node with that GPU model will do.
func (m Models) Accept(model string) bool {
	rest, listed := string(m), false
	for rest != "" {
		var part string
		part, rest, _ = strings.Cut(rest, "|")
		if part == "" {
			continue
		}
		if part == model {
			return true
		}
		listed = true
	}
	return !listed
}
