package mps_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// recorded notes the command lines of a runner, and lets one look in before each.
type recorded struct {
	mps.Runner

	before func(line string)
	mu     sync.Mutex
	lines  []string
}

func (r *recorded) Run(ctx context.Context, c mps.Call) (mps.Output, error) {
	line := strings.TrimSpace(strings.Join(c.Args, " ") + c.Input)
	r.mu.Lock()
	r.lines = append(r.lines, line)
	r.mu.Unlock()
	if r.before != nil {
		r.before(line)
	}
	return r.Runner.Run(ctx, c)
}

func (r *recorded) took() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

// hooks notes what the hooks of a daemon were called for.
type hooks struct {
	calls []string
	fail  string
}

func (h *hooks) call(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		h.calls = append(h.calls, name)
		if h.fail == name {
			return errors.New("no such tool")
		}
		return ctx.Err()
	}
}

// stoppedDaemon is a fake that does not run yet, and a Daemon that starts it.
func stoppedDaemon(t *testing.T, f mpsfake.Config, c mps.DaemonConfig) (*mps.Daemon, *mpsfake.Daemon, *recorded, *hooks) {
	t.Helper()
	f.Stopped = true
	fake := fakeDaemon(t, f)
	r, h := &recorded{Runner: fake}, &hooks{}
	c.Runner, c.Client.Identity = r, fake.PIDFile
	c.BeforeStart, c.AfterQuit = h.call("before start"), h.call("after quit")
	d, err := mps.NewDaemon(c)
	require.NoError(t, err)
	return d, fake, r, h
}

var someLimits = mps.DaemonLimits{Percentage: 33.3, PinnedMiB: map[string]int64{"0": 27186, "1": 5120}, Priority: ptr(1)}

func TestDaemonStartsAndQuits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ready := filepath.Join(t.TempDir(), "ready")
		require.NoError(t, os.WriteFile(ready, []byte("of yesterday"), 0o600))
		d, fake, r, h := stoppedDaemon(t, mpsfake.Config{ExitPolls: 5}, mps.DaemonConfig{Limits: someLimits, ReadyFile: ready, MultiUser: true})
		r.before = func(line string) {
			if line == "get_default_client_priority" {
				assert.NoFileExists(t, ready, "it is written last")
			}
		}
		state, err := d.Ready(t.Context())
		require.NoError(t, err)
		assert.Equal(t, mps.PhaseStopped, state.Phase)
		require.ErrorIs(t, state.Reason, mps.ErrNoDaemon)
		r.took()

		state, err = d.Start(t.Context())
		require.NoError(t, err)
		r.before = nil
		assert.Equal(t, mps.PhaseReady, state.Phase)
		assert.Equal(t, 1000, state.Identity.PID)
		assert.Len(t, state.Settings, 4)
		assert.Empty(t, state.Warnings)
		assert.Equal(t, []string{"before start"}, h.calls)
		assert.Equal(t, []string{
			"get_server_list", "-d -multiuser-server", "get_server_list",
			"set_default_device_pinned_mem_limit 0 27186M", "get_default_device_pinned_mem_limit 0",
			"set_default_device_pinned_mem_limit 1 5120M", "get_default_device_pinned_mem_limit 1",
			"set_default_active_thread_percentage 33.3", "get_default_active_thread_percentage",
			"set_default_client_priority 1", "get_default_client_priority",
		}, r.took())
		text, err := os.ReadFile(ready)
		require.NoError(t, err)
		assert.Equal(t, "1000\n", string(text))
		state, err = d.Ready(t.Context())
		require.NoError(t, err)
		assert.Equal(t, mps.PhaseReady, state.Phase, state.Reason)

		_, err = d.Start(t.Context())
		require.ErrorIs(t, err, mps.ErrRunning)
		require.ErrorIs(t, err, mps.ErrRefused)
		assert.FileExists(t, ready, "it is the one that runs that is ready")

		require.NoError(t, d.Quit(t.Context(), 0))
		assert.NoFileExists(t, ready)
		_, who := fake.PIDFile()
		require.ErrorIs(t, who, fs.ErrNotExist, "quit waits")
		assert.Equal(t, []string{"before start", "after quit"}, h.calls)
		require.NoError(t, d.Quit(t.Context(), 0), "that none runs is no error")
		require.NoError(t, fake.Check())

		state, err = d.Start(t.Context())
		require.NoError(t, err, "it can be started again")
		assert.Equal(t, 1001, state.Identity.PID)
	})
}

func TestDaemonProtocol3(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, fake, r, _ := stoppedDaemon(t, mpsfake.Config{ExitPolls: 2}, mps.DaemonConfig{Protocol: 3, MultiUser: true})
		state, err := d.Start(t.Context())
		require.NoError(t, err)
		assert.Equal(t, mps.PhaseReady, state.Phase)
		assert.Contains(t, r.took(), "-d -p 3 --multiuser")
		got, err := d.Client().Detect(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 3, got.Protocol)
		require.ErrorIs(t, d.Quit(t.Context(), time.Second), mps.ErrInput)
		require.NoError(t, d.Quit(t.Context(), 0))
		_, who := fake.PIDFile()
		require.ErrorIs(t, who, fs.ErrNotExist)
	})
}

// What is not known of the replies to get and set does not keep a daemon from being
// ready if the caller says so, and else does.
func TestDaemonUnreadLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, accept := range []bool{false, true} {
			d, fake, _, h := stoppedDaemon(t, mpsfake.Config{Rules: []mpsfake.Rule{
				{Command: "get_default_client_priority", Always: true, Trouble: mpsfake.Say, Text: "below normal\n"},
			}}, mps.DaemonConfig{Limits: someLimits, AcceptUnread: accept})
			state, err := d.Start(t.Context())
			_, who := fake.PIDFile()
			alive := who == nil
			if !accept {
				require.ErrorIs(t, err, mps.ErrUnverified)
				require.ErrorContains(t, err, "below normal")
				assert.False(t, alive, "a daemon that failed to start is ended")
				assert.Equal(t, []string{"before start", "after quit"}, h.calls)
				continue
			}
			require.NoError(t, err)
			assert.Equal(t, mps.PhaseReady, state.Phase)
			assert.Len(t, state.Warnings, 1)
			assert.True(t, alive)
			state, err = d.Ready(t.Context())
			require.NoError(t, err)
			assert.Equal(t, mps.PhaseReady, state.Phase)
		}
	})
}

// What Start takes for read back, Ready does too.
func TestDaemonReadyAgreesWithStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, test := range map[string]struct {
			limits mps.DaemonLimits
			rule   mpsfake.Rule
		}{
			"a percentage of more digits than are told": {
				mps.DaemonLimits{Percentage: 33.33},
				mpsfake.Rule{Command: "get_default_active", Always: true, Trouble: mpsfake.Say, Text: "33.3\n"},
			},
			"a memory limit that is not told": {
				mps.DaemonLimits{PinnedMiB: map[string]int64{"0": 4606}},
				mpsfake.Rule{Command: "get_default_device", Always: true, Trouble: mpsfake.Say, Text: "\n"},
			},
		} {
			d, _, _, _ := stoppedDaemon(t, mpsfake.Config{Rules: []mpsfake.Rule{test.rule}}, mps.DaemonConfig{Limits: test.limits, AcceptUnread: true})
			started, err := d.Start(t.Context())
			require.NoError(t, err, name)
			ready, err := d.Ready(t.Context())
			require.NoError(t, err, name)
			assert.Equal(t, mps.PhaseReady, ready.Phase, "%s: %v", name, ready.Reason)
			assert.Equal(t, started.Warnings, ready.Warnings, name)
		}
	})
}

// Somebody answers, whatever the answer is: that daemon is left alone.
func TestDaemonStartsBesideAnother(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"17\n", "", "?\n", "server is not ready\n", "CUDA_ERROR_UNKNOWN\n", "permission denied\n", "Unknown command\n"} {
		h := &hooks{}
		d, err := mps.NewDaemon(mps.DaemonConfig{
			Runner: scripted(map[string]string{"get_server_list": answer}), BeforeStart: h.call("before start"), AfterQuit: h.call("after quit"),
		})
		require.NoError(t, err)
		_, err = d.Start(t.Context())
		require.ErrorIs(t, err, mps.ErrRunning, answer)
		assert.Empty(t, h.calls)
	}

	// It came between the question and the start, and the text of the refusal is one
	// that nobody knows.
	for other, want := range map[bool][]string{true: {"before start"}, false: {"before start", "after quit"}} {
		tried := false
		var lines []string
		h := &hooks{}
		d, err := mps.NewDaemon(mps.DaemonConfig{
			BeforeStart: h.call("before start"), AfterQuit: h.call("after quit"),
			Runner: runnerFunc(func(_ context.Context, c mps.Call) (mps.Output, error) {
				lines = append(lines, strings.TrimSpace(strings.Join(c.Args, " ")+c.Input))
				switch {
				case len(c.Args) > 0:
					tried = true
					return mps.Output{Stdout: "oh no\n", Exit: 1}, nil
				case tried && other:
					return mps.Output{Stdout: "17\n"}, nil
				}
				return mps.Output{Stdout: "Cannot find MPS control daemon process\n", Exit: 1}, nil
			}),
		})
		require.NoError(t, err)
		_, err = d.Start(t.Context())
		require.ErrorContains(t, err, "oh no")
		assert.NotContains(t, lines, "quit")
		assert.Equal(t, want, h.calls)
	}
}

func TestDaemonFailsToStart(t *testing.T) {
	t.Parallel()
	gone := func(d *mpsfake.Daemon) bool {
		_, err := d.PIDFile()
		return err != nil
	}
	for name, test := range map[string]struct {
		rules []mpsfake.Rule
		hook  string
		err   error
		calls []string
	}{
		"it takes a limit and tells another": {
			[]mpsfake.Rule{{Command: "get_default_active_thread_percentage", Trouble: mpsfake.Say, Text: "100.0\n"}},
			"", mps.ErrUnverified,
			[]string{"before start", "after quit"},
		},
		"it refuses a limit": {
			[]mpsfake.Rule{{Command: "set_default_active", Trouble: mpsfake.Say, Text: "invalid argument\n"}},
			"", mps.ErrRefused,
			[]string{"before start", "after quit"},
		},
		"it dies while limits are set": {
			[]mpsfake.Rule{{Command: "set_default_active", Trouble: mpsfake.Die}},
			"", mps.ErrNoDaemon,
			[]string{"before start", "after quit"},
		},
		"it is replaced between two limits": {
			[]mpsfake.Rule{{Command: "set_default_active", Trouble: mpsfake.Replace}},
			"", mps.ErrReplaced,
			[]string{"before start"},
		},
		"it never answers": {
			[]mpsfake.Rule{{Command: "get_server_list", Nth: 2, Always: true, Trouble: mpsfake.Hang}},
			"", mps.ErrTimedOut,
			[]string{"before start"},
		},
		"it ends as soon as it started": {
			[]mpsfake.Rule{{Command: "-d", Trouble: mpsfake.DieAfter}},
			"", mps.ErrTimedOut,
			[]string{"before start", "after quit"},
		},
		"the start itself hangs": {
			[]mpsfake.Rule{{Command: "-d", Trouble: mpsfake.Hang}},
			"", mps.ErrTimedOut,
			[]string{"before start", "after quit"},
		},
		"the start says no": {
			[]mpsfake.Rule{{Command: "-d", Trouble: mpsfake.Say, Text: "An instance of this daemon is already running\n"}},
			"", mps.ErrRunning,
			[]string{"before start"},
		},
		"something hangs in its place": {
			[]mpsfake.Rule{{Command: "get_server_list", Trouble: mpsfake.Hang}},
			"", mps.ErrTimedOut, nil,
		},
		"the hook before fails": {nil, "before start", nil, []string{"before start", "after quit"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ready := filepath.Join(t.TempDir(), "ready")
				d, fake, r, h := stoppedDaemon(t, mpsfake.Config{Rules: test.rules}, mps.DaemonConfig{Limits: someLimits, ReadyFile: ready})
				h.fail = test.hook
				began := time.Now()
				state, err := d.Start(t.Context())
				require.Error(t, err)
				if test.err != nil {
					require.ErrorIs(t, err, test.err)
				}
				assert.Zero(t, state)
				assert.LessOrEqual(t, time.Since(began), 40*time.Second)
				assert.Equal(t, test.calls, h.calls)
				assert.NoFileExists(t, ready)
				switch name {
				case "it never answers": // nothing ends what does not listen
				case "it is replaced between two limits":
					assert.False(t, gone(fake), "the other daemon is somebody else's")
				default:
					assert.True(t, gone(fake))
				}
				require.NoError(t, fake.Check())
				if test.hook != "" {
					assert.Equal(t, []string{"get_server_list"}, r.took(), "nothing was started")
				}
			})
		})
	}
}

func TestDaemonAnswersLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, _, r, _ := stoppedDaemon(t, mpsfake.Config{Rules: []mpsfake.Rule{
			{Command: "get_server_list", Nth: 2, Trouble: mpsfake.Say, Text: "Cannot find MPS control daemon process\n"},
			{Command: "get_server_list", Nth: 3, Trouble: mpsfake.Say, Text: "server is not ready\n"},
			{Command: "get_server_list", Nth: 4, Trouble: mpsfake.Hang},
		}}, mps.DaemonConfig{})
		state, err := d.Start(t.Context())
		require.NoError(t, err)
		assert.Equal(t, mps.PhaseReady, state.Phase)
		assert.Equal(t, []string{"get_server_list", "-d", "get_server_list", "get_server_list", "get_server_list", "get_server_list"}, r.took())
	})
}

func TestDaemonDoesNotQuit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, fake, _, h := stoppedDaemon(t, mpsfake.Config{ExitPolls: 1 << 20}, mps.DaemonConfig{QuitTimeout: 3 * time.Second})
		_, err := d.Start(t.Context())
		require.NoError(t, err)
		began := time.Now()
		require.ErrorIs(t, d.Quit(t.Context(), 0), mps.ErrTimedOut)
		assert.InDelta(t, 3, time.Since(began).Seconds(), 0.6)
		assert.Equal(t, []string{"before start"}, h.calls, "the devices may still be in use")

		time.AfterFunc(time.Second, func() { fake.Replace(0) })
		require.NoError(t, d.Quit(t.Context(), 0), "another one came: the one that was asked is gone")
	})
}
