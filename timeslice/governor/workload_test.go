package governor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/timeslice/governor"
	"github.com/gpushare/gpushare/timeslice/governor/trial"
)

// twoTenants is a latency-critical tenant at 30 % load, requests of 5 ms, beside a
// backlog without end.
func twoTenants(g governor.Governor) []trial.Client {
	const ms = time.Millisecond
	return []trial.Client{
		{Name: "critical", Kernels: []time.Duration{ms, ms, ms, ms, ms}, Gap: 50 * ms / 3, Protected: true},
		{Name: "batch", Kernels: []time.Duration{2 * ms}, Jitter: 300, Governor: g},
	}
}

func runTwo(t testing.TB, e trial.Engine, seed uint64, clients []trial.Client, length time.Duration) trial.Report {
	t.Helper()
	r, err := trial.Run(trial.GPU{Engine: e, Switch: 40 * time.Microsecond, Seed: seed}, clients, length)
	require.NoError(t, err)
	return r
}

// The protected tenant's p99 is at least halved, and the other keeps at least half
// of what it would do alone.
func TestCoRunProtects(t *testing.T) {
	t.Parallel()
	const length = time.Minute
	for _, e := range []trial.Engine{trial.FIFO, trial.TimeSliced} {
		t.Run(e.String(), func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= 5; seed++ {
				alone := runTwo(t, e, seed, twoTenants(nil)[1:], length).Clients[0]
				none := runTwo(t, e, seed, twoTenants(nil), length)
				for _, beside := range []int{0, 100} {
					g := newCoRun(t, governor.CoRunConfig{Limit: governor.Limit{Share: 1000}, Beside: beside})
					held := runTwo(t, e, seed, twoTenants(g), length)
					p99, was := held.Clients[0].Latency(990), none.Clients[0].Latency(990)
					t.Logf("seed %2d beside %3d: p99 %8v -> %8v, batch %d of %d launches alone",
						seed, beside, was.Round(time.Microsecond), p99.Round(time.Microsecond), held.Clients[1].Launches, alone.Launches)
					assert.LessOrEqual(t, 2*p99, was, "seed %d beside %d", seed, beside)
					assert.GreaterOrEqual(t, 2*held.Clients[1].Launches, alone.Launches, "seed %d beside %d", seed, beside)
				}
			}
		})
	}
}

// What the other laws do to the same two tenants. A limit alone protects where the
// queue is the trouble, not where the slice is; AIMD protects and takes the price.
func TestOthersOnTheSameWorkload(t *testing.T) {
	t.Parallel()
	const length = time.Minute
	for _, row := range []struct {
		name        string
		engine      trial.Engine
		governor    func() governor.Governor
		p99, batch  int // thousandths of ungoverned p99, of solo launches: at most, at least
		batchAtMost int
		p99AtLeast  int
	}{
		{
			name: "feedback/fifo", engine: trial.FIFO, p99: 500, batch: 540, batchAtMost: 560,
			governor: func() governor.Governor {
				return newFeedback(t, governor.FeedbackConfig{Limit: governor.Limit{Share: 550}})
			},
		},
		{
			name: "quota/fifo", engine: trial.FIFO, p99: 500, batch: 540, batchAtMost: 560,
			governor: func() governor.Governor {
				return newQuota(t, governor.QuotaConfig{Limit: governor.Limit{Share: 550}})
			},
		},
		{
			name: "quota/sliced", engine: trial.TimeSliced, p99: 1100, p99AtLeast: 600, batch: 540, batchAtMost: 560,
			governor: func() governor.Governor {
				return newQuota(t, governor.QuotaConfig{Limit: governor.Limit{Share: 550}})
			},
		},
		{
			name: "aimd/sliced", engine: trial.TimeSliced, p99: 400, batch: 10, batchAtMost: 100,
			governor: func() governor.Governor {
				return newAIMD(t, governor.AIMDConfig{Limit: governor.Limit{Share: 1000}})
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= 4; seed++ {
				alone := runTwo(t, row.engine, seed, twoTenants(nil)[1:], length).Clients[0]
				none := runTwo(t, row.engine, seed, twoTenants(nil), length)
				held := runTwo(t, row.engine, seed, twoTenants(row.governor()), length)
				p99 := int(held.Clients[0].Latency(990) * 1000 / none.Clients[0].Latency(990))
				batch := held.Clients[1].Launches * 1000 / alone.Launches
				t.Logf("seed %d: p99 at %d, batch at %d thousandths", seed, p99, batch)
				assert.LessOrEqual(t, p99, row.p99)
				assert.GreaterOrEqual(t, p99, row.p99AtLeast)
				assert.GreaterOrEqual(t, batch, row.batch)
				assert.LessOrEqual(t, batch, row.batchAtMost)
			}
		})
	}
}
