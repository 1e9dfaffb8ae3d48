package timeslice_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/timeslice"
)

// Failures that users met, as named rows. Those about the device plugin's file are
// in package pluginconfig.
func TestCasesReplicas(t *testing.T) {
	t.Parallel()

	t.Run("88 a tie gives the other GPU, whatever the order", func(t *testing.T) {
		t.Parallel()
		devices := []timeslice.Device{{UUID: "GPU-0", Replicas: 2}, {UUID: "GPU-1", Replicas: 2}}
		for _, available := range [][]string{
			{"GPU-0::0", "GPU-0::1", "GPU-1::1"},
			{"GPU-0::0", "GPU-1::1", "GPU-0::1"},
			{"GPU-1::1", "GPU-0::1", "GPU-0::0"},
		} {
			got, err := timeslice.Allocate(devices, timeslice.Request{Size: 2, Available: replicas(t, available...)})
			require.NoError(t, err)
			assert.Equal(t, replicas(t, "GPU-0::0", "GPU-1::1"), got)
			assert.Len(t, timeslice.DevicesOf(got), 2)
		}
	})

	t.Run("85 more than one replica is refused where that is asked for", func(t *testing.T) {
		t.Parallel()
		devices := []timeslice.Device{{UUID: "GPU-0", Replicas: 4}}
		all, err := timeslice.Expand(devices)
		require.NoError(t, err)
		_, err = timeslice.Allocate(devices, timeslice.Request{Size: 1, Available: all, OnlyOne: true})
		require.NoError(t, err)
		_, err = timeslice.Allocate(devices, timeslice.Request{Size: 2, Available: all, OnlyOne: true})
		require.ErrorIs(t, err, timeslice.ErrOnlyOne)
	})

	t.Run("90 names of levels are exact", func(t *testing.T) {
		t.Parallel()
		for n, name := range []string{"Default", "Short", "Medium", "Long"} {
			l, err := timeslice.ParseLevel(name)
			require.NoError(t, err)
			assert.Equal(t, n, int(l))
			assert.Equal(t, name, l.String())
		}
		for _, name := range []string{"short", ""} {
			_, err := timeslice.ParseLevel(name)
			require.ErrorIs(t, err, timeslice.ErrInput)
			assert.Contains(t, err.Error(), "Default, Short, Medium, Long")
		}
		assert.Equal(t, timeslice.LevelDefault, *new(timeslice.Level), "an absent level")
	})

	t.Run("91 memory is counted in MiB on both sides", func(t *testing.T) {
		t.Parallel()
		l, err := timeslice.NewLedger([]timeslice.Device{{UUID: "GPU-0", Memory: 46068, Replicas: 24}}, timeslice.Memory{})
		require.NoError(t, err)
		placed := 0
		for i := range 24 {
			err := l.Admit(timeslice.Tenant{Name: fmt.Sprint(i), Replicas: replicas(t, fmt.Sprintf("GPU-0::%d", i)), Peak: 2000})
			if err == nil {
				placed++
			} else {
				require.ErrorIs(t, err, timeslice.ErrMemory)
			}
		}
		assert.Equal(t, 23, placed)
	})

	t.Run("92 two of 8000 MiB fit into 16384, the third does not", func(t *testing.T) {
		t.Parallel()
		l, err := timeslice.NewLedger([]timeslice.Device{{UUID: "GPU-0", Memory: 16384, Replicas: 3}}, timeslice.Memory{})
		require.NoError(t, err)
		for i, want := range []error{nil, nil, timeslice.ErrMemory} {
			err := l.Admit(timeslice.Tenant{Name: fmt.Sprint(i), Replicas: replicas(t, fmt.Sprintf("GPU-0::%d", i)), Peak: 8000})
			require.ErrorIs(t, err, want)
		}
	})

	t.Run("96 a card with more in use than it has offers nothing", func(t *testing.T) {
		t.Parallel()
		l, err := timeslice.NewLedger([]timeslice.Device{{UUID: "GPU-0", Memory: 1000, Replicas: 2}}, timeslice.Memory{})
		require.NoError(t, err)
		require.NoError(t, l.Record(timeslice.Tenant{Name: "there", Replicas: replicas(t, "GPU-0::0"), Peak: 3000}))
		assert.Zero(t, l.Usage()[0].Free())
		require.ErrorIs(t, l.Admit(timeslice.Tenant{Name: "new", Replicas: replicas(t, "GPU-0::1"), Peak: 500}), timeslice.ErrMemory)
	})
}
