package mps_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
)

// sharesOracle tries every vector of whole percentages within the budget and returns
// the TPCs of the one that the documentation of SplitWeighted prefers; nil if none
// gives every client a TPC. With bySMs the sum of the TPCs is what the budget bounds.
func sharesOracle(c mps.Capacity, weights []int, o mps.SplitOptions) []int {
	perTPC, budget := c.SMsPerTPC, o.Budget
	if perTPC == 0 {
		perTPC = 2
	}
	if budget == 0 {
		budget = 100
	}
	sum, most := 0, c.SMs/perTPC
	for _, w := range weights {
		sum += w
	}
	whole := 100 * perTPC * sum
	gives := make([]bool, most+1) // which numbers of TPCs a whole percentage gives
	for p := 1; p <= 100; p++ {
		gives[c.SMs*p/(100*perTPC)] = true
	}
	fewest := slices.Index(gives[1:], true) + 1
	var best []int
	var bestRank []int
	tpcs, taken := make([]int, len(weights)), 0
	var try func(i int)
	try = func(i int) {
		if i == len(weights) {
			short, total, distance, heavy := 0, 0, 0, 0
			for j, n := range tpcs {
				part := c.SMs * budget * weights[j]
				low, high := min(part/whole, most), max(min((part+whole-1)/whole, most), 1)
				for !gives[high] {
					high++
				}
				if n > high {
					return
				}
				for {
					down := max(low-short, 1)
					for down > fewest && !gives[down] {
						down--
					}
					if down <= n {
						break
					}
					short++
				}
				total += n
				distance += (whole*n - part) * (whole*n - part)
				heavy += n * weights[j]
			}
			// Smaller is better, place by place; at last the TPCs, larger first.
			rank := []int{short, -total, distance, heavy}
			for _, n := range tpcs {
				rank = append(rank, -n)
			}
			if best == nil || slices.Compare(rank, bestRank) < 0 {
				best, bestRank = slices.Clone(tpcs), rank
			}
			return
		}
		for percent := 1; percent <= 100; percent++ {
			n := c.SMs * percent / (100 * perTPC)
			used := percent
			if o.BySMs {
				used = 100 * perTPC * n // in hundredths of an SM, against the device's
			}
			limit := budget
			if o.BySMs {
				limit *= c.SMs
			}
			if n == 0 || taken+used > limit {
				continue
			}
			taken += used
			tpcs[i] = n
			try(i + 1)
			taken -= used
		}
	}
	try(0)
	return best
}

func checkSplit(t require.TestingT, c mps.Capacity, weights []int, o mps.SplitOptions) {
	want := sharesOracle(c, weights, o)
	got, err := mps.SplitWeighted(c, weights, o)
	if want == nil {
		require.ErrorIs(t, err, mps.ErrNoSMs)
		require.Zero(t, got)
		return
	}
	require.NoError(t, err)
	perTPC := c.SMsPerTPC
	if perTPC == 0 {
		perTPC = 2
	}
	tpcs := make([]int, len(got.Clients))
	for i, share := range got.Clients {
		tpcs[i] = share.SMs / perTPC
	}
	require.Equal(t, want, tpcs, "%+v %v %+v", c, weights, o)
}

// TestSplitWeightedStrandsLeast compares with the search of every percentage.
func TestSplitWeightedStrandsLeast(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := genCapacity(t)
		c.MemoryMiB = 0
		weights := genWeights(t, 3, 9)
		o := mps.SplitOptions{Budget: rapid.IntRange(1, 40).Draw(t, "budget")}
		checkSplit(t, c, weights, o)
	})
}

// TestSplitWeightedBySMs is the same where the SMs are counted, on few of them.
func TestSplitWeightedBySMs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := mps.Capacity{SMs: rapid.IntRange(2, 16).Draw(t, "SMs")}
		weights := genWeights(t, 3, 9)
		o := mps.SplitOptions{BySMs: true, Budget: rapid.SampledFrom([]int{0, 50, 100, 150}).Draw(t, "budget")}
		checkSplit(t, c, weights, o)
	})
}

// TestSplitWeightedWholeBudget tries the devices that people have.
func TestSplitWeightedWholeBudget(t *testing.T) {
	t.Parallel()
	for _, sms := range []int{40, 108, 132, 224} {
		for _, weights := range [][]int{{1}, {1, 1}, {1, 2}, {7, 1}, {1, 1, 1}, {3, 2, 1}, {97, 1, 2}} {
			checkSplit(t, mps.Capacity{SMs: sms}, weights, mps.SplitOptions{})
		}
	}
}

// TestSplitHolds: what is true of every split, of any size.
func TestSplitHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := genCapacity(t)
		weights := genWeights(t, 60, 1000)
		o := mps.SplitOptions{
			Budget: rapid.SampledFrom([]int{0, 50, 100, 200, 1000}).Draw(t, "budget"),
			BySMs:  rapid.Bool().Draw(t, "by SMs"),
		}
		s, err := mps.SplitWeighted(c, weights, o)
		if err != nil {
			require.ErrorIs(t, err, mps.ErrInput)
			require.Zero(t, s)
			return
		}
		budget := o.Budget
		if budget == 0 {
			budget = 100
		}
		require.Len(t, s.Clients, len(weights))
		percent, sms, mib := 0, 0, int64(0)
		for i, share := range s.Clients {
			got, err := c.EffectiveSMs(float64(share.Percent))
			require.NoError(t, err)
			require.Equal(t, got, share.SMs)
			smallest, err := c.SmallestPercent(share.SMs)
			require.NoError(t, err)
			require.Equal(t, smallest, share.Percent)
			require.Equal(t, c.MemoryMiB > 0, share.MemoryMiB > 0)
			percent, sms, mib = percent+share.Percent, sms+share.SMs, mib+share.MemoryMiB
			for j, other := range s.Clients {
				if weights[i] > weights[j] && !o.BySMs && budget == 100 {
					require.GreaterOrEqual(t, share.MemoryMiB, other.MemoryMiB)
				}
			}
		}
		if !o.BySMs {
			require.LessOrEqual(t, percent, budget)
		}
		require.LessOrEqual(t, 100*sms, budget*c.SMs)
		require.Equal(t, c.MemoryMiB, mib, "weighted memory leaves nothing")
		require.Zero(t, s.StrandedMiB)
		require.Equal(t, max(c.SMs-sms, 0), s.StrandedSMs)

		// Weights count relative to each other.
		scaled := make([]int, len(weights))
		for i, w := range weights {
			scaled[i] = 20 * w
		}
		again, err := mps.SplitWeighted(c, scaled, o)
		require.NoError(t, err)
		require.Equal(t, s, again)
	})
}

// TestSplitWeightedIsNoWorse: the fair split of equal weights never strands more than
// the device plugin's.
func TestSplitWeightedIsNoWorse(t *testing.T) {
	t.Parallel()
	for _, sms := range []int{2, 10, 14, 26, 40, 56, 72, 92, 108, 132, 142, 148, 188} {
		c := mps.Capacity{SMs: sms, MemoryMiB: 1000}
		for k := 1; k <= 50; k++ {
			even, err := mps.SplitEven(c, k)
			weights := slices.Repeat([]int{1}, k)
			s, werr := mps.SplitWeighted(c, weights, mps.SplitOptions{})
			if err != nil {
				require.ErrorIs(t, err, mps.ErrNoSMs)
				require.ErrorIs(t, werr, mps.ErrNoSMs, "%d on %d", k, sms)
				continue
			}
			require.NoError(t, werr)
			require.LessOrEqual(t, s.StrandedSMs, even.StrandedSMs, "%d on %d", k, sms)
			require.LessOrEqual(t, s.StrandedMiB, even.StrandedMiB)
			bySMs, err := mps.SplitWeighted(c, weights, mps.SplitOptions{BySMs: true})
			require.NoError(t, err)
			require.Zero(t, bySMs.StrandedSMs, "%d on %d", k, sms)
		}
	}
}

func TestSplits(t *testing.T) {
	t.Parallel()
	h100 := mps.Capacity{Device: "h100-80gb-sxm5", SMs: 132, MemoryMiB: 81559}
	for _, c := range []struct {
		name    string
		weights []int
		o       mps.SplitOptions
		want    []mps.Share
		left    int
	}{
		{"one client has all", []int{5}, mps.SplitOptions{}, []mps.Share{{100, 132, 81559}}, 0},
		{"halves", []int{1, 1}, mps.SplitOptions{}, []mps.Share{{50, 66, 40780}, {50, 66, 40779}}, 0},
		{
			"thirds: the budget pays for 44 SMs twice",
			[]int{1, 1, 1},
			mps.SplitOptions{},
			[]mps.Share{{34, 44, 27187}, {34, 44, 27186}, {32, 42, 27186}},
			2,
		},
		{
			"thirds by SMs",
			[]int{1, 1, 1},
			mps.SplitOptions{BySMs: true},
			[]mps.Share{{34, 44, 27187}, {34, 44, 27186}, {34, 44, 27186}},
			0,
		},
		{
			"3:2:1",
			[]int{3, 2, 1},
			mps.SplitOptions{},
			[]mps.Share{{49, 64, 40780}, {34, 44, 27186}, {17, 22, 13593}},
			2,
		},
		{
			"3:2:1 by SMs",
			[]int{3, 2, 1},
			mps.SplitOptions{BySMs: true},
			[]mps.Share{{50, 66, 40780}, {34, 44, 27186}, {17, 22, 13593}},
			0,
		},
		{
			"twice the device",
			[]int{1, 1},
			mps.SplitOptions{Budget: 200},
			[]mps.Share{{100, 132, 40780}, {100, 132, 40779}},
			0,
		},
		{
			"a tenth kept back",
			[]int{1, 1},
			mps.SplitOptions{Budget: 90},
			[]mps.Share{{46, 60, 40780}, {44, 58, 40779}},
			14,
		},
		{
			"the light one is rounded up to a TPC",
			[]int{1000, 1},
			mps.SplitOptions{},
			[]mps.Share{{97, 128, 81478}, {2, 2, 81}},
			2,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := mps.SplitWeighted(h100, c.weights, c.o)
			require.NoError(t, err)
			assert.Equal(t, c.want, s.Clients)
			assert.Equal(t, c.left, s.StrandedSMs)
		})
	}
}

// TestSplitJSON pins the form that programs read.
func TestSplitJSON(t *testing.T) {
	t.Parallel()
	s, err := mps.SplitEven(mps.Capacity{Device: "h100-80gb-sxm5", SMs: 132, MemoryMiB: 81559}, 3)
	require.NoError(t, err)
	assert.Equal(t, int64(1), s.StrandedMiB)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	share := `{"percent":33,"sms":42,"memoryMiB":27186}`
	assert.Equal(t, `{"device":"h100-80gb-sxm5","sms":132,"memoryMiB":81559,"clients":[`+
		share+`,`+share+`,`+share+`],"strandedSMs":6}`, string(text))
}

func TestSplitRefuses(t *testing.T) {
	t.Parallel()
	h100 := mps.Capacity{SMs: 132, MemoryMiB: 81559}
	for _, c := range []struct {
		name    string
		device  mps.Capacity
		weights []int
		o       mps.SplitOptions
		noSMs   bool
	}{
		{"nobody", h100, nil, mps.SplitOptions{}, false},
		{"weight of zero", h100, []int{1, 0}, mps.SplitOptions{}, false},
		{"negative weight", h100, []int{1, -1}, mps.SplitOptions{}, false},
		{"weight too large", h100, []int{1, 10001}, mps.SplitOptions{}, false},
		{"too many", h100, slices.Repeat([]int{1}, 129), mps.SplitOptions{}, false},
		{"negative budget", h100, []int{1}, mps.SplitOptions{Budget: -1}, false},
		{"budget too large", h100, []int{1}, mps.SplitOptions{Budget: 12801}, false},
		{"memory for two", mps.Capacity{SMs: 132, MemoryMiB: 2}, []int{1, 1, 1}, mps.SplitOptions{}, false},
		{"2 % each for 51", h100, slices.Repeat([]int{1}, 51), mps.SplitOptions{}, true},
		{"two TPCs for three", mps.Capacity{SMs: 4}, []int{1, 1, 1}, mps.SplitOptions{}, true},
		{"two TPCs for three, by SMs", mps.Capacity{SMs: 4}, []int{1, 1, 1}, mps.SplitOptions{BySMs: true}, true},
		{"1 % is no TPC", h100, []int{1}, mps.SplitOptions{Budget: 1}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := mps.SplitWeighted(c.device, c.weights, c.o)
			require.ErrorIs(t, err, mps.ErrInput)
			if c.noSMs {
				require.ErrorIs(t, err, mps.ErrNoSMs)
			} else {
				require.NotErrorIs(t, err, mps.ErrNoSMs)
			}
			assert.Zero(t, s)
		})
	}
	for _, k := range []int{0, -1, 101, 129} {
		_, err := mps.SplitEven(h100, k)
		require.ErrorIs(t, err, mps.ErrInput, "%d", k)
	}
	_, err := mps.SplitWeighted(h100, []int{20000, 30000}, mps.SplitOptions{})
	require.NoError(t, err, "2 and 3 in other words")
}
