package placement_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	migfleet "github.com/gpushare/gpushare/mig/fleet"
)

// Lists of instances to place at once, and exactly how many GPUs they need. A rule
// that decides one at a time keeps room for what comes next instead, and may use
// more.
func TestStaticListsNeed(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	profiles := []string{"7g.40gb", "4g.20gb", "3g.20gb", "2g.10gb", "1g.5gb"}
	tests := []struct {
		counts []int
		need   int
	}{
		{[]int{0, 0, 1, 2, 3}, 2},
		{[]int{0, 0, 1, 7, 3}, 3},
		{[]int{0, 0, 5, 5, 8}, 5},
		{[]int{0, 0, 7, 8, 11}, 7},
		{[]int{0, 0, 12, 13, 28}, 13},
		{[]int{2, 2, 14, 4, 40}, 16},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.counts), func(t *testing.T) {
			t.Parallel()
			want := mig.Demand{}
			for i, n := range tt.counts {
				if n > 0 {
					want[profiles[i]] = n
				}
			}
			gpus := make([]migfleet.GPU, tt.need)
			for i := range gpus {
				gpus[i].Layout = m.Empty()
			}
			answer, err := migfleet.Fit(gpus, want, 0)
			require.NoError(t, err)
			assert.Len(t, answer.Used, tt.need)
			_, err = migfleet.Fit(gpus[1:], want, 0)
			require.ErrorIs(t, err, mig.ErrNoFit)

			// The books take the answer as it stands.
			c := newCluster(t, cut(t, "n", m.Key(), tt.need))
			placed := mig.Demand{}
			for gpu, l := range answer.Layouts {
				for in := range l.Instances() {
					a := instanceAt(fmt.Sprintf("%d@%d", gpu, in.Start), in.Profile, gpu, in.Start)
					require.NoError(t, c.Place("n", a))
					placed[in.Profile]++
				}
			}
			assert.Equal(t, want, placed)
		})
	}
}
