package parted_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/parted"
)

// TestParse reads a file of every form that a field may have.
func TestParse(t *testing.T) {
	t.Parallel()
	c := parse(t, `# a comment
version: v1
mig-configs:
  bare:
    - devices: all
      mig-enabled: false
  mixed:
    - device-filter: ["0x20B010DE", "0x20B210DE:0x147F10DE"]
      devices: [0, 1]
      mig-enabled: true
      mig-devices:
        "1c.3g.20gb": 2
        1g.5gb: 0
    - devices: [2]
      device-filter: "0x20B710DE"
      mig-enabled: true
      mig-devices: {}
`)
	assert.Equal(t, &parted.Config{
		Name: "config.yaml",
		Labels: []parted.Label{
			{
				Name: "bare", Pos: parted.Pos{Line: 4, Column: 3},
				Entries: []parted.Entry{{All: true, Pos: parted.Pos{Line: 5, Column: 7}}},
			},
			{
				Name: "mixed", Pos: parted.Pos{Line: 7, Column: 3},
				Entries: []parted.Entry{
					{
						Filters: []parted.Filter{
							{Text: "0x20B010DE", Pos: parted.Pos{Line: 8, Column: 23}},
							{Text: "0x20B210DE:0x147F10DE", Pos: parted.Pos{Line: 8, Column: 37}},
						},
						Devices: []int{0, 1}, Enabled: true,
						Instances: []parted.Count{
							{Profile: "1c.3g.20gb", Count: 2, Pos: parted.Pos{Line: 12, Column: 9}},
							{Profile: "1g.5gb", Pos: parted.Pos{Line: 13, Column: 9}},
						},
						Pos: parted.Pos{Line: 8, Column: 7},
					},
					{
						Filters: []parted.Filter{{Text: "0x20B710DE", Pos: parted.Pos{Line: 15, Column: 22}}},
						Devices: []int{2}, Enabled: true, Pos: parted.Pos{Line: 14, Column: 7},
					},
				},
			},
		},
	}, c)
}

func TestParseAccepts(t *testing.T) {
	t.Parallel()
	const entry = "{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}"
	for _, c := range []struct {
		name, text string
		labels     []string
	}{
		{"nothing", "", nil},
		{"comments only", "# nothing\n", nil},
		{"an empty document", "---\n...\n", nil},
		{"version alone", "version: v1\n", nil},
		{"version in quotes", `version: "v1"`, nil},
		{"JSON", `{"version":"v1","mig-configs":{"a":[{"devices":"all","mig-enabled":false}]}}`, []string{"a"}},
		{"JSON with tabs", "{\n\t\"version\": \"v1\",\n\t\"mig-configs\": {\n\t\t\"a\": [\n\t\t\t{\"devices\": [0], \"mig-enabled\": false}\n\t\t]\n\t}\n}", []string{"a"}},
		{"a document marker", "---\nversion: v1\nmig-configs: {a: [" + entry + "]}\n---\n", []string{"a"}},
		{"an anchor", "version: v1\nmig-configs:\n  a: &list [" + entry + "]\n  b: *list\n", []string{"a", "b"}},
		{"a merge key", "version: v1\nmig-configs:\n  a: [&e " + entry + "]\n  b: [{<<: *e, devices: [1]}]\n", []string{"a", "b"}},
		{"a list of merge keys", "version: v1\nmig-configs:\n  a: [&e " + entry + ", &f {devices: [1], mig-enabled: false}]\n  b: [{<<: [*e, *f]}]\n", []string{"a", "b"}},
		{"keys that are no texts", "version: v1\nmig-configs:\n  1: [" + entry + "]\n  0x10: [" + entry + "]\n  yes: [" + entry + "]\n  1.5: [" + entry + "]\n  \"on\": [" + entry + "]\n", []string{"1", "16", "true", "1.5", "on"}},
		{"words of YAML 1.1", label("  - {devices: all, mig-enabled: off}\n"), []string{"x"}},
		{"null for false", label("  - {devices: all, mig-enabled: null}\n"), []string{"x"}},
		{"null for a count", label("  - {devices: all, mig-enabled: true, mig-devices: {1g.5gb: 1, 2g.10gb: }}\n"), []string{"x"}},
		{"whole numbers with a point", label("  - {devices: [1.0], mig-enabled: true, mig-devices: {1g.5gb: 7.0}}\n"), []string{"x"}},
		{"no filter", label("  - {devices: all, mig-enabled: false, device-filter: }\n"), []string{"x"}},
		{"an empty filter", label("  - {devices: all, mig-enabled: false, device-filter: ''}\n"), []string{"x"}},
		{"a filter of nonsense", label("  - {devices: all, mig-enabled: false, device-filter: [junk]}\n"), []string{"x"}},
		{"off with an empty map", label("  - {devices: all, mig-enabled: false, mig-devices: {}}\n"), []string{"x"}},
		{"no devices", label("  - {devices: [], mig-enabled: false}\n"), []string{"x"}},
		{"a profile that no GPU has", label("  - {devices: all, mig-enabled: true, mig-devices: {9g.999gb+any.word: 1}}\n"), []string{"x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := parted.Parse([]byte(c.text), "")
			require.NoError(t, err)
			var labels []string
			for _, l := range got.Labels {
				labels = append(labels, l.Name)
			}
			assert.Equal(t, c.labels, labels)
		})
	}
}

// TestParseMerge: what an entry says itself is stronger than what it merges in.
func TestParseMerge(t *testing.T) {
	t.Parallel()
	c := parse(t, label("  - &a {devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}\n  - {<<: *a, devices: [1]}\n"))
	e := bare(c).Labels[0].Entries[1]
	assert.Equal(t, parted.Entry{Devices: []int{1}, Enabled: true, Instances: []parted.Count{{Profile: "1g.5gb", Count: 7}}}, e)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	entry := func(fields string) string { return label("  - {" + fields + "}\n") }
	for _, c := range []struct {
		name, text string
		pos        parted.Pos
		label      string
		field      string
		message    string
	}{
		{"no version", "mig-configs: {a: [{devices: all, mig-enabled: false}]}", parted.Pos{Line: 1, Column: 1}, "", "", `missing field "version"`},
		{"an empty map", "{}", parted.Pos{Line: 1, Column: 1}, "", "", `missing field "version"`},
		{"another version", "version: v2\n", parted.Pos{Line: 1, Column: 10}, "", "version", `the text "v2" instead of "v1"`},
		{"a number as version", "version: 1\n", parted.Pos{Line: 1, Column: 10}, "", "version", `int 1 instead of "v1"`},
		{"an unknown field", "version: v1\nconfigs: {}\n", parted.Pos{Line: 2, Column: 1}, "", "", `unexpected field "configs"`},
		{"a list", "- version: v1\n", parted.Pos{Line: 1, Column: 1}, "", "", "a list instead of a map"},
		{"no label", "version: v1\nmig-configs: {}\n", parted.Pos{Line: 2, Column: 14}, "", "mig-configs", "at least one label"},
		{"null for labels", "version: v1\nmig-configs:\n", parted.Pos{Line: 2, Column: 13}, "", "mig-configs", "at least one label"},
		{"a list of labels", "version: v1\nmig-configs: [a]\n", parted.Pos{Line: 2, Column: 14}, "", "mig-configs", "a list instead of a map of labels"},
		{"no entry", "version: v1\nmig-configs: {a: []}\n", parted.Pos{Line: 2, Column: 15}, "a", "", "at least one entry"},
		{"null for entries", "version: v1\nmig-configs: {a: }\n", parted.Pos{Line: 2, Column: 15}, "a", "", "at least one entry"},
		{"a map for entries", "version: v1\nmig-configs: {a: {devices: all}}\n", parted.Pos{Line: 2, Column: 18}, "a", "", "a map instead of a list of entries"},
		{"a text for an entry", label("  - all\n"), parted.Pos{Line: 4, Column: 5}, "x", "", `the text "all" instead of an entry`},
		{"a profile without g", entry("devices: all, mig-enabled: true, mig-devices: {1.5gb: 1}"), parted.Pos{Line: 4, Column: 53}, "x", "mig-devices", `profile "1.5gb": "1" does not end in "g"`},
		{"devices as text", entry("devices: All, mig-enabled: false"), parted.Pos{Line: 4, Column: 15}, "x", "devices", `the text "All" instead of all`},
		{"devices as number", entry("devices: 0, mig-enabled: false"), parted.Pos{Line: 4, Column: 15}, "x", "devices", "int 0 instead of all"},
		{"null for devices", entry("devices: , mig-enabled: false"), parted.Pos{Line: 4, Column: 15}, "x", "devices", "nothing instead of all"},
		{"a text as index", entry(`devices: [0, "1"], mig-enabled: false`), parted.Pos{Line: 4, Column: 19}, "x", "devices", `the text "1" in the list`},
		{"null as index", entry("devices: [~], mig-enabled: false"), parted.Pos{Line: 4, Column: 16}, "x", "devices", "nothing in the list"},
		{"half an index", entry("devices: [0.5], mig-enabled: false"), parted.Pos{Line: 4, Column: 16}, "x", "devices", "float 0.5 in the list"},
		{"a huge index", entry("devices: [99999999999999999999], mig-enabled: false"), parted.Pos{Line: 4, Column: 16}, "x", "devices", "in the list instead of the index"},
		{"mode as text", entry(`devices: all, mig-enabled: "true"`), parted.Pos{Line: 4, Column: 33}, "x", "mig-enabled", `the text "true" instead of true or false`},
		{"mode as number", entry("devices: all, mig-enabled: 1"), parted.Pos{Line: 4, Column: 33}, "x", "mig-enabled", "int 1 instead of true or false"},
		{"a filter without quotes", entry("devices: all, mig-enabled: false, device-filter: 0x20B010DE"), parted.Pos{Line: 4, Column: 55}, "x", "device-filter", "put it in quotes"},
		{"a filter without quotes in a list", entry("devices: all, mig-enabled: false, device-filter: [0x20B010DE]"), parted.Pos{Line: 4, Column: 56}, "x", "device-filter", "a text in quotes"},
		{"a map as filter", entry("devices: all, mig-enabled: false, device-filter: {a: b}"), parted.Pos{Line: 4, Column: 55}, "x", "device-filter", "a map instead of a text"},
		{"a count as text", entry(`devices: all, mig-enabled: true, mig-devices: {1g.5gb: "1"}`), parted.Pos{Line: 4, Column: 61}, "x", "mig-devices", `1g.5gb: the text "1" instead of a count`},
		{"a list of profiles", entry("devices: all, mig-enabled: true, mig-devices: [1g.5gb]"), parted.Pos{Line: 4, Column: 52}, "x", "mig-devices", "a list instead of a map"},
		{"null for profiles", entry("devices: all, mig-enabled: true, mig-devices: "), parted.Pos{Line: 4, Column: 5}, "x", "mig-devices", "missing"},
		{"a key twice", entry("devices: all, mig-enabled: false, devices: all"), parted.Pos{Line: 4, Column: 40}, "x", "", `"devices" stands there twice, first in line 4`},
		{"a label twice", "version: v1\nmig-configs:\n  a: [{devices: all, mig-enabled: false}]\n  a: [{devices: all, mig-enabled: true, mig-devices: {}}]\n", parted.Pos{Line: 4, Column: 3}, "", "mig-configs", `"a" stands there twice, first in line 3`},
		{"a list as key", "version: v1\n? [a]\n: 1\n", parted.Pos{Line: 2, Column: 3}, "", "", "a key must be a text"},
		{"null as key", "version: v1\nmig-configs:\n  ~: [{devices: all, mig-enabled: false}]\n", parted.Pos{Line: 3, Column: 3}, "", "mig-configs", "a key must be a text"},
		{"a second document", "version: v1\n---\nversion: v1\n", parted.Pos{Line: 3, Column: 1}, "", "", "a second document"},
		{"no YAML", "version: v1\nmig-configs: [\n", parted.Pos{Line: 2, Column: 1}, "", "", ""},
		{"a key too far left", label("  - devices: all\n    mig-enabled: false\n   mig-devices: {}\n"), parted.Pos{Line: 6, Column: 4}, "", "", "did not find expected"},
		{"two values in a line", "version: v1: x\n", parted.Pos{Line: 1, Column: 1}, "", "", "mapping values are not allowed"},
		{"a tab before an entry", "version: v1\nmig-configs:\n\tx:\n", parted.Pos{Line: 3, Column: 1}, "", "", "a tab, where YAML wants blanks"},
		{"a tab behind blanks", label("  - devices: all\n  \tmig-enabled: false\n"), parted.Pos{Line: 5, Column: 3}, "", "", "tab character"},
		{"an unknown anchor", label("  - devices: *v\n"), parted.Pos{Line: 4, Column: 3}, "", "", "unknown anchor"},
		{"nothing but a tab", "\t", parted.Pos{Line: 1, Column: 1}, "", "", "a tab, where YAML wants blanks"},
		{"no UTF-8", "version: v1\nmig-configs: {é: \xff}\n", parted.Pos{Line: 2, Column: 18}, "", "", "not UTF-8"},
		{"a merge key of a text", entry("<<: all, devices: all, mig-enabled: false"), parted.Pos{Line: 4, Column: 10}, "x", "", "a merge key needs a map"},
		{"a merge key of itself", label("  - &a {<<: *a, devices: all, mig-enabled: false}\n"), parted.Pos{Line: 4, Column: 13}, "x", "", "nested too deeply"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := parted.Parse([]byte(c.text), "f.yaml")
			require.ErrorIs(t, err, parted.ErrFormat)
			assert.Nil(t, got)
			var first *parted.SyntaxError
			require.ErrorAs(t, err, &first)
			assert.Equal(t, c.pos, first.Pos, err)
			assert.Equal(t, c.label, first.Label)
			assert.Equal(t, c.field, first.Field)
			assert.Contains(t, first.Message, c.message)
			assert.Contains(t, err.Error(), "f.yaml:")
		})
	}
}

// TestParseReportsAll: one run tells everything, in the order of the file.
func TestParseReportsAll(t *testing.T) {
	t.Parallel()
	_, err := parted.Parse([]byte(`version: v1
mig-configs:
  a:
    - devices: some
      mig-enabled: true
      mig-devices: {1g: 1}
  b:
    - mig-enabled: false
`), "f.yaml")
	require.Error(t, err)
	assert.Equal(t, []string{
		`parted: f.yaml:4:16: label "a": devices: the text "some" instead of all or a list of indices`,
		`parted: f.yaml:6:21: label "a": mig-devices: profile "1g": not of the form "1g.5gb" or "1c.3g.20gb"`,
		`parted: f.yaml:8:7: label "b": missing field "devices"`,
	}, strings.Split(err.Error(), "\n"))
}

// TestParseBombs: small files that stand for more than memory holds.
func TestParseBombs(t *testing.T) {
	t.Parallel()
	var labels strings.Builder
	labels.WriteString("version: v1\nmig-configs:\n")
	labels.WriteString("  a0: &a [" + strings.TrimSuffix(strings.Repeat("{devices: all, mig-enabled: false},", 2000), ",") + "]\n")
	for i := range 2000 {
		labels.WriteString("  b" + strings.Repeat("b", i%7) + string(rune('a'+i%26)) + strings.Repeat("c", i/26) + ": *a\n")
	}
	var lists strings.Builder
	lists.WriteString("version: v1\nx: [&a [0,0,0,0,0,0,0,0,0,0]")
	for c := 'b'; c < 'j'; c++ {
		lists.WriteString(", &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 10), ",") + "]")
	}
	lists.WriteString("]\nmig-configs: {x: *i}\n")
	for name, text := range map[string]string{
		"labels": labels.String(),
		"lists":  lists.String(),
		"deep":   label("  - {devices: " + strings.Repeat("[", 20000) + "\n"),
		"itself": "version: v1\nmig-configs: &a {x: *a}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := parted.Parse([]byte(text), "")
			require.ErrorIs(t, err, parted.ErrFormat)
			assert.Nil(t, c)
			assert.LessOrEqual(t, strings.Count(err.Error(), "\n"), 100)
		})
	}
}

func TestProfileNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ written, canonical string }{
		{"1g.5gb", "1g.5gb"},
		{"1c.1g.5gb", "1g.5gb"},
		{"1c.3g.20gb", "1c.3g.20gb"},
		{"03c.3g.020gb+me", "3g.20gb+me"},
		{"1g.24gb+gfx,me", "1g.24gb+me,gfx"},
		{"1g.24gb-me", "1g.24gb-me"},
		{"9g.999gb+any.word,x1", "9g.999gb+any.word,x1"},
		{"9c.9g.999gb", "9g.999gb"},
	} {
		got := parse(t, label("  - {devices: all, mig-enabled: true, mig-devices: {"+`"`+c.written+`"`+": 1}}\n"))
		assert.Equal(t, c.canonical, got.Labels[0].Entries[0].Instances[0].Canonical())
		assert.Equal(t, c.written, got.Labels[0].Entries[0].Instances[0].Profile)
	}
	for _, bad := range []string{
		"", "1g", "5gb", "1g.5", "1g.5GB", "g.5gb", "1g.gb", "1c.1g", "1x.1g.5gb", "1.1c.1g.5gb", " 1g.5gb", "1g.5gb ", "1g.-5gb", "1g.5gb+", "1g.5gb-",
		"1g.5gb+me,", "1g.5gb+me,me", "1g.5gb+1me", "1g.5gb+.me", "1g.5gb+me.", "1g.5gb+me-me", "1g.5gb+m e", "99999999999g.5gb", "1g.5gb+é",
	} {
		_, err := parted.Parse([]byte(label("  - {devices: all, mig-enabled: true, mig-devices: {"+`"`+bad+`"`+": 1}}\n")), "")
		require.ErrorIs(t, err, parted.ErrFormat, bad)
	}
}

func TestDemand(t *testing.T) {
	t.Parallel()
	e := parse(t, label("  - {devices: all, mig-enabled: true, mig-devices: "+
		"{1c.1g.5gb: 1, 1g.5gb: 2, 2g.10gb: 0, 3g.20gb: 9223372036854775807, 3c.3g.20gb: 9}}\n")).Labels[0].Entries[0]
	assert.Equal(t, mig.Demand{"1g.5gb": 3, "3g.20gb": 9223372036854775807}, e.Demand(), "two spellings add up, without overflow")
}

func TestLabel(t *testing.T) {
	t.Parallel()
	one := parse(t, label("  - {devices: all, mig-enabled: false}\n"))
	l, err := one.Label("")
	require.NoError(t, err, "one label need not be named")
	assert.Equal(t, "x", l.Name)

	two := parse(t, label("  - {devices: all, mig-enabled: false}\n  z: [{devices: all, mig-enabled: false}]\n"))
	l, err = two.Label("z")
	require.NoError(t, err)
	assert.Same(t, &two.Labels[1], l)
	for _, name := range []string{"", "y"} {
		_, err = two.Label(name)
		require.ErrorIs(t, err, parted.ErrUnknownLabel)
		require.ErrorContains(t, err, "there are x, z")
	}
	_, err = (&parted.Config{}).Label("x")
	require.ErrorIs(t, err, parted.ErrUnknownLabel)
	require.ErrorContains(t, err, "there are none")
}

func TestSyntaxError(t *testing.T) {
	t.Parallel()
	e := &parted.SyntaxError{Message: "m"}
	assert.Equal(t, "parted: m", e.Error())
	require.ErrorIs(t, e, parted.ErrFormat)
	e = &parted.SyntaxError{File: "f", Pos: parted.Pos{Line: 3}, Label: "l", Field: "devices", Message: "m"}
	assert.Equal(t, `parted: f:3: label "l": devices: m`, e.Error())
}
