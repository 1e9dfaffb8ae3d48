package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/fragmentation"
)

// The keys of a Kubernetes node's allocatable amounts that SpecFromAllocatable
// reads.
const (
	keyCPU    = "cpu"
	keyMemory = "memory"
	keyGPU    = "nvidia.com/gpu"
	prefixMIG = "nvidia.com/mig-"
	keyShared = "nvidia.com/gpu.shared"
)

// SpecFromAllocatable returns a node's capacity from the amounts that Kubernetes
// publishes: "cpu" in milli-vCPU, "memory" in bytes (rounded down to MiB) and
// "nvidia.com/gpu" as a count of uncut GPUs, each with the given MiB of device
// memory. Other keys are not looked at, save "nvidia.com/mig-..." and
// "nvidia.com/gpu.shared", which are refused unless they are 0: a count does not
// say on which GPU and where an instance is, or which GPUs have replicas. The
// error names the keys and wraps ErrBadNode.
func SpecFromAllocatable(name, model string, deviceMemory int64, amounts map[string]int64) (NodeSpec, error) {
	var refused []string
	for key, amount := range amounts {
		bad := false
		switch {
		case key == keyCPU, key == keyMemory:
			bad = amount < 0
		case key == keyGPU:
			bad = amount < 0 || amount > fragmentation.MostGPUs
		case strings.HasPrefix(key, prefixMIG), key == keyShared:
			bad = amount != 0
		}
		if bad {
			refused = append(refused, fmt.Sprintf("%s=%d", key, amount))
		}
	}
	if len(refused) > 0 {
		slices.Sort(refused)
		return NodeSpec{}, fmt.Errorf("placement: node %q: allocatable %s: %w", name, strings.Join(refused, ", "), ErrBadNode)
	}
	spec := NodeSpec{Name: name, CPU: amounts[keyCPU], Memory: amounts[keyMemory] >> 20, Model: model}
	for range amounts[keyGPU] {
		spec.GPUs = append(spec.GPUs, GPUSpec{Memory: deviceMemory})
	}
	return spec, nil
}
