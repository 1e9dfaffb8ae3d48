package mps_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

func TestDaemonInput(t *testing.T) {
	t.Parallel()
	pipe := mps.Directories{Pipe: "/run/mps"}
	for name, c := range map[string]mps.DaemonConfig{
		"no directories":   {},
		"path too long":    {Directories: mps.Directories{Pipe: "/" + strings.Repeat("x", 107)}},
		"protocol":         {Directories: pipe, Protocol: 1},
		"static":           {Directories: pipe, Protocol: 3, StaticPartitioning: true},
		"limits of 3":      {Directories: pipe, Protocol: 3, Limits: mps.DaemonLimits{Percentage: 50}},
		"device":           {Directories: pipe, Devices: []string{"0,1"}},
		"percentage":       {Directories: pipe, Limits: mps.DaemonLimits{Percentage: 101}},
		"priority":         {Directories: pipe, Limits: mps.DaemonLimits{Priority: ptr(2)}},
		"limit":            {Directories: pipe, Limits: mps.DaemonLimits{PinnedMiB: map[string]int64{"0": 0}}},
		"device of limits": {Directories: pipe, Limits: mps.DaemonLimits{PinnedMiB: map[string]int64{"0 1G": 5}}},
	} {
		_, err := mps.NewDaemon(c)
		require.ErrorIs(t, err, mps.ErrInput, name)
	}
	c := mps.DaemonConfig{
		Directories: mps.Directories{Pipe: "/run/mps", Log: "/var/log/mps"}, StaticPartitioning: true,
		Devices: []string{"GPU-1", "GPU-2"}, Limits: someLimits, Env: []string{"LD_LIBRARY_PATH=/opt"},
	}
	assert.Equal(t, []string{"-d", "-S"}, c.Args())
	assert.Equal(t, []string{
		"CUDA_MPS_PIPE_DIRECTORY=/run/mps", "CUDA_MPS_LOG_DIRECTORY=/var/log/mps", "CUDA_VISIBLE_DEVICES=GPU-1,GPU-2",
		"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=33.3", "CUDA_MPS_CLIENT_PRIORITY=1", "LD_LIBRARY_PATH=/opt",
	}, c.Environ())
}
