package main

import (
	"bytes"
	"context"
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runSweep runs the program and returns what it printed.
func runSweep(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return call(t, append([]string{"sweep"}, args...)...)
}

// quick is a sweep of few short runs.
func quick(out string, more ...string) []string {
	return append([]string{
		"-out", out, "-mixes", "small,bimodal", "-sizes", "4", "-loads", "0.9,1.1", "-seeds", "2", "-arrivals", "200",
		"-rules", "firstfit,bestfit,usedfirst,learned,repacking,firstfit+repair,learned+moves",
	}, more...)
}

func linesOf(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	lines := strings.SplitAfter(string(data), "\n")
	require.Empty(t, lines[len(lines)-1], "the last line is whole")
	lines = lines[:len(lines)-1]
	slices.Sort(lines)
	return lines
}

func TestSweepGoesOn(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "sweep.jsonl")
	status, first, errs := runSweep(t, quick(out)...)
	require.Equal(t, exitDone, status, errs)
	lines := linesOf(t, out)
	assert.Len(t, lines, 2*2*2*7)
	assert.Contains(t, first, "a100-40gb, exponential lifetimes: rejected requests / compute slices")
	assert.Contains(t, first, "| 4 | 0.9 | firstfit | 2 | ")
	assert.Contains(t, first, "| 4 | 1.1 | learned+moves | 2 | ")
	assert.Regexp(t, `\nRejects more than firstfit beyond the 95 % interval, requests / slices: bestfit in \d / \d of 4 cells, `, first)

	// A crash leaves some lines and a torn one: the rest is run again, to the same
	// figures, and what is there is not touched.
	data, err := os.ReadFile(out)
	require.NoError(t, err)
	cut := len(data) / 2
	if data[cut-1] == '\n' {
		cut++
	}
	require.NoError(t, os.WriteFile(out, data[:cut], 0o600))
	status, second, errs := runSweep(t, quick(out, "-parallel", "1")...)
	require.Equal(t, exitDone, status, errs)
	assert.Equal(t, lines, linesOf(t, out))
	assert.Equal(t, first, second)
	after, err := os.ReadFile(out)
	require.NoError(t, err)
	whole := bytes.LastIndexByte(data[:cut], '\n') + 1
	assert.Equal(t, data[:whole], after[:whole])

	// Everything is there: nothing is run, and a part can be summed up.
	status, third, _ := runSweep(t, quick(out, "-loads", "1.1", "-rules", "firstfit,bestfit")...)
	require.Equal(t, exitDone, status)
	assert.NotContains(t, third, "| 0.9 |")
	assert.NotContains(t, third, "usedfirst")
	assert.Equal(t, lines, linesOf(t, out))
}

func TestSweepJSONAndPictures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	status, text, errs := runSweep(t, quick(filepath.Join(dir, "sweep.jsonl"), "-json", "-plot", filepath.Join(dir, "picture"))...)
	require.Equal(t, exitDone, status, errs)
	var s sweepSummary
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&s))
	require.Len(t, s.Rows, 2*2*7)
	for _, r := range s.Rows {
		assert.Equal(t, 2, r.Seeds)
		assert.Greater(t, r.Figures[rejected].Mean, 0.0)
		assert.Less(t, r.Figures[rejected].Mean, 100.0)
		assert.NotNil(t, r.Figures[rejSlices].Half)
		assert.Equal(t, r.Policy == "firstfit", r.Changes == nil, r.Policy)
		assert.LessOrEqual(t, r.Figures[movedTask].Mean, 1.0)
	}
	require.Equal(t, []string{filepath.Join(dir, "picture-instances-4.png"), filepath.Join(dir, "picture-instances-4.svg")}, s.Pictures)
	data, err := os.ReadFile(s.Pictures[0])
	require.NoError(t, err)
	_, err = png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
}

// tinyTrace writes a node list and task lists in the format of the openb trace.
func tinyTrace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	nodes := "sn,cpu_milli,memory_mib,gpu,model\n"
	for _, name := range []string{"a", "b", "c", "d"} {
		nodes += name + ",32000,262144,2,T4\n"
	}
	tasks := "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
	for i, shape := range []string{"4000,1024,1,500", "9000,1024,1,500", "12000,1024,1,1000", "8000,1024,1,810", "16000,1024,2,1000", "20000,1024,0,0"} {
		tasks += "t" + string(rune('0'+i)) + "," + shape + ",\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "openb_node_list_gpu_node.csv"), []byte(nodes), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "openb_pod_list_tiny.csv"), []byte(tasks), 0o600))
	return dir
}

func TestSweepShares(t *testing.T) {
	t.Parallel()
	dir := tinyTrace(t)
	args := []string{
		"-openb", dir, "-traces", "tiny,tiny:perturbed,tiny:eights,tiny:small", "-mixes", "", "-seeds", "3",
		"-out", filepath.Join(dir, "sweep.jsonl"), "-plot", filepath.Join(dir, "picture"),
	}
	status, text, errs := runSweep(t, args...)
	require.Equal(t, exitDone, status, errs)
	assert.Contains(t, text, "GPU left, % of the fleet, when 100 % / 130 % of it has been asked for")
	for _, name := range append(sharePolicies[:], "tiny:perturbed", "tiny:eights", "tiny:small") {
		assert.Contains(t, text, "| "+name+" |")
	}
	assert.NotContains(t, text, "MIG")
	assert.Contains(t, text, "picture-shares.svg")
	assert.NotContains(t, text, "NaN")
	assert.Len(t, linesOf(t, filepath.Join(dir, "sweep.jsonl")), 4*3*len(sharePolicies))

	status, _, errs = runSweep(t, "-openb", dir, "-traces", "tiny:other", "-mixes", "", "-out", filepath.Join(dir, "other.jsonl"))
	assert.Equal(t, exitBad, status)
	assert.Contains(t, errs, `unknown change "other"`)
	status, _, errs = runSweep(t, "-openb", dir, "-traces", "missing", "-mixes", "", "-out", filepath.Join(dir, "other.jsonl"))
	assert.Equal(t, exitBad, status)
	assert.Contains(t, errs, "openb_pod_list_missing.csv")
}

func TestSweepUsage(t *testing.T) {
	t.Parallel()
	status, out, _ := runSweep(t, "-h")
	assert.Equal(t, exitDone, status)
	for _, name := range append(append(mixNames(), sharePolicies[:]...), instanceRules[:]...) {
		assert.Contains(t, out, name)
	}
	for text, args := range map[string][]string{
		`unexpected argument "x"`:   {"x"},
		"-out: no file":             {"-out", ""},
		"-seeds 0":                  {"-seeds", "0"},
		"-parallel -1":              {"-parallel", "-1"},
		"-arrivals -1":              {"-arrivals", "-1"},
		"-warmup NaN":               {"-warmup", "NaN"},
		`-policies: unknown "none"`: {"-openb", ".", "-policies", "none"},
		`-mixes: unknown "big"`:     {"-mixes", "big"},
		"-rules: selected stands":   {"-rules", "selected,selected"},
		`-sizes: "0"`:               {"-sizes", "0"},
		`-loads: "x"`:               {"-loads", "x"},
		`-lifetimes: unknown "odd"`: {"-lifetimes", "odd"},
		"-models":                   {"-models", "t4"},
		"-models: a100-40gb stands": {"-models", "a100-40gb,a100-40gb"},
		"-traces: cpu050 stands":    {"-openb", ".", "-traces", "cpu050,cpu050"},
		"-sizes: 8 stands":          {"-sizes", "8,08"},
		"-loads: 1 stands":          {"-loads", "1,1.0"},
		"nothing to run":            {"-mixes", ""},
		"-nothing":                  {"-nothing"},
	} {
		status, _, errs := runSweep(t, args...)
		assert.Equal(t, exitBad, status, text)
		assert.Contains(t, errs, text)
	}
}

// TestSweepMoreThanNone: where first fit rejects nothing there is no change to take
// the mean of.
func TestSweepMoreThanNone(t *testing.T) {
	t.Parallel()
	var all []finished
	for _, c := range []struct {
		mix, policy string
		rejects     float64
	}{{"small", "firstfit", 4}, {"small", "bestfit", 3}, {"123", "firstfit", 0}, {"123", "bestfit", 1}} {
		for seed := range int64(2) {
			all = append(all, finished{Cell: cell{
				Kind: instanceCells, Policy: c.policy, Seed: seed, Model: "a100-40gb", Mix: c.mix, GPUs: 8, Load: 1,
			}, Figures: map[string]float64{rejected: c.rejects, rejSlices: c.rejects, movedTask: 0}})
		}
	}
	s := summarizeSweep(all)
	var out bytes.Buffer
	s.writeMarkdown(&out)
	assert.Contains(t, out.String(), "| 8 | 1 | bestfit | 2 | -25±0 / -25±0 | more than none / more than none | -25.0 / -25.0 | 0.00 |")
	_, err := json.Marshal(s)
	require.NoError(t, err)

	out.Reset()
	summarizeSweep(all[4:]).writeMarkdown(&out)
	assert.Contains(t, out.String(), "| 8 | 1 | bestfit | 2 | more than none / more than none | more than none / more than none | 0.00 |")
}

func TestSweepBadFile(t *testing.T) {
	t.Parallel()
	for text, data := range map[string]string{
		"line 2":                 `{"schema":1,"cell":{"kind":"shares","policy":"p","seed":1},"figures":{}}` + "\nnonsense\n",
		"line 1: schema 2":       `{"schema":2,"cell":{"kind":"shares","policy":"p","seed":1},"figures":{}}` + "\n",
		`unknown field "figure"`: `{"schema":1,"cell":{"kind":"shares","policy":"p","seed":1},"figure":{}}` + "\n",
	} {
		out := filepath.Join(t.TempDir(), "sweep.jsonl")
		require.NoError(t, os.WriteFile(out, []byte(data), 0o600))
		status, _, errs := runSweep(t, quick(out)...)
		assert.Equal(t, exitBad, status)
		assert.Contains(t, errs, text)
		after, err := os.ReadFile(out)
		require.NoError(t, err)
		assert.Equal(t, data, string(after), "nothing is written")
	}
	status, _, errs := runSweep(t, quick(t.TempDir())...)
	assert.Equal(t, exitBad, status)
	assert.Contains(t, errs, "-out")
}

func TestSweepInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	assert.Equal(t, exitInterrupted, sweep(ctx, quick(filepath.Join(t.TempDir(), "sweep.jsonl")), &out, &errs))
	assert.Empty(t, out.String())
	assert.Contains(t, errs.String(), "run again to go on")
}

// TestMixesOnModels: every mix is for some model, with the profiles that it says.
func TestMixesOnModels(t *testing.T) {
	t.Parallel()
	for _, name := range mixNames() {
		quarters := strings.HasPrefix(name, "quarters-")
		assert.Equal(t, quarters, mixOn("a30-24gb", name), name)
		assert.Equal(t, quarters, mixOn("rtx-pro-6000-96gb", name), name)
		assert.Equal(t, !quarters, mixOn("a100-40gb", name), name)
		assert.Equal(t, !quarters, mixOn("b200-180gb", name), name)
		assert.Equal(t, !quarters, mixOn("h100-80gb-sxm5", driftPrefix+name), name)
	}
}

// TestMixedFleet: a mix for several models asks for the profiles of each equally
// often, and the rules for one model are left out.
func TestMixedFleet(t *testing.T) {
	t.Parallel()
	models, err := modelsOf("a100-40gb+a100-80gb+a30-24gb")
	require.NoError(t, err)
	mix, _, err := mixOf(models, "bimodal")
	require.NoError(t, err)
	counts := map[string]int64{}
	for _, e := range mix {
		counts[e.Shape.Profile] = e.Count
	}
	assert.Equal(t, map[string]int64{
		"7g.40gb": 200_000, "1g.5gb": 800_000, "7g.80gb": 200_000, "1g.10gb": 800_000, "4g.24gb": 250_000, "1g.6gb": 750_000,
	}, counts)
	var sizes []int
	for _, g := range fleetOf(models, 8) {
		sizes = append(sizes, g.GPUs)
	}
	assert.Equal(t, []int{3, 3, 2}, sizes)
	mix, _, err = mixOf(models[:2], "uniform")
	require.NoError(t, err)
	assert.Len(t, mix, 11, "1g.10gb is in both")

	o, err := parseSweep([]string{"-models", "a100-40gb+a100-80gb", "-mixes", "uniform", "-sizes", "8", "-loads", "1", "-seeds", "1"})
	require.NoError(t, err)
	var rules []string
	for _, c := range o.cells() {
		rules = append(rules, c.Policy)
	}
	assert.Equal(t, []string{"firstfit", "bestfit", "migfgd", "usedfirst", "learned", "firstfit+repair"}, rules)
	for fleet, why := range map[string]string{
		"a100-40gb+a100-40gb":           "twice",
		"a100-40gb+":                    "unknown",
		"a100-40gb+a100-80gb+h100-94gb": "more models than GPUs (-sizes 2)",
	} {
		_, err := parseSweep([]string{"-models", fleet, "-sizes", "2"})
		require.ErrorContains(t, err, why)
	}
}

func TestDrift(t *testing.T) {
	t.Parallel()
	models, err := modelsOf("a100-40gb")
	require.NoError(t, err)
	for name, next := range map[string]string{
		"uniform": "small", "mid34": "bimodal", "bimodal": "uniform", "random1": "random2", "random3": "uniform",
	} {
		first, then, err := mixOf(models, driftPrefix+name)
		require.NoError(t, err)
		want, none, err := mixOf(models, name)
		require.NoError(t, err)
		assert.Equal(t, want, first)
		assert.Empty(t, none)
		want, _, err = mixOf(models, next)
		require.NoError(t, err)
		assert.Equal(t, want, then[0], name)
	}
	uniform, _, err := mixOf(models, "uniform")
	require.NoError(t, err)
	var profiles []string
	for _, e := range uniform {
		profiles = append(profiles, e.Shape.Profile)
	}
	assert.Equal(t, []string{"7g.40gb", "4g.20gb", "3g.20gb", "2g.10gb", "1g.10gb", "1g.5gb"}, profiles)
}
