package device_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig/device"
)

// lockChild is the variable that turns this test binary into another process
// that holds the lock file of that name until its standard input ends.
const lockChild = "GPUSHARE_TEST_LOCK"

func TestLockChild(t *testing.T) {
	t.Parallel()
	path := os.Getenv(lockChild)
	if path == "" {
		return // an ordinary run: holdElsewhere has nothing to hold
	}
	unlock, err := device.Lock(t.Context(), path)
	require.NoError(t, err)
	fmt.Println("held")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	require.NoError(t, unlock())
}

// holdElsewhere lets another process take the lock. It returns the process, and
// what makes it give the lock up in an orderly way.
func holdElsewhere(t *testing.T, path string) (child *exec.Cmd, release func()) {
	t.Helper()
	child = exec.Command(os.Args[0], "-test.run=^TestLockChild$")
	child.Env = append(os.Environ(), lockChild+"="+path)
	in, err := child.StdinPipe()
	require.NoError(t, err)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	done := sync.OnceFunc(func() {
		_ = in.Close()
		_ = child.Wait()
	})
	t.Cleanup(done)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", line)
	return child, done
}

// tryLock asks once, with little patience.
func tryLock(t *testing.T, path string) (func() error, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	return device.Lock(ctx, path)
}

func TestLockBetweenProcesses(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"released", "killed"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "lock")
			child, release := holdElsewhere(t, path)
			unlock, err := tryLock(t, path)
			require.Nil(t, unlock)
			require.ErrorIs(t, err, device.ErrLocked)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, fmt.Sprintf("process %d)", child.Process.Pid))

			if end == "killed" {
				require.NoError(t, child.Process.Signal(syscall.SIGKILL))
			}
			waited := make(chan error)
			go func() {
				unlock, err := device.Lock(t.Context(), path)
				if err == nil {
					err = unlock()
				}
				waited <- err
			}()
			release()
			require.NoError(t, <-waited)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, fmt.Sprintln(os.Getpid()), string(text), "the last holder, for people")
		})
	}
}

// Two holders in one process exclude each other as two processes do.
func TestLockInOneProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var wg sync.WaitGroup
	var mu sync.Mutex
	inside, most, turns := 0, 0, 0
	begin := make(chan struct{})
	for range 8 {
		wg.Go(func() {
			<-begin
			for range 5 {
				unlock, err := device.Lock(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				inside++
				most = max(most, inside)
				turns++
				mu.Unlock()
				time.Sleep(100 * time.Microsecond)
				mu.Lock()
				inside--
				mu.Unlock()
				if err := unlock(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	close(begin)
	wg.Wait()
	assert.Equal(t, 1, most)
	assert.Equal(t, 40, turns)
}

// A second unlock does not give up the lock of who came after.
func TestUnlockTwice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := device.Lock(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, first())
	second, err := device.Lock(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, first(), "a second time does nothing")
	_, err = tryLock(t, path)
	require.ErrorIs(t, err, device.ErrLocked)
	require.NoError(t, second())
}

// A lock file that is removed while it is held takes its lock with it; giving
// that up does not touch the lock of the file that took its place.
func TestLockFileReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := device.Lock(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	second, err := device.Lock(t.Context(), path)
	require.NoError(t, err, "another file, another lock")
	require.NoError(t, first())
	_, err = tryLock(t, path)
	require.ErrorIs(t, err, device.ErrLocked)
	require.NoError(t, second())
}

func TestLockRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	tests := []struct {
		name, path string
		want       error
		text       string
	}{
		{"no name", "", os.ErrNotExist, `lock ""`},
		{"directory that is missing", filepath.Join(dir, "no", "lock"), os.ErrNotExist, "lock"},
		{"directory", dir, syscall.EISDIR, dir},
		{"device", os.DevNull, device.ErrNotLockFile, "D"},
		{"text", write("text", "version: v1\n"), device.ErrNotLockFile, "version"},
		{"long text", write("long", strings.Repeat("1", 1000)), device.ErrNotLockFile, "1000 bytes"},
		{"no process id", write("zero", "0\n"), device.ErrNotLockFile, `"0\n"`},
		{"negative", write("negative", "-12\n"), device.ErrNotLockFile, "-12"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before, _ := os.ReadFile(tt.path)
			unlock, err := device.Lock(t.Context(), tt.path)
			require.Nil(t, unlock)
			require.ErrorIs(t, err, tt.want)
			require.ErrorContains(t, err, tt.text)
			after, _ := os.ReadFile(tt.path)
			assert.Equal(t, before, after)
		})
	}
	t.Run("context that has ended", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		path := filepath.Join(dir, "ended")
		_, err := device.Lock(ctx, path)
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, device.ErrLocked)
		_, err = os.Stat(path)
		assert.ErrorIs(t, err, os.ErrNotExist)
	})
	// What a crash can leave: nothing yet, no line end yet.
	for _, text := range []string{"", "4242", "4242\n"} {
		t.Run(fmt.Sprintf("left behind %q", text), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "lock")
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			unlock, err := device.Lock(t.Context(), path)
			require.NoError(t, err)
			require.NoError(t, unlock())
		})
	}
}

// Programs that change MIG take turns between reading a state and the end of
// their changes.
func ExampleLock() {
	dir, err := os.MkdirTemp("", "lock")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "mig.lock")

	unlock, err := device.Lock(context.Background(), path)
	if err != nil {
		fmt.Println(err)
		return
	}
	// Here a state is read, a plan made and applied. Meanwhile:
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	_, err = device.Lock(ctx, path)
	fmt.Println("held by another:", errors.Is(err, device.ErrLocked))
	fmt.Println("given up:", unlock() == nil)
	// Output:
	// held by another: true
	// given up: true
}
