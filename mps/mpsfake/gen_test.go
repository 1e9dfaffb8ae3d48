package mpsfake_test

import (
	"fmt"

	"github.com/gpushare/gpushare/mps/mpsfake"
)

// gpus are n devices of 132 SMs and 80 GB.
func gpus(n int) []mpsfake.GPU {
	all := make([]mpsfake.GPU, n)
	for i := range all {
		all[i] = mpsfake.GPU{
			UUID: fmt.Sprintf("GPU-%08x-0000-4000-8000-00000000%04x", 0x89ab0000+i*0x1111, i),
			Name: "NVIDIA H100 80GB HBM3", SMs: 132, MemoryMiB: 81559, ChunkSMs: 8, Chunks: 15,
		}
	}
	return all
}
