package mps_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// seen is an event in a line.
func seen(e mps.WatchEvent) string {
	text := e.Kind.String()
	switch e.Kind {
	case mps.WatchDaemonUp, mps.WatchReplaced:
		text += fmt.Sprintf(" %d", e.Identity.PID)
	case mps.WatchServer:
		text += fmt.Sprintf(" %d %s%s", e.Server, e.Name, e.Status)
		if e.State != 0 {
			text += e.State.String()
		}
	case mps.WatchServerGone:
		text += fmt.Sprintf(" %d", e.Server)
	case mps.WatchCrashLoop:
		text += fmt.Sprintf(" %d", e.Count)
	case mps.WatchTrouble:
		text += fmt.Sprint(": ", errors.Is(e.Err, mps.ErrUnparsed))
	default:
	}
	return text
}

// watched runs the steps, one before each look from the second on, and gives what the
// looks saw. It ends with the steps.
func watched(t *testing.T, c *mps.Client, o mps.WatchOptions, steps ...func()) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Every = time.Second
	go func() {
		time.Sleep(o.Every / 2)
		for _, step := range steps {
			step()
			time.Sleep(o.Every)
		}
		cancel()
	}()
	var events []string
	began := time.Now()
	for e := range c.Watch(ctx, o) {
		events = append(events, fmt.Sprintf("%d %s", int(e.Time.Sub(began).Seconds()), seen(e)))
	}
	synctest.Wait()
	return events
}

func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := fakeDaemon(t, mpsfake.Config{HoldInit: true, Stopped: true})
		c := mps.New(fake, mps.Options{Identity: fake.PIDFile})
		connect := func(pid int) func() {
			return func() {
				_, err := fake.Connect(mpsfake.Client{PID: pid})
				assert.NoError(t, err)
			}
		}
		disconnect := func(pid int) { assert.NoError(t, fake.Disconnect(pid)) }
		events := watched(t, c, mps.WatchOptions{},
			func() {},
			func() { fake.Start("-d") },
			connect(50),
			func() { assert.NoError(t, fake.ServerReady(1001)) },
			func() {},
			func() { assert.NoError(t, fake.Fault(1001, 0)) },
			func() { disconnect(50); fake.Advance() },
			func() { fake.Replace(0) },
			func() {
				assert.NoError(t, fake.AddRule(mpsfake.Rule{Command: "get_server_list", Always: true, Trouble: mpsfake.Say, Text: "?"}))
			},
			func() {},
			func() { fake.ClearRules() },
			func() { fake.Kill() },
			func() {},
		)
		assert.Equal(t, []string{
			"0 daemon down",
			"2 daemon up 1000",
			"3 server 1001 INITIALIZING",
			"4 server 1001 ACTIVE",
			"6 server 1001 FAULT",
			"7 server 1001 ACTIVE",
			"8 daemon replaced 1002",
			"9 trouble: true",
			"11 daemon up 1002",
			"12 daemon down",
		}, events)
	})
}

func TestWatchCrashLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := fakeDaemon(t, mpsfake.Config{})
		c := mps.New(fake, mps.Options{})
		_, err := c.StartServer(t.Context(), 0, false)
		require.NoError(t, err)
		fake.Advance()
		crash := func() {
			servers, err := c.Servers(t.Context())
			if err == nil && assert.Len(t, servers, 1) {
				err = fake.CrashServer(servers[0])
			}
			if err != nil {
				t.Error(err)
			}
			// The daemon may have started another one by itself.
			_, err = c.StartServer(t.Context(), 0, false)
			assert.True(t, err == nil || errors.Is(err, mps.ErrRefused))
			fake.Advance()
		}
		nothing := func() {}
		events := watched(t, c, mps.WatchOptions{Replacements: 3, Window: 3 * time.Second},
			crash, nothing, nothing, nothing, nothing, crash, crash, crash, nothing, nothing, nothing)
		assert.Equal(t, []string{
			"0 daemon up 0",
			"0 server 1001 ACTIVE",
			"1 server gone 1001", "1 server 1002 ACTIVE",
			"6 server gone 1002", "6 server 1003 ACTIVE",
			"7 server gone 1003", "7 server 1004 ACTIVE",
			"8 server gone 1004", "8 server 1005 ACTIVE",
			"8 crash loop 3",
		}, events)
	})
}

func TestWatchProtocol3(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := fakeDaemon(t, mpsfake.Config{Protocol: 3})
		c := mps.New(fake, mps.Options{Identity: fake.PIDFile})
		create := func(name string) func() {
			return func() {
				if _, err := c.V3().CreateServer(t.Context(), name, mps.V3ServerOptions{}); assert.NoError(t, err) {
					fake.Advance()
				}
			}
		}
		remove := func(name string) func() {
			return func() {
				_, err := c.V3().DeleteServer(t.Context(), name, true)
				assert.NoError(t, err)
			}
		}
		events := watched(t, c, mps.WatchOptions{Protocol: 3, Replacements: 2},
			create("a"), remove("a"), create("b"), remove("b"), create("c"), remove("c"),
			create("a"), remove("a"), create("a"))
		assert.Equal(t, []string{
			"0 daemon up 1000",
			"1 server 1001 aReadyACTIVE", "2 server gone 1001",
			"3 server 1002 bReadyACTIVE", "4 server gone 1002",
			"5 server 1003 cReadyACTIVE", "6 server gone 1003",
			"7 server 1004 aReadyACTIVE", "8 server gone 1004",
			"9 server 1005 aReadyACTIVE", "9 crash loop 2",
		}, events, "only a server of the same name takes the place of another")
	})
}

// A pid file that cannot be read for a while is no new daemon.
func TestWatchWithoutPIDFileForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var id atomic.Value
		now := func(f func() (mps.Identity, error)) func() { return func() { id.Store(f) } }
		now(none)()
		c := mps.New(saying(""), mps.Options{Identity: func() (mps.Identity, error) {
			return id.Load().(func() (mps.Identity, error))()
		}})
		events := watched(t, c, mps.WatchOptions{},
			now(alive(5, 100)), now(none), now(alive(5, 100)), now(none), now(alive(6, 200)))
		assert.Equal(t, []string{"0 daemon up 0", "5 daemon replaced 6"}, events)
	})
}

func TestWatchIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := fakeDaemon(t, mpsfake.Config{})
		looks := 0
		for e := range mps.New(fake, mps.Options{}).Watch(t.Context(), mps.WatchOptions{}) {
			assert.Equal(t, mps.WatchDaemonUp, e.Kind)
			looks++
			break
		}
		assert.Equal(t, 1, looks)

		hanging := mps.New(runnerFunc(func(ctx context.Context, _ mps.Call) (mps.Output, error) {
			<-ctx.Done()
			return mps.Output{Exit: -1}, ctx.Err()
		}), mps.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var events []string
		for e := range hanging.Watch(ctx, mps.WatchOptions{}) {
			events = append(events, seen(e))
		}
		assert.Len(t, events, 1, "a trouble is told once")
	})
}
