package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps/mpsfake"
)

// watched runs a watch and decodes its lines.
func watched(t *testing.T, args ...string) []watchLine {
	t.Helper()
	out := done(t, append(append([]string{"watch"}, args...), "-json")...)
	var lines []watchLine
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	for dec.More() {
		var l watchLine
		require.NoError(t, dec.Decode(&l), out)
		require.Equal(t, 1, l.Schema)
		lines = append(lines, l)
	}
	return lines
}

// kinds are those of one source.
func kinds(lines []watchLine, source string) []string {
	var list []string
	for _, l := range lines {
		if l.Source == source {
			list = append(list, l.Kind)
		}
	}
	return list
}

// TestWatchFake: what the fake plays is seen, in the logs and in what they amount to.
func TestWatchFake(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ protocol, log string }{{"2", "server.log"}, {"3", "uid_1000/server.log"}} {
		t.Run("protocol "+c.protocol, func(t *testing.T) {
			t.Parallel()
			lines := watched(t, "-fake", "-protocol", c.protocol, "-every", "50ms")
			assert.Contains(t, kinds(lines, "control.log"), "server ready")
			assert.NotContains(t, kinds(lines, "control.log"), "noise")
			log := kinds(lines, c.log)
			assert.Contains(t, log, "fault")
			assert.Contains(t, log, "client exit")
			health := kinds(lines, "logs")
			require.NotEmpty(t, health)
			assert.Contains(t, health, "fault")
			assert.Equal(t, "ready", health[len(health)-1], "it has recovered")
			daemon := kinds(lines, "daemon")
			assert.Equal(t, []string{"daemon up", "server"}, daemon[:2])
		})
	}
	assert.Contains(t, kinds(watched(t, "-fake", "-every", "20ms", "-for", "300ms", "-all"), "control.log"), "noise")
}

// TestWatchDaemon: a watch outlasts the daemon, and says what comes after it.
func TestWatchDaemon(t *testing.T) {
	t.Parallel()
	p, flags := started(t, mpsfake.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := make(lineWriter, 100)
	var errs strings.Builder
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, on(flags, "watch -every 10ms"), strings.NewReader(""), out, &errs)
	}()
	out.await(t, "daemon up")
	_, err := p.Connect(mpsfake.Client{PID: 501, UID: 1000})
	require.NoError(t, err)
	out.await(t, ": ACTIVE")
	require.NoError(t, p.Replace(t.Context()))
	out.await(t, "daemon up", "daemon replaced")
	require.NoError(t, p.Kill())
	out.await(t, "daemon down")

	cancel()
	assert.Equal(t, 130, <-ended)
	assert.Equal(t, "mpsctl: interrupted\n", errs.String())
}

// TestWatchLogThatCannotBeRead: the rest goes on.
func TestWatchLogThatCannotBeRead(t *testing.T) {
	t.Parallel()
	_, flags := started(t, mpsfake.Config{})
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "server.log"), 0o755))
	flags[3] = dir
	lines := watched(t, append(flags, "-every", "10ms", "-for", "1s")...)
	assert.Equal(t, []string{"trouble"}, kinds(lines, "server.log"))
	assert.Equal(t, []string{"daemon up"}, kinds(lines, "daemon"))
}

// lineWriter is an output that a test reads along.
type lineWriter chan string

func (w lineWriter) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}

// await reads until one of the texts comes.
func (w lineWriter) await(t *testing.T, texts ...string) {
	t.Helper()
	late := time.After(10 * time.Second)
	for {
		select {
		case line := <-w:
			for _, text := range texts {
				if strings.Contains(line, text) {
					return
				}
			}
		case <-late:
			t.Fatalf("no line with %q", texts)
		}
	}
}
