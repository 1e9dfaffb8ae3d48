package names_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig/names"
)

func TestFindDevice(t *testing.T) {
	t.Parallel()
	uuids := []string{"GPU-5a88edbe-1", "GPU-5a88f000-2", "MIG-5a88edbe-3", "MIG-GPU-5a88edbe-1/1/0", "MIG-GPU-5a88edbe-1/1/01", "GPU-9", "GPU-9"}
	for _, c := range []struct {
		id   string
		want int
		is   error
		says string
	}{
		{"GPU-5a88e", 0, nil, ""},
		{"GPU-5a88f000-2", 1, nil, ""},
		{"MIG-5", 2, nil, ""},
		{"MIG-GPU-5a88edbe-1/1/0", 3, nil, ""}, // complete, though another begins with it
		{"MIG-GPU-5a88edbe-1/1/01", 4, nil, ""},
		{"GPU-5a88", -1, names.ErrAmbiguousDevice, "GPU-5a88edbe-1 (position 0) or GPU-5a88f000-2 (position 1)"},
		{"GPU-9", -1, names.ErrAmbiguousDevice, "position 5"}, // one UUID twice
		{"GPU-", -1, names.ErrAmbiguousDevice, "position 1"},
		{"GPU-6", -1, names.ErrNoDevice, `"GPU-6" is not among the 7`},
		{"GPU-5A88E", -1, names.ErrNoDevice, "not among"},
		{"5a88e", -1, names.ErrNoDevice, "begins neither"},
		{"GPU", -1, names.ErrNoDevice, "begins neither"},
		{"0", -1, names.ErrNoDevice, "begins neither"},
		{"", -1, names.ErrNoDevice, "begins neither"},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			got, err := names.FindDevice(c.id, uuids)
			require.ErrorIs(t, err, c.is)
			assert.Equal(t, c.want, got)
			if c.is != nil {
				require.ErrorContains(t, err, c.says)
			}
		})
	}
}

func TestVisibleDevices(t *testing.T) {
	t.Parallel()
	cut := []string{"GPU-a1", "MIG-b1", "MIG-b2", "GPU-a2"}
	for _, c := range []struct {
		name, list string
		uuids      []string
		want       []int
		is         error
		says       string
	}{
		{"empty", "", eight(), nil, nil, ""},
		{"order counts", "1,0", eight(), []int{1, 0}, nil, ""},
		{"out of range ends it", "1,8,2", eight(), []int{1}, names.ErrNoDevice, `list "1,8,2" ends before item 2`},
		{"far out of range", "1,99999999999999999999999", eight(), []int{1}, names.ErrNoDevice, "item 2"},
		{"nothing between commas", "0,,1", eight(), []int{0}, names.ErrNoDevice, `"" is not a number`},
		{"comma at the end", "0,", eight(), []int{0}, names.ErrNoDevice, "item 2"},
		{"none by habit", "-1", eight(), nil, names.ErrNoDevice, "item 1"},
		{"a sign is no number", "+", eight(), nil, names.ErrNoDevice, "item 1"},
		{"two signs neither", "0,--1", eight(), []int{0}, names.ErrNoDevice, "item 2"},
		{"repeated before the end", "0,0,-1", eight(), nil, names.ErrRepeatedDevice, `item 2, "0", is also item 1`},
		{"repeated behind the end", "0,-1,0", eight(), []int{0}, names.ErrNoDevice, "item 2"},
		{"repeated by another name", "3,+3", eight(), nil, names.ErrRepeatedDevice, "item 2"},
		{"no GPUs", "0", nil, nil, names.ErrNoDevice, "item 1"},
		{"no GPUs, minus", "-5", nil, nil, names.ErrNoDevice, "item 1"},

		{"numbers count GPUs", "1,0", cut, []int{3, 0}, nil, ""},
		{"not MIG devices", "0,2", cut, []int{0}, names.ErrNoDevice, "item 2"},
		{"UUIDs", "GPU-a2,GPU-a1", cut, []int{3, 0}, nil, ""},
		{"MIG UUIDs", "MIG-b2", cut, []int{2}, nil, ""},
		{"ambiguous", "GPU-a1,GPU-a", cut, []int{0}, names.ErrAmbiguousDevice, "item 2"},
		{"one kind only", "GPU-a1,MIG-b1", cut, []int{0}, names.ErrNoDevice, `"MIG-b1" in a list of GPU UUIDs`},
		{"number behind a UUID", "GPU-a1,1", cut, []int{0}, names.ErrNoDevice, "item 2"},
		{"UUID behind a number", "0,GPU-a2", cut, []int{0}, names.ErrNoDevice, "item 2"},
		{"blank before a UUID", "GPU-a1, GPU-a2", cut, []int{0}, names.ErrNoDevice, "item 2"},
		{"UUID twice", "GPU-a1,GPU-a1", cut, nil, names.ErrRepeatedDevice, "nothing is visible"},
		{"UUID that is gone", "MIG-00000000-0000-0000-0000-000000000003", cut, nil, names.ErrNoDevice, "not among the 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := names.VisibleDevices(c.list, c.uuids)
			require.ErrorIs(t, err, c.is)
			assert.Equal(t, c.want, got)
			if c.is != nil {
				require.ErrorContains(t, err, c.says)
			}
		})
	}
}

// TestVisibleDevicesOfNumbers: for lists of plain numbers the rule in its plain
// words.
func TestVisibleDevicesOfNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.IntRange(-1, 9), 1, 6).Draw(t, "list")
		var items []string
		for _, n := range list {
			items = append(items, strconv.Itoa(n))
		}
		until := slices.IndexFunc(list, func(n int) bool { return n < 0 || n > 7 })
		want := list
		if until >= 0 {
			want = list[:until]
		}
		if distinct := slices.Compact(slices.Sorted(slices.Values(want))); len(distinct) < len(want) {
			want = nil
		}
		got, err := names.VisibleDevices(strings.Join(items, ","), eight())
		assert.Equal(t, len(want) == len(list), err == nil)
		assert.Equal(t, append([]int{}, want...), append([]int{}, got...))
	})
}
