package mps_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

func TestPIDFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	who := mps.PIDFile(dir)
	_, err := who()
	require.ErrorIs(t, err, fs.ErrNotExist)

	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "nvidia-cuda-mps-control.pid"), []byte(text), 0o600))
	}
	write(strconv.Itoa(os.Getpid()))
	id, err := who()
	require.NoError(t, err)
	assert.Equal(t, os.Getpid(), id.PID)
	assert.Equal(t, runtime.GOOS == "linux", id.Start > 0)
	write(" " + strconv.Itoa(os.Getpid()) + "\n")
	again, err := who()
	require.NoError(t, err)
	assert.Equal(t, id, again)

	for _, bad := range []string{"", "\n", "x", "-1", "0", "+1", "1 2", "99999999999"} {
		write(bad)
		_, err := who()
		require.Error(t, err, bad)
		require.NotErrorIs(t, err, mps.ErrStale)
		require.NotErrorIs(t, err, fs.ErrNotExist)
	}
	if runtime.GOOS == "linux" {
		write("2147483647") // above the largest pid that Linux gives
		id, err = who()
		require.ErrorIs(t, err, mps.ErrStale)
		assert.Equal(t, mps.Identity{PID: 2147483647}, id)
	}
	assert.Equal(t, "5 (start 7)", mps.Identity{PID: 5, Start: 7}.String())
	assert.Equal(t, "5", mps.Identity{PID: 5}.String())
}

// pidFile is a pipe directory whose pid file names this process.
func pidFile(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nvidia-cuda-mps-control.pid"), []byte(strconv.Itoa(os.Getpid())), 0o600))
	return dir
}
