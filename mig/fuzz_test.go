package mig_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
)

func FuzzParseName(f *testing.F) {
	for _, s := range []string{"1g.5gb", "1c.3g.20gb+me", "1g.24gb+me.all", "2g.48gb-me", "1g.24gb+gfx,me", "0g.0gb", "2c.1g.5gb", "", "1g.05gb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := mig.ParseName(s)
		if err != nil {
			require.ErrorIs(t, err, mig.ErrBadName)
			assert.Zero(t, n)
			return
		}
		assert.NotZero(t, n.GPUSlices)
		again, err := mig.ParseName(n.String())
		require.NoError(t, err)
		assert.Equal(t, n, again)
		assert.LessOrEqual(t, len(n.String()), len(s), "nothing is shorter than the canonical form")
	})
}

func FuzzParseInstance(f *testing.F) {
	for _, s := range []string{"1g.5gb@0", "1g.24gb+me.all@9", "1c.1g.5gb@6", "3g.20gb@-1", "@", "1g.5gb@00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		in, err := mig.ParseInstance(s)
		if err != nil {
			require.ErrorIs(t, err, mig.ErrBadInstance)
			assert.Zero(t, in)
			return
		}
		assert.GreaterOrEqual(t, in.Start, 0)
		again, err := mig.ParseInstance(in.String())
		require.NoError(t, err)
		assert.Equal(t, in, again)
	})
}

func FuzzParseDemand(f *testing.F) {
	for _, s := range []string{"3g.20gb=1,2g.10gb=2", "1g.24gb+gfx,me=1,1g.24gb=0", "3g.20gb=-1", "1g.5gb=1,", "me=1", "="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := mig.ParseDemand(s)
		if err != nil {
			require.ErrorIs(t, err, mig.ErrBadDemand)
			assert.Nil(t, d)
			return
		}
		for name, n := range d {
			require.GreaterOrEqual(t, n, 0, name)
			if n == 0 {
				delete(d, name) // as if it were not there
			}
		}
		if len(d) == 0 {
			assert.Empty(t, d.String())
			return
		}
		again, err := mig.ParseDemand(d.String())
		require.NoError(t, err)
		assert.Equal(t, d, again)
	})
}

// FuzzLayout reads a model and a list of instances: whatever comes, Validate
// and Layout agree, and a layout that is accepted is listed as it was given.
func FuzzLayout(f *testing.F) {
	f.Add("a100-40gb", "2g.10gb@0 3g.20gb@4")
	f.Add("rtx-pro-6000-96gb", "1g.24gb+me.all@0 1g.24gb-me@3 2g.48gb@6")
	f.Add("a30-24gb", "1g.6gb+me@0 2g.12gb+me@2")
	f.Add("h200-141gb", "")
	f.Add("b200-180gb", "7g.180gb@0 7g.180gb@0")
	f.Fuzz(func(t *testing.T, key, text string) {
		m, err := mig.Lookup(key)
		if err != nil {
			assert.Nil(t, m)
			return
		}
		var list []mig.Instance
		for item := range strings.FieldsSeq(text) {
			if in, err := mig.ParseInstance(item); err == nil {
				list = append(list, in)
			}
		}
		l, err := m.Layout(list...)
		assert.Equal(t, m.Validate(list...), err)
		if err != nil {
			assert.Equal(t, mig.Layout{}, l)
			return
		}
		require.Equal(t, len(list), l.Len())
		for _, in := range list {
			got, found := l.At(in.Start)
			require.True(t, found)
			assert.Equal(t, in.Profile, got.Profile)
		}
		if l.Len() > 0 {
			assert.Equal(t, l, layout(t, m, strings.Fields(l.String())...), "what it prints can be read")
		}
	})
}
