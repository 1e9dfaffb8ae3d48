package mps_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// What went wrong elsewhere with a daemon that seemed to be ready.
func TestReadinessCases(t *testing.T) {
	t.Parallel()
	t.Run("78 an answer is not readiness", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var phases []mps.Phase
			d, _, r, _ := stoppedDaemon(t, mpsfake.Config{}, mps.DaemonConfig{Limits: mps.DaemonLimits{
				Percentage: 50, PinnedMiB: map[string]int64{"0": 4606},
			}})
			r.before = func(line string) {
				if strings.HasPrefix(line, "set_") {
					r.before = nil
					state, err := d.Ready(t.Context())
					assert.NoError(t, err)
					phases = append(phases, state.Phase)
					assert.ErrorContains(t, state.Reason, "percentage is 100, want 50")
				}
			}
			state, err := d.Start(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []mps.Phase{mps.PhaseStarting, mps.PhaseReady}, append(phases, state.Phase))

			_, err = d.Client().SetDefaultPercentage(t.Context(), 60)
			require.NoError(t, err)
			state, err = d.Ready(t.Context())
			require.NoError(t, err)
			assert.Equal(t, mps.PhaseStarting, state.Phase, "somebody else changed a limit")
		})
	})
	t.Run("74 a limit by UUID is taken and may be ignored", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			d, _, _, _ := stoppedDaemon(t, mpsfake.Config{IgnoreUUIDLimits: true}, mps.DaemonConfig{
				Limits: mps.DaemonLimits{PinnedMiB: map[string]int64{v3GPU: 4606}},
			})
			state, err := d.Start(t.Context())
			require.NoError(t, err)
			require.Len(t, state.Warnings, 1, "reading it back proves nothing")
			assert.Contains(t, state.Warnings[0], v3GPU)
		})
	})
	t.Run("63 stopping an absent daemon is no error", func(t *testing.T) {
		t.Parallel()
		d, _, _, h := stoppedDaemon(t, mpsfake.Config{}, mps.DaemonConfig{})
		require.NoError(t, d.Quit(t.Context(), 0))
		assert.Equal(t, []string{"after quit"}, h.calls)
	})
	t.Run("79 a path too long is refused before start", func(t *testing.T) {
		t.Parallel()
		for length, fits := range map[int]bool{107: true, 108: false} {
			pipe := "/" + strings.Repeat("p", length-len("//control"))
			_, err := mps.NewDaemon(mps.DaemonConfig{Directories: mps.Directories{Pipe: pipe}})
			if fits {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, mps.ErrInput)
			require.ErrorContains(t, err, "108")
			require.ErrorContains(t, err, "107")
		}
	})
}

func TestTerminateClients(t *testing.T) {
	t.Parallel()
	fake := fakeDaemon(t, mpsfake.Config{})
	c := mps.New(fake, mps.Options{Identity: fake.PIDFile})
	for pid := range 4 {
		_, err := fake.Connect(mpsfake.Client{PID: 50 + pid})
		require.NoError(t, err)
	}
	servers, err := c.Servers(t.Context())
	require.NoError(t, err)
	require.Len(t, servers, 1)
	require.NoError(t, fake.AddRule(mpsfake.Rule{Command: "terminate_client", Nth: 2, Trouble: mpsfake.Say, Text: "810\n"}))
	require.NoError(t, fake.AddRule(mpsfake.Rule{Command: "terminate_client", Nth: 3, Trouble: mpsfake.Say}))
	safe, err := c.TerminateClients(t.Context(), servers[0], 50, 51, 52, 53, 54)
	assert.Equal(t, []int{50, 53}, safe)
	require.ErrorContains(t, err, "client 51: ")
	require.ErrorContains(t, err, "client 52: ")
	require.ErrorContains(t, err, "client 54: ")
	var code mps.CUDAError
	require.ErrorAs(t, err, &code)

	require.NoError(t, fake.AddRule(mpsfake.Rule{Command: "terminate_client", Trouble: mpsfake.Replace}))
	safe, err = c.TerminateClients(t.Context(), servers[0], 51, 52)
	assert.Empty(t, safe)
	require.ErrorIs(t, err, mps.ErrReplaced)
}
