package mpsfake_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// A daemon that mps starts with -d, with all that is real about it: the process, the
// files, and sockets that come later than the return of -d.
func TestDaemonIsStartedWatchedAndEnded(t *testing.T) {
	t.Parallel()
	for _, protocol := range []int{2, 3} {
		t.Run(strconv.Itoa(protocol), func(t *testing.T) {
			t.Parallel()
			dir := shortDir(t)
			setup := mpsfake.Setup{
				BindDelay: 50 * time.Millisecond, QuitDelay: 50 * time.Millisecond,
				Hooks: "@mpsfake-" + filepath.Base(dir), Owner: os.Getpid(),
			}
			c := mps.DaemonConfig{
				Path: link(t), Env: setup.Environ(), Protocol: protocol,
				Directories: mps.Directories{Pipe: filepath.Join(dir, "pipe"), Log: filepath.Join(dir, "log")},
				ReadyFile:   filepath.Join(dir, "ready"),
				Client:      mps.Options{Timeout: patience}, StartTimeout: patience, QuitTimeout: patience,
			}
			if protocol == 2 {
				c.Limits = mps.DaemonLimits{Percentage: 25, PinnedMiB: map[string]int64{"0": 5120}}
			}
			d, err := mps.NewDaemon(c)
			require.NoError(t, err)
			ready, err := d.Start(t.Context())
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, d.Quit(context.WithoutCancel(t.Context()), 0)) })
			assert.Equal(t, mps.PhaseReady, ready.Phase)
			process := mpsfake.Attach(setup.Hooks)
			pid, err := process.PID()
			require.NoError(t, err)
			assert.Equal(t, pid, ready.Identity.PID)
			assert.NotZero(t, ready.Identity.Start)
			text, err := os.ReadFile(c.ReadyFile)
			require.NoError(t, err)
			assert.Equal(t, strconv.Itoa(pid)+"\n", string(text))
			_, err = d.Start(t.Context())
			require.ErrorIs(t, err, mps.ErrRunning)
			detected, err := d.Client().Detect(t.Context())
			require.NoError(t, err)
			assert.Equal(t, protocol, detected.Protocol)

			_, err = process.Connect(mpsfake.Client{PID: 50})
			require.NoError(t, err)
			var server int
			for e := range d.Client().Watch(t.Context(), mps.WatchOptions{Every: 10 * time.Millisecond, Protocol: protocol}) {
				if e.Kind == mps.WatchServer && e.State == mps.ServerActive {
					server = e.Server
					break
				}
				require.NotEqual(t, mps.WatchTrouble, e.Kind, e.Err)
			}
			monitor := mps.NewLogMonitor(3, time.Minute)
			for e, err := range mps.Tail(t.Context(), filepath.Join(c.Directories.Log, "control.log"), mps.TailOptions{FromStart: true}) {
				require.NoError(t, err)
				if monitor.Add(e) == mps.HealthReady {
					break
				}
			}
			assert.Equal(t, []int{server}, monitor.Servers())

			require.NoError(t, d.Quit(t.Context(), 0))
			assert.NoFileExists(t, c.ReadyFile)
			_, err = process.PID()
			require.Error(t, err, "it is gone when quit returns")
			state, err := d.Ready(t.Context())
			require.NoError(t, err)
			assert.Equal(t, mps.PhaseStopped, state.Phase)
		})
	}
}

// What the fake logs is what the monitor understands.
func TestLogOfTheFakeIsRead(t *testing.T) {
	t.Parallel()
	d, err := mpsfake.New(mpsfake.Config{GPUs: []mpsfake.GPU{{UUID: "GPU-74d43ed3", SMs: 132, MemoryMiB: 81559}}})
	require.NoError(t, err)
	monitor := mps.NewLogMonitor(3, time.Minute)
	at := map[string]int{}
	read := func() mps.Health {
		for _, name := range d.LogFiles() {
			text := d.LogFrom(name, at[name])
			at[name] += len(text)
			for line := range strings.Lines(text) {
				e := mps.ParseLogLine(line)
				assert.NotEmpty(t, e.Role, line)
				monitor.Add(e)
			}
		}
		return monitor.Health()
	}
	assert.Equal(t, mps.HealthIdle, read())
	at50, err := d.Connect(mpsfake.Client{PID: 50})
	require.NoError(t, err)
	assert.Equal(t, mps.HealthReady, read())
	assert.Equal(t, []int{at50.Server}, monitor.Servers())

	require.NoError(t, d.Fault(at50.Server, 0))
	assert.Equal(t, mps.HealthFault, read())
	assert.Equal(t, []int{50}, monitor.Affected())
	require.NoError(t, d.Disconnect(50))
	d.Advance()
	assert.Equal(t, mps.HealthReady, read())
	assert.Empty(t, monitor.Affected())

	_, err = d.Connect(mpsfake.Client{PID: 51})
	require.NoError(t, err)
	d.CrashStarts(3)
	require.NoError(t, d.CrashServer(at50.Server))
	_, err = d.Connect(mpsfake.Client{PID: 52})
	require.NoError(t, err)
	for range 8 {
		d.Advance()
	}
	assert.Equal(t, mps.HealthCrashLoop, read())
}
