package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGovernorProtects: the co-run rule halves the p99 of the protected tenant at
// least and leaves the batch job half of its work, on both engines and each seed.
func TestGovernorProtects(t *testing.T) {
	t.Parallel()
	a := answer[governorAnswer](t, exitDone, "governor", "-for", "20s", "-seeds", "3")
	assert.Equal(t, schema, a.Schema)
	assert.True(t, a.Protected)
	require.Len(t, a.Engines, 2)
	assert.Equal(t, "sliced", a.Engines[0].Engine)
	for _, e := range a.Engines {
		none := e.Rules[0]
		require.Equal(t, "none", none.Rule)
		assert.EqualValues(t, 1000, none.AgainstNoneMilli)
		assert.False(t, none.Protects)
		assert.Less(t, e.AloneP99Ns, none.P99Ns)
		seen := 0
		for _, r := range e.Rules {
			require.Len(t, r.Runs, 3)
			assert.LessOrEqual(t, r.P50Ns, r.P95Ns)
			assert.LessOrEqual(t, r.P95Ns, r.P99Ns)
			var sum, batch int64
			for _, run := range r.Runs {
				sum += run.P99Ns
				batch += run.BatchMilli
			}
			assert.Equal(t, sum/3, r.P99Ns)
			assert.InDelta(t, r.BatchMilli, batch/3, 2, r.Rule)
			assert.Equal(t, 2*r.AgainstNoneMilli <= 1000 && 2*r.BatchMilli >= 1000, r.Protects, r.Rule)
			if strings.HasPrefix(r.Rule, "corun:") {
				seen++
				assert.True(t, r.Protects, "%s %s", e.Engine, r.Rule)
				for i, run := range r.Runs {
					assert.LessOrEqual(t, 2*run.P99Ns, none.Runs[i].P99Ns)
					assert.GreaterOrEqual(t, run.BatchMilli, int64(500))
				}
			}
			if strings.HasPrefix(r.Rule, "feedback:") || strings.HasPrefix(r.Rule, "quota:") {
				assert.Positive(t, r.Runs[0].Refused, r.Rule)
			}
		}
		assert.Equal(t, 3, seen)
	}
	assert.Equal(t, a, answer[governorAnswer](t, exitDone, "governor", "-for", "20s", "-seeds", "3"), "the order of the runs is no matter")
}

func TestGovernorText(t *testing.T) {
	t.Parallel()
	prefix := filepath.Join(t.TempDir(), "governor")
	status, out, errs := call(t, "governor", "-rules", "feedback:250,none", "-engines", "sliced", "-for", "10s", "-seeds", "2", "-plot", prefix)
	assert.Equal(t, exitNo, status, "none of these leaves the batch job half of its work")
	assert.Empty(t, errs)
	lines := strings.Split(out, "\n")
	assert.Equal(t, "requests of 5ms at 30.0 % load beside a batch job with launches of 2ms; slices of 1.024ms, switches of 40µs, 10s for 2 seeds", lines[0])
	assert.Equal(t, "sliced", lines[2])
	assert.Regexp(t, `^RULE +P50 +P95 +P99 +AGAINST NONE +BATCH`, lines[3])
	assert.Regexp(t, `^alone +5ms +1\d\.\d+ms +1\d\.\d+ms +100\.0 %`, lines[4])
	assert.Regexp(t, `^feedback:250 +.*25\.\d %`, lines[5])
	assert.Regexp(t, `^none +.* 100\.0 % +6\d\.\d %`, lines[6])
	assert.Contains(t, out, "\nno rule halves the P99 and leaves the batch job half of its work\n")
	svg := pictures(t, prefix)
	for _, text := range []string{">feedback<", ">none<", ">alone<", ": time slices<", "p99 halved", ">250<"} {
		assert.Contains(t, svg, text)
	}
	assert.NotContains(t, svg, ">quota<")
}

func TestRules(t *testing.T) {
	t.Parallel()
	rules, err := parseRules("none,feedback,quota:1,aimd,corun,corun:1000")
	require.NoError(t, err)
	var names []string
	for _, r := range rules {
		names = append(names, r.String())
	}
	assert.Equal(t, "none feedback:500 quota:1 aimd:30 corun:0 corun:1000", strings.Join(names, " "))
	for r := range strings.SplitSeq(defaultRules, ",") {
		parsed, err := parseRule(r)
		require.NoError(t, err)
		assert.Equal(t, r, parsed.String(), "written out in full")
	}
	for _, law := range laws {
		_, err := parseRules(law)
		require.NoError(t, err)
	}
}

func TestGovernorBadInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"-rules", "none,hami"}, []string{"-rules", `"hami"`, "none, feedback, quota, aimd, corun"}},
		{[]string{"-rules", ""}, []string{"-rules", `""`}},
		{[]string{"-rules", "none:5"}, []string{"none takes no figure"}},
		{[]string{"-rules", "feedback:0"}, []string{`"0" is no whole number from 1 to 1000`}},
		{[]string{"-rules", "quota:0.5"}, []string{`"0.5"`}},
		{[]string{"-rules", "aimd:901"}, []string{`"901"`, "900"}},
		{[]string{"-rules", "corun:-1"}, []string{`"-1"`, "from 0"}},
		{[]string{"-rules", "quota,quota:500"}, []string{"quota:500 stands there twice"}},
		{[]string{"-engines", "sliced,lifo"}, []string{"-engines", `"lifo"`}},
		{[]string{"-engines", "fifo,fifo"}, []string{"fifo stands there twice"}},
		{[]string{"-load", "0"}, []string{"-load: 0"}},
		{[]string{"-load", "1000"}, []string{"-load: 1000"}},
		{[]string{"-seeds", "0"}, []string{"-seeds: 0"}},
		{[]string{"-seeds", "99999"}, []string{"-seeds: 99999"}},
		{[]string{"-request", "1500us"}, []string{"-request: 1.5ms", "whole number of launches"}},
		{[]string{"-request", "0s"}, []string{"-request: 0s"}},
		{[]string{"-kernel", "0s"}, []string{"-kernel: 0s"}},
		{[]string{"-slice", "0s"}, []string{"-slice: 0s"}},
		{[]string{"-switch", "-1ms"}, []string{"-switch: -1ms"}},
		{[]string{"-for", "2h"}, []string{"-for: 2h0m0s"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			refuses(t, append([]string{"governor"}, c.args...), c.says)
		})
	}
}
