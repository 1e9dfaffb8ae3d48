package mps_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

const (
	planGPU = "GPU-8f7e2b1a-0000-1111-2222-333344445555"
	planMIG = "MIG-8f7e2b1a-0000-1111-2222-333344445555"
)

func planOptions(t *testing.T) mps.PlanOptions {
	t.Helper()
	s, err := mps.SplitWeighted(mps.Capacity{Device: "h100-80gb-sxm5", SMs: 132, MemoryMiB: 81559}, []int{3, 1}, mps.SplitOptions{})
	require.NoError(t, err)
	return mps.PlanOptions{
		UUID: planGPU, Split: s, Limit: mps.ClientLimitQuery{ComputeMajor: 9},
		Directories: mps.Directories{Pipe: "/run/mps/0/pipe", Log: "/run/mps/0/log"},
		ClientPipe:  "/mps", SharedMemory: "/run/mps/0/shm",
	}
}

func TestNewPlan(t *testing.T) {
	t.Parallel()
	p, err := mps.NewPlan(planOptions(t))
	require.NoError(t, err)
	clientMounts := []mps.Mount{{"/run/mps/0/pipe", "/mps"}, {"/run/mps/0/shm", "/dev/shm"}}
	assert.Equal(t, mps.Plan{
		Device: planGPU,
		Daemon: mps.PlanProcess{
			Env: []string{
				"CUDA_MPS_PIPE_DIRECTORY=/run/mps/0/pipe", "CUDA_MPS_LOG_DIRECTORY=/run/mps/0/log", "CUDA_VISIBLE_DEVICES=" + planGPU,
			},
			Mounts: []mps.Mount{
				{"/run/mps/0/pipe", "/run/mps/0/pipe"}, {"/run/mps/0/shm", "/dev/shm"}, {"/run/mps/0/log", "/run/mps/0/log"},
			},
		},
		DefaultPercent: 75,
		DefaultLimits:  []mps.DeviceLimit{{"0", 61169}},
		Clients: []mps.PlanClient{
			{mps.Share{75, 98, 61169}, mps.PlanProcess{
				Env: []string{
					"CUDA_MPS_PIPE_DIRECTORY=/mps", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=75", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=61169M",
				},
				Mounts: clientMounts,
			}},
			{mps.Share{25, 32, 20390}, mps.PlanProcess{
				Env: []string{
					"CUDA_MPS_PIPE_DIRECTORY=/mps", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=20390M",
				},
				Mounts: clientMounts,
			}},
		},
		Warnings: []string{},
	}, p)
	for _, c := range p.Clients {
		env, err := mps.ParseClientEnv(c.Env)
		require.NoError(t, err)
		assert.Empty(t, env.Check(mps.DaemonView{
			PipeDirectory: "/mps", Protocol: 2, Devices: []string{planGPU}, Percent: float64(p.DefaultPercent),
			PinnedLimits: p.DefaultLimits, Capacity: mps.Capacity{SMs: 132},
		}))
	}
	text, err := json.Marshal(p.Clients[1])
	require.NoError(t, err)
	assert.JSONEq(t, `{"percent":25,"sms":32,"memoryMiB":20390,"env":["CUDA_MPS_PIPE_DIRECTORY=/mps",
		"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25","CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=20390M"],
		"mounts":[{"source":"/run/mps/0/pipe","target":"/mps"},{"source":"/run/mps/0/shm","target":"/dev/shm"}]}`, string(text))

	o := planOptions(t)
	o.ClientPipe, o.SharedMemory, o.Directories.Log = "", "", ""
	p, err = mps.NewPlan(o)
	require.NoError(t, err)
	assert.Equal(t, []mps.Mount{{"/run/mps/0/pipe", "/run/mps/0/pipe"}, {"/dev/shm", "/dev/shm"}}, p.Clients[0].Mounts)
	assert.Equal(t, p.Clients[0].Mounts, p.Daemon.Mounts)
}

// TestNewPlanWarns of what it cannot promise.
func TestNewPlanWarns(t *testing.T) {
	t.Parallel()
	o := planOptions(t)
	o.UUID, o.Limit.InstanceSize, o.Limit.DeviceSize = planMIG, 3, 7
	p, err := mps.NewPlan(o)
	require.NoError(t, err)
	assert.True(t, p.MIG)
	assert.Contains(t, p.Daemon.Env, "CUDA_VISIBLE_DEVICES="+planMIG)
	require.Len(t, p.Warnings, 2)
	assert.Contains(t, p.Warnings[0], "20 clients, estimated")
	assert.Contains(t, p.Warnings[1], "device plugin")

	o.Limit.InstanceSize, o.Limit.DeviceSize = 0, 0
	p, err = mps.NewPlan(o)
	require.NoError(t, err)
	assert.Contains(t, p.Warnings[0], "size is not given")

	o = planOptions(t)
	o.Limit.MaxConnections = 8
	p, err = mps.NewPlan(o)
	require.NoError(t, err)
	assert.Contains(t, p.Warnings[0], "48 clients, at most")
	assert.Contains(t, p.Clients[0].Env, "CUDA_DEVICE_MAX_CONNECTIONS=8")

	o = planOptions(t)
	o.Split, err = mps.SplitEven(mps.Capacity{SMs: 132}, 2)
	require.NoError(t, err)
	p, err = mps.NewPlan(o)
	require.NoError(t, err)
	assert.Empty(t, p.DefaultLimits)
	assert.Contains(t, p.Warnings[0], "memory")
}

func TestNewPlanRefuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*mps.PlanOptions){
		"no device":                  func(o *mps.PlanOptions) { o.UUID = "" },
		"an ordinal":                 func(o *mps.PlanOptions) { o.UUID = "0" },
		"the beginning of a UUID":    func(o *mps.PlanOptions) { o.UUID = "GPU-8f" },
		"no split":                   func(o *mps.PlanOptions) { o.Split = mps.Split{} },
		"a share of no SMs":          func(o *mps.PlanOptions) { o.Split.Clients[0].SMs = 0 },
		"a share above the device":   func(o *mps.PlanOptions) { o.Split.Clients[0].SMs = 133 },
		"a percentage of 101":        func(o *mps.PlanOptions) { o.Split.Clients[0].Percent = 101 },
		"negative memory":            func(o *mps.PlanOptions) { o.Split.Clients[0].MemoryMiB = -1 },
		"memory given out twice":     func(o *mps.PlanOptions) { o.Split.Clients[1].MemoryMiB++ },
		"unknown compute capability": func(o *mps.PlanOptions) { o.Limit.ComputeMajor = 0 },
		"too many clients":           func(o *mps.PlanOptions) { o.Limit.FromVolta = 1 },
		"an instance that is none":   func(o *mps.PlanOptions) { o.Limit.InstanceSize, o.Limit.DeviceSize = 1, 7 },
		"MIG on Volta":               func(o *mps.PlanOptions) { o.UUID, o.Limit.ComputeMajor = planMIG, 7 },
		"no pipe directory":          func(o *mps.PlanOptions) { o.Directories.Pipe = "" },
		"relative pipe directory":    func(o *mps.PlanOptions) { o.Directories.Pipe = "pipe" },
		"long pipe directory":        func(o *mps.PlanOptions) { o.Directories.Pipe = "/" + strings.Repeat("p", 100) },
		"long path in the container": func(o *mps.PlanOptions) { o.ClientPipe = "/" + strings.Repeat("p", 100) },
		"relative shared memory":     func(o *mps.PlanOptions) { o.SharedMemory = "shm" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := planOptions(t)
			change(&o)
			p, err := mps.NewPlan(o)
			require.ErrorIs(t, err, mps.ErrInput)
			assert.Zero(t, p)
		})
	}
}
