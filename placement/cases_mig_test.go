package placement_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// Reports about MIG instances; see cases_test.go for the others.

// 06: packing puts seven 1g on one GPU, so that three GPUs can still be had
// whole. Worst fit is the one that must not.
func TestCase06PackInstances(t *testing.T) {
	t.Parallel()
	mix := fragmentation.Mix{{Shape: instance("1g.10gb"), Count: 5}, {Shape: instance("7g.80gb"), Count: 1}}
	v, err := fragmentation.NewMIGFGD(mix)
	require.NoError(t, err)
	spec := cut(t, "n", "h100-80gb-sxm5", 4)
	tests := []struct {
		name   string
		policy placement.Policy
		gpus   int
		whole  int // 7g.80gb that can still be placed
	}{
		{"first fit", placement.FirstFit(), 1, 3},
		{"best fit", placement.BestFit(suiteLargest), 1, 3},
		{"packing", placement.Packing(), 1, 3},
		{"clustering", placement.Clustering(suiteLargest), 1, 3},
		{"value", byValue(t, v, 1, placement.NodeOrder), 1, 3},
		{"worst fit", placement.WorstFit(suiteLargest), 4, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, spec)
			at, refused := fill(t, c, tt.policy, repeat(7, instance("1g.10gb"))...)
			assert.Zero(t, refused)
			assert.Len(t, at, tt.gpus)
			if tt.gpus == 1 {
				layout := c.Node("n").State().GPUs[0].Layout
				assert.Equal(t, "1g.10gb@0 1g.10gb@1 1g.10gb@2 1g.10gb@3 1g.10gb@4 1g.10gb@5 1g.10gb@6", layout.String())
			}
			job := task("large", instance("7g.80gb"))
			large := 0
			for n := c.Node("n"); n.Fits(&job).Kind == placement.None; large++ {
				n = with(t, n, placement.Assignment{Task: task(fmt.Sprint(large), job.Shape), Spot: tt.policy.Choose(n, &job).Spot})
			}
			assert.Equal(t, tt.whole, large)
		})
	}
}

// 57 and 104: the reports disagree on two instances for one request. Here a
// task has one instance, since a process can use one; two tasks have two, of
// one GPU or of several. The number of instances is never held against the
// number of GPUs.
func TestCase57And104TwoInstances(t *testing.T) {
	t.Parallel()
	both := fragmentation.Shape{GPUs: 2, Profile: "3g.40gb"}
	require.ErrorIs(t, both.Validate(), fragmentation.ErrBadShape)
	n := newNode(t, cut(t, "n", "h100-80gb-sxm5", 3))
	assert.Equal(t, placement.Refusal{Kind: placement.BadShape}, fits(n, both))

	small := instance("1g.5gb")
	small.DeviceMemory = 4864
	c := newCluster(t, cut(t, "n", "a100-40gb", 1))
	at, refused := fill(t, c, placement.FirstFit(), small, small)
	assert.Zero(t, refused)
	assert.Equal(t, map[string]int{"n/0": 2}, at)
	assert.Equal(t, "1g.5gb@0 1g.5gb@1", c.Node("n").State().GPUs[0].Layout.String())

	two := whole(2)
	assert.Equal(t, placement.Refusal{Kind: placement.LackGPU}, fits(newNode(t, uncut("n", 1)), two), "two devices of one uncut GPU")
}

// 62: slices are counted once. The report counts compute slices as GPUs; here a
// GPU is 1000 milli by its memory slices, so 7 x 1g leave the eighth.
func TestCase62CountedOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		profile string
		count   int
		left    int64
	}{{"1g.10gb", 7, 125}, {"3g.40gb", 2, 0}} {
		c := newCluster(t, cut(t, "n", "a100-80gb", 1))
		_, refused := fill(t, c, placement.FirstFit(), repeat(tt.count+1, instance(tt.profile))...)
		assert.Equal(t, 1, refused, "%d x %s and no more", tt.count, tt.profile)
		s := c.Node("n").State()
		assert.Equal(t, tt.left, s.Left())
	}
}

// 105: a profile with too little memory is passed over, the next that has
// enough is taken beside it. Choosing the profile is package mig's; here the
// need refuses what does not serve it.
func TestCase105MemoryOfProfile(t *testing.T) {
	t.Parallel()
	n := with(t, newNode(t, cut(t, "n", "a100-40gb", 1)), instanceAt("before", "1g.5gb", 0, 0))
	need := func(profile string) *placement.Task {
		s := instance(profile)
		s.DeviceMemory = 8000
		job := task("job", s)
		return &job
	}
	assert.Equal(t, placement.Refusal{Kind: placement.LackDevice}, n.Fits(need("1g.5gb")))
	choice := placement.FirstFit().Choose(n, need("2g.10gb"))
	require.True(t, choice.OK())
	assert.Equal(t, 2, choice.Spot.Start, "the first start that the 1g at 0 leaves")
}

// 106: half of a card of 40960 MiB is 20480 MiB, which neither slot has; nothing
// is booked. Percentages are worked out before they come here.
func TestCase106HalfACard(t *testing.T) {
	t.Parallel()
	c := newCluster(t, cut(t, "n", "a100-40gb", 1))
	before := c.Node("n")
	for _, profile := range []string{"1g.5gb", "2g.10gb"} {
		s := instance(profile)
		s.DeviceMemory = 40960 * 50 / 100
		at, refused := fill(t, c, placement.FirstFit(), s)
		assert.Empty(t, at)
		assert.Equal(t, 1, refused)
		require.ErrorIs(t, c.Place("n", placement.Assignment{Task: task("job", s), Spot: placement.Spot{GPUs: 1}}), placement.ErrRefused)
		assert.Same(t, before, c.Node("n"))
	}
}
