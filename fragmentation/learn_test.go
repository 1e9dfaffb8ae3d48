package fragmentation_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
)

func learnerOf(t require.TestingT, options fragmentation.LearnerOptions) *fragmentation.Learner {
	l, err := fragmentation.NewLearner(options)
	require.NoError(t, err)
	return l
}

// naiveLearner keeps a list instead of a map.
type naiveLearner struct {
	fade, most int
	list       []naiveLearned
	tasks      int
}

type naiveLearned struct {
	shape        fragmentation.Shape
	weight, last int
}

func (l *naiveLearner) observe(s fragmentation.Shape) {
	s.Memory = 0
	l.tasks++
	i := slices.IndexFunc(l.list, func(k naiveLearned) bool { return k.shape == s })
	if i < 0 {
		if len(l.list) == l.most {
			slices.SortFunc(l.list, func(a, b naiveLearned) int {
				return cmp.Or(cmp.Compare(a.weight, b.weight), cmp.Compare(a.last, b.last))
			})
			l.list = l.list[1:]
		}
		i = len(l.list)
		l.list = append(l.list, naiveLearned{shape: s})
	}
	l.list[i].weight += 50
	l.list[i].last = l.tasks
	if l.tasks%l.fade == 0 {
		for i := range l.list {
			l.list[i].weight = l.list[i].weight * 19 / 20
		}
		l.list = slices.DeleteFunc(l.list, func(k naiveLearned) bool { return k.weight == 0 })
	}
}

func TestLearnerIsDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.SampledFrom([]int{20, 39, 40, 100}).Draw(t, "window")
		most := rapid.IntRange(1, 5).Draw(t, "shapes")
		l := learnerOf(t, fragmentation.LearnerOptions{Window: window, Shapes: most})
		naive := &naiveLearner{fade: window / 20, most: most}
		shapes := rapid.SliceOfN(rapid.Custom(genAnyShape), 1, 7).Draw(t, "shapes")
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(shapes)-1), 1, 200).Draw(t, "tasks") {
			require.NoError(t, l.Observe(shapes[i]))
			naive.observe(shapes[i])
			mix := l.Mix()
			require.True(t, slices.IsSortedFunc(mix, func(a, b fragmentation.Entry) int { return cmp.Compare(b.Count, a.Count) }))
			require.Len(t, mix, len(naive.list))
			require.LessOrEqual(t, len(mix), most)
			for _, k := range naive.list {
				require.Contains(t, mix, fragmentation.Entry{Shape: k.shape, Count: int64(k.weight)})
			}
		}
		assert.EqualValues(t, naive.tasks, l.Tasks())
	})
}

// TestLearnerFollows has a drift: half a window after a change the new shape
// leads, three windows after it the old one has next to no share.
func TestLearnerFollows(t *testing.T) {
	t.Parallel()
	l := learnerOf(t, fragmentation.LearnerOptions{Window: 1000})
	assert.Empty(t, l.Mix())
	old, young := plain(1000, 300), plain(1000, 400)
	share := func(s fragmentation.Shape) float64 {
		mix := l.Mix()
		require.NoError(t, mix.Validate())
		for _, e := range mix {
			if e.Shape == s {
				return float64(e.Count) / float64(mix.Total())
			}
		}
		return 0
	}
	observe := func(s fragmentation.Shape, n int) {
		for range n {
			require.NoError(t, l.Observe(s))
		}
	}
	observe(old, 5000)
	assert.InDelta(t, 1, share(old), 0)
	observe(young, 1000)
	assert.InDelta(t, 0.36, share(old), 0.01)
	observe(young, 2000)
	assert.InDelta(t, 0.05, share(old), 0.01)
	observe(young, 20_000)
	assert.Zero(t, share(old))
}

// TestLearnerLargest checks that the largest window makes a mix that values take.
func TestLearnerLargest(t *testing.T) {
	t.Parallel()
	l := learnerOf(t, fragmentation.LearnerOptions{Window: 100_000})
	for range 1_000_000 {
		require.NoError(t, l.Observe(plain(1000, 300)))
	}
	require.NoError(t, l.Mix().Validate())
	assert.Greater(t, l.Mix().Total(), int64(4_000_000))
}

func TestLearnerRefuses(t *testing.T) {
	t.Parallel()
	for _, o := range []fragmentation.LearnerOptions{{Window: 19}, {Window: -1}, {Window: 100_001}, {Shapes: -1}, {Shapes: 4097}} {
		l, err := fragmentation.NewLearner(o)
		assert.Nil(t, l)
		require.ErrorIs(t, err, fragmentation.ErrBadLearner)
	}
	l := learnerOf(t, fragmentation.LearnerOptions{})
	require.ErrorIs(t, l.Observe(whole(0, 2, 500)), fragmentation.ErrBadShape)
	assert.Zero(t, l.Tasks())
	assert.Empty(t, l.Mix())
}
