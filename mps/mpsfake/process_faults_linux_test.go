package mpsfake_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// misbehaving is an Exec whose program goes wrong, and a text in the environment of
// all the processes that it starts.
func misbehaving(x *mps.Exec, how string) (wrong *mps.Exec, mark string) {
	other := *x
	mark = "CUDA_MPS_PIPE_DIRECTORY=" + x.Directories.Pipe
	other.Env = append([]string{how}, x.Env...)
	return &other, mark
}

// onlyDaemon checks that nothing but the daemon of a pipe directory is left. Where the
// machine is busy, a program that was killed may take a moment to be gone.
func onlyDaemon(t *testing.T, p *mpsfake.Process, mark string) {
	t.Helper()
	pid, err := p.PID()
	require.NoError(t, err)
	require.Eventually(t, func() bool { return slices.Equal([]int{pid}, processesWith(mark)) }, patience, poll)
}

func TestHungProgramIsKilledAtItsDeadline(t *testing.T) {
	t.Parallel()
	p, x := start(t, mpsfake.Options{})
	hung, mark := misbehaving(x, mpsfake.MisbehaveHang)
	began := time.Now()
	_, err := mps.New(hung, mps.Options{Timeout: 300 * time.Millisecond}).Servers(t.Context())
	require.ErrorIs(t, err, mps.ErrTimedOut)
	require.Less(t, time.Since(began), mps.DefaultTimeout, "the deadline was the one of the options")
	onlyDaemon(t, p, mark)
}

func TestHungDaemonHoldsNobody(t *testing.T) {
	t.Parallel()
	for _, trouble := range []mpsfake.Trouble{mpsfake.Hang, mpsfake.HangAfter} {
		t.Run(trouble.String(), func(t *testing.T) {
			t.Parallel()
			var o mpsfake.Options
			o.Setup.Config.Rules = []mpsfake.Rule{{Command: "get_server_list", Always: true, Trouble: trouble}}
			p, x := start(t, o)
			began := time.Now()
			_, err := client(p, x).WithTimeout(300 * time.Millisecond).Servers(t.Context())
			require.ErrorIs(t, err, mps.ErrTimedOut)
			require.Less(t, time.Since(began), mps.DefaultTimeout)
			onlyDaemon(t, p, "CUDA_MPS_PIPE_DIRECTORY="+p.Pipe)

			percent, err := client(p, x).DefaultPercentage(t.Context())
			require.NoError(t, err, "another one is answered")
			require.InDelta(t, 100, percent, 0)
		})
	}
}

func TestCancelEndsTheProgram(t *testing.T) {
	t.Parallel()
	p, x := start(t, mpsfake.Options{})
	hung, mark := misbehaving(x, mpsfake.MisbehaveHang)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var watch sync.WaitGroup
	watch.Go(func() { // until it runs, beside the daemon
		assert.Eventually(t, func() bool { return len(processesWith(mark)) == 2 }, patience, poll)
		cancel()
	})
	_, err := mps.New(hung, mps.Options{Timeout: 2 * patience}).Servers(ctx)
	require.ErrorIs(t, err, context.Canceled)
	watch.Wait()
	onlyDaemon(t, p, mark)
}

func TestChattyProgramIsKilled(t *testing.T) {
	t.Parallel()
	p, x := start(t, mpsfake.Options{})
	chatty, mark := misbehaving(x, mpsfake.MisbehaveChatty)
	_, err := mps.New(chatty, mps.Options{Timeout: patience}).Servers(t.Context())
	require.ErrorIs(t, err, mps.ErrTooMuchOutput)
	onlyDaemon(t, p, mark)
}

func TestSplitReplyIsOneReply(t *testing.T) {
	t.Parallel()
	p, x := start(t, mpsfake.Options{})
	split, _ := misbehaving(x, mpsfake.MisbehaveSplit)
	percent, err := client(p, split).DefaultPercentage(t.Context())
	require.NoError(t, err)
	require.InDelta(t, 100, percent, 0)
}

func TestChildThatKeepsTheOutputOpenIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	p, x := start(t, mpsfake.Options{})
	leaves, mark := misbehaving(x, mpsfake.MisbehaveChild)
	leaves.WaitDelay = 50 * time.Millisecond
	began := time.Now()
	percent, err := client(p, leaves).DefaultPercentage(t.Context())
	require.NoError(t, err)
	require.InDelta(t, 100, percent, 0)
	require.Less(t, time.Since(began), patience)
	require.Len(t, processesWith(mark), 2, "the child is left alone: it may be the daemon")
	require.NoError(t, p.Stop())
	require.Eventually(t, func() bool { return len(processesWith(mark)) == 0 }, patience, poll)
}

func TestTruncatedReplyIsNoList(t *testing.T) {
	t.Parallel()
	var o mpsfake.Options
	o.Setup.Config.Rules = []mpsfake.Rule{{Command: "get_default_active", Trouble: mpsfake.Truncate, Keep: 0}}
	p, x := start(t, o)
	_, err := client(p, x).DefaultPercentage(t.Context())
	require.ErrorIs(t, err, mps.ErrUnparsed)
}

func TestFailureWithStatusZeroIsAFailure(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"Unknown command: get_server_list":       mps.ErrUnsupported,
		"CUDA_ERROR_MPS_SERVER_NOT_READY":        mps.ErrNotReady,
		"Cannot find MPS control daemon process": mps.ErrNoDaemon,
		"the weather is fine":                    mps.ErrUnparsed,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			var o mpsfake.Options
			o.Setup.Config.Rules = []mpsfake.Rule{{Command: "get_server_list", Trouble: mpsfake.Say, Text: text + "\n"}}
			p, x := start(t, o)
			_, err := client(p, x).Servers(t.Context())
			require.ErrorIs(t, err, want)
			var op *mps.OpError
			require.ErrorAs(t, err, &op)
			assert.Zero(t, op.Exit)
			assert.Contains(t, op.Reply, text)
		})
	}
}

func TestStalePIDFileAndSockets(t *testing.T) {
	t.Parallel()
	p, x := start(t, mpsfake.Options{})
	require.NoError(t, p.Kill())
	for _, name := range []string{"control", "control_privileged", "control_lock", "log", "nvidia-cuda-mps-control.pid"} {
		require.FileExists(t, filepath.Join(p.Pipe, name), "a killed daemon leaves all of its files")
	}
	assert.Equal(t, mps.Output{Stdout: noDaemon, Exit: 1}, run(t, x, "get_server_list"))
	_, err := client(p, x).Servers(t.Context())
	require.ErrorIs(t, err, mps.ErrNoDaemon)

	// Without the sockets, as after a restart of a machine that cleans up half.
	require.NoError(t, os.Remove(filepath.Join(p.Pipe, "control")))
	_, err = client(p, x).Servers(t.Context())
	require.ErrorIs(t, err, mps.ErrNoDaemon)

	require.NoError(t, p.Replace(t.Context()), "a new daemon takes the directory over")
	_, err = client(p, x).Servers(t.Context())
	require.NoError(t, err)
}

func TestSettingsAreGoneWithTheDaemon(t *testing.T) {
	t.Parallel()
	p, x := start(t, mpsfake.Options{})
	c := client(p, x)
	pinned, err := c.Pin()
	require.NoError(t, err)
	set, err := pinned.SetDefaultPercentage(t.Context(), 25)
	require.NoError(t, err)
	require.True(t, set.Verified)

	require.NoError(t, p.Replace(t.Context()))
	_, err = pinned.DefaultPercentage(t.Context())
	require.ErrorIs(t, err, mps.ErrReplaced)
	percent, err := c.DefaultPercentage(t.Context())
	require.NoError(t, err)
	require.InDelta(t, 100, percent, 0)
}

// It says yes, and does something else.
func TestDaemonReportsAnotherValueThanItWasGiven(t *testing.T) {
	t.Parallel()
	var o mpsfake.Options
	o.Setup.Config.Rules = []mpsfake.Rule{{Command: "get_default_active", Trouble: mpsfake.Say, Text: "33.0\n"}}
	p, x := start(t, o)
	set, err := client(p, x).SetDefaultPercentage(t.Context(), 25)
	require.ErrorIs(t, err, mps.ErrUnverified)
	require.False(t, set.Verified)
}

// The daemon that took the value is not the one that is asked for it.
func TestDaemonReplacedBetweenSetAndGet(t *testing.T) {
	t.Parallel()
	var o mpsfake.Options
	o.Setup.Config.Rules = []mpsfake.Rule{{Command: "get_default_active", Trouble: mpsfake.Replace}}
	p, x := start(t, o)
	before, err := p.PID()
	require.NoError(t, err)
	_, err = client(p, x).SetDefaultPercentage(t.Context(), 25)
	require.ErrorIs(t, err, mps.ErrReplaced)

	after, err := p.PID()
	require.NoError(t, err)
	require.NotEqual(t, before, after)
	percent, err := client(p, x).DefaultPercentage(t.Context())
	require.NoError(t, err)
	require.InDelta(t, 100, percent, 0)
}

func TestDaemonDies(t *testing.T) {
	t.Parallel()
	for _, trouble := range []mpsfake.Trouble{mpsfake.Die, mpsfake.DieAfter} {
		t.Run(trouble.String(), func(t *testing.T) {
			t.Parallel()
			var o mpsfake.Options
			o.Setup.Config.Rules = []mpsfake.Rule{{Command: "get_server_list", Trouble: trouble}}
			p, x := start(t, o)
			_, err := client(p, x).Servers(t.Context())
			if trouble == mpsfake.Die {
				require.ErrorIs(t, err, mps.ErrNoDaemon)
			}
			require.Eventually(t, func() bool { return len(processesWith("CUDA_MPS_PIPE_DIRECTORY="+p.Pipe)) == 0 },
				patience, poll)
			_, err = client(p, x).Servers(t.Context())
			require.ErrorIs(t, err, mps.ErrNoDaemon)
		})
	}
}

func TestCrashLoopIsInTheLogs(t *testing.T) {
	t.Parallel()
	p, _ := start(t, mpsfake.Options{})
	require.NoError(t, p.CrashStarts(3))
	_, err := p.Connect(mpsfake.Client{PID: 501})
	require.NoError(t, err)
	for range 10 {
		require.NoError(t, p.Advance())
	}
	text, err := os.ReadFile(filepath.Join(p.Log, "control.log"))
	require.NoError(t, err)
	assert.Regexp(t, `(?s)(Starting new server \d+ for user 0.*exited with status 1.*){3}NEW SERVER \d+: Ready`, string(text))
	pid, err := p.PID()
	require.NoError(t, err)
	assert.Contains(t, string(text), strconv.Itoa(pid)+"]", "under the PID of the process")
}

func TestDaemonEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	owner, _ := start(t, mpsfake.Options{}) // any process that can be ended
	pid, err := owner.PID()
	require.NoError(t, err)
	var o mpsfake.Options
	o.Pipe, o.Log, o.Setup.Owner = filepath.Join(dir, "pipe"), filepath.Join(dir, "log"), pid
	start(t, o)
	require.NoError(t, owner.Stop())
	require.Eventually(t, func() bool { return len(processesWith(o.Pipe)) == 0 }, patience, poll)
	require.NoFileExists(t, filepath.Join(o.Pipe, "control"))
}
