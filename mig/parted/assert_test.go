package parted_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/parted"
)

// on returns the state of a GPU with MIG on.
func on(g parted.GPU, instances mig.Demand) parted.State {
	return parted.State{GPU: g, Enabled: true, Instances: instances}
}

func TestAssert(t *testing.T) {
	t.Parallel()
	gpu := node(a100x40)[0]
	wants := func(counts string) string {
		return label("  - {devices: all, mig-enabled: true, mig-devices: {" + counts + "}}\n")
	}
	const off = "version: v1\nmig-configs:\n  x: [{devices: all, mig-enabled: false}]\n"
	for _, c := range []struct {
		name  string
		text  string
		state parted.State
		want  []string
	}{
		{"equal", wants("3g.20gb: 1, 1g.5gb: 2"), on(gpu, mig.Demand{"1g.5gb": 2, "3g.20gb": 1}), nil},
		{"another spelling", wants("1c.1g.5gb: 2"), on(gpu, mig.Demand{"1g.5gb": 2}), nil},
		{"two spellings", wants("1c.1g.5gb: 2, 1g.5gb: 1"), on(gpu, mig.Demand{"1g.5gb": 3}), nil},
		{"zero counts on both sides", wants("1g.5gb: 2, 2g.10gb: 0"), on(gpu, mig.Demand{"1g.5gb": 2, "3g.20gb": 0}), nil},
		{"compute instances", wants("1c.3g.20gb: 3"), on(gpu, mig.Demand{"1c.3g.20gb": 3}), nil},
		{"on and empty", wants(""), on(gpu, nil), nil},
		{"off", off, parted.State{GPU: gpu}, nil},
		{"too few", wants("1g.5gb: 3"), on(gpu, mig.Demand{"1g.5gb": 1}), []string{"GPU 0: missing 1g.5gb=2"}},
		{"too many", wants("1g.5gb: 1"), on(gpu, mig.Demand{"1g.5gb": 3}), []string{"GPU 0: surplus 1g.5gb=2"}},
		{"others", wants("2g.10gb: 1, 1g.5gb: 1"), on(gpu, mig.Demand{"3g.20gb": 1, "1g.5gb": 1}), []string{"GPU 0: missing 2g.10gb=1; surplus 3g.20gb=1"}},
		{"whole and not in parts", wants("1c.3g.20gb: 3"), on(gpu, mig.Demand{"3g.20gb": 1}), []string{"GPU 0: missing 1c.3g.20gb=3; surplus 3g.20gb=1"}},
		{"off and wanted on", wants("1g.5gb: 1"), parted.State{GPU: gpu}, []string{"GPU 0: MIG is off, not on; missing 1g.5gb=1"}},
		{"on and wanted off", off, on(gpu, mig.Demand{"1g.5gb": 1}), []string{"GPU 0: MIG is on, not off; surplus 1g.5gb=1"}},
		{"on, empty and wanted off", off, on(gpu, nil), []string{"GPU 0: MIG is on, not off"}},
		{
			"a GPU instance in which nothing runs", wants("1g.5gb: 1"),
			parted.State{GPU: gpu, Enabled: true, Instances: mig.Demand{"1g.5gb": 1}, Remnants: mig.Demand{"3g.20gb": 1}},
			[]string{"GPU 0: without compute instance 3g.20gb=1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := parse(t, c.text).Assert("x", []parted.State{c.state}, nil)
			require.NoError(t, err)
			var got []string
			for _, d := range r.Differences {
				got = append(got, d.String())
			}
			assert.Equal(t, c.want, got)
			assert.Equal(t, len(c.want) == 0, r.Satisfied())
			assert.Equal(t, r.Satisfied(), r.Strict())
			assert.Empty(t, r.Uncovered)
		})
	}
}

func TestAssertJSON(t *testing.T) {
	t.Parallel()
	c := parse(t, label("  - {devices: [0], mig-enabled: true, mig-devices: {1g.5gb: 1}}\n"))
	gpus := node(a100x40, a100x40)
	r, err := c.Assert("x", []parted.State{on(gpus[0], nil), on(gpus[1], nil)}, nil)
	require.NoError(t, err)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	assert.JSONEq(t, `{"label":"x","differences":[{"gpu":0,"wantEnabled":true,"enabled":true,"missing":{"1g.5gb":1}}],
		"uncovered":[1],"warnings":[]}`, string(text))
	r, err = c.Assert("x", []parted.State{on(gpus[0], mig.Demand{"1g.5gb": 1})}, nil)
	require.NoError(t, err)
	text, err = json.Marshal(r)
	require.NoError(t, err)
	assert.JSONEq(t, `{"label":"x","differences":[],"uncovered":[],"warnings":[]}`, string(text))
}

// TestAssertPerturbed: a state that was built from a label satisfies it, and does
// not any more after any one change.
func TestAssertPerturbed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		states := genStates(t)
		c, err := parted.Export(states, "x")
		require.NoError(t, err)
		i := rapid.IntRange(0, len(states)-1).Draw(t, "changed")
		s := states[i]
		if !s.Capable {
			return
		}
		changed := parted.State{GPU: s.GPU, Enabled: s.Enabled, Instances: mig.Demand{}}
		maps.Copy(changed.Instances, s.Instances)
		switch rapid.IntRange(0, 2).Draw(t, "change") {
		case 0:
			changed.Enabled = !s.Enabled
			changed.Instances = nil
		case 1:
			changed.Enabled = true
			changed.Instances["1g.5gb"] = s.Instances["1g.5gb"] + 1
		default:
			changed.Enabled = true
			changed.Remnants = mig.Demand{"1g.5gb": 1}
		}
		states[i] = changed
		r, err := c.Assert("", states, nil)
		require.NoError(t, err)
		require.Len(t, r.Differences, 1)
		require.Equal(t, s.Index, r.Differences[0].GPU)
		require.NotEmpty(t, r.Differences[0].String())
	})
}
