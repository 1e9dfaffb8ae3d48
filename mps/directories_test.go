package mps_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

func TestResolveDirectories(t *testing.T) {
	t.Parallel()
	env := func(values map[string]string) func(string) string {
		return func(key string) string { return values[key] }
	}
	for _, tc := range []struct {
		name     string
		env      map[string]string
		protocol int
		root     bool
		want     mps.Directories
	}{
		{"protocol 2", nil, 2, false, mps.Directories{Pipe: "/tmp/nvidia-mps", Log: "/var/log/nvidia-mps"}},
		{"protocol 2 as root", nil, 2, true, mps.Directories{Pipe: "/tmp/nvidia-mps", Log: "/var/log/nvidia-mps"}},
		{"protocol 3", nil, 3, false, mps.Directories{Pipe: "/tmp/nvidia-mps", Log: "/var/log/nvidia-mps"}},
		{"protocol 3 as root", nil, 3, true, mps.Directories{Pipe: "/run/nvidia-mps", Log: "/var/log/nvidia-mps"}},
		{"pipe set", map[string]string{"CUDA_MPS_PIPE_DIRECTORY": "/a"}, 3, true, mps.Directories{Pipe: "/a", Log: "/var/log/nvidia-mps"}},
		{"log set", map[string]string{"CUDA_MPS_LOG_DIRECTORY": "/b"}, 3, true, mps.Directories{Pipe: "/run/nvidia-mps", Log: "/b"}},
	} {
		assert.Equal(t, tc.want, mps.ResolveDirectories(env(tc.env), tc.protocol, tc.root), tc.name)
		require.NoError(t, tc.want.Check(), tc.name)
	}
	assert.Equal(t, mps.DefaultDirectories(3, true), mps.ResolveDirectories(nil, 3, true))
	assert.Equal(t, []string{"CUDA_MPS_PIPE_DIRECTORY=/a", "CUDA_MPS_LOG_DIRECTORY=/b"}, mps.Directories{Pipe: "/a", Log: "/b"}.Env())
	assert.Empty(t, mps.Directories{}.Env())
}

func TestDirectoriesCheck(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]mps.Directories{
		"none":          {},
		"relative":      {Pipe: "run/mps"},
		"relative log":  {Pipe: "/run/mps", Log: "log"},
		"zero byte":     {Pipe: "/run/\x00mps"},
		"108 bytes":     {Pipe: "/" + strings.Repeat("p", 108-len("//control"))},
		"far too long":  {Pipe: "/" + strings.Repeat("p", 4000)},
		"long in bytes": {Pipe: "/" + strings.Repeat("é", 50)},
	} {
		require.ErrorIs(t, d.Check(), mps.ErrInput, name)
		_, err := mps.Open(d, mps.Options{})
		require.ErrorIs(t, err, mps.ErrInput, name)
	}
	_, err := mps.Open(mps.Directories{Pipe: "/run/mps"}, mps.Options{})
	require.NoError(t, err)
}
