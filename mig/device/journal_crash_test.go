package device_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
)

// crashing is a file whose process ends at the n-th write, from 1, when so many
// tenths of the line are written.
type crashing struct {
	bytes.Buffer
	n, tenths int
}

func (f *crashing) Write(p []byte) (int, error) {
	if f.n--; f.n == 0 {
		_, _ = f.Buffer.Write(p[:len(p)*f.tenths/10])
		runtime.Goexit()
	}
	return f.Buffer.Write(p)
}

// A crash at each line of a journal, and another at each line of the second run:
// the third carries on with a GPU opened anew.
func TestCrashAtEachRecord(t *testing.T) {
	t.Parallel()
	for _, tenths := range []int{0, 3, 9, 10} {
		for _, undo := range []bool{false, true} {
			t.Run(fmt.Sprintf("tenths=%d undo=%v", tenths, undo), func(t *testing.T) {
				t.Parallel()
				for first := 1; first <= 6; first++ {
					for second := 1; second <= 6; second++ {
						crashTwice(t, first, second, tenths, undo)
					}
				}
			})
		}
	}
}

func crashTwice(t *testing.T, first, second, tenths int, undo bool) {
	t.Helper()
	r := newRig(t.Context(), t, "a100-40gb")
	create(t, r.plain, "1g.5gb@0", "1g.5gb@6")
	before := r.state(t.Context(), t)
	p := r.repartition(t.Context(), t, "1g.5gb=1,3g.20gb=1")
	file := &crashing{n: first, tenths: tenths}
	report, err := r.gpu.Apply(t.Context(), p, device.ApplyOptions{Journal: file})
	require.Error(t, err)
	assert.Equal(t, device.Left, report.Outcome)
	j, err := device.ReadJournal(bytes.NewReader(file.Bytes()))
	if first == 1 && tenths < 10 {
		require.ErrorIs(t, err, device.ErrJournal)
		assert.Equal(t, before, r.state(t.Context(), t), "nothing had begun")
		return
	}
	require.NoError(t, err)
	file.n = second
	_, _ = r.gpu.Resume(t.Context(), j, device.ApplyOptions{Journal: file})
	j, err = device.ReadJournal(bytes.NewReader(file.Bytes()))
	require.NoError(t, err, "%s", file)

	file.n = 0
	run, want := open(t, deviceOf(t, r)).Resume, "done: 1g.5gb@0 3g.20gb@4"
	if undo {
		run, want = open(t, deviceOf(t, r)).Undo, "rolledBack: 1g.5gb@0 1g.5gb@6"
	}
	report, err = run(t.Context(), j, device.ApplyOptions{Journal: file})
	require.NoError(t, err, "crashes at %d and %d\n%s", first, second, file)
	require.Equal(t, want, report.String())
	j, err = device.ReadJournal(file)
	require.NoError(t, err)
	require.Equal(t, report.Outcome, j.Outcome())
}

// A second run that cannot write its journal stops, instead of going on unseen; a
// third carries on in the same file.
func TestResumeWithoutRoomForTheJournal(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 6; n++ {
		r := newRig(t.Context(), t, "a100-40gb")
		text := journalOf(t, r)
		before := r.state(t.Context(), t)
		j, err := device.ReadJournal(strings.NewReader(text))
		require.NoError(t, err)
		file := &failing{n: n}
		file.WriteString(text)
		report, err := r.gpu.Undo(t.Context(), j, device.ApplyOptions{Journal: file})
		require.ErrorIs(t, err, errDisk)
		now := r.state(t.Context(), t).Instances
		assert.True(t, standsAs(now, report.After, true))
		switch {
		case n <= 2:
			assert.Equal(t, device.Unchanged, report.Outcome)
			assert.Equal(t, before.Instances, now)
		case n <= 5:
			assert.Equal(t, device.Left, report.Outcome)
			assert.LessOrEqual(t, len(report.Back), n/2)
		default:
			assert.Equal(t, device.RolledBack, report.Outcome)
		}
		j, err = device.ReadJournal(bytes.NewReader(file.Bytes()))
		require.NoError(t, err, "%s", file)
		report, err = r.gpu.Undo(t.Context(), j, device.ApplyOptions{Journal: file})
		require.NoError(t, err)
		assert.Equal(t, "rolledBack: 1g.5gb@0 1g.5gb@6", report.String())
	}
}

// A plan for a table without compute profiles says full size without an index, and
// the device knows it.
func TestApplyWithoutComputeProfiles(t *testing.T) {
	t.Parallel()
	r := newRig(t.Context(), t, "pg506-96gb")
	create(t, r.plain, "1g.12gb@0", "1g.12gb@5")
	p := r.repartition(t.Context(), t, "1g.12gb=1,3g.48gb=1")
	require.Equal(t, mig.NotKnown, p.Goal[1].Compute[0].Index)
	var text bytes.Buffer
	report, err := r.gpu.Apply(t.Context(), p, device.ApplyOptions{Journal: &text})
	require.NoError(t, err)
	assert.Equal(t, "done: 1g.12gb@0 3g.48gb@4", report.String())
	assert.Equal(t, 2, standing(t, r.plain, 4).Compute[0].Index)
	j, err := device.ReadJournal(&text)
	require.NoError(t, err)
	report, err = r.gpu.Resume(t.Context(), j, device.ApplyOptions{})
	require.NoError(t, err)
	assert.Empty(t, report.Done, "it stands")
	report, err = r.gpu.Undo(t.Context(), j, device.ApplyOptions{})
	require.NoError(t, err)
	assert.Equal(t, "rolledBack: 1g.12gb@0 1g.12gb@5", report.String())
	require.NoError(t, r.srv.Reset(0))
	report, err = r.gpu.Resume(t.Context(), j, device.ApplyOptions{})
	require.NoError(t, err)
	assert.Equal(t, "done: 1g.12gb@0 3g.48gb@4", report.String())
}
