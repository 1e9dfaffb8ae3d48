package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig/parted"
)

// one is a file with one label of one entry.
func one(filter string, counts ...string) string {
	var b strings.Builder
	b.WriteString("version: v1\nmig-configs:\n  mixed:\n    - devices: all\n      mig-enabled: true\n")
	if filter != "" {
		b.WriteString("      device-filter: " + `"` + filter + `"` + "\n")
	}
	b.WriteString("      mig-devices:\n")
	for _, c := range counts {
		name, n, _ := strings.Cut(c, "=")
		b.WriteString(`        "` + name + `": ` + n + "\n")
	}
	return b.String()
}

func findings(t *testing.T, text string, args ...string) (int, []parted.Finding) {
	t.Helper()
	status, out, errs := callWith(t, text, append([]string{"lint", "-json", "-f", "-"}, args...)...)
	require.Empty(t, errs)
	var got lintAnswer
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&got))
	assert.Equal(t, schema, got.Schema)
	require.NotNil(t, got.Findings)
	return status, got.Findings
}

// TestLintFinds: what must be found before a node sees it, whether the model is
// named on the command line or by a filter.
func TestLintFinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		model  string
		filter string
		counts []string
		says   []string
	}{
		{"two media instances on A30", "a30-24gb", "0x20B710DE", []string{"2g.12gb+me=2"}, []string{"2g.12gb+me", "count"}},
		{"seven compute slices, eleven memory slices", "a100-40gb", "0x20B010DE", []string{"1g.10gb=4", "1g.5gb=3"}, []string{"memory", "11"}},
		{"a name that the H100 NVL does not have", "h100-94gb", "0x232110DE", []string{"1g.11gb=7"}, []string{"1g.11gb", "1g.12gb"}},
		{"a name that nothing has", "h100-80gb-sxm5", "0x233010DE", []string{"7g.79gb=1"}, []string{"7g.79gb"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, way := range []struct {
				text string
				args []string
			}{
				{one("", c.counts...), []string{"-model", c.model}},
				{one(c.filter, c.counts...), nil},
			} {
				status, list := findings(t, way.text, way.args...)
				assert.Equal(t, exitNo, status)
				var found *parted.Finding
				for i := range list {
					if list[i].Severity == parted.Error {
						found = &list[i]
						break
					}
				}
				require.NotNil(t, found, list)
				assert.Equal(t, "mixed", found.Label)
				assert.Positive(t, found.Line)
				assert.Positive(t, found.Column)
				for _, s := range c.says {
					assert.Contains(t, found.Message, s)
				}
			}
		})
	}
	status, list := findings(t, one("", "7g.79gb=1"))
	assert.Equal(t, exitNo, status, "no known model has it, so no model need be named")
	assert.NotEmpty(t, list)
}

func TestLintClean(t *testing.T) {
	t.Parallel()
	text := one("0x20B010DE", "1g.5gb=2", "2g.10gb=1", "3g.20gb=1")
	status, list := findings(t, text)
	assert.Equal(t, exitDone, status)
	assert.Empty(t, list)

	name := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	status, out, errs := call(t, "lint", "-f", name)
	assert.Equal(t, exitDone, status)
	assert.Equal(t, name+": clean\n", out)
	assert.Empty(t, errs)

	status, list = findings(t, one("", "1g.5gb=0", "7g.40gb=1"), "-model", "a100-40gb,a800-40gb")
	assert.Equal(t, exitDone, status, "a warning is no error")
	require.Len(t, list, 1)
	assert.Equal(t, parted.Warning, list[0].Severity)
}

func TestLintText(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(name, []byte(one("", "1g.6gb=0", "2g.12gb+me=2")), 0o600))
	status, out, errs := call(t, "lint", "-f", name, "-model", "a30-24gb")
	assert.Equal(t, exitNo, status)
	assert.Empty(t, errs)
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	require.Len(t, lines, 3, out)
	at := "(?m)^" + regexp.QuoteMeta(name) + `:[0-9]+:[0-9]+: ` // where: package parted knows
	assert.Regexp(t, at+`error: label "mixed": model a30-24gb: 2g\.12gb\+me=2 does not fit`, out)
	assert.Regexp(t, at+`warning: label "mixed": the count of 1g\.6gb is 0`, out)
	assert.Equal(t, "1 error, 1 warning", lines[2])
}

func TestLintOfWhatDoesNotParse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a: [", "version: v2\n", "mig-configs:\n  a:\n    - devices: [-1]\n"} {
		status, list := findings(t, text)
		assert.Equal(t, exitNo, status, text)
		assert.NotEmpty(t, list, text)
		_, out, _ := callWith(t, text, "lint", "-f", "-")
		assert.True(t, strings.HasPrefix(out, "stdin:"), out)
		assert.NotContains(t, out, ":0:", "no place that there is not")
	}
}

func TestLintBadInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"no file", []string{"lint"}, []string{"-f is missing"}},
		{"no such file", []string{"lint", "-f", filepath.Join(dir, "none.yaml")}, []string{"-f", "none.yaml"}},
		{"a directory", []string{"lint", "-f", dir}, []string{"-f", dir}},
		{"unknown model", []string{"lint", "-f", "-", "-model", "a100-40gb,a100"}, []string{"-model", "item 2", `"a100"`}},
		{"empty model", []string{"lint", "-f", "-", "-model", ""}, []string{"-model", "item 1", `""`}},
		{"model twice", []string{"lint", "-f", "-", "-model", "a30-24gb,A30-24GB"}, []string{"-model", "item 2", "twice"}},
		{"trailing argument", []string{"lint", "-f", "-", "b.yaml"}, []string{`"b.yaml"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refuses(t, c.args, c.says)
		})
	}
}
