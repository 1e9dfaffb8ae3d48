package mps_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

// A daemon takes its pid file away and answers nobody before its process ends, and
// until then it holds the lock: quit waits for the process.
func TestDaemonQuitWaitsForTheProcess(t *testing.T) {
	t.Parallel()
	for _, protocol := range []int{2, 3} {
		path, err := os.Executable()
		require.NoError(t, err)
		child := exec.CommandContext(t.Context(), path, "-test.run=^TestExecChild$")
		child.Env = childEnv("until the input ends")
		input, err := child.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())

		dir := t.TempDir()
		file := dir + "/nvidia-cuda-mps-control.pid"
		require.NoError(t, os.WriteFile(file, []byte(strconv.Itoa(child.Process.Pid)), 0o600))
		asked := 0
		ended := false
		d, err := mps.NewDaemon(mps.DaemonConfig{
			Protocol: protocol, QuitTimeout: time.Minute,
			Client: mps.Options{Identity: mps.PIDFile(dir)},
			Runner: runnerFunc(func(_ context.Context, c mps.Call) (mps.Output, error) {
				if strings.Contains(strings.Join(c.Args, " ")+c.Input, "quit") {
					return mps.Output{}, os.Remove(file)
				}
				if asked++; asked == 3 {
					ended = true
					return mps.Output{Stdout: "Cannot find MPS control daemon process\n", Exit: 1}, input.Close()
				}
				return mps.Output{Stdout: "Cannot find MPS control daemon process\n", Exit: 1}, nil
			}),
		})
		require.NoError(t, err)
		require.NoError(t, d.Quit(t.Context(), 0))
		require.True(t, ended)
		assert.False(t, running(child.Process.Pid), "the process is gone, reaped or not")
		require.NoError(t, child.Wait())
		_, err = mps.PIDFile(dir)()
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
}
