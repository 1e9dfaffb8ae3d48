package parted_test

import (
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/parted"
)

// lintText returns the findings of a file, without a model: those of all.
func lintText(text string, models ...*mig.Model) []string {
	return messages(parted.LintFile([]byte(text), "config.yaml", models...))
}

// TestLintFinds: what cannot work, where it stands and why.
func TestLintFinds(t *testing.T) {
	t.Parallel()
	wants := func(filter, counts string) string {
		return label("  - devices: all\n    mig-enabled: true\n    device-filter: " + filter + "\n    mig-devices: {" + counts + "}\n")
	}
	for _, c := range []struct {
		name, text, model string
		want              []string // parts of the messages; exactly so many findings about the model
	}{
		{"two of which there can be one", wants("''", "2g.12gb+me: 2"), "a30-24gb", []string{`7:19: error: label "x": model a30-24gb: 2g.12gb+me=2 does not fit: count: 2 of 2g.12gb+me needed in all, the driver allows 1`}},
		{"the same by its id", wants(`"0x20B710DE"`, "2g.12gb+me: 2"), "a30-24gb", []string{"the driver allows 1"}},
		{"compute slices enough, memory not", wants("''", "1g.10gb: 4, 1g.5gb: 3"), "a100-40gb", []string{`7:31: error: label "x": model a100-40gb: 1g.10gb=4,1g.5gb=3 does not fit: memory: 11 memory slices needed in all, the GPU has 8`}},
		{"a zero count", wants(`"0x20B010DE"`, "3g.20gb: 1, 1g.5gb+me: 0"), "", []string{"7:31: warning"}},
		{"more than any number", wants(`"0x20B010DE"`, "1g.5gb: 9223372036854775807"), "a100-40gb", []string{"error: "}},
		{"media engines", wants("''", "1g.24gb+me.all: 1, 1g.24gb: 1"), "rtx-pro-6000-96gb", []string{"does not fit: media"}},
		{"compute instances", wants(`"0x20B010DE"`, "1c.3g.20gb: 7"), "a100-40gb", []string{"error: label \"x\": model a100-40gb: 1c.3g.20gb=7 does not fit: memory: 12 memory slices"}},
		{"compute instances that fit", wants(`"0x20B010DE"`, "1c.3g.20gb: 4, 2c.3g.20gb: 1"), "a100-40gb", nil},
		{"a compute instance that nothing offers", wants(`"0x20B010DE"`, "5c.7g.40gb: 1"), "a100-40gb", []string{`no such profile 5c.7g.40gb`}},
		{"rounded the wrong way", wants(`"0x20B210DE"`, "7g.79gb: 1"), "a100-80gb", []string{`7:19: error: label "x": model a100-80gb: no such profile 7g.79gb; a100-80gb has 7g.80gb`}},
		{"the name of a smaller board", wants(`"0x20B210DE"`, "2g.10gb: 3"), "a100-80gb", []string{`error: label "x": model a100-80gb: 2g.10gb is the name of another model (a100-40gb`}},
		{"a filter for two models", wants(`["0x20B010DE", "0x20B210DE"]`, "2g.10gb: 3"), "a100-80gb", []string{"is the name of another model"}},
		{"a filter for two models, the other one", wants(`["0x20B010DE", "0x20B210DE"]`, "2g.10gb: 3"), "a100-40gb", nil},
		{"slices that nothing has", wants(`"0x20B010DE"`, "9g.999gb: 1"), "a100-40gb", []string{"no such profile 9g.999gb"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range parted.LintFile([]byte(c.text), "") {
				if f.Model == c.model {
					got = append(got, f.String())
				}
			}
			require.Len(t, got, len(c.want), got)
			for i, part := range c.want {
				assert.Contains(t, got[i], part)
			}
		})
	}
}

// TestLintUnknownNames: names that no model has, with those that were meant.
func TestLintUnknownNames(t *testing.T) {
	t.Parallel()
	wants := func(name string) string {
		return label("  - {devices: all, mig-enabled: true, mig-devices: {" + name + ": 1}}\n")
	}
	found := parted.LintFile([]byte(wants("7g.79gb")), "")
	require.Len(t, found, 1)
	assert.Equal(t, parted.Error, found[0].Severity)
	assert.Empty(t, found[0].Model)
	assert.Equal(t, []int{4, 53}, []int{found[0].Line, found[0].Column})
	assert.Regexp(t, `^no known model has the profile 7g\.79gb; a100-80gb, .* ha(s|ve) 7g\.80gb$`, found[0].Message)

	found = parted.LintFile([]byte(wants("1g.11gb")), "")
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Message, "no known model has the profile 1g.11gb; a100-40gb, ")

	found = parted.LintFile([]byte(wants("9g.999gb")), "")
	require.Len(t, found, 1)
	assert.Equal(t, "no known model has the profile 9g.999gb", found[0].Message)

	found = parted.LintFile([]byte(label("  - {devices: all, mig-enabled: true, mig-devices: {1g.5gb: 1, 2g.12gb: 1}}\n")), "")
	require.Len(t, found, 1)
	assert.Regexp(t, `^no known model has all of 1g\.5gb \(a100-40gb.*\), 2g\.12gb \(a30-24gb\)$`, found[0].Message)
}

// TestLintNVL: a name that boards with 94 GB never had.
func TestLintNVL(t *testing.T) {
	t.Parallel()
	text := label("  - {devices: all, device-filter: \"0x232110DE\", mig-enabled: true, mig-devices: {1g.11gb: 7}}\n")
	found := parted.LintFile([]byte(text), "")
	m, err := mig.Lookup("h100-94gb")
	if err != nil {
		require.Len(t, found, 1)
		assert.Contains(t, found[0].Message, "no known model has the id")
		return
	}
	for _, found := range [][]parted.Finding{found, parted.LintFile([]byte(text), "", m)} {
		require.Len(t, found, 1)
		assert.Equal(t, `4:82: error: label "x": model h100-94gb: no such profile 1g.11gb; h100-94gb has 1g.12gb`, found[0].String())
	}
}

func TestLintWarns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, entries string
		want          []string
	}{
		{"a filter that is no id", "  - {devices: all, device-filter: 20B010DE, mig-enabled: false}\n", []string{`4:35: warning: label "x": the filter "20B010DE" is not of the form "0x20B010DE": it matches no GPU`}},
		{"a filter without vendor", "  - {devices: all, device-filter: \"0x20B0\", mig-enabled: false}\n", []string{`the filter "0x20B0" has no vendor`}},
		{"the vendor first", "  - {devices: all, device-filter: \"0x10DE20B0\", mig-enabled: false}\n", []string{`has the vendor first: it matches no GPU; 0x20B010DE is meant`}},
		{"an id that nobody knows", "  - {devices: all, device-filter: \"0xFFFF10DE\", mig-enabled: true, mig-devices: {9g.1gb: 1}}\n", []string{`no known model has the id of the filter "0xFFFF10DE"`}},
		{"no device", "  - {devices: [], mig-enabled: false}\n", []string{"the list of devices is empty"}},
		{"an index that cannot be", "  - {devices: [0, -1], mig-enabled: false}\n", []string{"the index -1 matches no GPU"}},
		{"another spelling", "  - {devices: all, mig-enabled: true, mig-devices: {1c.2g.12gb: 1, 2c.2g.12gb+me: 1}}\n", []string{"4:68: warning: label \"x\": the driver calls 2c.2g.12gb+me 2g.12gb+me"}},
		{"a zero count", "  - {devices: all, mig-enabled: true, mig-devices: {2g.12gb: 1, 1g.6gb: 0}}\n", []string{"4:65: warning: label \"x\": the count of 1g.6gb is 0"}},
		{"one profile twice", "  - {devices: all, mig-enabled: true, mig-devices: {1g.6gb: 1, 1c.1g.6gb: 1}}\n", []string{"1g.6gb and 1c.1g.6gb are one profile"}},
		{"two entries for all", "  - {devices: all, mig-enabled: false}\n  - {devices: [3], mig-enabled: false}\n", []string{"5:5: warning: label \"x\": a GPU can match entry 2 and entry 1 (line 4)"}},
		{"two entries for one index", "  - {devices: [1, 3], mig-enabled: false}\n  - {devices: [3], mig-enabled: false}\n", []string{"a GPU can match entry 2"}},
		{"two entries for one id", "  - {devices: all, device-filter: [\"0x20B010DE\", \"0x20B710DE\"], mig-enabled: false}\n  - {devices: all, device-filter: \"0x20B710DE:0x147F10DE\", mig-enabled: false}\n", []string{"a GPU can match entry 2"}},
		{"indices apart", "  - {devices: [1], mig-enabled: false}\n  - {devices: [3], mig-enabled: false}\n", nil},
		{"filters apart", "  - {devices: all, device-filter: \"0x20B010DE\", mig-enabled: false}\n  - {devices: all, device-filter: \"0x20B710DE\", mig-enabled: false}\n", nil},
		{"subsystems apart", "  - {devices: all, device-filter: \"0x20B010DE:1\", mig-enabled: false}\n  - {devices: all, device-filter: \"0x20B010DE:2\", mig-enabled: false}\n", nil},
		{"fits on none that a filter names, but on another", "  - {devices: [0], mig-enabled: true, mig-devices: {1g.10gb: 7}}\n  - {devices: [1], device-filter: \"0x20B010DE\", mig-enabled: false}\n", []string{"4:53: warning: label \"x\": model a100-40gb: 1g.10gb=7 does not fit: memory"}},
		{"fits on one of two", "  - {devices: all, mig-enabled: true, mig-devices: {1g.10gb: 7}}\n", []string{"warning: label \"x\": model a100-40gb: 1g.10gb=7 does not fit: memory"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, m := range lintText(label(c.entries)) {
				if !strings.Contains(m, "model a800-40gb") { // the same board under another name
					got = append(got, m)
				}
			}
			require.Len(t, got, len(c.want), got)
			for i, part := range c.want {
				assert.Contains(t, got[i], part)
				assert.Contains(t, got[i], "warning: ")
			}
		})
	}
}

// TestLintGiven: with models of the caller's choice.
func TestLintGiven(t *testing.T) {
	t.Parallel()
	small, large := lookup(t, "a100-40gb"), lookup(t, "a100-80gb")
	text := label("  - {devices: all, mig-enabled: true, mig-devices: {2g.10gb: 3}}\n")
	assert.Empty(t, lintText(text, small))
	assert.Empty(t, lintText(text, small, large), "the label is for one of them")
	assert.Regexp(t, `^4:53: warning: label "x": model a100-80gb: 2g\.10gb is the name of another model \(a100-40gb.*\); a100-80gb has 2g\.20gb$`,
		strings.Join(lintText(text, large), "\n"))

	text = label("  - {devices: all, mig-enabled: true, mig-devices: {2g.11gb: 3}}\n")
	assert.Equal(t, []string{`4:53: error: label "x": model a100-80gb: no such profile 2g.11gb; a100-80gb has 2g.20gb`}, lintText(text, large))

	text = label("  - {devices: all, device-filter: \"0x20B010DE\", mig-enabled: true, mig-devices: {2g.10gb: 4}}\n")
	assert.Equal(t, []string{`3:3: warning: label "x": model a100-80gb: no entry matches a GPU of this model: it keeps its state`}, lintText(text, large))
	assert.Equal(t, []string{`4:82: error: label "x": model a100-40gb: 2g.10gb=4 does not fit: compute: 8 compute slices needed in all, the GPU has 7`}, lintText(text, small, large))
}

// TestLintUnknownPlacements: what a table does not know is no error, as long as the
// counts can be.
func TestLintUnknownPlacements(t *testing.T) {
	t.Parallel()
	m, err := mig.Lookup("rtx-pro-5000-48gb")
	require.NoError(t, err)
	id := strconv.Quote(parted.ID{PCI: m.Spec().PCIDeviceIDs[0]}.String())
	text := func(counts string) string {
		return label("  - {devices: all, device-filter: " + id + ", mig-enabled: true, mig-devices: {" + counts + "}}\n")
	}
	found := parted.LintFile([]byte(text("1g.24gb: 2")), "")
	require.Len(t, found, 1)
	assert.Equal(t, parted.Warning, found[0].Severity)
	assert.Contains(t, found[0].Message, "not published")
	found = parted.LintFile([]byte(text("1g.24gb: 3")), "")
	require.Len(t, found, 1)
	assert.Equal(t, parted.Error, found[0].Severity)
	assert.Contains(t, found[0].Message, "the driver allows 2")
	assert.Empty(t, parted.LintFile([]byte(label("  - {devices: all, mig-enabled: true, mig-devices: {1g.24gb: 4}}\n")), "", lookup(t, "rtx-pro-6000-96gb")))
}

// TestLintOneIdTwoModels: boards with one id can have other names.
func TestLintOneIdTwoModels(t *testing.T) {
	t.Parallel()
	text := label("  - {devices: all, device-filter: \"0x294110DE\", mig-enabled: true, mig-devices: {1g.23gb: 7}}\n" +
		"  - {devices: [], device-filter: \"0x294110DE\", mig-enabled: true, mig-devices: {1g.24gb: 7}}\n")
	_, err := mig.Lookup("gb200-189gb")
	require.NoError(t, err)
	for _, f := range parted.LintFile([]byte(text), "") {
		assert.Equal(t, parted.Warning, f.Severity, f)
		assert.Empty(t, f.Model, f)
	}
}

// TestLintFile: a file that does not parse has findings, and the rest of it too.
func TestLintFile(t *testing.T) {
	t.Parallel()
	found := parted.LintFile([]byte(`version: v2
mig-configs:
  good:
    - {devices: all, mig-enabled: true, mig-devices: {7g.79gb: 1}}
  bad:
    - {devices: all, mig-enabled: true, mig-devices: {7g: 1}}
    - {devices: all, device-filter: "0x20B710DE", mig-enabled: false}
`), "config.yaml", lookup(t, "a100-40gb"))
	require.Equal(t, []string{
		`1:10: error: version: the text "v2" instead of "v1"`,
		`4:55: error: label "good": model a100-40gb: no such profile 7g.79gb; a100-40gb has 7g.40gb`,
		`6:55: error: label "bad": mig-devices: profile "7g": not of the form "1g.5gb" or "1c.3g.20gb"`,
	}, messages(found))
	text, err := json.Marshal(found[1])
	require.NoError(t, err)
	assert.JSONEq(t, `{"severity":"error","label":"good","model":"a100-40gb","line":4,"column":55,
		"message":"no such profile 7g.79gb; a100-40gb has 7g.40gb"}`, string(text))

	found = parted.LintFile([]byte("version: ["), "")
	require.Len(t, found, 1)
	assert.Equal(t, parted.Error, found[0].Severity)
	assert.Equal(t, []string{"warning: there are no labels: nothing can be selected"}, lintText(""))
	assert.Equal(t, []parted.Finding{}, parted.LintFile([]byte(label("  - {devices: all, mig-enabled: false}\n")), ""), "a list, not null")
}

// TestLintAllModels: the file that operators find after installation is clean, for
// all models that it names and for the given ones.
func TestLintAllModels(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/all-models.yaml")
	require.NoError(t, err)
	c, err := parted.Parse(data, "all-models.yaml")
	require.NoError(t, err)
	assert.Greater(t, len(c.Labels), 60)

	known := map[string]bool{}
	for _, m := range models(false) {
		for _, pci := range m.Spec().PCIDeviceIDs {
			known[parted.ID{PCI: pci}.String()] = true
		}
	}
	for _, l := range c.Labels {
		for _, e := range l.Entries {
			for _, f := range e.Filters {
				require.True(t, known[f.Text], "the file names a model that the tables lack: %s", f.Text)
			}
		}
	}
	assert.Empty(t, messages(parted.Lint(c)))

	var named []*mig.Model
	for _, m := range models(true) {
		if strings.Contains(string(data), (parted.ID{PCI: m.Spec().PCIDeviceIDs[0]}).String()) {
			named = append(named, m)
		}
	}
	assert.Empty(t, messages(parted.Lint(c, named...)), "every label is for one of them")
	for _, m := range named {
		for _, f := range parted.Lint(c, m) {
			assert.Equal(t, parted.Warning, f.Severity, "a label for other nodes is no error: %s", f)
		}
	}
}

// TestNothingGiven: a configuration or a model that is not there is no reason to
// end the program.
func TestNothingGiven(t *testing.T) {
	t.Parallel()
	text := label("  - {devices: all, mig-enabled: true, mig-devices: {7g.79gb: 1}}\n")
	assert.Equal(t, lintText(text), lintText(text, nil))
	assert.Len(t, parted.Generate(nil).Labels, 2, "all-disabled and all-enabled")

	var c *parted.Config
	assert.Equal(t, []string{"warning: there are no labels: nothing can be selected"}, messages(parted.Lint(c)))
	_, err := c.Select("x", nil, nil)
	require.ErrorIs(t, err, parted.ErrUnknownLabel)
	require.ErrorIs(t, parted.Write(io.Discard, c), parted.ErrFormat)
	require.ErrorIs(t, parted.WriteJSON(io.Discard, c), parted.ErrFormat)
}

// TestLintBounded: comparing entries is quadratic and stops somewhere.
func TestLintBounded(t *testing.T) {
	t.Parallel()
	l := parted.Label{Name: "x"}
	for i := range 400 {
		l.Entries = append(l.Entries, parted.Entry{Devices: []int{i}})
	}
	found := parted.Lint(&parted.Config{Labels: []parted.Label{l}})
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Message, "400 entries")
}

// TestLintOracle: whether a demand fits is what the layouts of the model say, all
// of them tried; and the place is that of the first profile that is too many.
func TestLintOracle(t *testing.T) {
	t.Parallel()
	some := []*mig.Model{lookup(t, "a30-24gb"), lookup(t, "a100-40gb"), lookup(t, "a100-80gb")}
	possible := map[*mig.Model]map[string]bool{}
	for _, m := range some {
		possible[m] = map[string]bool{}
		for l := range m.Layouts(nil) {
			possible[m][l.Demand().String()] = true
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		m := some[rapid.IntRange(0, len(some)-1).Draw(t, "model")]
		var names []string
		for p := range m.PlainProfiles() {
			names = append(names, p.Name)
		}
		want := mig.Demand{}
		for range rapid.IntRange(1, 3).Draw(t, "profiles") {
			want[rapid.SampledFrom(names).Draw(t, "profile")] = rapid.IntRange(1, 5).Draw(t, "count")
		}
		e := parted.Entry{All: true, Enabled: true, Filters: []parted.Filter{{Text: parted.ID{PCI: m.Spec().PCIDeviceIDs[0]}.String()}}}
		above, firstTooMany := mig.Demand{}, 0 // a line of its own for each
		for _, name := range rapid.Permutation(names).Draw(t, "order") {
			if want[name] > 0 {
				line := len(e.Instances) + 1
				e.Instances = append(e.Instances, parted.Count{Profile: name, Count: want[name], Pos: parted.Pos{Line: line}})
				above[name] = want[name]
				if firstTooMany == 0 && !possible[m][above.String()] {
					firstTooMany = line
				}
			}
		}
		found := parted.Lint(&parted.Config{Labels: []parted.Label{{Name: "x", Entries: []parted.Entry{e}}}})
		require.Equal(t, possible[m][want.String()], len(found) == 0, found)
		for _, f := range found {
			require.Equal(t, firstTooMany, f.Line, f)
		}
	})
}
