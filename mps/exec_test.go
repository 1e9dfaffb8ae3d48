package mps_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

// childMode is the variable that makes TestExecChild a program of its own.
const childMode = "GPUSHARE_EXEC_CHILD"

// childMarker is the variable with the file by which a child says that it is at work.
const childMarker = "GPUSHARE_EXEC_MARKER"

// program is an Exec of this test, as a program that does what mode says.
func program(t testing.TB, mode string) *mps.Exec {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return &mps.Exec{Path: path, Env: childEnv(mode)}
}

// marked is program for a mode that makes the file marker once it is at work, which
// takes long on a busy machine.
func marked(t testing.TB, mode string) (e *mps.Exec, marker string) {
	t.Helper()
	e, marker = program(t, mode), filepath.Join(t.TempDir(), "marker")
	e.Env = append(e.Env, childMarker+"="+marker)
	return e, marker
}

// appears waits for a file.
func appears(path string) error {
	return eventually(func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

// childEnv asks for a mode; a program with the race detector ends without a pause.
func childEnv(mode string) []string {
	return []string{childMode + "=" + mode, "GORACE=atexit_sleep_ms=0"}
}

func call(input string, args ...string) mps.Call {
	return mps.Call{Args: append([]string{"-test.run=^TestExecChild$"}, args...), Input: input}
}

// TestExecChild is the program that the tests of Exec run: it does nothing unless the
// variable is set, and then ends the process itself.
func TestExecChild(t *testing.T) {
	t.Parallel()
	mode := os.Getenv(childMode)
	if mode == "" {
		return
	}
	forever := func() { time.Sleep(time.Hour) }
	mark := func() { _ = os.WriteFile(os.Getenv(childMarker), nil, 0o600) }
	again := func(mode string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestExecChild$")
		cmd.Env = append(childEnv(mode), childMarker+"="+os.Getenv(childMarker))
		cmd.Stdout = os.Stdout
		if err := cmd.Start(); err != nil {
			os.Exit(90)
		}
		return cmd
	}
	switch mode {
	case "echo":
		input, _ := io.ReadAll(os.Stdin)
		fmt.Printf("%s|%q|%v", input, os.Args[2:], os.Environ())
		_, _ = io.WriteString(os.Stderr, "aside")
	case "fail":
		fmt.Print("Cannot find MPS control daemon process\n")
		os.Exit(1)
	case "lie":
		_, _ = io.WriteString(os.Stdout, "Partition %s in use. Terminate all clients before removing.\n")
	case "hang":
		forever()
	case "stubborn": // deaf to the polite signals, and slow to answer
		fmt.Print("half an ans")
		mark()
		forever()
	case "until the input ends":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "chatty":
		for {
			fmt.Print(strings.Repeat("11803\n", 1000))
		}
	case "chatty aside":
		for {
			_, _ = io.WriteString(os.Stderr, strings.Repeat("noise ", 1000))
		}
	case "split":
		for _, piece := range []string{"1", "18", "03\n", "74", "47\n"} {
			fmt.Print(piece)
			time.Sleep(5 * time.Millisecond)
		}
	case "leave": // what it leaves behind holds the output for a while
		mark()
		again("linger")
		fmt.Print("7\n")
	case "linger":
		for range 6000 { // until its marker is taken away
			if _, err := os.Stat(os.Getenv(childMarker)); err != nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	case "family":
		fmt.Printf("%d\n", again("hang").Process.Pid)
		mark()
		forever()
	case "die":
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		forever()
	case "audit":
		if err := audit(); err != nil {
			fmt.Print(err)
			os.Exit(1)
		}
		fmt.Print("clean")
	}
	os.Exit(0)
}

func TestExec(t *testing.T) {
	t.Parallel()
	e := program(t, "echo")
	e.Directories = mps.Directories{Pipe: "/p", Log: "/l"}
	out, err := e.Run(t.Context(), call("get_server_list\n", "server", "list"))
	require.NoError(t, err)
	assert.Zero(t, out.Exit)
	assert.Equal(t, "aside", out.Stderr)
	assert.Contains(t, out.Stdout, "get_server_list\n|")
	assert.Contains(t, out.Stdout, `["server" "list"]`)
	assert.Contains(t, out.Stdout, "CUDA_MPS_PIPE_DIRECTORY=/p CUDA_MPS_LOG_DIRECTORY=/l "+childMode+"=echo")
	assert.NotContains(t, out.Stdout, "HOME=", "nothing of our own environment")

	out, err = program(t, "echo").Run(t.Context(), call(""))
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(out.Stdout, "|"), "no input is an input that ends")

	out, err = program(t, "fail").Run(t.Context(), call("ps\n"))
	require.NoError(t, err, "a status is no error")
	assert.Equal(t, mps.Output{Stdout: "Cannot find MPS control daemon process\n", Exit: 1}, out)

	out, err = program(t, "split").Run(t.Context(), call(""))
	require.NoError(t, err)
	assert.Equal(t, "11803\n7447\n", out.Stdout)

	if runtime.GOOS != "windows" {
		out, err = program(t, "die").Run(t.Context(), call(""))
		require.Error(t, err)
		assert.Equal(t, -1, out.Exit)
	}
	// More input than a pipe holds, which nobody reads.
	out, err = program(t, "lie").Run(t.Context(), call(strings.Repeat("x", 1<<20)))
	require.NoError(t, err)
	assert.Contains(t, out.Stdout, "in use")
}

func TestExecWithoutProgram(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", filepath.Join(t.TempDir(), "nvidia-cuda-mps-control"), t.TempDir()} {
		if path == "" {
			if _, err := exec.LookPath(mps.Program); err == nil {
				continue // a machine that has it
			}
		}
		e := &mps.Exec{Path: path}
		_, err := e.Run(t.Context(), mps.Call{Input: "ps\n"})
		require.ErrorIs(t, err, mps.ErrNoProgram)
		_, err = mps.New(e, mps.Options{}).Servers(t.Context())
		require.ErrorIs(t, err, mps.ErrNoProgram)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := program(t, "echo").Run(ctx, call(""))
	require.ErrorIs(t, err, context.Canceled)
}

func TestExecDeadline(t *testing.T) {
	t.Parallel()
	// The input is more than a pipe holds, and is not read.
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	out, err := program(t, "hang").Run(ctx, call(strings.Repeat("x", 1<<20)))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Equal(t, -1, out.Exit)

	_, err = mps.New(arguments{program(t, "hang")}, mps.Options{Timeout: 300 * time.Millisecond}).Servers(t.Context())
	require.ErrorIs(t, err, mps.ErrTimedOut)

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	e, marker := marked(t, "stubborn")
	go func() {
		_ = appears(marker)
		cancel()
	}()
	out, err = e.Run(ctx, call(strings.Repeat("x", 1<<20)))
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, mps.Output{Stdout: "half an ans", Exit: -1}, out, "what came is kept")
}

// arguments makes the calls of a client fit TestExecChild.
type arguments struct{ e *mps.Exec }

func (a arguments) Run(ctx context.Context, c mps.Call) (mps.Output, error) {
	return a.e.Run(ctx, call(c.Input, c.Args...))
}

func TestExecTooMuchOutput(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"chatty", "chatty aside"} {
		out, err := program(t, mode).Run(t.Context(), call(""))
		require.ErrorIs(t, err, mps.ErrTooMuchOutput, mode)
		assert.Len(t, out.Stdout+out.Stderr, mps.DefaultMaxOutput, mode)
	}
	e := program(t, "split")
	e.MaxOutput = 11 // all of it
	out, err := e.Run(t.Context(), call(""))
	require.NoError(t, err)
	assert.Len(t, out.Stdout, 11)
	e.MaxOutput = 10
	_, err = e.Run(t.Context(), call(""))
	require.ErrorIs(t, err, mps.ErrTooMuchOutput)

	_, err = mps.New(arguments{program(t, "chatty")}, mps.Options{}).Servers(t.Context())
	require.ErrorIs(t, err, mps.ErrUnparsed)
	require.ErrorIs(t, err, mps.ErrTooMuchOutput)
}

// A process that the program leaves behind holds the pipe: its answer counts all the same.
func TestExecLeavesTheDaemonAlone(t *testing.T) {
	t.Parallel()
	e, marker := marked(t, "leave")
	e.WaitDelay = 100 * time.Millisecond
	start := time.Now()
	out, err := e.Run(t.Context(), call(""))
	require.NoError(t, err)
	assert.Equal(t, mps.Output{Stdout: "7\n"}, out)
	assert.Less(t, time.Since(start), 30*time.Second, "it would hold the output for a minute")
	require.NoError(t, os.Remove(marker), "the sign for it to end")
}

// Status 0 and a failure in the text, over a real process.
func TestExecStatusLies(t *testing.T) {
	t.Parallel()
	c := mps.New(arguments{program(t, "lie")}, mps.Options{})
	_, err := c.RemovePartition(t.Context(), mps.PartitionID{Device: device, ID: idA})
	require.ErrorIs(t, err, mps.ErrInUse)
	assert.Zero(t, opError(t, err).Exit)
	_, err = c.Servers(t.Context())
	require.ErrorIs(t, err, mps.ErrInUse)
	_, err = mps.New(arguments{program(t, "fail")}, mps.Options{}).Servers(t.Context())
	require.ErrorIs(t, err, mps.ErrNoDaemon)
}

// No child and no goroutine is left by anything that Exec does. It is counted in a
// process where nothing else runs.
func TestExecLeavesNothing(t *testing.T) {
	t.Parallel()
	out, err := program(t, "audit").Run(t.Context(), call(""))
	require.NoError(t, err)
	assert.Equal(t, "clean", out.Stdout)
}

func audit() error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	marker := filepath.Join(os.TempDir(), fmt.Sprint("gpushare-audit-", os.Getpid()))
	defer os.Remove(marker) //nolint:errcheck // it may be gone
	goroutines := runtime.NumGoroutine()
	for _, mode := range []string{"echo", "fail", "split", "hang", "chatty", "family", "leave", "die", "missing"} {
		_ = os.Remove(marker)
		e := &mps.Exec{Path: path, Env: append(childEnv(mode), childMarker+"="+marker), WaitDelay: 100 * time.Millisecond}
		if mode == "missing" {
			e.Path += ".missing"
		}
		timeout := time.Minute
		if mode == "hang" {
			timeout = 300 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		if mode == "family" {
			go func() {
				_ = appears(marker)
				cancel()
			}()
		}
		out, err := e.Run(ctx, call(""))
		cancel()
		if good := mode == "echo" || mode == "split" || mode == "leave"; good && err != nil {
			return fmt.Errorf("%s: %w", mode, err)
		}
		if mode == "family" && runtime.GOOS == "linux" {
			if !errors.Is(err, context.Canceled) {
				return fmt.Errorf("family: %w, %q", err, out.Stdout)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(out.Stdout))
			if err != nil {
				return err
			}
			if err := eventually(func() bool { return !running(pid) }); err != nil {
				return fmt.Errorf("process %d of the group lives: %w", pid, err)
			}
		}
	}
	if err := eventually(func() bool { return runtime.NumGoroutine() <= goroutines }); err != nil {
		stacks := make([]byte, 1<<16)
		return fmt.Errorf("%d goroutines, %d before: %s", runtime.NumGoroutine(), goroutines, stacks[:runtime.Stack(stacks, true)])
	}
	if left := children(); len(left) > 0 {
		return fmt.Errorf("children are left: %q", left)
	}
	return nil
}

func eventually(done func() bool) error {
	for range 6000 {
		if done() {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("not within a minute")
}

// running tells whether a process is there and no zombie (Linux).
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(rest, "Z")
}

// children are the pids of what this process started and did not reap (Linux).
func children() []string {
	files, _ := filepath.Glob("/proc/self/task/*/children")
	var pids []string
	for _, f := range files {
		text, _ := os.ReadFile(f)
		pids = slices.AppendSeq(pids, strings.FieldsSeq(string(text)))
	}
	return pids
}
