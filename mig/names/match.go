package names

import "strings"

// Match reports whether a profile name matches a pattern, in which "*" stands
// for any text and everything else for itself. The whole name must match:
// "1g.24gb" does not match "1g.24gb+me". Nothing is parsed, so "1c.1g.5gb" and
// "1g.5gb" are two names here.
func Match(pattern, name string) bool {
	pieces := strings.Split(pattern, "*")
	last := len(pieces) - 1
	if last == 0 {
		return pattern == name
	}
	rest, found := strings.CutPrefix(name, pieces[0])
	if !found {
		return false
	}
	// Each piece in the middle where it comes first: that leaves most for the rest.
	for _, piece := range pieces[1:last] {
		if _, rest, found = strings.Cut(rest, piece); !found {
			return false
		}
	}
	return strings.HasSuffix(rest, pieces[last])
}
