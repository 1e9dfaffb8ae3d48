package mps_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

// A daemon that ended and that nobody reaped is gone.
func TestPIDFileOfZombie(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	require.NoError(t, err)
	p, err := os.StartProcess(path, []string{path, "-test.run=^TestExecChild$"}, &os.ProcAttr{Env: childEnv("split")})
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nvidia-cuda-mps-control.pid"), []byte(strconv.Itoa(p.Pid)), 0o600))
	who := mps.PIDFile(dir)
	require.Eventually(t, func() bool { return !running(p.Pid) }, 10*time.Second, 5*time.Millisecond)
	id, err := who()
	require.ErrorIs(t, err, mps.ErrStale)
	require.Equal(t, mps.Identity{PID: p.Pid}, id)
	_, err = p.Wait()
	require.NoError(t, err)
	_, err = who()
	require.ErrorIs(t, err, mps.ErrStale)
}
