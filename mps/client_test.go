package mps_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

func TestOperationsSend(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			p := saying("")
			_, _ = op.do(t.Context(), mps.New(p, mps.Options{}))
			require.NotEmpty(t, p.sent())
			assert.Equal(t, op.line, p.sent()[0])
		})
	}
}

// Every method must notice each of these, whatever its own answers look like.
func TestOperationsFail(t *testing.T) {
	t.Parallel()
	errRun := errors.New("no more processes")
	for _, fault := range []struct {
		name string
		out  mps.Output
		err  error
		want error
	}{
		{"a sentence of nobody listening", mps.Output{Stdout: "Cannot find MPS control daemon process\n", Exit: 1}, nil, mps.ErrNoDaemon},
		{"the same, on standard error", mps.Output{Stderr: "Cannot find MPS control daemon process", Exit: 1}, nil, mps.ErrNoDaemon},
		{"the same, with status 0", mps.Output{Stdout: "Cannot find MPS control daemon process"}, nil, mps.ErrNoDaemon},
		{"a status and nothing else", mps.Output{Exit: 3}, nil, mps.ErrUnparsed},
		{"an unknown command with status 0", mps.Output{Stdout: "Unknown command\n"}, nil, mps.ErrUnsupported},
		{"not ready, on standard error with status 0", mps.Output{Stderr: "Server is not ready"}, nil, mps.ErrNotReady},
		{"a code of the driver", mps.Output{Stdout: "CUDA_ERROR_ECC_UNCORRECTABLE\n"}, nil, mps.ErrFault},
		{"an unknown server with status 0", mps.Output{Stdout: "Server 7 not found\n"}, nil, mps.ErrRefused},
		{"a failure without a reason", mps.Output{Stdout: "something failed\n"}, nil, mps.ErrUnparsed},
		{"a run that failed", mps.Output{}, errRun, mps.ErrUnparsed},
		{"no program", mps.Output{}, fmt.Errorf("%w: no such file", mps.ErrNoProgram), mps.ErrNoProgram},
		{"a run that was cut off", mps.Output{}, fmt.Errorf("killed: %w", context.DeadlineExceeded), mps.ErrTimedOut},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			for _, op := range operations {
				p := &peer{answer: func(context.Context, string) (mps.Output, error) { return fault.out, fault.err }}
				_, err := op.do(t.Context(), mps.New(p, mps.Options{}))
				if op.name == "Quit" && errors.Is(fault.want, mps.ErrNoDaemon) {
					require.NoError(t, err, op.name)
					continue
				}
				require.ErrorIs(t, err, fault.want, op.name)
				require.Len(t, p.sent(), 1, op.name)
				if fault.err != nil {
					require.ErrorIs(t, err, fault.err, op.name)
				}
				assert.Contains(t, opError(t, err).Reply, fault.out.Stdout)
				assert.Contains(t, opError(t, err).Reply, fault.out.Stderr)
			}
		})
	}
}

// A method whose reply has an answer takes nothing else for one.
func TestOperationsWantAnAnswer(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		if !op.reads {
			continue
		}
		_, err := op.do(t.Context(), mps.New(saying("done.\n"), mps.Options{}))
		require.ErrorIs(t, err, mps.ErrUnparsed, op.name)
		assert.Equal(t, "done.\n", opError(t, err).Reply)
		assert.Equal(t, op.line, opError(t, err).Command)
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		synctest.Test(t, func(t *testing.T) {
			c := mps.New(hanging(), mps.Options{Timeout: 3 * time.Second})
			start := time.Now()
			_, err := op.do(t.Context(), c)
			require.ErrorIs(t, err, mps.ErrTimedOut, op.name)
			require.ErrorIs(t, err, context.DeadlineExceeded, op.name)
			assert.Equal(t, 3*time.Second, time.Since(start), op.name)

			start = time.Now()
			_, err = op.do(t.Context(), c.WithTimeout(0))
			require.ErrorIs(t, err, mps.ErrTimedOut, op.name)
			assert.Equal(t, mps.DefaultTimeout, time.Since(start), op.name)

			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			start = time.Now()
			_, err = op.do(ctx, c)
			require.ErrorIs(t, err, mps.ErrTimedOut, op.name)
			require.ErrorIs(t, err, context.Canceled, op.name)
			assert.Equal(t, time.Second, time.Since(start), op.name)
		})
	}
}

func TestQuitWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := hanging()
		c := mps.New(p, mps.Options{Timeout: time.Second})
		start := time.Now()
		require.ErrorIs(t, c.Quit(t.Context(), 1500*time.Millisecond), mps.ErrTimedOut)
		assert.Equal(t, 2500*time.Millisecond, time.Since(start))
		assert.Equal(t, []string{"quit -t 2"}, p.sent())
		require.ErrorIs(t, c.Quit(t.Context(), -1), mps.ErrInput)
	})
}

// Whoever waits for its turn to write gives up with its context.
func TestWritersTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := hanging()
		c := mps.New(p, mps.Options{Timeout: time.Minute})
		var group sync.WaitGroup
		group.Go(func() { _, _ = c.SetDefaultPercentage(t.Context(), 50) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.WithTimeout(time.Hour).SetDefaultPercentage(ctx, 25)
		require.ErrorIs(t, err, mps.ErrTimedOut)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, []string{"set_default_active_thread_percentage 50"}, p.sent())
		group.Wait()
	})
}

// identities gives identities in turn, the last one for ever.
type identities struct {
	mu   sync.Mutex
	list []func() (mps.Identity, error)
}

func (i *identities) next() (mps.Identity, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.list[0]
	if len(i.list) > 1 {
		i.list = i.list[1:]
	}
	return now()
}

func alive(pid int, start uint64) func() (mps.Identity, error) {
	return func() (mps.Identity, error) { return mps.Identity{PID: pid, Start: start}, nil }
}

func dead(pid int) func() (mps.Identity, error) {
	return func() (mps.Identity, error) {
		return mps.Identity{PID: pid}, fmt.Errorf("process %d: %w", pid, mps.ErrStale)
	}
}

func none() (mps.Identity, error) {
	return mps.Identity{}, fmt.Errorf("pid file: %w", fs.ErrNotExist)
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	good := mps.Output{Stdout: "11803\n"}
	for _, tc := range []struct {
		name string
		seq  []func() (mps.Identity, error)
		out  mps.Output
		want error
	}{
		{"the same before and after", []func() (mps.Identity, error){alive(5, 100)}, good, nil},
		{"another process with another pid", []func() (mps.Identity, error){alive(5, 100), alive(6, 200)}, good, mps.ErrReplaced},
		{"the pid was used again", []func() (mps.Identity, error){alive(5, 100), alive(5, 200)}, good, mps.ErrReplaced},
		{"only pids, the same", []func() (mps.Identity, error){alive(5, 0)}, good, nil},
		{"gone, with its pid file", []func() (mps.Identity, error){alive(5, 100), none}, good, mps.ErrNoDaemon},
		{"gone, and the pid file remains", []func() (mps.Identity, error){alive(5, 0), dead(5)}, good, mps.ErrNoDaemon},
		{"no pid file", []func() (mps.Identity, error){none}, good, nil},
		{"no pid file at first", []func() (mps.Identity, error){none, alive(5, 100)}, good, nil},
		{"a pid file of another namespace", []func() (mps.Identity, error){dead(5)}, good, nil},
		{"another one of another namespace", []func() (mps.Identity, error){dead(5), dead(6)}, good, mps.ErrReplaced},
		{"a stale pid file and nobody", []func() (mps.Identity, error){dead(5)}, mps.Output{Stdout: "Cannot find MPS control daemon process", Exit: 1}, mps.ErrNoDaemon},
		{"a stale pid file and silence", []func() (mps.Identity, error){dead(5)}, mps.Output{Exit: 1}, mps.ErrNoDaemon},
		{"a stale pid file and a text that nobody knows", []func() (mps.Identity, error){dead(5)}, mps.Output{Stderr: "connect: 111", Exit: 1}, mps.ErrNoDaemon},
		{"a stale pid file and a refusal", []func() (mps.Identity, error){dead(5)}, mps.Output{Stdout: "Invalid argument", Exit: 1}, mps.ErrRefused},
		{"alive and silent", []func() (mps.Identity, error){alive(5, 100)}, mps.Output{Exit: 1}, mps.ErrUnparsed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ids := &identities{list: tc.seq}
			servers, err := mps.New(leaving(tc.out), mps.Options{Identity: ids.next}).Servers(t.Context())
			if tc.want == nil {
				require.NoError(t, err)
				assert.Equal(t, []int{11803}, servers)
				return
			}
			require.ErrorIs(t, err, tc.want)
			assert.Nil(t, servers)
		})
	}
}

// The set went to one daemon; the question must not go to the next one.
func TestSetAndGetOfOneDaemon(t *testing.T) {
	t.Parallel()
	one, two := alive(5, 100), alive(6, 200)
	// Asked: when bound, around the set, around the get.
	for n := 1; n <= 4; n++ {
		list := make([]func() (mps.Identity, error), 0, n+1)
		for range n {
			list = append(list, one)
		}
		ids := &identities{list: append(list, two)}
		p := saying("50.0\n")
		s, err := mps.New(p, mps.Options{Identity: ids.next}).SetDefaultPercentage(t.Context(), 50)
		require.ErrorIs(t, err, mps.ErrReplaced, "after %d", n)
		assert.False(t, s.Verified)
		assert.Len(t, p.sent(), []int{1: 0, 2: 1, 3: 1, 4: 2}[n], "after %d", n)
	}
}

func TestPin(t *testing.T) {
	t.Parallel()
	var now func() (mps.Identity, error)
	p := saying("1\n")
	c := mps.New(p, mps.Options{Identity: func() (mps.Identity, error) { return now() }})

	now = none
	_, err := c.Pin()
	require.ErrorIs(t, err, mps.ErrNoDaemon)
	require.ErrorIs(t, err, fs.ErrNotExist)

	now = alive(5, 100)
	pinned, err := c.Pin()
	require.NoError(t, err)
	_, err = pinned.Servers(t.Context())
	require.NoError(t, err)

	now = alive(5, 101)
	_, err = pinned.Servers(t.Context())
	require.ErrorIs(t, err, mps.ErrReplaced)
	require.ErrorContains(t, err, "5 (start 100)")
	require.ErrorIs(t, pinned.Quit(t.Context(), 0), mps.ErrReplaced)
	now = none
	_, err = pinned.Servers(t.Context())
	require.ErrorIs(t, err, mps.ErrNoDaemon)
	require.NoError(t, pinned.Quit(t.Context(), 0), "it is gone already")
	assert.Len(t, p.sent(), 1)

	now = alive(5, 101)
	_, err = c.Servers(t.Context())
	require.NoError(t, err, "the client itself is bound to nobody")

	_, err = mps.New(p, mps.Options{}).Pin()
	require.ErrorIs(t, err, mps.ErrInput)
}

// The pid file names a daemon whose process is not seen from here.
func TestPinOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		next func() (mps.Identity, error)
		want error
	}{
		{"the same", dead(1), nil},
		{"another pid", dead(2), mps.ErrReplaced},
		{"a process of that pid comes to life here", alive(1, 100), mps.ErrReplaced},
		{"no pid file any more", none, mps.ErrNoDaemon},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ids := &identities{list: []func() (mps.Identity, error){dead(1), tc.next}}
			p := saying("1\n")
			pinned, err := mps.New(p, mps.Options{Identity: ids.next}).Pin()
			require.NoError(t, err)
			_, err = pinned.Servers(t.Context())
			if tc.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, tc.want)
			assert.Empty(t, p.sent())
		})
	}
}

// What no constructor made has an error for everything.
func TestClientWithoutRunner(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var none *mps.Client
	for _, c := range []*mps.Client{none, {}, mps.New(nil, mps.Options{})} {
		_, err := c.Servers(ctx)
		require.ErrorIs(t, err, mps.ErrInput)
		require.ErrorIs(t, err, mps.ErrNoProgram)
		_, err = c.SetDefaultPercentage(ctx, 5)
		require.ErrorIs(t, err, mps.ErrInput)
		_, err = c.Detect(ctx)
		require.ErrorIs(t, err, mps.ErrInput)
		require.ErrorIs(t, c.Quit(ctx, 0), mps.ErrInput)
		_, err = c.V3().Servers(ctx)
		require.ErrorIs(t, err, mps.ErrInput)
		_, err = c.V3().Terminate(ctx, 5)
		require.ErrorIs(t, err, mps.ErrInput)
		_, err = c.Pin()
		require.ErrorIs(t, err, mps.ErrInput)
	}
	_, err := mps.V3{}.Servers(ctx)
	require.ErrorIs(t, err, mps.ErrInput)

	var d mps.Daemon
	_, err = d.Start(ctx)
	require.ErrorIs(t, err, mps.ErrInput)
	_, err = d.Ready(ctx)
	require.ErrorIs(t, err, mps.ErrInput)
	require.ErrorIs(t, d.Quit(ctx, 0), mps.ErrInput)
}

func TestBadInputRunsNothing(t *testing.T) {
	t.Parallel()
	p := saying("0")
	c := mps.New(p, mps.Options{})
	ctx := t.Context()
	for name, f := range map[string]func() error{
		"pid 0":          func() error { _, err := c.ServerStatus(ctx, 0); return err },
		"pid -1":         func() error { _, err := c.Clients(ctx, -1); return err },
		"pid of 33 bits": func() error { _, err := c.ShutdownServer(ctx, 1<<32, true); return err },
		"ps of -1":       func() error { _, err := c.Processes(ctx, -1); return err },
		"devices of -1":  func() error { _, err := c.DeviceClients(ctx, -1); return err },
		"query of -1":    func() error { _, err := c.QueryDevices(ctx, -1); return err },
		"uid -1":         func() error { _, err := c.StartServer(ctx, -1, false); return err },
		"the uid of nobody at all": func() error {
			none := int64(math.MaxUint32)
			_, err := c.StartServer(ctx, int(none), false)
			return err
		},
		"percentage 0":     func() error { _, err := c.SetDefaultPercentage(ctx, 0); return err },
		"percentage -5":    func() error { _, err := c.SetDefaultPercentage(ctx, -5); return err },
		"percentage 100.1": func() error { _, err := c.SetPercentage(ctx, 7, 100.1); return err },
		"percentage NaN":   func() error { _, err := c.SetPercentage(ctx, 7, math.NaN()); return err },
		"limit 0":          func() error { _, err := c.SetDefaultPinnedLimit(ctx, "0", 0); return err },
		"limit too large":  func() error { _, err := c.SetPinnedLimit(ctx, 7, "0", 1<<44); return err },
		"no device":        func() error { _, err := c.SetDefaultPinnedLimit(ctx, "", 1); return err },
		"device +1":        func() error { _, err := c.DefaultPinnedLimit(ctx, "+1"); return err },
		"device 01":        func() error { _, err := c.DefaultPinnedLimit(ctx, "01"); return err },
		"device of a line": func() error { _, err := c.PinnedLimit(ctx, 7, "GPU-1\nquit"); return err },
		"device of words":  func() error { _, err := c.SetPinnedLimit(ctx, 7, "GPU-1 2", 1); return err },
		"device 65 long":   func() error { _, err := c.DefaultPinnedLimit(ctx, "GPU-"+string(make([]byte, 65))); return err },
		"priority 2":       func() error { _, err := c.SetDefaultClientPriority(ctx, 2); return err },
		"terminate 0":      func() error { return c.TerminateClient(ctx, 7, 0) },
		"terminate of 0":   func() error { return c.TerminateClient(ctx, 0, 7) },
		"ordinal":          func() error { _, err := c.AddPartition(ctx, "0", 1); return err },
		"chunks 0":         func() error { _, err := c.AddPartition(ctx, "GPU-12", 0); return err },
		"empty id":         func() error { _, err := c.RemovePartition(ctx, mps.PartitionID{Device: "GPU-12"}); return err },
		"id of a line": func() error {
			_, err := c.RemovePartition(ctx, mps.PartitionID{Device: "GPU-12", ID: "a\nquit"})
			return err
		},
	} {
		require.ErrorIs(t, f(), mps.ErrInput, name)
		assert.Empty(t, p.sent(), name)
	}
}

func TestEndedContextRunsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := saying("1")
	_, err := mps.New(p, mps.Options{}).Servers(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "nothing was run")
	assert.Empty(t, p.sent())
}
