package mps_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

// follow tails a file, in a bubble of synctest, and gives a function that waits for the
// next text. When it returns, the file has been looked at.
func follow(t *testing.T, path string, fromStart bool) (next func() string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	texts, done := make(chan string, 100), make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range mps.Tail(ctx, path, mps.TailOptions{Every: time.Millisecond, FromStart: fromStart}) {
			if err != nil {
				e.Text = err.Error()
			}
			texts <- e.Text
		}
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	synctest.Wait()
	return func() string {
		select {
		case text := <-texts:
			return text
		case <-time.After(10 * time.Second):
			return "nothing came"
		}
	}, stop
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func TestTail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testTail)
}

func testTail(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "control.log")
	next, stop := follow(t, path, false)
	time.Sleep(time.Second) // the file comes late
	appendTo(t, path, "one\ntwo\nthr")
	assert.Equal(t, "one", next())
	assert.Equal(t, "two", next())
	appendTo(t, path, "ee\n[2026-03-04 05:06:07.089 Control     6] four\n")
	assert.Equal(t, "three", next())
	assert.Equal(t, "four", next())

	require.NoError(t, os.Rename(path, path+".1"))
	time.Sleep(time.Second)
	appendTo(t, path+".1", "the last of the old file\n")
	assert.Equal(t, "the last of the old file", next())
	appendTo(t, path, "rotated\n")
	assert.Equal(t, "rotated", next())

	require.NoError(t, os.Truncate(path, 0))
	time.Sleep(time.Second)
	appendTo(t, path, "cut, and longer than before\n")
	assert.Equal(t, "cut, and longer than before", next())

	// Rotated between two looks, with lines in both.
	appendTo(t, path, "old\n")
	require.NoError(t, os.Rename(path, path+".2"))
	appendTo(t, path+".2", "older\nhalf a li")
	appendTo(t, path, "new\n")
	assert.Equal(t, "old", next())
	assert.Equal(t, "older", next())
	assert.Equal(t, "new", next())

	long := strings.Repeat("x", 100<<10)
	appendTo(t, path, long+"\nafter\n")
	assert.Equal(t, long[:64<<10], next())
	assert.Equal(t, "after", next())
	stop()
}

func TestTailStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "control.log")
		appendTo(t, path, "old\n")
		next, _ := follow(t, path, true)
		assert.Equal(t, "old", next())

		next, _ = follow(t, path, false)
		appendTo(t, path, "new\n")
		assert.Equal(t, "new", next(), "what was there before is left out")
	})
}

func TestTailFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir() // a directory opens and does not read
		next, _ := follow(t, path, true)
		assert.Contains(t, next(), path)
	})
}

func TestTailIsLeft(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "control.log")
	appendTo(t, path, "one\ntwo\n")
	var seen []string
	for e, err := range mps.Tail(t.Context(), path, mps.TailOptions{FromStart: true}) {
		require.NoError(t, err)
		seen = append(seen, e.Text)
		break
	}
	assert.Equal(t, []string{"one"}, seen)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for e, err := range mps.Tail(ended, path, mps.TailOptions{FromStart: true}) {
		assert.Fail(t, "something is read after the end of the context", "%v, %v", e, err)
	}
}

func ExampleTail() {
	dir, _ := os.MkdirTemp("", "mps")
	defer os.RemoveAll(dir) //nolint:errcheck // an example
	path := filepath.Join(dir, "control.log")
	log := "[2026-01-01 00:00:00.000 Control  6001] NEW CLIENT 11801 from user 1000: Server is not ready, push client to pending list\n" +
		"[2026-01-01 00:00:00.001 Control  6001] Starting new server 11803 for user 1000\n" +
		"[2026-01-01 00:00:00.450 Control  6001] NEW SERVER 11803: Ready\n"
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		return
	}
	monitor := mps.NewLogMonitor(3, time.Minute)
	for e, err := range mps.Tail(context.Background(), path, mps.TailOptions{FromStart: true}) {
		if err != nil {
			return
		}
		health := monitor.Add(e)
		fmt.Printf("%s: %s\n", e.Kind, health)
		if health == mps.HealthReady {
			break
		}
	}
	// Output:
	// client pending: idle
	// server starting: starting
	// server ready: ready
}
