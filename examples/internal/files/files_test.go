package files_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/examples/internal/files"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestCreate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, files.Create(path, []byte("a")))
	require.ErrorIs(t, files.Create(path, []byte("b")), fs.ErrExist)
	assert.Equal(t, "a", read(t, path))
}

func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	require.NoError(t, files.Replace(path, []byte("a")))
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, files.Replace(path, []byte("b")))
	assert.Equal(t, "b", read(t, path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	}
	require.ErrorIs(t, files.Replace(filepath.Join(dir, "none", "f"), nil), fs.ErrNotExist)
	require.Error(t, files.Replace(dir, []byte("c")), "a directory stays one")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing else is left")
}

func TestReplaceBehindLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link := filepath.Join(dir, "f"), filepath.Join(dir, "link")
	require.NoError(t, files.Create(path, []byte("a")))
	if err := os.Symlink(path, link); err != nil {
		t.Skipf("no links here: %v", err)
	}
	require.NoError(t, files.Replace(link, []byte("b")))
	assert.Equal(t, "b", read(t, path))
	to, err := os.Readlink(link)
	require.NoError(t, err)
	assert.Equal(t, path, to)
}
