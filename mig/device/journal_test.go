package device_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// journalOf applies a plan of two steps and returns what it has written.
func journalOf(t *testing.T, r *rig) string {
	t.Helper()
	create(t, r.plain, "1g.5gb@0", "1g.5gb@6")
	p := r.repartition(t.Context(), t, "1g.5gb=1,3g.20gb=1")
	var b bytes.Buffer
	_, err := r.gpu.Apply(t.Context(), p, device.ApplyOptions{Journal: &b})
	require.NoError(t, err)
	return b.String()
}

func TestReadJournal(t *testing.T) {
	t.Parallel()
	r := newRig(t.Context(), t, "a100-40gb")
	text := journalOf(t, r)
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	require.Len(t, lines, 6, "header, two records for each step, end")
	begin := `{"phase":"begin","step":{"op":"create","profile":"1g.5gb","start":0,"size":1,"computeInstances":null}}` + "\n"
	resume := `{"phase":"resume"}` + "\n"
	tests := []struct {
		name    string
		text    string
		records int
		torn    bool
		outcome device.Outcome
		err     string // or
	}{
		{name: "whole", text: text, records: 5, outcome: device.Done},
		{name: "without the last line's end", text: strings.TrimSuffix(text, "\n"), records: 5, outcome: device.Done},
		{name: "before the end", text: strings.Join(lines[:5], ""), records: 4},
		{name: "cut off in a record", text: text[:len(text)-10], records: 4, torn: true},
		{name: "header alone", text: lines[0]},
		{name: "blank lines", text: lines[0] + "\n\r\n" + lines[1] + "\n", records: 1},
		{name: "cut off, and gone on by a second run", text: lines[0] + `{"phase":"be` + "\n" + resume + begin, records: 2},
		{name: "cut off twice, the second time in a second run", text: lines[0] + `{"phase":"be` + "\n" + `{"phase":"re`, torn: true},
		{name: "and gone on by a third", text: lines[0] + `{"phase":"be` + "\n" + `{"phase":"re` + "\n" + resume + begin, records: 2},
		{name: "cut off, and gone on by the way back", text: lines[0] + `{"phase":"be` + "\n" + `{"phase":"back"}` + "\n" + begin, records: 2},
		{name: "broken and cut off", text: lines[0] + "{\n" + lines[1] + `{"phase":"re`, err: "line 2"},
		{name: "a second run has not ended", text: text + resume, records: 6},
		{name: "empty", text: "", err: "line 1"},
		{name: "header cut off", text: lines[0][:40], err: "line 1"},
		{name: "no header", text: lines[1], err: "line 1"},
		{name: "another schema", text: strings.Replace(text, `{"schema":1`, `{"schema":2`, 1), err: "schema 2, not 1"},
		{name: "a plan of another schema", text: strings.Replace(text, `"plan":{"schema":1`, `"plan":{"schema":2`, 1), err: "line 1"},
		{name: "no GPU", text: strings.Replace(text, `"gpu":"`+r.gpu.UUID()+`"`, `"gpu":""`, 1), err: "no GPU"},
		{name: "unknown field", text: strings.Replace(text, `{"schema":1`, `{"new":1,"schema":1`, 1), err: `"new"`},
		{name: "broken in the middle", text: lines[0] + "{\n" + lines[1], err: "line 2"},
		{name: "unknown phase in the middle", text: lines[0] + `{"phase":"rest"}` + "\n" + lines[1], err: `"rest"`},
		{name: "step without one", text: lines[0] + `{"phase":"done"}` + "\n" + lines[1], err: "line 2"},
		{name: "unknown operation", text: lines[0] + strings.Replace(begin, "create", "move", 1) + lines[1], err: "line 2"},
		{name: "end with a step", text: lines[0] + strings.Replace(begin, `"begin"`, `"end"`, 1) + lines[1], err: "line 2"},
		{name: "two values on a line", text: lines[0] + "{} {}\n" + lines[1], err: "line 2"},
		{name: "a line without end", text: lines[0] + strings.Repeat("x", 2<<20), err: "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j, err := device.ReadJournal(strings.NewReader(tt.text))
			if tt.err != "" {
				require.ErrorIs(t, err, device.ErrJournal)
				require.ErrorContains(t, err, tt.err)
				assert.Zero(t, j)
				return
			}
			require.NoError(t, err)
			assert.Len(t, j.Records, tt.records)
			assert.Equal(t, tt.torn, j.Torn)
			assert.Equal(t, tt.outcome, j.Outcome())
			assert.Equal(t, r.gpu.UUID(), j.GPU)
			assert.Equal(t, "a100-40gb", j.Model)
			assert.Len(t, j.Before, 2)
			assert.Len(t, j.Plan.Steps, 2)
		})
	}
	t.Run("reader fails", func(t *testing.T) {
		t.Parallel()
		_, err := device.ReadJournal(&failing{})
		require.ErrorIs(t, err, errDisk)
		require.ErrorIs(t, err, device.ErrJournal)
	})
}

var errDisk = errors.New("no space left")

// failing is a file that fails at the n-th write, from 1, or at the first read.
type failing struct {
	bytes.Buffer
	n, writes, syncs int
	atSync, full     bool // full: and at all that come after
}

func (f *failing) Read([]byte) (int, error) { return 0, errDisk }

func (f *failing) Write(p []byte) (int, error) {
	if f.writes++; f.writes > f.n && f.full {
		return 0, errDisk
	}
	if f.writes == f.n && !f.atSync {
		_, _ = f.Buffer.Write(p[:len(p)/2])
		return len(p) / 2, errDisk
	}
	return f.Buffer.Write(p)
}

func (f *failing) Sync() error {
	if f.syncs++; f.syncs == f.n && f.atSync {
		return errDisk
	}
	return nil
}

// A run that can no longer write its journal does not go on: it refuses, or rolls
// back, and says why. The journal up to there serves a second run.
func TestApplyWithoutRoomForTheJournal(t *testing.T) {
	t.Parallel()
	for _, atSync := range []bool{false, true} {
		for n := 1; n <= 7; n++ {
			bubble(t, func(t *testing.T) {
				r := newRig(t.Context(), t, "a100-40gb")
				create(t, r.plain, "1g.5gb@0", "1g.5gb@6")
				before := r.state(t.Context(), t)
				p := r.repartition(t.Context(), t, "1g.5gb=1,3g.20gb=1")
				file := &failing{n: n, atSync: atSync}
				report, err := r.gpu.Apply(t.Context(), p, device.ApplyOptions{Journal: file})
				now := r.state(t.Context(), t)
				switch {
				case n == 7:
					require.NoError(t, err, "six lines are all")
					assert.Equal(t, 6, file.writes)
					assert.Equal(t, 6, file.syncs)
				case n == 6: // all is done, and the end could not be written
					require.ErrorIs(t, err, errDisk)
					assert.Equal(t, device.Done, report.Outcome)
				case n <= 2: // nothing has changed yet
					require.ErrorIs(t, err, errDisk)
					assert.Equal(t, device.Unchanged, report.Outcome)
					assert.Equal(t, before, now)
				default:
					require.ErrorIs(t, err, errDisk)
					assert.Equal(t, device.RolledBack, report.Outcome)
					assert.True(t, standsAs(now.Instances, before.Instances, false))
				}
				if n == 1 {
					return
				}
				j, err := device.ReadJournal(&file.Buffer)
				require.NoError(t, err)
				if n < 6 {
					// What came after the line that failed is in it again.
					assert.Equal(t, report.Outcome, j.Outcome())
					report, err = r.gpu.Resume(t.Context(), j, device.ApplyOptions{})
					require.NoError(t, err)
					assert.Equal(t, "done: 1g.5gb@0 3g.20gb@4", report.String())
				}
			})
		}
	}
}

// A disk that stays full: what the way back has created again is not in the journal,
// and so a second run leaves it alone; a new plan serves.
func TestApplyWhileTheDiskIsFull(t *testing.T) {
	t.Parallel()
	r := newRig(t.Context(), t, "a100-40gb")
	create(t, r.plain, "1g.5gb@0", "1g.5gb@6")
	p := r.repartition(t.Context(), t, "1g.5gb=1,3g.20gb=1")
	file := &failing{n: 4, full: true}
	report, err := r.gpu.Apply(t.Context(), p, device.ApplyOptions{Journal: file})
	require.ErrorIs(t, err, errDisk)
	assert.Equal(t, "rolledBack: 1g.5gb@0 1g.5gb@6", report.String())
	j, err := device.ReadJournal(&file.Buffer)
	require.NoError(t, err)
	report, err = r.gpu.Resume(t.Context(), j, device.ApplyOptions{})
	require.ErrorIs(t, err, device.ErrChanged)
	assert.Equal(t, device.Unchanged, report.Outcome)
	report, err = r.gpu.Apply(t.Context(), r.repartition(t.Context(), t, "1g.5gb=1,3g.20gb=1"), device.ApplyOptions{})
	require.NoError(t, err)
	assert.Equal(t, "done: 1g.5gb@0 3g.20gb@4", report.String())
}

// A journal in a file, a crash, and a second process that carries on in the same
// file.
func TestResumeInTheSameFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "journal")
	r := newRig(t.Context(), t, "a100-40gb")
	create(t, r.plain, "1g.5gb@0", "1g.5gb@6")
	p := r.repartition(t.Context(), t, "1g.5gb=1,3g.20gb=1")
	require.NoError(t, r.rules.Set(fault.Rule{Method: "GpuInstance.CreateComputeInstance", Before: func(fault.Call) { runtime.Goexit() }}))
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(t, err)
	report, err := r.gpu.Apply(t.Context(), p, device.ApplyOptions{Journal: file})
	require.Error(t, err)
	assert.Equal(t, device.Left, report.Outcome)
	assert.Nil(t, report.After)
	_, err = file.WriteString(`{"phase":"do`)
	require.NoError(t, err)
	require.NoError(t, file.Close())

	second := open(t, deviceOf(t, r))
	j := readJournal(t, name)
	assert.True(t, j.Torn)
	assert.Empty(t, j.Outcome())
	file, err = os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(t, err)
	report, err = second.Resume(t.Context(), j, device.ApplyOptions{Journal: file})
	require.NoError(t, err)
	assert.Equal(t, "done: 1g.5gb@0 3g.20gb@4", report.String())
	require.Len(t, report.Done, 1, "the GPU instance stood there already")
	require.NoError(t, file.Close())
	require.NoError(t, r.srv.Audit())

	j = readJournal(t, name)
	assert.Equal(t, device.Done, j.Outcome())
	report, err = second.Undo(t.Context(), j, device.ApplyOptions{})
	require.NoError(t, err)
	assert.Equal(t, "rolledBack: 1g.5gb@0 1g.5gb@6", report.String())
}

func deviceOf(t *testing.T, r *rig) nvml.Device {
	t.Helper()
	dev, ret := r.srv.NVML().DeviceGetHandleByIndex(0)
	require.Equal(t, nvml.SUCCESS, ret)
	return dev
}

func readJournal(t *testing.T, name string) device.Journal {
	t.Helper()
	file, err := os.Open(name)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	j, err := device.ReadJournal(file)
	require.NoError(t, err)
	return j
}

// A second run refuses what does not belong to the first, before it changes
// anything.
func TestResumeRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		act  func(t *testing.T, r *rig, j *device.Journal)
		want []error
		text string
	}{
		{"another GPU", func(_ *testing.T, _ *rig, j *device.Journal) { j.GPU = "GPU-0" }, []error{device.ErrJournal}, "GPU-0"},
		{"another model", func(_ *testing.T, _ *rig, j *device.Journal) { j.Model = "a30-24gb" }, []error{device.ErrJournal}, "a30-24gb"},
		{"another schema", func(_ *testing.T, _ *rig, j *device.Journal) { j.Schema = 9 }, []error{device.ErrJournal}, "schema 9"},
		{"no journal", func(_ *testing.T, _ *rig, j *device.Journal) { *j = device.Journal{} }, []error{device.ErrJournal}, "schema 0"},
		{"another's instance", func(t *testing.T, r *rig, _ *device.Journal) {
			t.Helper()
			create(t, r.plain, "1g.5gb@2")
		}, []error{device.ErrChanged}, "1g.5gb@2"},
		{"an instance created anew", func(t *testing.T, r *rig, _ *device.Journal) {
			t.Helper()
			destroy(t, r.plain, 4)
			create(t, r.plain, "3g.20gb@4")
		}, []error{device.ErrChanged}, "3g.20gb@4"},
		{"in use", func(t *testing.T, r *rig, _ *device.Journal) {
			t.Helper()
			hold(t, r, 4, "python3", false)
		}, []error{plan.ErrBusy, device.ErrInUse}, "3g.20gb@4: in use by (pid 4242, C, 512 MiB)"},
		{"MIG off", func(t *testing.T, r *rig, _ *device.Journal) {
			t.Helper()
			destroy(t, r.plain, 0, 4)
			_, ret := deviceOf(t, r).SetMigMode(nvml.DEVICE_MIG_DISABLE)
			require.Equal(t, nvml.SUCCESS, ret)
			require.NoError(t, r.srv.Reset(0))
		}, []error{device.ErrDisabled}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t.Context(), t, "a100-40gb")
			j, err := device.ReadJournal(strings.NewReader(journalOf(t, r)))
			require.NoError(t, err)
			tt.act(t, r, &j)
			before := r.state(t.Context(), t)
			report, err := r.gpu.Undo(t.Context(), j, device.ApplyOptions{})
			for _, want := range tt.want {
				require.ErrorIs(t, err, want)
			}
			require.ErrorContains(t, err, tt.text)
			assert.Equal(t, device.Unchanged, report.Outcome)
			assert.Equal(t, before, r.state(t.Context(), t))
		})
	}
}

// After a reboot nothing stands there: the whole goal is created, or the whole
// former layout.
func TestResumeAfterAReboot(t *testing.T) {
	t.Parallel()
	r := newRig(t.Context(), t, "a100-40gb")
	j, err := device.ReadJournal(strings.NewReader(journalOf(t, r)))
	require.NoError(t, err)
	require.NoError(t, r.srv.Reset(0))
	report, err := r.gpu.Resume(t.Context(), j, device.ApplyOptions{})
	require.NoError(t, err)
	assert.Equal(t, "done: 1g.5gb@0 3g.20gb@4", report.String())
	report, err = r.gpu.Resume(t.Context(), j, device.ApplyOptions{})
	require.NoError(t, err)
	assert.Empty(t, report.Done, "there is nothing left to do")
	require.NoError(t, r.srv.Reset(0))
	report, err = r.gpu.Undo(t.Context(), j, device.ApplyOptions{})
	require.NoError(t, err)
	assert.Equal(t, "rolledBack: 1g.5gb@0 1g.5gb@6", report.String())
}

func FuzzReadJournal(f *testing.F) {
	f.Add([]byte(`{"schema":1,"gpu":"GPU-1","model":"a100-40gb","plan":{"schema":1,"model":"a100-40gb","fingerprint":"x","steps":[],"kept":[],"goal":[]},"before":[]}` + "\n" +
		`{"phase":"begin","step":{"op":"create","profile":"1g.5gb","start":0,"size":1,"computeInstances":null}}` + "\n" + `{"phase":"resume"}` + "\n" + `{"phase":"end","outcome":"done"}`))
	f.Add([]byte(`{"schema":1}`))
	f.Add([]byte("\n\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := device.ReadJournal(bytes.NewReader(data))
		if err != nil {
			require.ErrorIs(t, err, device.ErrJournal)
			require.Zero(t, j)
			return
		}
		require.Equal(t, device.JournalSchema, j.Schema)
		require.NotEmpty(t, j.GPU)
		_ = j.Outcome()
	})
}
