package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// faulty is a machine of one A30, kept in a file, on which calls can fail.
type faulty struct {
	*machine
	rules *fault.Rules
	inv   *invocation
	out   *strings.Builder
	dir   string
}

func newFaulty(t *testing.T) *faulty {
	t.Helper()
	fake, err := openFake(newMachine(t, "a30-24gb"))
	require.NoError(t, err)
	f := &faulty{rules: &fault.Rules{}, out: &strings.Builder{}, dir: filepath.Join(t.TempDir(), "journal")}
	f.machine = &machine{lib: fault.Wrap(fake.server.NVML(), f.rules), fake: fake}
	require.Equal(t, nvml.SUCCESS, f.lib.Init())
	require.NoError(t, f.look(t.Context()))
	f.inv = newInvocation(command.New("apply", strings.NewReader(""), f.out))
	f.inv.changes()
	return f
}

// carryOut makes the GPU hold what is wanted, and returns what became of it.
func (f *faulty) carryOut(ctx context.Context, t *testing.T, want mig.Demand) (*change, *book) {
	t.Helper()
	targets, err := f.inv.demandTargets(f.machine, f.gpus, want)
	require.NoError(t, err)
	changes, err := prepare(t.Context(), targets)
	require.NoError(t, err)
	require.NoError(t, f.inv.carryOut(ctx, f.machine, f.dir, changes))
	b, err := readBook(f.dir)
	require.NoError(t, err)
	return changes[0], b
}

// TestInterrupt: what was begun when the interrupt came is undone.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.NoError(t, f.rules.Set(fault.Rule{Method: "Device.CreateGpuInstance*", Nth: 3, Times: 1, Before: func(fault.Call) { cancel() }}))
	c, b := f.carryOut(ctx, t, mig.Demand{"1g.6gb": 4})
	require.ErrorIs(t, c.err, context.Canceled)
	assert.Equal(t, device.Unchanged, c.report.Outcome)
	assert.Equal(t, "stopped", b.Ended)
	assert.Equal(t, []string{"empty"}, gpuStates(t, f.fake.path))
	assert.Contains(t, f.out.String(), "back ")
}

// TestCallThatHangs: a call that returns late is waited for, and what it was part
// of is undone; one that returns never, or too late for that, leaves a record that
// resume takes up.
func TestCallThatHangs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		delay   time.Duration
		outcome device.Outcome
		ended   string
	}{
		{"for a while", 3 * time.Minute, device.Unchanged, "stopped"},
		{"for long", time.Hour, device.Indeterminate, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFaulty(t)
				require.NoError(t, f.rules.Set(fault.Rule{Method: "Device.CreateGpuInstance*", Nth: 2, Times: 1, Delay: c.delay}))
				got, b := f.carryOut(t.Context(), t, mig.Demand{"1g.6gb": 3})
				require.ErrorIs(t, got.err, context.DeadlineExceeded)
				assert.Equal(t, c.outcome, got.report.Outcome)
				assert.Equal(t, c.ended, b.Ended)
				assert.Contains(t, f.out.String(), "GPU 0  a call into the driver has not returned: waiting")
				assert.Contains(t, outcomeText((&invocation{}).answerOf("apply", []*change{got})), "GPU 0: not done: ")
				time.Sleep(2 * time.Hour) // the rest happens in the background
			})
		})
	}
}

// TestPendingMode: somebody whom no list shows keeps a mode from coming into
// force. The change has not ended then, and resume or undo takes it up.
func TestPendingMode(t *testing.T) {
	t.Parallel()
	const held = `{"schema":1,"gpus":[{"model":"a30-24gb","mig":true,"instances":[{"profile":"2g.12gb","start":0}],
		"holders":[{"name":"nvidia_drm","hidden":true}]}]}`
	for _, way := range []string{"resume", "undo"} {
		file, yaml := write(t, held), write(t, config)
		got := answer[changeAnswer](t, exitNo, "apply", "-fake", file, "-f", yaml, "-label", "off")
		assert.Contains(t, got.GPUs[0].Error, device.ErrPending.Error())
		assert.Equal(t, device.Done, got.GPUs[0].Report.Outcome, "the instances are gone")
		mode := answer[stateAnswer](t, exitDone, "state", "-fake", file).GPUs[0].Mode
		assert.Equal(t, &modeInfo{Current: true, Pending: false}, mode)
		no := answer[noAnswer](t, exitNo, "apply", "-fake", file, "-want", "4g.24gb=1")
		assert.Equal(t, "unfinished", no.Reason.Kind)
		want := "2g.12gb@0"
		if way == "resume" {
			no := answer[recordAnswer](t, exitNo, "resume", "-fake", file)
			assert.Contains(t, no.GPUs[0].Error, device.ErrPending.Error(), "still held")
			done(t, "reboot", "-fake", file)
			want = "off"
		}
		done(t, way, "-fake", file)
		assert.Equal(t, []string{want}, gpuStates(t, file))
	}
}

// TestModePendingBefore: a change of mode that was pending already is withdrawn as
// long as instances change.
func TestModePendingBefore(t *testing.T) {
	t.Parallel()
	file := write(t, `{"schema":1,"gpus":[{"model":"a30-24gb","mig":true,"pendingMig":false,"instances":[{"profile":"2g.12gb","start":0}]}]}`)
	done(t, "apply", "-fake", file, "-f", write(t, config), "-label", "off")
	assert.Equal(t, []string{"off"}, gpuStates(t, file))
	done(t, "undo", "-fake", file)
	assert.Equal(t, []string{"2g.12gb@0"}, gpuStates(t, file))
	assert.Equal(t, &modeInfo{true, true}, answer[stateAnswer](t, exitDone, "state", "-fake", file).GPUs[0].Mode)
}
