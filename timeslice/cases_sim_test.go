package timeslice_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/timeslice"
)

// Failures that users met, as named rows.
func TestCasesVGPU(t *testing.T) {
	t.Parallel()

	t.Run("89 a partition takes many vGPUs, so the card takes more than it has partitions", func(t *testing.T) {
		t.Parallel()
		perCard, err := timeslice.VGPUsOnMIG(12, 4)
		require.NoError(t, err)
		assert.Equal(t, 48, perCard, "DC-1-2Q: 12 in each of 4")
	})
	t.Run("89 eight vGPUs do not need eight partitions", func(t *testing.T) {
		t.Parallel()
		for perPartition, want := range map[int]int{12: 1, 8: 1, 7: 2, 4: 2, 3: 3, 1: 8} {
			partitions, err := timeslice.InstancesForVGPUs(8, perPartition)
			require.NoError(t, err)
			assert.Equal(t, want, partitions, "%d to a partition", perPartition)
		}
	})
}
