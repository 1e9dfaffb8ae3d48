package parted

import (
	"bytes"
	"fmt"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// writeJSON writes a tree as JSON, in its order, which a map of encoding/json
// would lose. The line is a line break with the indentation so far.
func writeJSON(b *bytes.Buffer, n *yaml.Node, line string) {
	open, end, step := byte('['), byte(']'), 1
	switch n.Kind {
	case yaml.MappingNode:
		open, end, step = '{', '}', 2
	case yaml.SequenceNode:
	default:
		if n.Tag == "!!str" {
			quoteJSON(b, n.Value)
		} else {
			b.WriteString(n.Value)
		}
		return
	}
	flow := n.Style == yaml.FlowStyle
	deeper := line + "  "
	b.WriteByte(open)
	for i := 0; i < len(n.Content); i += step {
		if i > 0 {
			b.WriteByte(',')
		}
		switch {
		case !flow:
			b.WriteString(deeper)
		case i > 0:
			b.WriteByte(' ')
		}
		writeJSON(b, n.Content[i], deeper)
		if step == 2 {
			b.WriteString(": ")
			writeJSON(b, n.Content[i+1], deeper)
		}
	}
	if !flow && len(n.Content) > 0 {
		b.WriteString(line)
	}
	b.WriteByte(end)
}

// quoteJSON escapes more than JSON asks for: YAML, as which the text will be
// read, does not take every character as it is, nor pairs of surrogates.
func quoteJSON(b *bytes.Buffer, s string) {
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c > 0xFFFF || c == ' ' || unicode.IsPrint(c):
			b.WriteRune(c)
		default:
			fmt.Fprintf(b, "\\u%04x", c)
		}
	}
	b.WriteByte('"')
}
