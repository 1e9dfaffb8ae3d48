package yaml11

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// IsNull reports whether a value is there and says nothing.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// Key returns a key as the text that it becomes in JSON.
func Key(n *yaml.Node) (string, bool) {
	if n.Kind != yaml.ScalarNode {
		return "", false
	}
	switch n.ShortTag() {
	case "!!null", "!!binary", "!!merge":
		return "", false
	case "!!int":
		var v int64
		if n.Decode(&v) == nil {
			return strconv.FormatInt(v, 10), true
		}
	case "!!float":
		var v float64
		if n.Decode(&v) == nil {
			return strconv.FormatFloat(v, 'g', -1, 64), true
		}
	default:
		if v, ok := Bool(n); ok {
			return strconv.FormatBool(v), true
		}
	}
	return n.Value, true
}

// Bool reads true and false, and without quotes also yes, no, on and off.
func Bool(n *yaml.Node) (value, ok bool) {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.TaggedStyle
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode || tag != "!!bool" && (tag != "!!str" || n.Style&quoted != 0) {
		return false, false
	}
	err := n.Decode(&value)
	return value, err == nil
}

// Int reads a whole number, also in the form 7.0: in JSON that is 7.
func Int(n *yaml.Node) (int, bool) {
	const most = 1 << 53
	var v int
	var f float64
	switch {
	case n.Kind != yaml.ScalarNode:
		return 0, false
	case n.ShortTag() == "!!int":
		err := n.Decode(&v)
		return v, err == nil
	case n.ShortTag() == "!!float" && n.Decode(&f) == nil && f == math.Trunc(f) && math.Abs(f) < most:
		return int(f), true
	}
	return 0, false
}

// Describe says what a value is, for messages.
func Describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		if IsNull(n) {
			return "nothing"
		}
		if n.ShortTag() == "!!str" {
			return "the text " + Quote(n.Value)
		}
		return fmt.Sprintf("%s %s", strings.TrimPrefix(n.ShortTag(), "!!"), clip(n.Value))
	default:
		return "something else"
	}
}

// Quote quotes a text for a message, and keeps it short.
func Quote(s string) string { return strconv.Quote(clip(s)) }

// clip keeps messages short.
func clip(s string) string {
	const most = 80
	if utf8.RuneCountInString(s) > most {
		return string([]rune(s)[:most]) + "…"
	}
	return s
}
