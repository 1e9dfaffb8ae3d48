package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

// TestShareJSON wants the whole answer, for programs that rely on it.
func TestShareJSON(t *testing.T) {
	t.Parallel()
	out := done(t, "share", "-model", "h100-80gb-sxm5", "-clients", "1,1,1", "-even", "-json")
	client := `{"percent": 33, "sms": 42, "memoryMiB": 27186}`
	assert.JSONEq(t, `{"schema": 1, "device": "h100-80gb-sxm5", "sms": 132, "memoryMiB": 81559, "clients": [`+
		strings.Join([]string{client, client, client}, ",")+`], "strandedSMs": 6}`, out)
}

func TestShareText(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `h100-80gb-sxm5: 132 SMs, 81559 MiB, 3 clients, 100 % in all

CLIENT  WEIGHT  PERCENT  SMS  MEMORY
0       3       49       64   40780M
1       2       34       44   27186M
2       1       17       22   13593M

stranded: 2 SMs, 0 MiB
`, done(t, "share", "-model", "h100-80gb-sxm5", "-clients", "3,2,1"))
	assert.Contains(t, done(t, "share", "-sms", "40", "-memory", "15360", "-n", "4", "-budget", "200"),
		"shared: 80 SMs are in the shares of 40")
}

// TestShareModels: the device plugin's percentages on three models, with the SMs that
// they come to and strand.
func TestShareModels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model                  string
		n, percent, sms, after int
	}{
		{"a100-40gb", 3, 33, 34, 6},
		{"a100-40gb", 7, 14, 14, 10},
		{"h100-80gb-sxm5", 7, 14, 18, 6},
		{"h100-80gb-sxm5", 16, 6, 6, 36},
		{"b200-180gb", 3, 33, 48, 4},
		{"b200-180gb", 48, 2, 2, 52},
	} {
		a := answer[shareAnswer](t, exitDone, "share", "-model", c.model, "-n", fmt.Sprint(c.n), "-even")
		require.Len(t, a.Clients, c.n)
		for _, s := range a.Clients {
			assert.Equal(t, mps.Share{Percent: c.percent, SMs: c.sms, MemoryMiB: a.MemoryMiB / int64(c.n)}, s, c.model)
		}
		assert.Equal(t, c.after, a.StrandedSMs, c.model)

		better := answer[shareAnswer](t, exitDone, "share", "-model", c.model, "-n", fmt.Sprint(c.n))
		assert.LessOrEqual(t, better.StrandedSMs, c.after, "what strands least strands no more than that")
		none := answer[shareAnswer](t, exitDone, "share", "-model", c.model, "-n", fmt.Sprint(c.n), "-by-sms")
		assert.LessOrEqual(t, none.StrandedSMs, better.StrandedSMs)
	}
}

// TestShareDevices: a product name, a MIG profile, and figures of one's own.
func TestShareDevices(t *testing.T) {
	t.Parallel()
	a := answer[shareAnswer](t, exitDone, "share", "-model", "NVIDIA H200", "-memory", "143771", "-n", "2")
	assert.Equal(t, "h200-141gb", a.Device)
	assert.EqualValues(t, 143771, a.MemoryMiB)
	a = answer[shareAnswer](t, exitDone, "share", "-model", "h100-80gb-sxm5", "-profile", "3g.40gb", "-n", "2")
	assert.Equal(t, "h100-80gb-sxm5 3g.40gb", a.Device)
	assert.Equal(t, 60, a.SMs)
	assert.EqualValues(t, 40448, a.MemoryMiB)
	a = answer[shareAnswer](t, exitDone, "share", "-sms", "40", "-memory", "15360", "-n", "10", "-even")
	assert.Equal(t, mps.Share{Percent: 10, SMs: 4, MemoryMiB: 1536}, a.Clients[9])
	a = answer[shareAnswer](t, exitDone, "share", "-model", "h100-80gb-sxm5", "-sms", "114", "-memory", "80000", "-n", "2")
	assert.Equal(t, 114, a.SMs, "a figure that is given counts")
	assert.EqualValues(t, 80000, a.MemoryMiB)
}

func TestPlan(t *testing.T) {
	t.Parallel()
	const gpu = "GPU-3f5b7c91-26d8-4e0a-9b14-c8d7a6e5f201"
	args := []string{"plan", "-model", "h100-80gb-sxm5", "-clients", "3,1", "-uuid", gpu, "-client-pipe", "/mps", "-shm", "/run/shm0"}
	a := answer[planAnswer](t, exitDone, args...)
	assert.Equal(t, 132, a.Split.SMs)
	assert.Contains(t, a.Plan.Daemon.Env, "CUDA_VISIBLE_DEVICES="+gpu)
	assert.Contains(t, a.Plan.Daemon.Env, "CUDA_MPS_PIPE_DIRECTORY=/run/mps/"+gpu)
	require.Len(t, a.Plan.Clients, 2)
	first := a.Plan.Clients[0]
	assert.Equal(t, a.Split.Clients[0], first.Share)
	assert.Equal(t, []mps.Mount{{Source: "/run/mps/" + gpu, Target: "/mps"}, {Source: "/run/shm0", Target: "/dev/shm"}}, first.Mounts)
	assert.Contains(t, first.Env, fmt.Sprintf("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=%dM", first.MemoryMiB))
	assert.Empty(t, a.Plan.Warnings)

	text := done(t, args...)
	for _, e := range first.Env {
		assert.Contains(t, text, "  env    "+e+"\n")
	}
	assert.Contains(t, text, fmt.Sprintf("set_default_device_pinned_mem_limit 0 %dM\n", first.MemoryMiB))

	// A MIG instance takes fewer clients, and how many is an estimate.
	text = done(t, "plan", "-model", "h100-80gb-sxm5", "-profile", "3g.40gb", "-n", "2", "-uuid", "MIG-"+gpu[4:])
	assert.Contains(t, text, "warning: 20 clients, estimated")
	text = done(t, "plan", "-model", "h100-80gb-sxm5", "-n", "50", "-by-sms", "-uuid", gpu, "-max-clients", "60")
	assert.Contains(t, text, "\nclient 49: ")
}
