package mpsfake_test

import (
	"context"
	"io/fs"
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

// TestFaultDomain: a fault reaches what clients link, and the whole server refuses.
func TestFaultDomain(t *testing.T) {
	t.Parallel()
	d := daemon(t, func(c *mpsfake.Config) { c.GPUs = gpus(4) })
	come(t, d, 50, 0, visibleEnv, "0")
	come(t, d, 51, 0, visibleEnv, "0,1")
	come(t, d, 52, 0, visibleEnv, "1,2")
	come(t, d, 53, 0, visibleEnv, "3")
	require.NoError(t, d.Fault(1001, 2)) // against the order in which they came
	for _, pid := range []int{50, 51, 52} {
		at, _ := d.Client(pid)
		assert.Equal(t, mpsfake.LaunchFailed, at.Code, pid)
	}
	assert.Equal(t, mpsfake.Active, stateOf(t, d, 53))
	assert.Equal(t, "FAULT\n", told(t, d, "get_server_status 1001"))
	assert.Equal(t, mpsfake.ServerNotReady, come(t, d, 54, 0, visibleEnv, "3").Code, "even on a healthy device")
	require.NoError(t, d.Disconnect(50))
	require.NoError(t, d.Disconnect(51))
	assert.Equal(t, "FAULT\n", told(t, d, "get_server_status 1001"))
	assert.Equal(t, "0\n", told(t, d, "terminate_client 1001 52"))
	assert.Equal(t, "ACTIVE\n", told(t, d, "get_server_status 1001"))

	log := d.LogFrom("server.log", 0)
	at := 0
	for _, text := range []string{
		"Volta MPS: status of client {50, 1} is ACTIVE", "Volta MPS: status of client {53, 4} is ACTIVE",
		"Volta MPS: Server is handling a fatal GPU error.",
		"Volta MPS: status of client {50, 1} is INACTIVE", "Volta MPS: status of client {52, 3} is INACTIVE",
		"Client {50, 1} exit", "Client {51, 2} exit", "Client {52, 3} exit",
		"Destroy server context on device 0", "Destroy server context on device 2",
		"Creating server context on device 0", "Creating server context on device 2",
	} {
		next := strings.Index(log[at:], text)
		require.GreaterOrEqual(t, next, 0, text)
		at += next
	}
	assert.NotContains(t, log, "client {53, 4} is INACTIVE")
	for _, err := range []error{d.Fault(1001, 3, 0), d.Fault(1001), d.Fault(5, 0), d.Fault(1001, 9), d.CrashServer(5)} {
		require.ErrorIs(t, err, mpsfake.ErrInput)
	}
}

func TestCrashLoop(t *testing.T) {
	t.Parallel()
	d := daemon(t, nil)
	d.CrashStarts(3)
	assert.Equal(t, mpsfake.Pending, come(t, d, 50, 0).State)
	for range 8 {
		ask(t, d, "get_server_list")
	}
	assert.Equal(t, mpsfake.Active, stateOf(t, d, 50))
	log := d.LogFrom("control.log", 0)
	assert.Equal(t, 3, strings.Count(log, "exited with status 1"))
	assert.Equal(t, 4, strings.Count(log, "Starting new server"))
	assert.Equal(t, 1, strings.Count(log, ": Ready"))

	blind := daemon(t, func(c *mpsfake.Config) { c.Env = map[string]string{visibleEnv: ""} })
	come(t, blind, 50, 0)
	for range 10 {
		ask(t, blind, "get_server_list")
	}
	assert.Equal(t, mpsfake.Pending, stateOf(t, blind, 50))
	assert.Greater(t, strings.Count(blind.LogFrom("server.log", 0), "Failed to start : invalid argument"), 2)
}

// TestRules: every trouble, with what is done and what is said.
func TestRules(t *testing.T) {
	t.Parallel()
	const set, get = "set_default_active_thread_percentage 50", "get_default_active_thread_percentage"
	for _, row := range []struct {
		rule  mpsfake.Rule
		out   mps.Output
		late  bool
		after mps.Output
	}{
		{mpsfake.Rule{Trouble: mpsfake.Hang}, mps.Output{}, true, mps.Output{Stdout: "100.0\n"}},
		{mpsfake.Rule{Trouble: mpsfake.HangAfter}, mps.Output{}, true, mps.Output{Stdout: "50.0\n"}},
		{mpsfake.Rule{Trouble: mpsfake.Slow, Delay: time.Second}, mps.Output{Stdout: "50.0\n"}, false, mps.Output{Stdout: "50.0\n"}},
		{mpsfake.Rule{Trouble: mpsfake.Slow, Delay: time.Hour}, mps.Output{}, true, mps.Output{Stdout: "50.0\n"}},
		{mpsfake.Rule{Trouble: mpsfake.Truncate, Keep: 2}, mps.Output{Stdout: "50"}, false, mps.Output{Stdout: "50.0\n"}},
		{mpsfake.Rule{Trouble: mpsfake.Truncate, Keep: 99}, mps.Output{Stdout: "50.0\n"}, false, mps.Output{Stdout: "50.0\n"}},
		{mpsfake.Rule{Trouble: mpsfake.Say, Text: "failed"}, mps.Output{Stdout: "failed"}, false, mps.Output{Stdout: "100.0\n"}},
		{mpsfake.Rule{Trouble: mpsfake.Replace}, mps.Output{Stdout: "50.0\n"}, false, mps.Output{Stdout: "50.0\n"}},
		{mpsfake.Rule{Trouble: mpsfake.Die}, nobody, false, nobody},
		{mpsfake.Rule{Trouble: mpsfake.DieAfter}, mps.Output{Stdout: "50.0\n"}, false, nobody},
		{mpsfake.Rule{Trouble: mpsfake.OnStderr}, mps.Output{Stderr: "50.0\n"}, false, mps.Output{Stdout: "50.0\n"}},
		{mpsfake.Rule{Trouble: mpsfake.Say, Command: "get_server"}, mps.Output{Stdout: "50.0\n"}, false, mps.Output{Stdout: "50.0\n"}},
		{mpsfake.Rule{Trouble: mpsfake.Say, Nth: 2, Text: "x"}, mps.Output{Stdout: "50.0\n"}, false, mps.Output{Stdout: "x"}},
		{mpsfake.Rule{Trouble: mpsfake.Say, Always: true, Text: "x"}, mps.Output{Stdout: "x"}, false, mps.Output{Stdout: "x"}},
	} {
		t.Run(row.rule.Trouble.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := daemon(t, func(c *mpsfake.Config) { c.Rules = []mpsfake.Rule{row.rule} })
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				out, err := d.Run(ctx, mps.Call{Input: set})
				require.Equal(t, row.late, err != nil)
				if row.late {
					require.ErrorIs(t, err, context.DeadlineExceeded)
				}
				assert.Equal(t, row.out, out)
				assert.Equal(t, row.after, ask(t, d, get))
			})
		})
	}
	d := daemon(t, nil)
	require.ErrorIs(t, d.AddRule(mpsfake.Rule{Trouble: 99}), mpsfake.ErrInput)
	require.ErrorIs(t, d.AddRule(mpsfake.Rule{Nth: -1}), mpsfake.ErrInput)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.Run(ctx, mps.Call{Input: set})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, "100.0\n", told(t, d, get), "nothing is done after the end of the context")
}

var nobody = mps.Output{Stdout: "Cannot find MPS control daemon process\n", Exit: 1}

// TestIdentity: another process is another identity, whatever its PID.
func TestIdentity(t *testing.T) {
	t.Parallel()
	d := daemon(t, nil)
	first, err := d.PIDFile()
	require.NoError(t, err)
	d.Replace(first.PID)
	second, err := d.PIDFile()
	require.NoError(t, err)
	assert.Equal(t, first.PID, second.PID)
	assert.NotEqual(t, first, second)
	d.Replace(0)
	third, err := d.PIDFile()
	require.NoError(t, err)
	assert.Greater(t, third.PID, first.PID)
	d.Kill()
	stale, err := d.PIDFile()
	require.ErrorIs(t, err, mps.ErrStale)
	assert.Equal(t, third.PID, stale.PID)
	d.Start("-d")
	told(t, d, "quit")
	_, err = d.PIDFile()
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestReplacedAtAnyTime: between the two runs of a set, and within each of them, another
// daemon does not pass for the one that was there at first.
func TestReplacedAtAnyTime(t *testing.T) {
	t.Parallel()
	quiet := 0
	for at := 1; quiet < 2; at++ { // until it comes after the last look
		require.Less(t, at, 20)
		d := daemon(t, nil)
		asked := 0
		c := mps.New(d, mps.Options{Identity: func() (mps.Identity, error) {
			if asked++; asked == at {
				d.Replace(0)
			}
			return d.PIDFile()
		}})
		set, err := c.SetDefaultPercentage(t.Context(), 25)
		now := told(t, d, "get_default_active_thread_percentage")
		if err == nil {
			require.True(t, set.Verified)
			require.Equal(t, "25.0\n", now, "replaced at look %d", at)
			quiet++
			continue
		}
		require.ErrorIs(t, err, mps.ErrReplaced, "replaced at look %d", at)
		require.Equal(t, "100.0\n", now)
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	d := daemon(t, func(c *mpsfake.Config) { c.Stopped = true })
	assert.Equal(t, nobody, ask(t, d, "get_server_list"))
	out, err := d.Run(t.Context(), mps.Call{Args: []string{"-d", "-S", "-M"}})
	require.NoError(t, err)
	assert.Empty(t, out)
	out, err = d.Run(t.Context(), mps.Call{Args: []string{"-d"}})
	require.NoError(t, err)
	assert.Equal(t, mps.Output{Stdout: "An instance of this daemon is already running\n", Exit: 1}, out)
	assert.Contains(t, told(t, d, "lspart"), "GPU")
	told(t, d, "quit")
	assert.Empty(t, d.Start("-d", "--protocol=3"))
	assert.Contains(t, told(t, d, "get_server_list"), "protocol 3")
	assert.Empty(t, d.Start("-d", "-p", "2").Stderr)
	assert.Contains(t, d.Start("-d", "-p", "4").Stdout, "Invalid")
	assert.Contains(t, d.Start("-d", "--quick").Stdout, "Unknown")
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]mpsfake.Config{
		"no GPU":              {},
		"UUID":                {GPUs: []mpsfake.GPU{{UUID: "0", SMs: 132, MemoryMiB: 1}}},
		"twice":               {GPUs: append(gpus(1), gpus(1)...)},
		"too many chunks":     {GPUs: []mpsfake.GPU{{UUID: "GPU-1234", SMs: 132, MemoryMiB: 1, Chunks: 17}}},
		"no SMs":              {GPUs: []mpsfake.GPU{{UUID: "GPU-1234", MemoryMiB: 1}}},
		"protocol":            {GPUs: gpus(1), Protocol: 4},
		"multi-user not root": {GPUs: gpus(1), MultiUser: true, UID: 5},
		"-S and protocol 3":   {GPUs: gpus(1), StaticPartitioning: true, Protocol: 3},
		"-S and CUDA 12":      {GPUs: gpus(1), StaticPartitioning: true, Version: 12040},
		"cap":                 {GPUs: gpus(1), ClientCap: -1},
		"style":               {GPUs: gpus(1), Style: 7},
		"placeholders":        {GPUs: gpus(1), Placeholders: 7},
		"rule":                {GPUs: gpus(1), Rules: []mpsfake.Rule{{Delay: -1}}},
	} {
		_, err := mpsfake.New(c)
		require.ErrorIs(t, err, mpsfake.ErrInput, name)
	}
}

// TestConcurrentUse: commands, hooks and audits from many sides.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	d := daemon(t, func(c *mpsfake.Config) { c.InitPolls = 1 })
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	var group sync.WaitGroup
	for k := range 6 {
		group.Go(func() {
			for i := range 50 {
				pid := 100 + 100*k + i
				_, err := d.Connect(mpsfake.Client{PID: pid, UID: k % 2})
				check(err)
				for _, line := range []string{"get_server_list", "set_default_active_thread_percentage 50", "ps", "start_server -uid 1"} {
					_, err := d.Run(t.Context(), mps.Call{Input: line})
					check(err)
				}
				check(d.Check())
				d.LogFrom("control.log", 0)
				if k == 0 && i%20 == 0 {
					d.Replace(0)
				}
				check(d.Disconnect(pid))
			}
		})
	}
	group.Wait()
}
