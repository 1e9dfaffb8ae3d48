package device_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/nvmlfake/fault"
	"github.com/gpushare/gpushare/timeslice"
	"github.com/gpushare/gpushare/timeslice/device"
)

func TestLog(t *testing.T) {
	t.Parallel()
	for _, old := range []bool{false, true} {
		for _, inInstance := range []bool{false, true} {
			p := start(t, inInstance, func(lib nvml.Interface) nvml.Interface {
				return oldDriver{lib, func(symbol string) bool { return old && strings.HasSuffix(symbol, "_v2") }}
			})
			s := p.open(t)
			log, err := s.Log(t.Context(), graphics)
			require.NoError(t, err)
			assert.Equal(t, device.Log{State: device.State{Engine: graphics, Policy: timeslice.VGPUBestEffort}}, log)

			_, err = s.Set(t.Context(), graphics, timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare, ARR: timeslice.ARROff, Slice: 1_000_000})
			require.NoError(t, err)
			p.run(t)
			entries := turns(0, 250)
			p.log(t, entries...)
			log, err = s.Log(t.Context(), graphics)
			require.NoError(t, err)
			assert.Equal(t, device.State{Engine: graphics, Policy: timeslice.VGPUEqualShare, ARR: timeslice.ARROff, Slice: 1_000_000}, log.State)
			assert.Equal(t, read(entries[50:], !old), log.Entries)
			if inInstance && old {
				_, err = s.Log(t.Context(), timeslice.EngineNVENC0)
				require.ErrorIs(t, err, device.ErrNotSupported, "the binding cannot ask")
			}
		}
	}
}

// longDriver claims more entries than there is room for, out of order and with
// times that no int64 holds.
type longDriver struct{ nvml.Device }

func (d longDriver) GetVgpuSchedulerLog_v2(info nvml.VgpuSchedulerLogInfo_v2) (nvml.VgpuSchedulerLogInfo_v2, nvml.Return) { //nolint:revive // NVML's name
	info.EntriesCount = 4_000_000_000
	for i := range info.LogEntries {
		info.LogEntries[i].Timestamp = ^uint64(0) - uint64(i)
	}
	info.LogEntries[7].Timestamp = 3
	return info, nvml.SUCCESS
}

func TestLogOfAStrangeDriver(t *testing.T) {
	t.Parallel()
	p := start(t, false, nil)
	s, err := device.Open(t.Context(), p.lib, longDriver{p.dev})
	require.NoError(t, err)
	log, err := s.Log(t.Context(), graphics)
	require.NoError(t, err)
	require.Len(t, log.Entries, device.LogCapacity)
	assert.Equal(t, []int64{3, 1<<63 - 1}, []int64{log.Entries[0].At, log.Entries[1].At})
}

// However turns and readings interleave, each entry comes once and in order, and
// where some are lost a gap is told; whether the driver keeps what was read or not.
func TestTail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var tail device.Tail
		var written, got []device.Entry
		handsOut := rapid.Bool().Draw(t, "the driver hands an entry out once")
		at, next, unread := int64(0), int64(0), 0
		lost := 0
		for range rapid.IntRange(1, 20).Draw(t, "readings") {
			n := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(150, 260)).Draw(t, "turns")
			for range n {
				// Several run lists can be preempted at one time.
				at += rapid.SampledFrom([]int64{0, 1, 1, 1000}).Draw(t, "pause")
				next++
				written = append(written, device.Entry{At: at, RanTotal: next})
			}
			unread += n
			from := max(len(written)-device.LogCapacity, 0)
			if handsOut {
				from = max(from, len(written)-unread)
			}
			reading := slices.Clone(written[from:])
			missed := max(unread-device.LogCapacity, 0)
			full := unread >= device.LogCapacity
			unread = 0
			first := len(got) == 0 && lost == 0
			b := tail.New(device.Log{Entries: reading})
			require.Equal(t, written[from:], reading, "the reading is the caller's")
			got = append(got, b.Entries...)
			switch {
			case missed > 0 && !first:
				require.True(t, b.Gap, "%d entries are missed", missed)
			case !full:
				require.False(t, b.Gap)
			}
			lost += missed
		}
		require.Len(t, got, len(written)-lost, "each once")
		require.True(t, slices.IsSortedFunc(got, func(a, b device.Entry) int { return int(a.RanTotal - b.RanTotal) }))
		if lost == 0 {
			require.Equal(t, append([]device.Entry(nil), written...), append([]device.Entry(nil), got...))
		}
	})
}

// After a reset the clock begins anew: nothing is taken for seen.
func TestTailAfterAReset(t *testing.T) {
	t.Parallel()
	var tail device.Tail
	tail.New(device.Log{Entries: []device.Entry{{At: 900}, {At: 1000}}})
	b := tail.New(device.Log{})
	assert.False(t, b.Gap)
	b = tail.New(device.Log{Entries: []device.Entry{{At: 5}, {At: 6}}})
	assert.True(t, b.Gap)
	assert.Equal(t, []device.Entry{{At: 5}, {At: 6}}, b.Entries)
	b = tail.New(device.Log{Entries: []device.Entry{{At: 5}, {At: 6}, {At: 6, RunList: 1}}})
	assert.False(t, b.Gap)
	assert.Equal(t, []device.Entry{{At: 6, RunList: 1}}, b.Entries)
	ring := []device.Entry{{At: 9}, {At: 7}, {At: 8}}
	b = tail.New(device.Log{Entries: ring})
	assert.Equal(t, []device.Entry{{At: 7}, {At: 8}, {At: 9}}, b.Entries)
	assert.Equal(t, []device.Entry{{At: 9}, {At: 7}, {At: 8}}, ring, "the reading is the caller's")
}

// Ten seconds of turns of a millisecond. Only at the slowest pace, at which the
// log is just full, can one slip through, and then a gap is told.
func TestFollow(t *testing.T) {
	t.Parallel()
	for _, pace := range []time.Duration{0, 37 * time.Millisecond, device.MaxPace} {
		synctest.Test(t, func(t *testing.T) {
			p := start(t, false, nil)
			s := p.open(t)
			const all = 10_000
			go func() {
				for i := range all {
					time.Sleep(time.Millisecond)
					assert.NoError(t, p.s.LogVGPU(0, int(graphics), turns(i, i+1)...))
				}
			}()
			ctx, cancel := context.WithTimeout(t.Context(), 11*time.Second)
			defer cancel()
			var got []device.Entry
			batches, gap := 0, false
			want := read(turns(0, all), true)
			err := s.Follow(ctx, graphics, pace, func(b device.Batch) error {
				gap = gap || b.Gap
				if len(b.Entries) > 0 {
					missed := b.Entries[0] != want[len(got)]
					require.False(t, missed && !b.Gap, "missed, and no gap")
					got = want[:slices.Index(want, b.Entries[len(b.Entries)-1])+1]
					require.Equal(t, got[len(got)-len(b.Entries):], b.Entries)
				}
				batches++
				return nil
			})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, pace == device.MaxPace, gap)
			assert.Len(t, got, all)
			assert.Greater(t, batches, 49)
			assert.Less(t, batches, 300)
		})
	}
}

// A follower that is slow itself is told of the gap.
func TestFollowTooSlowly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, false, nil)
		s := p.open(t)
		enough := errors.New("enough")
		written := 0
		err := s.Follow(t.Context(), graphics, 0, func(b device.Batch) error {
			assert.Equal(t, written > 0, b.Gap)
			if written > 1000 {
				return enough
			}
			p.log(t, turns(written, written+device.LogCapacity+1)...)
			written += device.LogCapacity + 1
			return nil
		})
		require.ErrorIs(t, err, enough)
	})
}

func TestFollowEnds(t *testing.T) {
	t.Parallel()
	p := start(t, false, func(lib nvml.Interface) nvml.Interface {
		rules, err := fault.New(0, fault.Rule{Method: "Device.GetVgpuSchedulerLog_v2", Nth: 3, Effect: fault.Lose})
		require.NoError(t, err)
		return fault.Wrap(lib, rules)
	})
	s := p.open(t)
	for _, pace := range []time.Duration{-1, device.MaxPace + 1} {
		err := s.Follow(t.Context(), graphics, pace, nil)
		require.ErrorIs(t, err, timeslice.ErrInput)
		require.ErrorContains(t, err, "pace")
	}
	err := s.Follow(t.Context(), graphics, 0, nil)
	require.ErrorIs(t, err, timeslice.ErrInput)
	batches := 0
	err = s.Follow(t.Context(), graphics, time.Millisecond, func(b device.Batch) error {
		assert.Empty(t, b.Entries)
		batches++
		return nil
	})
	require.ErrorIs(t, err, device.ErrLost)
	assert.Equal(t, 1, batches, "the first; nothing was new after it")
}
