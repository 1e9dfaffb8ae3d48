package nvmlfake

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"
)

// The audit finds what is wrong with vGPUs and their schedulers, too.
func TestAuditFindsVGPUs(t *testing.T) {
	t.Parallel()
	vm := Holder{Name: "vm", Hidden: true, VGPU: true}
	rows := []struct {
		name, want string
		spoil      func(plain, host *gpuState)
	}{
		{"a scheduler on no host", "where none is", func(g, _ *gpuState) { g.vgpu.graphics.policy = 2 }},
		{"no such policy", "vGPU scheduler", func(_, h *gpuState) { h.vgpu.graphics.policy = 4 }},
		{"best effort written out", "vGPU scheduler", func(_, h *gpuState) { h.vgpu.graphics.policy = 1 }},
		{"parameters of best effort", "vGPU scheduler", func(_, h *gpuState) { h.vgpu.graphics.factor = 3 }},
		{"a slice with ARR", "vGPU scheduler", func(_, h *gpuState) { h.vgpu.graphics = scheduler{policy: 2, timeslice: 2_000_000} }},
		{"a frequency without ARR", "vGPU scheduler", func(_, h *gpuState) { h.vgpu.graphics = scheduler{policy: 2, arr: 1, frequency: 480} }},
		{"a scheduler in an instance before GB20x", "where none is", func(g, _ *gpuState) {
			g.vgpuHost = true
			g.instances[0].vgpu.graphics.policy = 2
		}},
		{"a log too long", "201 entries", func(_, h *gpuState) { h.vgpu.logs[1] = make([]nvml.VgpuSchedulerLogEntry_v2, 201) }},
		{"a vGPU on no host", "vGPU host", func(g, _ *gpuState) { g.instances[0].holders = holders{&vm} }},
		{"a vGPU on a GPU with MIG", "MIG is on", func(g, _ *gpuState) {
			g.vgpuHost = true
			hold(g, vm)
		}},
		{"a vGPU that is not hidden", "not hidden", func(_, h *gpuState) { hold(h, Holder{PID: 1, Name: "vm", VGPU: true}) }},
		{"too many vGPUs", "33 vGPUs", func(_, h *gpuState) {
			for range 33 {
				hold(h, vm)
			}
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := sound(t)
			s.gpus[1].vgpuHost = true
			require.NoError(t, s.Audit())
			row.spoil(s.gpus[0], s.gpus[1])
			require.ErrorContains(t, s.Audit(), row.want)
		})
	}
}
