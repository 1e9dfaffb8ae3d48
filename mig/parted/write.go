package parted

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Write writes the configuration as YAML: labels and entries in their order, with
// filters and device lists on one line. Comments of a file that was read are not
// kept. Parse reads back the same configuration, apart from positions and the
// name of the file.
//
// What Parse would refuse is not written: the error then wraps ErrFormat.
func Write(w io.Writer, c *Config) error {
	if c == nil {
		return errNothing
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err := enc.Encode(c.tree())
	if err == nil {
		err = enc.Close()
	}
	if err != nil {
		return fmt.Errorf("parted: %scannot be written: %w: %w", c.prefix(), err, ErrFormat)
	}
	return c.emit(w, b.Bytes())
}

// WriteJSON is Write with JSON, which mig-parted reads as well, by rules that leave
// no room for a name beyond 1,024 characters, counted as they are written (a control
// character takes six): one with such a label is not written.
func WriteJSON(w io.Writer, c *Config) error {
	if c == nil {
		return errNothing
	}
	var b bytes.Buffer
	writeJSON(&b, c.tree(), "\n")
	b.WriteByte('\n')
	return c.emit(w, b.Bytes())
}

// emit writes a text after it has been read back.
func (c *Config) emit(w io.Writer, data []byte) error {
	back, problems := parse(data, c.Name)
	if problems != nil {
		p := *problems[0]
		p.Pos = Pos{} // of a text that nobody sees
		return fmt.Errorf("parted: cannot be written: %w", &p)
	}
	if !same(c, back) {
		return fmt.Errorf("parted: %scannot be written so that it is read back: an entry has both all and indices, "+
			"or a text is not UTF-8: %w", c.prefix(), ErrFormat)
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("parted: %w", err)
	}
	return nil
}

// same compares without positions.
func same(a, b *Config) bool {
	return slices.EqualFunc(a.Labels, b.Labels, func(l, k Label) bool {
		return l.Name == k.Name && slices.EqualFunc(l.Entries, k.Entries, func(e, f Entry) bool {
			return e.All == f.All && e.Enabled == f.Enabled && slices.Equal(e.Devices, f.Devices) &&
				slices.EqualFunc(e.Filters, f.Filters, func(x, y Filter) bool { return x.Text == y.Text }) &&
				slices.EqualFunc(e.Instances, f.Instances, func(x, y Count) bool {
					return x.Profile == y.Profile && x.Count == y.Count
				})
		})
	})
}

// tree is the document.
func (c *Config) tree() *yaml.Node {
	top := mapping(plain("version"), plain(Version))
	if len(c.Labels) == 0 {
		return top
	}
	labels := mapping()
	for _, l := range c.Labels {
		entries := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for i := range l.Entries {
			entries.Content = append(entries.Content, l.Entries[i].tree())
		}
		labels.Content = append(labels.Content, plain(l.Name), entries)
	}
	top.Content = append(top.Content, plain("mig-configs"), labels)
	return top
}

func (e *Entry) tree() *yaml.Node {
	n := mapping()
	add := func(key string, value *yaml.Node) { n.Content = append(n.Content, plain(key), value) }
	switch {
	case len(e.Filters) == 1 && e.Filters[0].Text != "":
		add("device-filter", quoted(e.Filters[0].Text))
	case len(e.Filters) > 0: // one empty text alone would mean every GPU
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		for _, f := range e.Filters {
			list.Content = append(list.Content, quoted(f.Text))
		}
		add("device-filter", list)
	}
	if e.All && len(e.Devices) == 0 {
		add("devices", plain("all"))
	} else {
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		for _, i := range e.Devices {
			list.Content = append(list.Content, number(i))
		}
		add("devices", list)
	}
	add("mig-enabled", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(e.Enabled)})
	if e.Enabled || len(e.Instances) > 0 {
		counts := mapping()
		if len(e.Instances) == 0 {
			counts.Style = yaml.FlowStyle
		}
		for _, c := range e.Instances {
			counts.Content = append(counts.Content, quoted(c.Profile), number(c.Count))
		}
		add("mig-devices", counts)
	}
	return n
}

func mapping(content ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: content}
}

// simple are the texts that no version of YAML reads as anything but a text,
// the few of notSimple aside.
var (
	simple    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*([-.][A-Za-z0-9_]+)*$`)
	notSimple = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null|nan|inf)$`)
)

func plain(s string) *yaml.Node {
	if !simple.MatchString(s) || notSimple.MatchString(s) {
		return quoted(s)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
}

func quoted(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
}

func number(v int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(v)}
}
