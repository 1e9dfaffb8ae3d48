package mpsfake_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

func TestDirectoriesOfProtocol3(t *testing.T) {
	t.Parallel()
	p, x := start(t, mpsfake.Options{Args: []string{"-p", "3"}})
	v := client(p, x).V3()
	_, err := v.CreateServer(t.Context(), "training", mps.V3ServerOptions{})
	require.NoError(t, err)
	_, err = v.CreateNamespace(t.Context(), "training", "small")
	require.NoError(t, err)
	for path, kind := range map[string]os.FileMode{
		"training/control": os.ModeSocket, "training/log": os.ModeNamedPipe,
		"training/default/control": os.ModeSocket, "training/small/control": os.ModeSocket,
	} {
		info, err := os.Stat(filepath.Join(p.Pipe, path))
		require.NoError(t, err)
		assert.Equal(t, kind, info.Mode().Type(), path)
	}

	// A directory of a namespace is one that a client can be told.
	inner := *x
	inner.Directories.Pipe = filepath.Join(p.Pipe, "training", "small")
	assert.Equal(t, run(t, x, "", "server", "list"), run(t, &inner, "", "server", "list"))

	_, err = v.DeleteNamespace(t.Context(), "training", "small", true)
	require.NoError(t, err)
	require.NoDirExists(t, filepath.Join(p.Pipe, "training", "small"))
	_, err = v.DeleteServer(t.Context(), "training", true)
	require.NoError(t, err)
	require.NoDirExists(t, filepath.Join(p.Pipe, "training"))
	require.FileExists(t, filepath.Join(p.Log, "training", "server.log"), "logs stay")
}

func TestProtocolOfTheEnvironmentWins(t *testing.T) {
	t.Parallel()
	for _, o := range []mpsfake.Options{
		{Args: []string{"--protocol", "3"}},
		{Args: []string{"-p", "2"}, Env: []string{"CUDA_MPS_PROTOCOL_VERSION=3"}},
	} {
		p, x := start(t, o)
		// What the client is told counts for nothing: it follows the daemon.
		x.Env = append(x.Env, "CUDA_MPS_PROTOCOL_VERSION=2")
		found, err := client(p, x).Detect(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 3, found.Protocol)
	}
}
