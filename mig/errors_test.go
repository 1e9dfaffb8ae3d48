package mig_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
)

// TestErrors walks every way to fail: each error is of one kind, also through
// further wrapping, and reads as one lower-case clause.
func TestErrors(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	full := layout(t, m, "7g.40gb@0")
	small := profile(t, m, "1g.5gb")
	second := func(_ any, err error) error { return err }
	kinds := []error{
		mig.ErrUnknownModel, mig.ErrUnknownProfile, mig.ErrUnknownGeometry, mig.ErrBadName, mig.ErrBadDemand,
		mig.ErrBadInstance, mig.ErrIllegalStart, mig.ErrConflict, mig.ErrNoInstance, mig.ErrNoFit,
	}
	for _, c := range []struct {
		name string
		err  error
		is   []error
	}{
		{"lookup", second(mig.Lookup("x")), []error{mig.ErrUnknownModel}},
		{"lookup by id", second(mig.LookupPCI(0, 0)), []error{mig.ErrUnknownModel}},
		{"profile", second(m.Profile("1g.6gb")), []error{mig.ErrUnknownProfile}},
		{"name", second(mig.ParseName("x")), []error{mig.ErrBadName}},
		{"name of a profile", second(m.Profile("x")), []error{mig.ErrBadName}},
		{"instance", second(mig.ParseInstance("1g.5gb")), []error{mig.ErrBadInstance}},
		{"name of an instance", second(mig.ParseInstance("x@0")), []error{mig.ErrBadInstance, mig.ErrBadName}},
		{"demand", second(mig.ParseDemand("1g.5gb")), []error{mig.ErrBadDemand}},
		{"name in a demand", second(mig.ParseDemand("x=1")), []error{mig.ErrBadDemand, mig.ErrBadName}},
		{"start", second(m.Empty().With(small, 7)), []error{mig.ErrIllegalStart}},
		{"conflict", second(full.With(small, 0)), []error{mig.ErrConflict}},
		{"with a foreign profile", second(full.With(mig.Profile{Name: "1g.6gb"}, 0)), []error{mig.ErrUnknownProfile}},
		{"with on nothing", second(mig.Layout{}.With(small, 0)), []error{mig.ErrUnknownModel}},
		{"without", second(m.Empty().Without(0)), []error{mig.ErrNoInstance}},
		{"profile of no model", &mig.ProfileError{Profile: "1g.5gb"}, []error{mig.ErrUnknownProfile}},
		{"fit", second(full.Fit(mig.Demand{"1g.5gb": 1})), []error{mig.ErrNoFit}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Error(t, c.err)
			wrapped := fmt.Errorf("gpu 3: %w", c.err)
			for _, kind := range kinds {
				want := false
				for _, is := range c.is {
					want = want || errors.Is(is, kind)
				}
				assert.Equal(t, want, errors.Is(wrapped, kind), "%v: %v", c.err, kind)
			}
			text := c.err.Error()
			assert.True(t, strings.HasPrefix(text, "mig: "), text)
			assert.False(t, strings.HasSuffix(text, "."), text)
			assert.NotContains(t, text, "\n")
			assert.NotContains(t, text, "%!")
		})
	}

	var conflict *mig.ConflictError
	require.ErrorAs(t, second(full.With(small, 3)), &conflict)
	assert.Equal(t, mig.LimitPosition, conflict.Limit)
	assert.Equal(t, "7g.40gb@0", conflict.A.String())
	assert.Equal(t, "1g.5gb@3", conflict.B.String())
}
