package mps_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
)

const partitionID = "AAAA//8AAAAAAAAAAAAAAAAAAAAAAAAAAAAA+"

func TestClientEnv(t *testing.T) {
	t.Parallel()
	one := 1
	env, err := mps.ClientEnv{
		PipeDirectory: "/run/mps/pipe", Percent: 12.5, PerContext: true,
		PinnedLimits: []mps.DeviceLimit{{"0", 1024}, {"1", 512}}, Priority: &one,
		SMPartition: mps.PartitionID{Device: "GPU-8f7e2b1a", ID: partitionID}, VisibleDevices: []string{"0", "GPU-8f"}, MaxConnections: 4, Other: []string{"CUDA_MPS_X"},
	}.Env()
	require.NoError(t, err)
	assert.Equal(t, []string{
		"CUDA_MPS_PIPE_DIRECTORY=/run/mps/pipe",
		"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=12.5",
		"CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING=1",
		"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=1024M,1=512M",
		"CUDA_MPS_CLIENT_PRIORITY=1",
		"CUDA_MPS_SM_PARTITION=GPU-8f7e2b1a/" + partitionID,
		"CUDA_VISIBLE_DEVICES=0,GPU-8f",
		"CUDA_DEVICE_MAX_CONNECTIONS=4",
	}, env)

	env, err = mps.ClientEnv{Percent: 0.1 + 0.2}.Env()
	require.NoError(t, err)
	assert.Equal(t, []string{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=0.3"}, env)

	env, err = mps.ClientEnv{}.Env()
	require.NoError(t, err)
	assert.Empty(t, env)
	env, err = mps.ClientEnv{VisibleDevices: []string{}}.Env()
	require.NoError(t, err)
	assert.Equal(t, []string{"CUDA_VISIBLE_DEVICES="}, env)
}

func TestClientEnvRefuses(t *testing.T) {
	t.Parallel()
	two, minus := 2, -1
	for _, c := range []struct {
		e        mps.ClientEnv
		variable string
	}{
		{mps.ClientEnv{PipeDirectory: "pipe"}, "CUDA_MPS_PIPE_DIRECTORY"},
		{mps.ClientEnv{PipeDirectory: "/" + strings.Repeat("p", 99)}, "CUDA_MPS_PIPE_DIRECTORY"},
		{mps.ClientEnv{Percent: -1}, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"},
		{mps.ClientEnv{Percent: 101}, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"},
		{mps.ClientEnv{Percent: math.NaN()}, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"},
		{mps.ClientEnv{Percent: 0.001}, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"},
		{mps.ClientEnv{Percent: 1e-9}, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"},
		{mps.ClientEnv{PinnedLimits: []mps.DeviceLimit{{"0", 0}}}, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"},
		{mps.ClientEnv{Priority: &two}, "CUDA_MPS_CLIENT_PRIORITY"},
		{mps.ClientEnv{Priority: &minus}, "CUDA_MPS_CLIENT_PRIORITY"},
		{mps.ClientEnv{SMPartition: mps.PartitionID{Device: "GPU-8f7e2b1a"}}, "CUDA_MPS_SM_PARTITION"},
		{mps.ClientEnv{SMPartition: mps.PartitionID{Device: "0", ID: "AAAA"}}, "CUDA_MPS_SM_PARTITION"},
		{mps.ClientEnv{VisibleDevices: []string{"0", "-1"}}, "CUDA_VISIBLE_DEVICES"},
		{mps.ClientEnv{VisibleDevices: []string{"0,1"}}, "CUDA_VISIBLE_DEVICES"},
		{mps.ClientEnv{VisibleDevices: []string{"1", "1"}}, "CUDA_VISIBLE_DEVICES"},
		{mps.ClientEnv{MaxConnections: -1}, "CUDA_DEVICE_MAX_CONNECTIONS"},
	} {
		env, err := c.e.Env()
		require.ErrorIs(t, err, mps.ErrInput, "%+v", c.e)
		require.ErrorContains(t, err, c.variable)
		assert.Nil(t, env)
	}
}

func TestParseClientEnv(t *testing.T) {
	t.Parallel()
	e, err := mps.ParseClientEnv([]string{
		"PATH=/bin", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50.0", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=2G",
		"CUDA_MPS_DEVICE_MEM_LIMIT=0=1G", "CUDA_MPS_LOG_DIRECTORY=x", "CUDA_MPS_PROTOCOL_VERSION=3", "CUDA_MPS_ABC", "CUDA_VISIBLE_DEVICES=",
	})
	require.NoError(t, err)
	assert.Equal(t, mps.ClientEnv{
		Percent: 50, PinnedLimits: []mps.DeviceLimit{{"0", 2048}}, VisibleDevices: []string{},
		Other: []string{"CUDA_MPS_ABC", "CUDA_MPS_DEVICE_MEM_LIMIT"},
	}, e)

	for _, entry := range []string{
		"CUDA_MPS_PIPE_DIRECTORY=", "CUDA_MPS_PIPE_DIRECTORY=pipe",
		"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=0", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=1e1",
		"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=NaN", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50%", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE= 50",
		"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=1.2.3",
		"CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING=0",
		"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=8589934592MB", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=",
		"CUDA_MPS_CLIENT_PRIORITY=2", "CUDA_MPS_CLIENT_PRIORITY=normal",
		"CUDA_MPS_SM_PARTITION=GPU-8f", "CUDA_MPS_SM_PARTITION=GPU-8f/", "CUDA_MPS_SM_PARTITION=GPU-8f/a b",
		"CUDA_VISIBLE_DEVICES=0,", "CUDA_VISIBLE_DEVICES=all", "CUDA_VISIBLE_DEVICES=GPU-8f,GPU-8f7e",
		"CUDA_DEVICE_MAX_CONNECTIONS=0", "CUDA_DEVICE_MAX_CONNECTIONS=x", "CUDA_DEVICE_MAX_CONNECTIONS=08",
	} {
		e, err := mps.ParseClientEnv([]string{entry})
		require.ErrorIs(t, err, mps.ErrInput, entry)
		name, _, _ := strings.Cut(entry, "=")
		require.ErrorContains(t, err, name)
		assert.Zero(t, e)
	}
	_, err = mps.ParseClientEnv([]string{"CUDA_MPS_CLIENT_PRIORITY=0", "CUDA_MPS_CLIENT_PRIORITY=0"})
	require.ErrorContains(t, err, "twice")
	_, err = mps.ParseClientEnv([]string{"CUDA_MPS_CLIENT_PRIORITY=3", "CUDA_VISIBLE_DEVICES=x"})
	require.ErrorContains(t, err, "PRIORITY")
	require.ErrorContains(t, err, "VISIBLE")
}

// TestClientEnvRoundTrip: what is written is read back the same.
func TestClientEnvRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := genClientEnv(t)
		env, err := e.Env()
		require.NoError(t, err)
		got, err := mps.ParseClientEnv(append([]string{"HOME=/"}, env...))
		require.NoError(t, err)
		require.Equal(t, e, got)
	})
}

func FuzzParseClientEnv(f *testing.F) {
	f.Add("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=12.5\nCUDA_VISIBLE_DEVICES=0,GPU-8f\nPATH=/bin")
	f.Add("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=1G\nCUDA_MPS_SM_PARTITION=GPU-8f7e2b1a/" + partitionID)
	f.Add("CUDA_MPS_PIPE_DIRECTORY=/x\nCUDA_MPS_CLIENT_PRIORITY=1\nCUDA_DEVICE_MAX_CONNECTIONS=8\nCUDA_VISIBLE_DEVICES=")
	f.Fuzz(func(t *testing.T, text string) {
		e, err := mps.ParseClientEnv(strings.Split(text, "\n"))
		if err != nil {
			require.ErrorIs(t, err, mps.ErrInput)
			require.Zero(t, e)
			return
		}
		env, err := e.Env()
		require.NoError(t, err)
		again, err := mps.ParseClientEnv(env)
		require.NoError(t, err)
		e.Other = nil
		require.Equal(t, e, again)
		e.Check(mps.DaemonView{Devices: []string{"GPU-8f7e"}, Static: true})
	})
}
