package mps_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
)

func TestVisibleDevices(t *testing.T) {
	t.Parallel()
	all := []string{"GPU-a0000000", "GPU-a1000000", "GPU-b2000000"}
	for _, c := range []struct {
		value string
		want  []string
	}{
		{"", []string{}},
		{"0,2", []string{"GPU-a0000000", "GPU-b2000000"}},
		{"2,0", []string{"GPU-b2000000", "GPU-a0000000"}},
		{"GPU-b", []string{"GPU-b2000000"}},
		{"GPU-A1,0", []string{"GPU-a1000000", "GPU-a0000000"}},
	} {
		got, err := mps.VisibleDevices(all, c.value)
		require.NoError(t, err, c.value)
		assert.Equal(t, c.want, got)
	}
	for value, why := range map[string]string{
		"3":        "ordinal 3 of 3",
		"-1":       "neither",
		"0,":       "entry 2",
		"0, 1":     "entry 2",
		"0,0":      "again",
		"0,GPU-a0": "again",
		"GPU-a":    "beginning of GPU-a0000000 and of GPU-a1000000",
		"GPU-c":    "none of the 3",
		"65536":    "neither",
		"none":     "neither",
	} {
		got, err := mps.VisibleDevices(all, value)
		require.ErrorIs(t, err, mps.ErrInput, value)
		require.ErrorContains(t, err, why, value)
		assert.Nil(t, got)
	}
	_, err := mps.VisibleDevices([]string{"GPU-a", "GPU-a"}, "0")
	require.ErrorIs(t, err, mps.ErrInput)
	at, err := mps.DeviceOrdinal([]string{"GPU-a0", "GPU-a"}, "GPU-a")
	require.NoError(t, err)
	assert.Equal(t, 1, at, "a whole UUID wins over a beginning")
}

// TestRenumbering: the daemon's choice and then the client's by UUID is the client's
// alone, and ordinals of the daemon's list name the same devices.
func TestRenumbering(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := genUUIDs(t, 1, 8)
		daemon := rapid.SliceOfNDistinct(rapid.IntRange(0, len(all)-1), 1, len(all), rapid.ID[int]).Draw(t, "daemon")
		client := rapid.SliceOfNDistinct(rapid.IntRange(0, len(daemon)-1), 1, len(daemon), rapid.ID[int]).Draw(t, "client")
		var physical, ordinals, uuids []string
		for _, d := range daemon {
			physical = append(physical, strconv.Itoa(d))
		}
		for _, d := range client {
			ordinals = append(ordinals, strconv.Itoa(d))
			uuids = append(uuids, all[daemon[d]])
		}
		shown, err := mps.VisibleDevices(all, strings.Join(physical, ","))
		require.NoError(t, err)
		require.Len(t, shown, len(daemon))
		for i, d := range daemon {
			at, err := mps.DeviceOrdinal(shown, all[d])
			require.NoError(t, err)
			require.Equal(t, i, at)
		}
		for _, list := range [][]string{ordinals, uuids} {
			seen, err := mps.VisibleDevices(shown, strings.Join(list, ","))
			require.NoError(t, err)
			require.Equal(t, uuids, seen)
		}
		hidden := slices.IndexFunc(all, func(uuid string) bool { return !slices.Contains(shown, uuid) })
		if hidden >= 0 {
			_, err := mps.VisibleDevices(shown, all[hidden])
			require.ErrorIs(t, err, mps.ErrInput)
		}
	})
}
