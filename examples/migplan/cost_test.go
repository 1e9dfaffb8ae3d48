package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig/plan"
)

func TestCostJSON(t *testing.T) {
	t.Parallel()
	round := []string{
		"cost", "-model", "a100-40gb", "-have", "1g.5gb@0,1g.5gb@4", "-add", "3g.20gb=1", "-busy", "0", "-loss", "4=60",
		"-destroy", "2s", "-create", "1s", "-destroy-compute", "1s", "-create-compute", "0s", "-job-setup", "10s",
	}
	got := answer[costAnswer](t, append(round, "-gain", "2")...)
	// Destroyed in 3 s, created in 1 s, at work after another 10 s: one slice is
	// out of service for 14 s.
	assert.InDelta(t, 4, got.DurationSeconds, 0)
	assert.InDelta(t, 60, got.LostSliceSeconds, 0)
	assert.InDelta(t, 14, got.DowntimeSliceSeconds, 0)
	assert.Equal(t, []int{1, 1}, []int{got.Destroyed, got.Created})
	assert.True(t, got.Feasible)
	require.NotNil(t, got.BreakEvenSeconds)
	assert.InDelta(t, 4+74./2, *got.BreakEvenSeconds, 0)
	require.Len(t, got.Constants, 5)
	for _, k := range got.Constants {
		assert.Equal(t, "given on the command line", k.Source)
		assert.False(t, k.Published)
	}

	got = answer[costAnswer](t, append(round, "-gain", "0")...)
	assert.Nil(t, got.BreakEvenSeconds, "it never pays")
	got = answer[costAnswer](t, append(round, "-gain", "-1.5")...)
	assert.Nil(t, got.BreakEvenSeconds)
	assert.InDelta(t, -1.5, got.Gain, 0)
	got = answer[costAnswer](t, "cost", "-model", "a100-40gb", "-want", "1g.5gb=0")
	require.NotNil(t, got.BreakEvenSeconds)
	assert.Zero(t, *got.BreakEvenSeconds, "what costs nothing pays at once")
}

// TestCostConstants: the constants that count are the ones of the planner, with
// their sources.
func TestCostConstants(t *testing.T) {
	t.Parallel()
	got := answer[costAnswer](t, "cost", "-model", "a30-24gb", "-want", "1g.6gb=1")
	byName := map[string]plan.Assumption{}
	for _, a := range plan.Assumptions() {
		byName[a.Name] = a
	}
	require.Len(t, got.Constants, 5)
	for _, k := range got.Constants {
		a, found := byName[k.Name]
		require.True(t, found, k.Name)
		assert.InDelta(t, a.Value.Seconds(), k.Seconds, 0)
		assert.Equal(t, a.Source, k.Source)
		assert.Equal(t, a.Published, k.Published)
	}
	// One at a time, each moves the cost.
	change := []string{"cost", "-model", "a100-40gb", "-have", "1g.5gb@4", "-want", "3g.20gb=2"}
	before := answer[costAnswer](t, change...)
	for _, k := range got.Constants {
		after := answer[costAnswer](t, append(change, k.Flag, "1h")...)
		assert.Greater(t, after.DowntimeSliceSeconds, before.DowntimeSliceSeconds, k.Flag)
	}
}

func TestCostText(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t, "cost", "-model", "a100-40gb", "-have", "1g.5gb@1,1g.5gb@4", "-busy", "1", "-add", "3g.20gb=1", "-gain", "0.3", "-create", "1.5s")
	assert.Equal(t, exitDone, status)
	assert.Empty(t, errs)
	head, constants, found := strings.Cut(out, "CONSTANT")
	require.True(t, found)
	assert.Equal(t, `a100-40gb: destroys 1, creates 1, keeps 1

STEP              TAKES
destroy 1g.5gb@4  1.1s
create 3g.20gb@4  1.6s

duration    2.7s
lost work   0s       of one memory slice
downtime    7.7s     of one memory slice
break-even  28.367s  if it gains the work of 0.3 memory slices

`, head)
	assert.Contains(t, constants, "given on the command line")
	assert.Contains(t, constants, "assumed")

	status, out, errs = call(t, "cost", "-model", "a100-40gb", "-have", "1g.5gb@4", "-busy", "4", "-want", "7g.40gb=1")
	assert.Equal(t, exitNo, status)
	assert.Empty(t, errs)
	assert.Contains(t, out, "in the way: 1g.5gb@4")
	_, out, _ = call(t, "cost", "-model", "a100-40gb", "-have", "1g.5gb@4", "-goal", "", "-gain", "0")
	assert.Contains(t, out, "never")
}

func TestCostOfFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "plan.json")
	status, _, errs := call(t, "plan", "-model", "a100-40gb", "-have", "1g.5gb@0,2g.10gb@2,1g.5gb@4", "-want", "3g.20gb=1,2g.10gb=1", "-out", name)
	require.Equal(t, exitDone, status, errs)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	status, fromFile, _ := call(t, "cost", "-json", "-plan", name)
	assert.Equal(t, exitDone, status)
	status, fromStdin, _ := callWith(t, string(text), "cost", "-json", "-plan", "-")
	assert.Equal(t, exitDone, status)
	assert.Equal(t, fromFile, fromStdin)
	var got costAnswer
	require.NoError(t, json.Unmarshal([]byte(fromFile), &got))
	assert.Equal(t, 2, got.Destroyed)

	for _, c := range []struct {
		name     string
		old, new string
		says     string
	}{
		{"no plan", string(text), "{}", "schema none"},
		{"unknown model", `"a100-40gb"`, `"a100"`, `"a100"`},
		{"another schema", `"schema": 1`, `"schema": 2`, "schema 2"},
		{"a step that cannot be", `"op": "create"`, `"op": "destroy"`, "overlap"},
		{"another fingerprint", `"fingerprint": "`, `"fingerprint": "x`, "another state"},
		{"an unknown field", `"schema": 1`, `"schema": 1, "host": "x"`, "host"},
		{"two plans", string(text), string(text) + string(text), "after the plan"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			changed := strings.ReplaceAll(string(text), c.old, c.new)
			require.NotEqual(t, string(text), changed)
			file := filepath.Join(dir, strings.ReplaceAll(c.name, " ", "-"))
			require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
			refuses(t, []string{"cost", "-plan", file}, []string{"-plan", file, c.says})
		})
	}
}

func TestCostBadInput(t *testing.T) {
	t.Parallel()
	question := []string{"cost", "-model", "a100-40gb", "-want", "1g.5gb=1"}
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"neither question nor plan", []string{"cost"}, []string{"-model or -plan is missing"}},
		{"both", append(question, "-plan", "x"), []string{"-plan and -model"}},
		{"plan and goal", []string{"cost", "-goal", "1g.5gb@0", "-plan", "x"}, []string{"-plan and -goal"}},
		{"no such file", []string{"cost", "-plan", filepath.Join(t.TempDir(), "none")}, []string{"-plan", "none"}},
		{"negative constant", append(question, "-destroy", "-1s"), []string{"-destroy", `"-1s"`}},
		{"constant without unit", append(question, "-create", "5"), []string{"-create", `"5"`}},
		{"constant beyond all bounds", append(question, "-job-setup", "25h"), []string{"-job-setup", `"25h"`}},
		{"gain that is none", append(question, "-gain", "NaN"), []string{"-gain", `"NaN"`}},
		{"gain beyond all bounds", append(question, "-gain", "1e300"), []string{"-gain", `"1e300"`}},
		{"gain of words", append(question, "-gain", "some"), []string{"-gain", `"some"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refuses(t, c.args, c.says)
		})
	}
}
