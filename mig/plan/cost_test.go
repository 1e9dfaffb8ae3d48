package plan_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// TestCostsOf works the figures of one plan out by hand.
func TestCostsOf(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	from := state(t, m, "2g.10gb@4 1g.5gb@0")
	from.Instances[0].LossSeconds = 7
	p, err := plan.Repartition(from, mig.Demand{"3g.20gb": 2})
	require.NoError(t, err)
	require.Equal(t, "destroy 1g.5gb@0, create 3g.20gb@0, destroy 2g.10gb@4, create 3g.20gb@4", p.String())
	costs := plan.Costs{
		DestroyGPUInstance: 4 * time.Second, DestroyComputeInstance: time.Second,
		CreateGPUInstance: 2 * time.Second, CreateComputeInstance: time.Second,
		JobSetup: 10 * time.Second,
	}
	assert.Equal(t, plan.Cost{
		Duration: (5 + 3 + 5 + 3) * time.Second,
		Lost:     2 * 7 * time.Second,
		// Of 1g: 1 slice from 0 to 8+10; of 2g: 2 slices from 8 to 16+10.
		Downtime: (18 + 2*18) * time.Second,
	}, costs.Of(p))
	assert.Equal(t, plan.Cost{Lost: 14 * time.Second}, plan.Costs{}.Of(p))
	assert.Equal(t, plan.Cost{}, costs.Of(plan.Plan{}))

	away, err := plan.Repartition(from, mig.Demand{"2g.10gb": 1})
	require.NoError(t, err)
	assert.Equal(t, plan.Cost{Duration: 5 * time.Second, Downtime: 5 * time.Second}, costs.Of(away), "nothing comes after it")
}

func TestCostsOfMode(t *testing.T) {
	t.Parallel()
	c := plan.Costs{SetMode: time.Second, Reset: time.Minute}
	assert.Zero(t, c.Mode(nil))
	assert.Equal(t, 61*time.Second, c.Mode(plan.Mode(lookup(t, "a100-40gb"), false, false, true)))
	assert.Equal(t, time.Second, c.Mode(plan.Mode(lookup(t, "h100-80gb-sxm5"), false, false, true)))
	assert.Equal(t, 61*time.Second, c.Mode(plan.Mode(nil, false, false, true)), "may be needed")
}

// TestAssumptions: every constant has a label, and they are the defaults.
func TestAssumptions(t *testing.T) {
	t.Parallel()
	var sum time.Duration
	published := 0
	for _, a := range plan.Assumptions() {
		assert.NotEmpty(t, a.Name)
		assert.NotEmpty(t, a.Source)
		assert.Positive(t, a.Value)
		sum += a.Value
		if a.Published {
			published++
		}
	}
	d := plan.DefaultCosts()
	assert.Equal(t, d.DestroyGPUInstance+d.CreateGPUInstance+d.DestroyComputeInstance+d.CreateComputeInstance+d.SetMode+d.Reset+d.JobSetup, sum)
	assert.Equal(t, 1, published)
}

func TestBreakEven(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		cost  plan.Cost
		gain  int
		after time.Duration
		pays  bool
	}{
		{"costs nothing", plan.Cost{Duration: time.Second}, 0, 0, true},
		{"costs nothing, but takes away", plan.Cost{}, -1, 0, false},
		{"gains nothing", plan.Cost{Downtime: 1}, 0, 0, false},
		{"takes away", plan.Cost{Downtime: 1}, -1000, 0, false},
		{"one slice", plan.Cost{Duration: 2 * time.Second, Lost: time.Minute, Downtime: time.Second}, 1000, 63 * time.Second, true},
		{"two slices", plan.Cost{Lost: time.Minute}, 2000, 30 * time.Second, true},
		{"half a slice", plan.Cost{Lost: time.Minute}, 500, 2 * time.Minute, true},
		{"rounded up", plan.Cost{Lost: 10}, 3000, 4, true},
		{"longer than a duration can say", plan.Cost{Lost: math.MaxInt64}, 1, 0, false},
		{"a sum that is longer", plan.Cost{Lost: math.MaxInt64, Downtime: math.MaxInt64}, 1, 0, false},
		{"just within", plan.Cost{Lost: math.MaxInt64}, 1000, math.MaxInt64, true},
		{"just beyond", plan.Cost{Lost: math.MaxInt64, Duration: 1}, 1000, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			after, pays := c.cost.BreakEven(c.gain)
			assert.Equal(t, c.pays, pays)
			assert.Equal(t, c.after, after)
		})
	}
}

// TestBreakEvenIsTheFirstMoment: at the answer what was gained makes up for the
// cost, a nanosecond before it does not.
func TestBreakEvenIsTheFirstMoment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := plan.Cost{
			Duration: time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "duration")),
			Lost:     time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "lost")),
			Downtime: time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "downtime")),
		}
		gain := rapid.IntRange(1, 8000).Draw(t, "gain")
		after, pays := c.BreakEven(gain)
		require.True(t, pays)
		balance := func(at time.Duration) int { // of thousandths, in big integers
			gained := new(big.Int).Mul(big.NewInt(int64(at-c.Duration)), big.NewInt(int64(gain)))
			return gained.Cmp(new(big.Int).Mul(big.NewInt(int64(c.Lost+c.Downtime)), big.NewInt(1000)))
		}
		assert.GreaterOrEqual(t, balance(after), 0)
		assert.Negative(t, balance(after-1))
	})
}
