package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// fingerprints matches what package plan makes of a state.
var fingerprints = regexp.MustCompile(`mig1-[0-9a-f]+`)

func TestPlanJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{
			"an idle one is kept, one in the way goes",
			[]string{"-have", "1g.5gb@1,1g.5gb@4", "-want", "3g.20gb=1,1g.5gb=1", "-busy", "1"},
			exitDone,
			`{"schema":1,"model":"a100-40gb","feasible":true,"destroyed":1,"created":1,
				"kept":[{"profile":"1g.5gb","start":1,"size":1}],
				"steps":[
					{"op":"destroy","profile":"1g.5gb","start":4,"size":1,
						"computeInstances":[{"profile":"1g.5gb","start":0,"size":1,"index":0}]},
					{"op":"create","profile":"3g.20gb","start":4,"size":4,
						"computeInstances":[{"profile":"3g.20gb","start":0,"size":3,"index":2}]}],
				"goal":[{"profile":"1g.5gb","start":1,"size":1},{"profile":"3g.20gb","start":4,"size":4}],
				"fingerprint":"FINGERPRINT"}`,
		},
		{
			"compute instances",
			[]string{"-want", "1c.3g.20gb=2"},
			exitDone,
			`{"schema":1,"model":"a100-40gb","feasible":true,"destroyed":0,"created":1,"kept":[],
				"steps":[{"op":"create","profile":"3g.20gb","start":4,"size":4,"computeInstances":[
					{"profile":"1c.3g.20gb","start":0,"size":1,"index":0},{"profile":"1c.3g.20gb","start":1,"size":1,"index":0}]}],
				"goal":[{"profile":"3g.20gb","start":4,"size":4}],"fingerprint":"FINGERPRINT"}`,
		},
		{
			"room is made beside what stays",
			[]string{"-have", "2g.10gb@0,1g.5gb@4", "-add", "3g.20gb=1"},
			exitDone,
			`{"schema":1,"model":"a100-40gb","feasible":true,"destroyed":1,"created":1,
				"kept":[{"profile":"2g.10gb","start":0,"size":2}],
				"steps":[
					{"op":"destroy","profile":"1g.5gb","start":4,"size":1,
						"computeInstances":[{"profile":"1g.5gb","start":0,"size":1,"index":0}]},
					{"op":"create","profile":"3g.20gb","start":4,"size":4,
						"computeInstances":[{"profile":"3g.20gb","start":0,"size":3,"index":2}]}],
				"goal":[{"profile":"2g.10gb","start":0,"size":2},{"profile":"3g.20gb","start":4,"size":4}],
				"fingerprint":"FINGERPRINT"}`,
		},
		{
			"nothing shall stand there",
			[]string{"-have", "7g.40gb@0", "-goal", ""},
			exitDone,
			`{"schema":1,"model":"a100-40gb","feasible":true,"destroyed":1,"created":0,"kept":[],
				"steps":[{"op":"destroy","profile":"7g.40gb","start":0,"size":8,
					"computeInstances":[{"profile":"7g.40gb","start":0,"size":7,"index":4}]}],
				"goal":[],"fingerprint":"FINGERPRINT"}`,
		},
		{
			"nothing to do",
			[]string{"-want", "1g.5gb=0"},
			exitDone,
			`{"schema":1,"model":"a100-40gb","feasible":true,"destroyed":0,"created":0,"kept":[],"steps":[],
				"goal":[],"fingerprint":"FINGERPRINT"}`,
		},
		{
			"a busy one in the way of a demand",
			[]string{"-have", "1g.5gb@0,1g.5gb@4", "-want", "3g.20gb=2", "-busy", "1g.5gb@4"},
			exitNo,
			`{"schema":1,"model":"a100-40gb","feasible":false,
				"reason":{"kind":"memory","detail":"9 memory slices needed in all, the GPU has 8; busy and in the way: 1g.5gb@4"},
				"busy":[{"profile":"1g.5gb","start":4,"size":1}]}`,
		},
		{
			"a busy one that the goal does not hold",
			[]string{"-have", "3g.20gb@0", "-goal", "3g.20gb@4", "-busy", "0"},
			exitNo,
			`{"schema":1,"model":"a100-40gb","feasible":false,
				"reason":{"kind":"busy","detail":"the goal does not hold 3g.20gb@0"},
				"busy":[{"profile":"3g.20gb","start":0,"size":4}]}`,
		},
		{
			"never on this GPU",
			[]string{"-want", "4g.20gb=2"},
			exitNo,
			`{"schema":1,"model":"a100-40gb","feasible":false,
				"reason":{"kind":"compute","detail":"8 compute slices needed in all, the GPU has 7"},"busy":[]}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			status, out, errs := call(t, append([]string{"plan", "-json", "-model", "a100-40gb"}, c.args...)...)
			assert.Equal(t, c.status, status)
			assert.JSONEq(t, c.want, fingerprints.ReplaceAllString(out, "FINGERPRINT"))
			assert.Empty(t, errs)
		})
	}
}

// TestPlanGoal: over all layouts of an A30 and all demands that one GPU can hold,
// the goal holds exactly what is wanted, and kept and created make it up.
func TestPlanGoal(t *testing.T) {
	t.Parallel()
	m, err := mig.Lookup("a30-24gb")
	require.NoError(t, err)
	wants := map[string]mig.Layout{}
	for l := range m.Layouts(nil) {
		wants[l.Demand().String()] = l
	}
	for have := range m.Layouts(nil) {
		var list []string
		for in := range have.Instances() {
			list = append(list, in.String())
		}
		for want := range wants {
			got := answer[planAnswer](t, "plan", "-model", "a30-24gb", "-have", strings.Join(list, ","), "-want", want)
			after, err := m.Layout(got.Goal...)
			require.NoError(t, err)
			require.Equal(t, want, after.Demand().String(), have)
			require.Equal(t, len(got.Goal), len(got.Kept)+got.Created, have)
			require.Len(t, got.Steps, got.Created+got.Destroyed, have)
			require.Equal(t, have.Len(), len(got.Kept)+got.Destroyed, have)
		}
	}
}

func TestPlanText(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t, "plan", "-model", "a30-24gb", "-have", "1g.6gb@0,1g.6gb@1,1g.6gb@3", "-want", "2g.12gb=1,1g.6gb=1", "-busy", "3")
	assert.Equal(t, exitDone, status)
	assert.Empty(t, errs)
	picture := `a30-24gb: exactly 1g.6gb=1,2g.12gb=1 can be had

        0       1       2       3
       ┌───────┬───────┬───────┬───────┐
before │✗1g.6gb│✗1g.6gb│·······│!1g.6gb│
after  │+2g.12gb       │·······│!1g.6gb│
       └───────────────┴───────┴───────┘

✗ destroyed   + created   ! in use

`
	require.Greater(t, len(out), len(picture))
	assert.Equal(t, picture, out[:len(picture)])
	assert.Contains(t, out[len(picture):], "in the way of 2g.12gb@0", "the planner's own words")

	status, out, errs = call(t, "plan", "-model", "a30-24gb", "-have", "1g.6gb@1,1g.6gb@3", "-add", "4g.24gb=1", "-busy", "1")
	assert.Equal(t, exitNo, status)
	assert.Empty(t, errs)
	assert.Equal(t, `a30-24gb: room for 4g.24gb=1 cannot be had
reason: memory: 5 memory slices needed in all, the GPU has 4; busy and in the way: 1g.6gb@1

 0       1       2       3
┌───────┬───────┬───────┬───────┐
│·······│!1g.6gb│·······│ 1g.6gb│
└───────┴───────┴───────┴───────┘

! in use
`, out)

	_, out, _ = call(t, "plan", "-model", "a30-24gb", "-goal", "")
	assert.Contains(t, out, "a30-24gb: an empty GPU can be had\n")
	assert.NotContains(t, out, "destroyed   +", "no legend without marks")
}

// TestPlanLoses: of two victims that would do, the one goes that loses less.
func TestPlanLoses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		loss string
		goes int
	}{{"0=600,4=5", 4}, {"1g.5gb@0=5,1g.5gb@4=600", 0}} {
		got := answer[planAnswer](t, "plan", "-model", "a100-40gb", "-have", "1g.5gb@0,1g.5gb@4", "-want", "1g.5gb=1", "-loss", c.loss)
		require.Len(t, got.Steps, 1)
		assert.Equal(t, c.goes, got.Steps[0].Start)
	}
}

func TestPlanFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "plan.json")
	args := []string{"-model", "a100-40gb", "-have", "1g.5gb@1,1g.5gb@4", "-want", "3g.20gb=1"}
	status, _, errs := call(t, append([]string{"plan", "-out", name}, args...)...)
	require.Equal(t, exitDone, status, errs)
	f, err := os.Open(name)
	require.NoError(t, err)
	defer func() { assert.NoError(t, f.Close()) }()
	p, err := plan.Decode(f)
	require.NoError(t, err)
	m, err := mig.Lookup("a100-40gb")
	require.NoError(t, err)
	before, err := m.Layout(mig.Instance{Profile: "1g.5gb", Start: 1}, mig.Instance{Profile: "1g.5gb", Start: 4})
	require.NoError(t, err)
	require.NoError(t, p.Check(plan.StateOf(before)))

	_, asked, _ := call(t, append([]string{"cost"}, args...)...)
	status, read, errs := call(t, "cost", "-plan", name)
	require.Equal(t, exitDone, status, errs)
	assert.Equal(t, asked, read, "the file costs what the question costs")

	none := filepath.Join(t.TempDir(), "none.json")
	status, _, _ = call(t, "plan", "-model", "a100-40gb", "-want", "4g.20gb=2", "-out", none)
	assert.Equal(t, exitNo, status)
	assert.NoFileExists(t, none, "there is no plan")
}

func TestPlanBadInput(t *testing.T) {
	t.Parallel()
	const have = "1g.5gb@0,3g.20gb@4"
	for _, c := range []struct {
		name string
		args []string // after -model a100-40gb
		says []string
	}{
		{"no question", []string{"-have", have}, []string{"-want, -add, -goal is missing"}},
		{"two questions", []string{"-want", "1g.5gb=1", "-goal", "1g.5gb@0"}, []string{"-want and -goal", "exclude"}},
		{"unknown profile", []string{"-want", "5g.25gb=1"}, []string{"-want", `"5g.25gb"`}},
		{"unknown profile to add", []string{"-add", "1g.6gb=1"}, []string{"-add", `"1g.6gb"`}},
		{"unknown compute profile", []string{"-want", "5c.7g.40gb=1"}, []string{"-want", "5c.7g.40gb"}},
		{"negative count", []string{"-want", "1g.5gb=-1"}, []string{"-want", `"-1"`}},
		{"empty want", []string{"-want", ""}, []string{"-want", `""`}},
		{"illegal start in the goal", []string{"-goal", "3g.20gb@1"}, []string{"-goal", "3g.20gb", "at 1", "0, 4"}},
		{"overlapping goal", []string{"-goal", "1g.5gb@1,3g.20gb@0"}, []string{"-goal", "1g.5gb@1", "overlap"}},
		{"goal without start", []string{"-goal", "3g.20gb=1"}, []string{"-goal", `"3g.20gb=1"`}},
		{"overlapping have", []string{"-want", "1g.5gb=1", "-have", "1g.5gb@5,3g.20gb@4"}, []string{"-have", "overlap"}},
		{"busy where nothing begins", []string{"-want", "1g.5gb=1", "-have", have, "-busy", "5"}, []string{"-busy", `"5"`, "-have", have[:8]}},
		{"busy of another profile", []string{"-want", "1g.5gb=1", "-have", have, "-busy", "2g.10gb@4"}, []string{"-busy", `"2g.10gb@4"`, "3g.20gb@4"}},
		{"busy on an empty GPU", []string{"-want", "1g.5gb=1", "-busy", "0"}, []string{"-busy", `"0"`, "empty"}},
		{"busy twice", []string{"-want", "1g.5gb=1", "-have", have, "-busy", "4,3g.20gb@4"}, []string{"-busy", "3g.20gb@4", "twice"}},
		{"busy of an unknown profile", []string{"-want", "1g.5gb=1", "-have", have, "-busy", "9g.5gb@4"}, []string{"-busy", `"9g.5gb"`}},
		{"empty busy", []string{"-want", "1g.5gb=1", "-have", have, "-busy", ""}, []string{"-busy", `""`}},
		{"loss without figure", []string{"-want", "1g.5gb=1", "-have", have, "-loss", "4"}, []string{"-loss", `"4"`, "START=SECONDS"}},
		{"negative loss", []string{"-want", "1g.5gb=1", "-have", have, "-loss", "4=-1"}, []string{"-loss", "3g.20gb@4", `"-1"`}},
		{"loss beyond all bounds", []string{"-want", "1g.5gb=1", "-have", have, "-loss", "4=100000001"}, []string{"-loss", `"100000001"`}},
		{"loss where nothing begins", []string{"-want", "1g.5gb=1", "-have", have, "-loss", "1=1"}, []string{"-loss", `"1"`}},
		{"loss twice", []string{"-want", "1g.5gb=1", "-have", have, "-loss", "4=1,3g.20gb@4=2"}, []string{"-loss", "twice"}},
		{"file that cannot be written", []string{"-want", "1g.5gb=1", "-out", filepath.Join(t.TempDir(), "no", "plan.json")}, []string{"-out", "plan.json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refuses(t, append([]string{"plan", "-model", "a100-40gb"}, c.args...), c.says)
		})
	}
	t.Run("placements unknown", func(t *testing.T) {
		t.Parallel()
		refuses(t, []string{"plan", "-model", "thor-igpu", "-want", "1g.0gb=1"}, []string{"-want", "thor-igpu", "unknown"})
	})
}
