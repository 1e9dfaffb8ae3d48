package fragmentation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
)

// Reports that people met in public, with the right answers. Frequencies are
// counts here, so a share of 0.0933 is 933 of 10000.

func TestCaseFragments(t *testing.T) {
	t.Parallel()
	type entry = fragmentation.Entry
	tests := []struct {
		name     string
		cpu      int64
		milli    []int64
		mix      fragmentation.Mix
		fragment int64 // in units of 1/Scale milli-GPU
	}{
		{
			"112: too little CPU makes all idle GPU a fragment: 0.0933 x 2700",
			1000,
			[]int64{200, 1000, 1000, 500},
			// The rest of the mix finds use for all of it.
			fragmentation.Mix{entry{plain(6000, 465), 933}, entry{plain(0, 1), 9067}},
			933 * 2700,
		},
		{
			"113: GPUs too small for a task that fits are fragments all the same",
			1000,
			[]int64{200, 1000, 1000, 500},
			fragmentation.Mix{entry{whole(0, 2, 1000), 1}},
			700,
		},
		{
			"113: as much left as asked for is enough",
			1000,
			[]int64{200, 1000, 1000, 500},
			fragmentation.Mix{entry{plain(0, 200), 1}},
			0,
		},
		{
			"114: a task without GPU has no use for any of it: 0.1 x 8000",
			64000,
			[]int64{1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000},
			fragmentation.Mix{entry{plain(15700, 1000), 9}, entry{plain(1000, 0), 1}},
			1 * 8000,
		},
		{
			"114: without CPU everything is a fragment for everybody",
			0,
			[]int64{1000, 1000, 1000, 1000},
			fragmentation.Mix{entry{plain(15700, 1000), 9}, entry{plain(1000, 0), 1}},
			10 * 4000,
		},
		{
			"119: frequencies of 60 and 40 are counts, not skipped",
			64000,
			[]int64{700},
			fragmentation.Mix{entry{plain(1000, 500), 60}, entry{plain(1000, 1000), 40}},
			40 * 700,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := fgdOf(t, tt.mix)
			s := &fragmentation.State{CPU: tt.cpu, GPUs: uncut(tt.milli...)}
			assert.Equal(t, tt.fragment, fragmentation.Fragment(v, s))
			assert.Equal(t, tt.fragment, v.Amounts(s).Fragment())
		})
	}
}

// 113, second task: 200 milli on each of two GPUs is no shape of ours, since a
// fraction is of one GPU.
func TestCase113TwoFractions(t *testing.T) {
	t.Parallel()
	_, err := fragmentation.NewFGD(fragmentation.Mix{{whole(0, 2, 200), 1}})
	require.ErrorIs(t, err, fragmentation.ErrBadShape)
}

// 117: the exact gains differ by 5 milli-GPU, which a score in steps of 40 does
// not show. The value keeps the difference; steps are the policy's business.
func TestCase117GainBelowOneStep(t *testing.T) {
	t.Parallel()
	v := fgdOf(t, fragmentation.Mix{{plain(1000, 400), 5}, {plain(1000, 100), 95}})
	s := &fragmentation.State{CPU: 64000, GPUs: uncut(1000, 300)}
	request := plain(1000, 100)
	assert.Equal(t, 15*v.Scale(), fragmentation.Fragment(v, s))
	assert.EqualValues(t, 0, fragmentation.Strands(v, s, place(s, request, 0)))
	assert.Equal(t, -5*v.Scale(), fragmentation.Strands(v, s, place(s, request, 1)))
}

// 118: a share above 100 % can never be reached; the cut mix is a mix again, and
// its shares are of its own total.
func TestCase118Popularity(t *testing.T) {
	t.Parallel()
	mix := fragmentation.Mix{{plain(1000, 500), 5}, {plain(1000, 1000), 3}, {plain(1000, 0), 2}}
	for percent, entries := range map[float64]int{50: 1, 60: 2, 80: 2, 81: 3, 100: 3} {
		part, err := mix.Cover(percent)
		require.NoError(t, err)
		assert.Len(t, part, entries, "%v %%", percent)
		assert.Equal(t, part.Total(), fgdOf(t, part).Scale())
	}
	_, err := mix.Cover(101)
	require.ErrorContains(t, err, "cover 101 %")
}

// 119: counts have no sum to keep, so nothing can be out of range but what is
// not positive.
func TestCase119ZeroFrequency(t *testing.T) {
	t.Parallel()
	_, err := fragmentation.NewFGD(fragmentation.Mix{{plain(1000, 500), 60}, {plain(1000, 1000), -40}})
	require.ErrorIs(t, err, fragmentation.ErrBadMix)
	require.ErrorContains(t, err, "entry 1: count -40")
}

// 120: the task of the report, 500 milli on each of two GPUs, is refused before
// any state is looked at. Package placement has the row in which only one of
// two whole GPUs is free and nothing may be half taken.
func TestCase120TwoHalves(t *testing.T) {
	t.Parallel()
	err := whole(1000, 2, 500).Validate()
	require.ErrorIs(t, err, fragmentation.ErrBadShape)
	require.ErrorContains(t, err, "milli-GPU 500: on each of 2 GPUs")
}
