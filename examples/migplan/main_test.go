package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/mig"
)

// The exit statuses.
const (
	exitDone = command.Done
	exitNo   = command.No
	exitBad  = command.Bad
)

// call runs the program and returns what it printed.
func call(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return callWith(t, "", args...)
}

// callWith is call with something on the standard input.
func callWith(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	status = run(args, strings.NewReader(stdin), &out, &err)
	return status, out.String(), err.String()
}

// answer runs the program, which must succeed with JSON, and decodes it.
func answer[T any](t *testing.T, args ...string) T {
	t.Helper()
	status, out, errs := call(t, append(args, "-json")...)
	require.Equal(t, exitDone, status, errs)
	require.Empty(t, errs)
	var v T
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&v))
	return v
}

func TestUsage(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t)
	assert.Equal(t, exitBad, status)
	assert.Empty(t, out)
	assert.Equal(t, usage, errs)
	for _, c := range commands() {
		assert.Contains(t, usage, "\n  migplan "+c.Name+" ")
	}

	for _, args := range [][]string{{"-h"}, {"--help"}, {"help"}, {"fit", "-h"}, {"layouts", "-help"}, {"plan", "-h"}, {"lint", "-h"}} {
		status, out, errs = call(t, args...)
		assert.Equal(t, exitDone, status, args)
		assert.Equal(t, usage, out, args)
		assert.Empty(t, errs, args)
	}
}

// TestBadInput: exit status 2, nothing on standard output, and one line of
// error that names the value and where it stands.
func TestBadInput(t *testing.T) {
	t.Parallel()
	a100 := func(command string, more ...string) []string {
		return append([]string{command, "-model", "a100-40gb"}, more...)
	}
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"unknown command", []string{"fits"}, []string{`"fits"`, "models, profiles, layouts, fit, smallest, mix, plan, cost, lint;"}},
		{"unknown flag", a100("fit", "-wants", "1g.5gb=1"), []string{"migplan fit", "-wants"}},
		{"flag without value", a100("fit", "-want"), []string{"-want"}},
		{"flag with a value it does not take", a100("layouts", "-maximal=perhaps"), []string{"perhaps", "-maximal"}},
		{"trailing argument", a100("layouts", "7g.40gb"), []string{"migplan layouts", `"7g.40gb"`}},
		{"trailing argument of models", []string{"models", "a100-40gb"}, []string{`"a100-40gb"`}},
		{"no model", []string{"profiles"}, []string{"-model is missing"}},
		{"no GPU to fit on", []string{"fit", "-want", "1g.5gb=1"}, []string{"-model, -gpus is missing"}},
		{"no want", a100("fit"), []string{"-want is missing"}},
		{"unknown model", []string{"profiles", "-model", "a100"}, []string{`"a100"`, "-model", "a100-40gb, a100-80gb"}},
		{"layouts of a model whose placements nobody has published", []string{"layouts", "-model", "thor-igpu"}, []string{"-model", "thor-igpu", "unknown"}},
		{"empty model", []string{"layouts", "-model", ""}, []string{`""`, "-model"}},
		{"placeholder product name", []string{"profiles", "-model", "Graphics Device"}, []string{`"Graphics Device"`}},
		{"unknown profile", a100("fit", "-want", "5g.25gb=1"), []string{"-want", `"5g.25gb"`, "a100-40gb", "3g.20gb"}},
		{"profile of another model", []string{"fit", "-model", "a100-80gb", "-want", "2g.10gb=3"}, []string{"-want", `"2g.10gb"`, "a100-80gb", "2g.20gb"}},
		{"no such profile anywhere", a100("fit", "-want", "0g.0gb=1"), []string{"-want", `"0g.0gb"`}},
		{"more compute than GPU slices", a100("fit", "-want", "2c.1g.5gb=1"), []string{"-want", `"2c.1g.5gb"`, "2 compute slices in 1"}},
		{"compute instance", a100("fit", "-want", "1c.3g.20gb=1"), []string{"-want", `"1c.3g.20gb"`}},
		{"negative count", a100("fit", "-want", "3g.20gb=-1"), []string{"-want", `"-1"`, "3g.20gb"}},
		{"count is no number", a100("fit", "-want", "3g.20gb=NaN"), []string{"-want", `"NaN"`, "3g.20gb"}},
		{"count is no whole number", a100("fit", "-want", "3g.20gb=0.5"), []string{"-want", `"0.5"`, "3g.20gb"}},
		{"no count", a100("fit", "-want", "3g.20gb"), []string{"-want", `"3g.20gb"`, "=count"}},
		{"empty want", a100("fit", "-want", ""), []string{"-want", `""`}},
		{"profile twice", a100("fit", "-want", "1g.5gb=1,1c.1g.5gb=2"), []string{"-want", "1g.5gb", "twice"}},
		{"comma at the end", a100("fit", "-want", "1g.5gb=1,"), []string{"-want", `""`}},
		{"overlapping have", a100("fit", "-want", "1g.5gb=1", "-have", "1g.5gb@5,3g.20gb@4"), []string{"-have", "1g.5gb@5", "3g.20gb@4", "overlap"}},
		{"same instance twice", a100("fit", "-want", "1g.5gb=1", "-have", "1g.5gb@5,1g.5gb@5"), []string{"-have", "1g.5gb@5", "overlap"}},
		{"two media instances", a100("fit", "-want", "1g.5gb=1", "-have", "1g.5gb+me@0,1g.5gb+me@1"), []string{"-have", "1g.5gb+me@0", "1g.5gb+me@1"}},
		{"have without start", a100("fit", "-want", "1g.5gb=1", "-have", "1g.5gb"), []string{"-have", `"1g.5gb"`, "@start"}},
		{"have at an illegal start", a100("fit", "-want", "1g.5gb=1", "-have", "3g.20gb@2"), []string{"-have", "3g.20gb", "at 2", "0, 4"}},
		{"have beyond the GPU", a100("fit", "-want", "1g.5gb=1", "-have", "1g.5gb@7"), []string{"-have", "1g.5gb", "at 7"}},
		{"have at a negative start", a100("fit", "-want", "1g.5gb=1", "-have", "1g.5gb@-1"), []string{"-have", `"-1"`}},
		{"unknown profile, wanted zero times", a100("fit", "-want", "5g.25gb=0"), []string{"-want", `"5g.25gb"`}},
		{"have of an unknown profile", a100("fit", "-want", "1g.5gb=1", "-have", "1g.6gb@0"), []string{"-have", `"1g.6gb"`}},
		{"layouts of an unknown profile", a100("layouts", "-profiles", "1g.5gb,8g.40gb"), []string{"-profiles", "item 2", `"8g.40gb"`}},
		{"layouts of no profile", a100("layouts", "-profiles", ""), []string{"-profiles", `""`}},
		{"layouts of a profile twice", a100("layouts", "-profiles", "1g.5gb,1g.5gb"), []string{"-profiles", "item 2", "1g.5gb", "twice"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refuses(t, c.args, c.says)
		})
	}
}

// refuses checks that the program says, on one line, that the input is bad, and
// prints nothing else.
func refuses(t *testing.T, args, says []string) {
	t.Helper()
	for _, args := range [][]string{args, append([]string{args[0], "-json"}, args[1:]...)} {
		status, out, errs := call(t, args...)
		assert.Equal(t, exitBad, status)
		assert.Empty(t, out)
		assert.True(t, strings.HasPrefix(errs, "migplan"), errs)
		assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
		for _, s := range says {
			assert.Contains(t, errs, s)
		}
	}
}

// failing is a standard output that is closed.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestOutputThatFails(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"models"},
		{"models", "-json"},
		{"fit", "-model", "a30-24gb", "-want", "1g.6gb=1"},
		{"fit", "-model", "a30-24gb", "-want", "1g.6gb=9"},
		{"fit", "-gpus", "a30-24gb", "-want", "1g.6gb=1"},
		{"fit", "-gpus", "a30-24gb", "-want", "1g.6gb=9"},
		{"plan", "-model", "a30-24gb", "-want", "1g.6gb=1"},
		{"plan", "-model", "a30-24gb", "-want", "1g.6gb=9", "-json"},
		{"cost", "-model", "a30-24gb", "-want", "1g.6gb=1"},
		{"cost", "-model", "a30-24gb", "-want", "1g.6gb=9"},
		{"lint", "-f", "-"},
		{"smallest", "-model", "a30-24gb", "-memory", "1"},
		{"smallest", "-model", "a30-24gb", "-memory", "1000000"},
		{"mix", "-model", "a30-24gb", "-gpus", "1", "-requests", "1g.6gb=1"},
	} {
		var errs strings.Builder
		assert.Equal(t, exitBad, run(args, strings.NewReader(""), failing{}, &errs), args)
		assert.Contains(t, errs.String(), "broken pipe", args)
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	got := answer[modelsAnswer](t, "models")
	assert.Equal(t, schema, got.Schema)
	var keys []string
	for _, m := range got.Models {
		keys = append(keys, m.Model)
		assert.NotEmpty(t, m.Profiles, m.Model)
		assert.NotNil(t, m.ProductNames, "%s: a list without entries is no null", m.Model)
	}
	var want []string
	for m := range mig.Models() {
		want = append(want, m.Key())
	}
	assert.Equal(t, want, keys)
	for _, key := range []string{"a30-24gb", "a100-40gb", "h100-80gb-sxm5", "h200-141gb", "gb300", "rtx-pro-6000-96gb", "thor-igpu"} {
		assert.Contains(t, keys, key)
	}
	for _, m := range got.Models {
		spec, err := mig.Lookup(m.Model)
		require.NoError(t, err)
		if spec.Spec().MemoryMiB == 0 {
			assert.Nil(t, m.MemoryMiB, "%s: a figure that nobody has published is null", m.Model)
		} else {
			assert.Equal(t, spec.Spec().MemoryMiB, *m.MemoryMiB)
		}
	}

	_, text, _ := call(t, "models")
	assert.Equal(t, len(keys)+1, strings.Count(text, "\n"))
	for m := range mig.Models() {
		assert.Contains(t, text, m.Key())
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	status, out, _ := call(t, "profiles", "-model", "NVIDIA B200", "-json")
	require.Equal(t, exitDone, status)
	var got struct {
		Model    string
		Profiles []map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	assert.Equal(t, "b200-180gb", got.Model)
	require.Len(t, got.Profiles, 7)
	assert.Equal(t, map[string]any{
		"name": "1g.23gb", "giProfileId": 19., "computeSlices": 1., "memoryMiB": 22528., "sms": 18.,
		"maxInstances": 7., "starts": []any{0., 1., 2., 3., 4., 5., 6.}, "size": 1.,
		"confidence": "exact", "placementConfidence": "derived",
	}, got.Profiles[0])
	assert.Equal(t, map[string]any{
		"name": "3g.90gb", "giProfileId": 9., "computeSlices": 3., "memoryMiB": nil, "sms": nil,
		"maxInstances": 2., "starts": []any{0., 4.}, "size": 4.,
		"confidence": "derived", "placementConfidence": "derived",
	}, got.Profiles[4], "figures that nobody has published are null")

	_, text, _ := call(t, "profiles", "-model", "A30-24GB")
	table, sources, _ := strings.Cut(text, "\nsources:\n")
	assert.Equal(t, `a30-24gb: A30 24GB, 4 memory slices, 4 compute slices

PROFILE     ID  COMPUTE  MEMORY     SMS  MAX  KNOWN  PLACEMENTS
1g.6gb      14  1        5952 MiB   14   4    exact  [][][][]
1g.6gb+me   21  1        5952 MiB   14   1    exact  [][][][]
2g.12gb     5   2        11968 MiB  28   2    exact  [==][==]
2g.12gb+me  6   2        11968 MiB  28   1    exact  [==][==]
4g.24gb     0   4        24000 MiB  56   1    exact  [======]
`, table)
	assert.Contains(t, sources, "  NVIDIA MIG User Guide, \"Supported MIG Profiles\"\n")

	unknown := answer[profilesAnswer](t, "profiles", "-model", "pg506-96gb")
	assert.Nil(t, unknown.Profiles[0].GIProfileID, "nobody has published it, and 0 is an id")
}

func TestPlacementsWithoutPicture(t *testing.T) {
	t.Parallel()
	m, err := mig.Lookup("a30-24gb")
	require.NoError(t, err)
	assert.Equal(t, "unknown", placements(m, mig.Profile{}))
	assert.Equal(t, "0 1 2", placements(m, mig.Profile{Size: 2, Starts: mig.MaskOf(0, 1, 2)}), "they overlap")
}
