package placement_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
)

func TestNewNodeRefuses(t *testing.T) {
	t.Parallel()
	gpus := func(n int) []placement.GPUSpec { return make([]placement.GPUSpec, n) }
	tests := []struct {
		name string
		spec placement.NodeSpec
		text string
	}{
		{"no name", placement.NodeSpec{}, `node ""`},
		{"negative CPU", placement.NodeSpec{Name: "n", CPU: -5}, "CPU -5"},
		{"negative memory", placement.NodeSpec{Name: "n", Memory: -6}, "memory -6"},
		{"too many GPUs", placement.NodeSpec{Name: "n", GPUs: gpus(65)}, "65 GPUs"},
		{"negative device memory", placement.NodeSpec{Name: "n", GPUs: []placement.GPUSpec{{}, {Memory: -7}}}, "GPU 1: device memory -7"},
		{"model without a table", placement.NodeSpec{Name: "n", GPUs: []placement.GPUSpec{{MIG: new(mig.Model)}}}, "GPU 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n, err := placement.NewNode(tt.spec)
			require.ErrorIs(t, err, placement.ErrBadNode)
			require.ErrorContains(t, err, tt.text)
			assert.Nil(t, n)
			_, err = placement.NewCluster([]placement.NodeSpec{uncut("first", 1), tt.spec})
			require.ErrorIs(t, err, placement.ErrBadNode)
			_, _, err = placement.Rebuild(tt.spec, nil)
			require.ErrorIs(t, err, placement.ErrBadNode)
		})
	}
	newNode(t, placement.NodeSpec{Name: "largest", GPUs: gpus(64)})
}

// A node may be cut as two models: the profiles of one are none of the other's.
func TestWithMixedModels(t *testing.T) {
	t.Parallel()
	spec := cut(t, "n", "a100-40gb", 1)
	spec.GPUs = append(spec.GPUs, cut(t, "", "a30-24gb", 1).GPUs...)
	n := newNode(t, spec)
	with(t, n, instanceAt("x", "1g.6gb", 1, 0))
	_, err := n.With(instanceAt("x", "1g.6gb", 0, 0))
	var refused *placement.RefusedError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, placement.RefusedError{Kind: placement.UnknownProfile, GPU: 0}, *refused)
}

// A node keeps its spec, whatever the caller does to the one given or returned.
func TestNodeOwnsItsSpec(t *testing.T) {
	t.Parallel()
	spec := uncut("n", 2)
	n := newNode(t, spec)
	spec.GPUs[0].Memory = 1
	n.Spec().GPUs[1].Memory = 2
	assert.Equal(t, uncut("n", 2), n.Spec())
	s := n.State()
	s.GPUs[0].Milli = 5
	again := n.State()
	assert.EqualValues(t, 2000, again.Left(), "a state is a copy")
}

func TestWithRefuses(t *testing.T) {
	t.Parallel()
	mixed := uncut("n", 2)
	mixed.GPUs = append(mixed.GPUs, cut(t, "", "a100-40gb", 1).GPUs...)
	n := with(t, newNode(t, mixed), at("a", fraction(600), 0), instanceAt("b", "1g.5gb", 2, 0), somewhere("c", whole(1)))
	withMemory := func(milli, need int64) fragmentation.Shape {
		return fragmentation.Shape{GPUs: 1, Milli: milli, DeviceMemory: need}
	}
	smallInstance := instance("1g.5gb")
	smallInstance.DeviceMemory = 4865
	tests := []struct {
		name string
		a    placement.Assignment
		err  error
		kind placement.Kind // of the *RefusedError, if there is one
		text string
	}{
		{"no ID", at("", fraction(1), 0), placement.ErrBadTask, 0, "no ID"},
		{"bad shape", at("x", fraction(1500), 0), placement.ErrBadTask, 0, "1500"},
		{"there already", at("a", fraction(1), 1), placement.ErrDuplicate, 0, `task "a"`},
		{"GPU out of range", at("x", fraction(1), 3), placement.ErrBadSpot, 0, "GPU 3 of 3"},
		{"GPU out of range for an instance", instanceAt("x", "1g.5gb", 3, 0), placement.ErrBadSpot, 0, "GPU 3 of 3"},
		{"GPU out of range for whole GPUs", at("x", whole(3), 1, 2, 63), placement.ErrBadSpot, 0, "GPU 63 of 3"},
		{"GPU out of range, and no CPU", at("x", fragmentation.Shape{CPU: 99000, GPUs: 1, Milli: 1}, 3), placement.ErrBadSpot, 0, "GPU 3 of 3"},
		{"no GPU named", at("x", fraction(1)), placement.ErrBadSpot, 0, "spot names 0 GPUs"},
		{"one GPU too many", at("x", fraction(1), 0, 1), placement.ErrBadSpot, 0, "(0-1)"},
		{"a GPU for a task without", at("x", fragmentation.Shape{CPU: 1}, 0), placement.ErrBadSpot, 0, "takes 0"},
		{"start without a profile", placement.Assignment{Task: task("x", fraction(1)), Spot: placement.Spot{GPUs: 1, Start: 4}}, placement.ErrBadSpot, 0, "start 4"},
		{"share taken", at("x", fraction(401), 0), placement.ErrRefused, placement.LackGPU, "GPU 0"},
		{"device memory", at("x", withMemory(1, 16385), 0), placement.ErrRefused, placement.LackDevice, "GPU 0"},
		{"fraction of a cut GPU", at("x", fraction(1), 2), placement.ErrRefused, placement.NoGPU, "GPU 2"},
		{"instance on an uncut GPU", instanceAt("x", "1g.5gb", 0, 0), placement.ErrRefused, placement.NoGPU, "GPU 0"},
		{"profile of another model", instanceAt("x", "1g.6gb", 2, 0), placement.ErrRefused, placement.UnknownProfile, "profile"},
		{"instance too small", placement.Assignment{Task: task("x", smallInstance), Spot: placement.Spot{GPUs: 4, Start: 1}}, placement.ErrRefused, placement.LackDevice, "GPU 2"},
		{"start taken", instanceAt("x", "1g.5gb", 2, 0), placement.ErrRefused, placement.NoStart, "GPU 2"},
		{"start taken, says mig", instanceAt("x", "1g.5gb", 2, 0), mig.ErrConflict, placement.NoStart, "1g.5gb@0"},
		{"start not legal", instanceAt("x", "2g.10gb", 2, 6), placement.ErrBadSpot, 0, "GPU 2"},
		{"start not legal, says mig", instanceAt("x", "2g.10gb", 2, 6), mig.ErrIllegalStart, 0, "cannot start at 6"},
		{"CPU", at("x", fragmentation.Shape{CPU: 61001}), placement.ErrRefused, placement.LackCPU, "CPU"},
		{"memory", at("x", fragmentation.Shape{Memory: 262145}), placement.ErrRefused, placement.LackMemory, "memory"},
		{"task placed anywhere needs the GPU", at("x", fraction(1), 1), placement.ErrRefused, placement.LackGPU, "placed anywhere"},
		{"anywhere, and nowhere is room", somewhere("x", fraction(500)), placement.ErrRefused, placement.LackGPU, "not enough GPU"},
		{"anywhere, other model", somewhere("x", fragmentation.Shape{GPUs: 1, Milli: 1, Models: "H100"}), placement.ErrRefused, placement.WrongModel, "model"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := n.With(tt.a)
			require.ErrorIs(t, err, tt.err)
			require.ErrorContains(t, err, tt.text)
			require.ErrorContains(t, err, `on node "n"`)
			assert.Nil(t, got)
			var refused *placement.RefusedError
			if tt.kind != placement.None {
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, tt.kind, refused.Kind)
			} else {
				require.NotErrorIs(t, err, placement.ErrRefused)
			}
			require.NotErrorIs(t, err, placement.ErrGaveUp)
		})
	}
}

func TestRebuildReports(t *testing.T) {
	t.Parallel()
	spec := cut(t, "n", "a100-40gb", 2)
	recorded := []placement.Assignment{
		somewhere("late", instance("7g.40gb")),
		instanceAt("a", "3g.20gb", 0, 4),
		instanceAt("clash", "1g.5gb", 0, 5),
		instanceAt("far", "1g.5gb", 9, 0),
		instanceAt("start", "1g.5gb", 0, 7),
		instanceAt("b", "1g.5gb", 0, 0),
		instanceAt("a", "1g.5gb", 1, 0),
		somewhere("too much", instance("7g.40gb")),
	}
	n, wrong, err := placement.Rebuild(spec, recorded)
	require.NoError(t, err)
	var ids []string
	for _, w := range wrong {
		ids = append(ids, w.Assignment.Task.ID)
		assert.Equal(t, "n", w.Node)
		assert.Equal(t, w.Err.Error(), w.String())
	}
	assert.Equal(t, []string{"clash", "far", "start", "a", "too much"}, ids, "in the order given, those placed anywhere last")
	require.ErrorIs(t, wrong[0].Err, placement.ErrRefused)
	require.ErrorIs(t, wrong[0].Err, mig.ErrConflict)
	require.ErrorIs(t, wrong[1].Err, placement.ErrBadSpot)
	require.ErrorIs(t, wrong[2].Err, mig.ErrIllegalStart)
	require.ErrorIs(t, wrong[3].Err, placement.ErrDuplicate)
	require.ErrorIs(t, wrong[4].Err, placement.ErrRefused)
	assert.Equal(t, "1g.5gb@0 3g.20gb@4", n.State().GPUs[0].Layout.String())
	assert.Equal(t, "7g.40gb@0", n.State().GPUs[1].Layout.String())
	assert.Equal(t, 3, n.Len())
}

func TestNodeReads(t *testing.T) {
	t.Parallel()
	n := with(t, newNode(t, uncut("n", 2)), at("b", fraction(1), 0), at("a", fraction(2), 1))
	assert.Equal(t, "n", n.Name())
	assert.Equal(t, 2, n.NumGPUs())
	assert.Equal(t, 2, n.Len())
	var ids []string
	for a := range n.Assignments() {
		ids = append(ids, a.Task.ID)
	}
	assert.Equal(t, []string{"a", "b"}, ids, "by ID")
	for range n.Assignments() {
		break // an iteration may end early
	}
	_, found := n.Assignment("c")
	assert.False(t, found)
	assert.Equal(t, fragmentation.GPU{Milli: 999, Memory: 16384}, n.GPU(0))
	assert.Zero(t, n.GPU(2), "a GPU that is not there")
	assert.Zero(t, n.GPU(-1))
	assert.True(t, n.Settled())
	var s fragmentation.State
	n.CopyState(&s)
	want := n.State()
	assert.True(t, want.Equal(&s))
	assert.Equal(t, "GPU 3: not enough GPU left", (&placement.RefusedError{Kind: placement.LackGPU, GPU: 3}).Error())
}

func TestGPUSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.IntRange(-2, 66)).Draw(t, "indexes")
		set := placement.GPUs(list...)
		want := slices.DeleteFunc(slices.Clone(list), func(i int) bool { return i < 0 || i > 63 })
		slices.Sort(want)
		want = slices.Compact(want)
		assert.Equal(t, len(want), set.Len())
		for i := -2; i <= 66; i++ {
			assert.Equal(t, slices.Contains(want, i), set.Has(i))
		}
		got := slices.Collect(set.All())
		assert.True(t, slices.Equal(want, got), "%v, not %v", got, want)
		first := -1
		if len(want) > 0 {
			first = want[0]
		}
		assert.Equal(t, first, set.First())
		assert.Len(t, strings.FieldsFunc(set.String(), func(r rune) bool { return r == '-' }), len(want))
	})
	assert.Equal(t, "0-3-63", placement.GPUs(63, 0, 3, 64).String())
	assert.Empty(t, placement.GPUSet(0).String())
	for i := range placement.GPUs(1, 2).All() {
		assert.Equal(t, 1, i)
		break
	}
}
