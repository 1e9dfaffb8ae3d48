package trial_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice/governor/trial"
)

// Whatever the fields say, Run answers with a report or with an error that wraps
// ErrInput, and time goes forward.
func TestAnyTrial(t *testing.T) {
	t.Parallel()
	rapid.Check(t, anyTrial)
}

func FuzzTrial(f *testing.F) { f.Fuzz(rapid.MakeFuzz(anyTrial)) }

func anyTrial(t *rapid.T) {
	number := func(label string) int {
		return rapid.OneOf(
			rapid.Just(0), rapid.Just(0), rapid.Just(0), rapid.IntRange(0, 900),
			rapid.SampledFrom([]int{-1, 1_000_000, math.MaxInt, math.MinInt}),
		).Draw(t, label)
	}
	span := func(label string, usual time.Duration) time.Duration {
		return rapid.OneOf(
			rapid.Just(usual), rapid.Just(usual), rapid.Just(usual), rapid.Just(usual),
			rapid.SampledFrom([]time.Duration{0, time.Hour, 1000 * time.Hour, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64}),
			rapid.Map(rapid.Int64Range(int64(10*time.Microsecond), int64(50*ms)), func(n int64) time.Duration { return time.Duration(n) }),
		).Draw(t, label)
	}
	const length = 20 * ms
	last := time.Duration(0)
	g := trial.GPU{
		Engine: trial.Engine(rapid.IntRange(0, 2).Draw(t, "engine")),
		Slice:  span("slice", 0), Switch: span("switch", 0), Sample: span("sample", 0),
		Seed: rapid.Uint64().Draw(t, "seed"),
		OnRun: func(_ int, from, to time.Duration) {
			require.GreaterOrEqual(t, from, last)
			require.Greater(t, to, from)
			require.LessOrEqual(t, to, length)
			last = to
		},
	}
	clients := make([]trial.Client, rapid.IntRange(0, 3).Draw(t, "clients"))
	for i := range clients {
		clients[i] = trial.Client{
			Kernels: []time.Duration{span("kernel", ms), span("kernel", ms)},
			Gap:     span("gap", 0), Jitter: number("jitter"), Depth: number("depth"),
			Start: span("start", 0), Stop: span("stop", 0),
			Protected: rapid.Bool().Draw(t, "protected"), Elapsed: rapid.Bool().Draw(t, "elapsed"),
			Declared: number("declared"), Hidden: number("hidden"), Governor: &recorder{},
		}
	}
	r, err := trial.Run(g, clients, length)
	if err != nil {
		require.ErrorIs(t, err, trial.ErrInput)
		return
	}
	total := r.Switching
	for _, c := range r.Clients {
		total += c.GPUTime
	}
	require.LessOrEqual(t, total, length)
}

func TestRefusalsNameTheField(t *testing.T) {
	t.Parallel()
	c := trial.Client{Name: "batch", Kernels: []time.Duration{ms}, Gap: 1001 * time.Hour}
	_, err := trial.Run(trial.GPU{}, []trial.Client{{Kernels: c.Kernels}, c}, ms)
	require.EqualError(t, err, `trial: client 1 "batch": Gap 1001h0m0s is not within 0 to 1000h0m0s: bad input`)
	_, err = trial.Run(trial.GPU{Slice: -1}, []trial.Client{c}, ms)
	require.EqualError(t, err, "trial: GPU: Slice -1ns is not within 0 to 1000h0m0s: bad input")
	c.Gap, c.Depth = 0, 4097
	_, err = trial.Run(trial.GPU{}, []trial.Client{c}, ms)
	require.EqualError(t, err, `trial: client 0 "batch": Depth 4097 is not within 0 to 4096: bad input`)
}

func TestDeclaredIsOfTheTrueCost(t *testing.T) {
	t.Parallel()
	for declared, want := range map[int]time.Duration{-1: 0, 0: 999, 1: 1, 500: 499, 1000: 999, 1_000_000: 999_000} {
		var c costs
		run(t, trial.GPU{}, 10*time.Microsecond, trial.Client{Kernels: []time.Duration{999}, Declared: declared, Governor: &c})
		assert.Equal(t, want, c.last, "%d thousandths", declared)
	}
}

// costs keeps the cost that was declared last.
type costs struct {
	recorder
	last time.Duration
}

func (c *costs) Ask(_, cost time.Duration) time.Duration {
	c.last = cost
	return 0
}
