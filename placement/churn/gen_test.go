package churn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// named is a mix with a name.
type named struct {
	name   string
	counts []int64 // by profile, largest first
}

// eight are the mixes of GPUs of 8 memory slices: 7g, 4g, 3g, 2g, 1g of double
// memory, 1g.
var eight = []named{
	{"uniform", []int64{1, 1, 1, 1, 1, 1}},
	{"small", []int64{0, 0, 10, 20, 10, 60}},
	{"123", []int64{0, 0, 1, 1, 0, 1}},
	{"small7", []int64{7, 6, 12, 22, 8, 45}},
	{"openb", []int64{457, 315, 126, 91, 0, 11}},
	{"mid34", []int64{0, 25, 45, 15, 0, 15}},
	{"bimodal", []int64{20, 0, 0, 0, 0, 80}},
}

// four are the mixes of GPUs in quarters: 4g, 2g, 1g.
var four = []named{
	{"uniform", []int64{1, 1, 1}},
	{"small", []int64{0, 35, 65}},
	{"small4", []int64{8, 30, 62}},
	{"bimodal", []int64{25, 0, 75}},
}

func (n named) of(t testing.TB, m *mig.Model) fragmentation.Mix {
	t.Helper()
	var plain []mig.Profile
	for p := range m.PlainProfiles() {
		plain = append([]mig.Profile{p}, plain...)
	}
	require.Len(t, plain, len(n.counts))
	var mix fragmentation.Mix
	for i, count := range n.counts {
		if count > 0 {
			mix = append(mix, fragmentation.Entry{Shape: fragmentation.Shape{GPUs: 1, Profile: plain[i].Name}, Count: count})
		}
	}
	return mix
}

func model(t testing.TB, name string) *mig.Model {
	t.Helper()
	m, err := mig.Lookup(name)
	require.NoError(t, err)
	return m
}
