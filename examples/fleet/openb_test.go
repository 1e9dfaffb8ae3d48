package main

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// trace returns the arguments for the recorded trace, or skips the test.
func trace(t testing.TB) []string {
	t.Helper()
	const (
		nodes = "../../../shared/data/openb/openb_node_list_gpu_node.csv"
		tasks = "../../../shared/data/openb/openb_pod_list_default.csv"
	)
	for _, file := range []string{nodes, tasks} {
		_, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			t.Skipf("the recorded trace is not here: %v", err)
		}
		require.NoError(t, err)
	}
	return []string{"-nodes", nodes, "-tasks", tasks}
}

// TestPublishedTotals compares the GPU that is allocated at the end with the
// published run of seed 42, to the milli-GPU; and this library's rule with the
// published one.
func TestPublishedTotals(t *testing.T) {
	t.Parallel()
	args := trace(t)
	const capacity = 6_212_000
	published := map[string]float64{
		"fgd-published": 5_919_410, "bestfit": 5_785_450, "dotproduct": 5_624_470, "packing": 5_688_580, "clustering": 5_686_120,
	}
	r := answer(t, append(args, "-policies", "bestfit,dotproduct,packing,clustering,fgd-published,fgd")...)
	assert.Nil(t, r.CarriedOut)
	for _, p := range r.Policies {
		milli := p.AllocatedPercent.Mean / 100 * capacity
		assert.InDelta(t, (capacity-milli)/1000, p.UnallocatedGPUs, 1e-6, p.Name)
		if p.Name == fgdName {
			assert.InDelta(t, published[publishedName], milli, capacity*0.002, "less or more than 0.2 %% away")
			continue
		}
		assert.InDelta(t, published[p.Name], milli, 1e-3, p.Name)
	}
}

// BenchmarkTrace runs all policies on the trace, one seed each.
func BenchmarkTrace(b *testing.B) {
	o, err := parse(append(trace(b), "-json"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s, err := newScenario(o)
		if err != nil {
			b.Fatal(err)
		}
		outcomes, err := measure(b.Context(), o, s, func(string, int) {})
		if err != nil {
			b.Fatal(err)
		}
		for _, p := range outcomes {
			b.ReportMetric(p.DecisionsPerSecond, p.Name+"-decisions/s")
		}
	}
}
