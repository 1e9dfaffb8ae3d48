package fleet_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/fleet"
)

func genPools(t *rapid.T) []fleet.Pool {
	var pools []fleet.Pool
	for range rapid.IntRange(1, 3).Draw(t, "pools") {
		pools = append(pools, fleet.Pool{Layout: genSmallGPU(t), Count: rapid.IntRange(0, 3).Draw(t, "gpus")})
	}
	return pools
}

// genRequests draws rows of profiles that some pool offers, each profile once.
func genRequests(t *rapid.T, pools []fleet.Pool) []fleet.Request {
	var rows []fleet.Request
	seen := map[string]bool{}
	for range rapid.IntRange(0, 4).Draw(t, "rows") {
		name := genProfile(t, rapid.SampledFrom(pools).Draw(t, "of").Layout.Model()).Name
		if !seen[name] {
			seen[name] = true
			rows = append(rows, fleet.Request{
				Profile: name,
				Count:   rapid.IntRange(0, 8).Draw(t, "count"),
				Value:   rapid.IntRange(0, 9).Draw(t, "value"),
			})
		}
	}
	return rows
}

// spread lists the layouts of pools, one for each GPU.
func spread(pools []fleet.Pool) []mig.Layout {
	var list []mig.Layout
	for _, p := range pools {
		for range p.Count {
			list = append(list, p.Layout)
		}
	}
	return list
}

// valueOf is the value of one request: by default, the memory slices of the
// profile on the first pool that offers it.
func valueOf(pools []fleet.Pool, r fleet.Request) int {
	for _, p := range pools {
		if row, offers := p.Layout.Model().Offers(r.Profile); offers && r.Value == 0 {
			return row.Size
		}
	}
	return r.Value
}

// mostValue is the largest value that can be served.
func mostValue(pools []fleet.Pool, requests []fleet.Request) int {
	rows := slices.Clone(requests)
	for i, r := range rows {
		rows[i].Value = valueOf(pools, r)
	}
	return tabulateMix(spread(pools), rows)
}

// checkMix checks that every GPU is counted, that nothing moved, that what was
// added is what is served, and the sums.
func checkMix(t require.TestingT, pools []fleet.Pool, requests []fleet.Request, mix fleet.Mix) {
	count := make([]int, len(pools))
	added := mig.Demand{}
	for i, c := range mix.Cuts {
		require.Positive(t, c.Count)
		if i > 0 {
			require.LessOrEqual(t, mix.Cuts[i-1].Pool, c.Pool)
		}
		count[c.Pool] += c.Count
		have := pools[c.Pool].Layout
		require.True(t, holds(c.Layout, have))
		before := have.Demand()
		for name, n := range c.Layout.Demand() {
			if n > before[name] {
				added[name] += (n - before[name]) * c.Count
			}
		}
	}
	for i, p := range pools {
		require.Equal(t, p.Count, count[i], "pool %d", i)
	}
	require.Equal(t, added, mix.Served)
	value := 0
	for _, r := range requests {
		require.LessOrEqual(t, mix.Served[r.Profile], r.Count)
		require.Equal(t, r.Count, mix.Served[r.Profile]+mix.Unserved[r.Profile])
		value += valueOf(pools, r) * mix.Served[r.Profile]
		delete(added, r.Profile)
	}
	require.Empty(t, added, "nobody asked for these")
	require.Equal(t, value, mix.Value)
	require.LessOrEqual(t, mix.Value, mix.Bound)
}

// TestBestMixAgreesWithTable: the largest value there is, proven.
func TestBestMixAgreesWithTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pools := genPools(t)
		requests := genRequests(t, pools)
		mix, err := fleet.BestMix(pools, requests, 0)
		require.NoError(t, err)
		checkMix(t, pools, requests, mix)
		require.Equal(t, mostValue(pools, requests), mix.Value)
		require.Equal(t, mix.Value, mix.Bound)
	})
}

// TestBestMixBudget: a search that ends early has an answer and a true bound.
func TestBestMixBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pools := genPools(t)
		requests := genRequests(t, pools)
		most := mostValue(pools, requests)
		mix, err := fleet.BestMix(pools, requests, rapid.IntRange(1, 6).Draw(t, "budget"))
		checkMix(t, pools, requests, mix)
		require.LessOrEqual(t, mix.Value, most)
		require.GreaterOrEqual(t, mix.Bound, most)
		if err == nil {
			require.Equal(t, most, mix.Value)
		} else {
			require.ErrorIs(t, err, fleet.ErrGaveUp)
			require.Less(t, mix.Value, mix.Bound)
		}
	})
}

func TestBestMix(t *testing.T) {
	t.Parallel()
	small, large := lookup(t, "a100-40gb"), lookup(t, "a100-80gb")
	for _, c := range []struct {
		name     string
		pools    []fleet.Pool
		requests []fleet.Request
		served   mig.Demand
		value    int
		cuts     int
	}{
		{name: "no GPU and no request", served: mig.Demand{}},
		{
			name: "no request leaves all as it is", pools: []fleet.Pool{{Layout: layout(t, small, "1g.5gb@0"), Count: 3}},
			served: mig.Demand{}, cuts: 1,
		},
		{
			name: "a pool without GPUs serves nothing", pools: []fleet.Pool{{Layout: small.Empty()}},
			requests: []fleet.Request{{Profile: "1g.5gb", Count: 2}}, served: mig.Demand{},
		},
		{
			name: "memory slices are the value: two 3g before a 4g and a 2g", pools: []fleet.Pool{{Layout: small.Empty(), Count: 1}},
			requests: []fleet.Request{{Profile: "3g.20gb", Count: 2}, {Profile: "2g.10gb", Count: 1}},
			served:   mig.Demand{"3g.20gb": 2}, value: 8, cuts: 1,
		},
		{
			name: "the caller's values decide", pools: []fleet.Pool{{Layout: small.Empty(), Count: 1}},
			requests: []fleet.Request{{Profile: "3g.20gb", Count: 2, Value: 3}, {Profile: "2g.10gb", Count: 2, Value: 2}},
			served:   mig.Demand{"3g.20gb": 1, "2g.10gb": 2}, value: 7, cuts: 1,
		},
		{
			name: "more is asked for than anything holds", pools: []fleet.Pool{{Layout: small.Empty(), Count: 2}},
			requests: []fleet.Request{{Profile: "1g.5gb", Count: 1 << 40}}, served: mig.Demand{"1g.5gb": 14}, value: 14, cuts: 1,
		},
		{
			name: "one name, two sizes: the value is that of the first pool", pools: []fleet.Pool{{Layout: large.Empty(), Count: 1}, {Layout: small.Empty(), Count: 1}},
			requests: []fleet.Request{{Profile: "1g.10gb", Count: 12}}, served: mig.Demand{"1g.10gb": 11}, value: 11, cuts: 2,
		},
		{
			name: "a pool that is not cut stays so", pools: []fleet.Pool{{Count: 4}, {Layout: small.Empty(), Count: 1}},
			requests: []fleet.Request{{Profile: "7g.40gb", Count: 2}}, served: mig.Demand{"7g.40gb": 1}, value: 8, cuts: 2,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mix, err := fleet.BestMix(c.pools, c.requests, 0)
			require.NoError(t, err)
			assert.Equal(t, c.served, mix.Served)
			assert.Equal(t, c.value, mix.Value)
			assert.Equal(t, c.value, mix.Bound)
			assert.Len(t, mix.Cuts, c.cuts)
		})
	}
}

// TestBestMixGivesUp: one step does not do, and the bound is the value that a
// whole search finds.
func TestBestMixGivesUp(t *testing.T) {
	t.Parallel()
	pools := []fleet.Pool{{Layout: lookup(t, "a100-40gb").Empty(), Count: 2}}
	requests := []fleet.Request{
		{Profile: "7g.40gb", Count: 2, Value: 8},
		{Profile: "2g.10gb", Count: 2, Value: 1},
		{Profile: "1g.10gb", Count: 3, Value: 7},
	}
	mix, err := fleet.BestMix(pools, requests, 1)
	require.ErrorIs(t, err, fleet.ErrGaveUp)
	checkMix(t, pools, requests, mix)
	assert.Less(t, mix.Value, 30)
	assert.Equal(t, 30, mix.Bound)
	mix, err = fleet.BestMix(pools, requests, 0)
	require.NoError(t, err)
	assert.Equal(t, 30, mix.Value)
}

// TestBestMixMany: thousands of GPUs, where the slices say what the best is.
func TestBestMixMany(t *testing.T) {
	t.Parallel()
	pools := []fleet.Pool{{Layout: lookup(t, "a100-40gb").Empty(), Count: 3000}}
	requests := []fleet.Request{
		{Profile: "1g.5gb", Count: 9000},
		{Profile: "1g.10gb", Count: 2000},
		{Profile: "2g.10gb", Count: 2500},
		{Profile: "3g.20gb", Count: 1800},
		{Profile: "7g.40gb", Count: 300},
	}
	mix, err := fleet.BestMix(pools, requests, 0)
	require.NoError(t, err)
	checkMix(t, pools, requests, mix)
	// More is asked for than the GPUs hold, and nothing needs to be stranded: every
	// one of the 24000 memory slices serves.
	assert.Equal(t, 24000, mix.Value)
	again, err := fleet.BestMix(pools, requests, 0)
	require.NoError(t, err)
	assert.Equal(t, mix, again)
}

func TestBestMixRefuses(t *testing.T) {
	t.Parallel()
	pools := []fleet.Pool{{Layout: lookup(t, "a100-40gb").Empty(), Count: 2}}
	for _, c := range []struct {
		name     string
		pools    []fleet.Pool
		requests []fleet.Request
		is       error
		says     string
	}{
		{"unknown profile", pools, []fleet.Request{{Profile: "1g.5gb"}, {Profile: "1g.6gb"}}, mig.ErrUnknownProfile, "request 1"},
		{"bad name", pools, []fleet.Request{{Profile: "0g.5gb"}}, mig.ErrBadName, "0g.5gb"},
		{"negative count", pools, []fleet.Request{{Profile: "1g.5gb", Count: -2}}, mig.ErrBadDemand, "1g.5gb=-2"},
		{"twice", pools, []fleet.Request{{Profile: "1g.5gb", Count: 1}, {Profile: "1c.1g.5gb", Count: 1}}, mig.ErrBadDemand, "request 1"},
		{"negative value", pools, []fleet.Request{{Profile: "1g.5gb", Count: 1, Value: -3}}, fleet.ErrBadWeight, "-3"},
		{"huge value", pools, []fleet.Request{{Profile: "1g.5gb", Count: 1, Value: 1 << 60}}, fleet.ErrBadWeight, "value"},
		{"negative pool", []fleet.Pool{{Count: -1}}, nil, fleet.ErrBadWeight, "pool 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mix, err := fleet.BestMix(c.pools, c.requests, 0)
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
			assert.Equal(t, fleet.Mix{}, mix)
		})
	}
}
