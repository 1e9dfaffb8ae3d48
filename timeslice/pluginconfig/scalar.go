package pluginconfig

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// keyText returns a key as the text that it becomes in JSON: the plugin turns its
// input into JSON first.
func keyText(n *yaml.Node) (string, bool) {
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
		if v, ok := boolean(n); ok {
			return strconv.FormatBool(v), true
		}
	}
	return n.Value, true
}

// boolean reads true and false, and without quotes also yes, no, on and off: the
// plugin reads YAML 1.1.
func boolean(n *yaml.Node) (value, ok bool) {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle | yaml.TaggedStyle
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode || tag != "!!bool" && (tag != "!!str" || n.Style&quoted != 0) {
		return false, false
	}
	err := n.Decode(&value)
	return value, err == nil
}

// text reads a text that is one: where the plugin refuses numbers and booleans.
func text(n *yaml.Node) (string, bool) {
	// What looks like a time is a text in JSON.
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" && n.ShortTag() != "!!timestamp" {
		return "", false
	}
	if _, isBool := boolean(n); isBool {
		return "", false
	}
	return n.Value, true
}

// integer reads a whole number, also in the form 7.0: in JSON that is 7.
func integer(n *yaml.Node) (int, bool) {
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

// describe says what a value is, for messages.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		if isNull(n) {
			return "nothing"
		}
		if n.ShortTag() == "!!str" {
			return "the text " + quote(n.Value)
		}
		return fmt.Sprintf("%s %s", strings.TrimPrefix(n.ShortTag(), "!!"), clip(n.Value))
	default:
		return "something else"
	}
}

func quote(s string) string { return strconv.Quote(clip(s)) }

// clip keeps messages short.
func clip(s string) string {
	const most = 80
	if utf8.RuneCountInString(s) > most {
		return string([]rune(s)[:most]) + "…"
	}
	return s
}
