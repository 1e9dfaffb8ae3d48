package mig_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
)

// Reports about compute instances, numbered as in cases_test.go.

// TestCases47And48: what a GPU instance offers decides which compute profile takes
// all of it; what is created is what is advertised.
func TestCases47And48FullSize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		offers     []mig.ComputeProfile
		index, sms int
	}{
		{
			"47 B300 1g.67gb: not the first with one slice",
			[]mig.ComputeProfile{{Name: "1g.67gb", Index: 0, Slices: 1, SMs: 18}, {Name: "1g.67gb", Index: 7, Slices: 1, SMs: 30}},
			7, 30,
		},
		{
			"48 A100 7g.40gb: not the last of that name",
			[]mig.ComputeProfile{{Name: "7g.40gb", Index: 4, Slices: 7, SMs: 98}, {Name: "7g.40gb", Index: 8, Slices: 7, SMs: 98}},
			4, 98,
		},
		{
			"48 where the driver says no counts",
			[]mig.ComputeProfile{{Name: "7g.40gb", Index: 8, Slices: 7}, {Name: "7g.40gb", Index: 4, Slices: 7}},
			4, 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, found := mig.FullSize(c.offers)
			require.True(t, found)
			assert.Equal(t, c.index, got.Index)
			assert.Equal(t, c.sms, got.SMs)
		})
	}
	list, err := lookup(t, "a100-40gb").ComputeLayout("7g.40gb")
	require.NoError(t, err)
	assert.Equal(t, []mig.ComputeInstance{{Profile: "7g.40gb", Start: 0, Size: 7, Index: 4}}, list)
}
