package plan_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// FuzzDecode: a plan that is read is written and read as the same one, and can be
// asked everything about; one that is not is refused with ErrBadPlan.
func FuzzDecode(f *testing.F) {
	f.Add(good)
	f.Add(strings.Replace(good, `"schema":1`, `"schema":2`, 1))
	f.Add(`{"schema":1,"model":"x","fingerprint":"y","steps":[{"op":"create","profile":"1g.5gb","start":15,"size":16}]}`)
	f.Add(`{"schema":1,"Schema":2}`)
	m, err := mig.Lookup("a100-40gb")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := plan.Decode(strings.NewReader(text))
		if err != nil {
			require.ErrorIs(t, err, plan.ErrBadPlan)
			assert.Zero(t, p)
			return
		}
		out, err := json.Marshal(p)
		require.NoError(t, err)
		again, err := plan.Decode(strings.NewReader(string(out)))
		require.NoError(t, err)
		assert.Equal(t, p, again)
		assert.NotEmpty(t, p.Explain())
		assert.GreaterOrEqual(t, plan.DefaultCosts().Of(p).SliceTime(), time.Duration(0))
		from := plan.StateOf(m.Empty())
		from.GPU = p.GPU
		p.Model, p.Fingerprint = m.Key(), plan.Fingerprint(from)
		if p.Check(from) == nil {
			end, err := p.After(from, len(p.Steps))
			require.NoError(t, err)
			back, err := plan.Restore(end, nil)
			require.NoError(t, err)
			require.NoError(t, back.Check(end))
		}
	})
}

// FuzzRestore drives Restore with the generators of the property tests.
func FuzzRestore(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		m := genModel(t)
		from, goal := genState(t, m), genState(t, m)
		p, err := plan.Restore(from, goal.Instances)
		if err != nil {
			if !errors.Is(err, plan.ErrBusy) {
				t.Fatal(err)
			}
			return
		}
		requirePlan(t, from, p)
	}))
}
