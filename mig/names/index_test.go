package names_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig/names"
)

func TestParseIndex(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]names.Index{
		"0": {GPU: 0, MIG: -1}, "15": {GPU: 15, MIG: -1}, "0:0": {}, "3:12": {GPU: 3, MIG: 12}, "999:999": {GPU: 999, MIG: 999},
	} {
		got, err := names.ParseIndex(in)
		require.NoError(t, err, in)
		assert.Equal(t, want, got)
		assert.Equal(t, in, got.String())
	}
	for _, in := range []string{"", ":", "0:", ":0", "00", "0:00", " 0", "0 ", "0: 0", "+0", "0:+0", "0x1", "1000", "0,0", "٣"} {
		got, err := names.ParseIndex(in)
		require.ErrorIs(t, err, names.ErrBadDevice, "%q", in)
		require.ErrorContains(t, err, "index ")
		assert.Zero(t, got)
	}
}
