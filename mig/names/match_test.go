package names_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig/names"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true},
		{"", "1g.5gb", false},
		{"*", "", true},
		{"*", "1g.24gb+me.all", true},
		{"**", "1g.5gb", true},
		{"1g.5gb", "1g.5gb", true},
		{"1g.5gb", "1g.5gb+me", false},
		{"1g.5gb", "1c.1g.5gb", false}, // text, not meaning
		{"1g.*", "11g.5gb", false},
		{"1g.*+me", "1g.5gb+me", true},
		{"1g.*+me", "1g.5gb+me.all", false},
		{"*me", "1g.5gb-me", true},
		{"*g.*gb", "3g.20gb", true},
		{"*g*g*", "g", false},
		{"ab*ab", "ab", false}, // the ends may not overlap
		{"ab*ab", "abab", true},
		{"*a*ab", "aab", true},
		{"1g?5gb", "1g.5gb", false}, // only the star is special
		{"1g.5gb", "1gx5gb", false},
		{"[1-3]g.*", "1g.5gb", false},
	} {
		assert.Equal(t, c.want, names.Match(c.pattern, c.name), "%q %q", c.pattern, c.name)
	}
}

// matches is Match from its definition: a star stands for nothing, or for one
// character and then for more.
func matches(pattern, name string) bool {
	switch {
	case pattern == "":
		return name == ""
	case pattern[0] == '*':
		return matches(pattern[1:], name) || name != "" && matches(pattern, name[1:])
	default:
		return name != "" && pattern[0] == name[0] && matches(pattern[1:], name[1:])
	}
}

func TestMatchAsDefined(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*]{0,8}`).Draw(t, "pattern")
		name := rapid.StringMatching(`[ab]{0,8}`).Draw(t, "name")
		assert.Equal(t, matches(pattern, name), names.Match(pattern, name))
	})
}
