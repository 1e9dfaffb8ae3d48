package mps_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

// BenchmarkSplitWeighted: the fair split, beside the device plugin's.
func BenchmarkSplitWeighted(b *testing.B) {
	h100 := mps.Capacity{SMs: 132, MemoryMiB: 81559}
	for _, k := range []int{3, 12, 48} {
		weights := make([]int, k)
		for i := range weights {
			weights[i] = 1 + i%3
		}
		b.Run(fmt.Sprintf("way=fair/clients=%d", k), func(b *testing.B) {
			b.ReportAllocs()
			left := 0
			for b.Loop() {
				s, err := mps.SplitWeighted(h100, weights, mps.SplitOptions{})
				require.NoError(b, err)
				left = s.StrandedSMs
			}
			b.ReportMetric(float64(left), "stranded-SMs")
		})
		b.Run(fmt.Sprintf("way=even/clients=%d", k), func(b *testing.B) {
			b.ReportAllocs()
			left := 0
			for b.Loop() {
				s, err := mps.SplitEven(h100, k)
				require.NoError(b, err)
				left = s.StrandedSMs
			}
			b.ReportMetric(float64(left), "stranded-SMs")
		})
	}
}
