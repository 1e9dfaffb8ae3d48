package pluginconfig_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/timeslice"
	"github.com/gpushare/gpushare/timeslice/pluginconfig"
)

// Failures that users met, as named rows.
func TestCases(t *testing.T) {
	t.Parallel()

	t.Run("53 an index is digits, or digits, a colon and digits", func(t *testing.T) {
		t.Parallel()
		for _, id := range []string{"0", "-1", "0:0", "0:0:0", "0:0.0", "-1:0", "0:-1", "0:foo", "foo:0", ""} {
			c, findings := pluginconfig.Lint([]byte(shared("devices: ['"+id+"']")), "")
			if id == "0" || id == "0:0" {
				require.NotNil(t, c, "%v", findings)
				assert.Equal(t, []string{id}, c.TimeSlicing.Resources[0].Devices.List)
				continue
			}
			require.Nil(t, c, id)
			assert.Equal(t, "8:17 error bad-value sharing.timeSlicing.resources[0].devices[0]", brief(findings[len(findings)-1]))
		}
	})

	t.Run("61 replicas multiply with MIG devices", func(t *testing.T) {
		t.Parallel()
		n, err := advertise(t, "flags: {migStrategy: single}\n"+strings.Replace(shared(), "    resources", "    renameByDefault: true\n    resources", 1),
			cut(a100s(8), "1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb"), pluginconfig.AsPlugin)
		require.NoError(t, err)
		assert.Equal(t, map[string]int{"nvidia.com/gpu.shared": 128}, counts(n))
		assert.Zero(t, n.Count("nvidia.com/gpu"))
	})

	t.Run("81 fewer than two replicas are refused, by name and number", func(t *testing.T) {
		t.Parallel()
		for _, way := range []string{"timeSlicing", "mps"} {
			for _, value := range []string{"2", "1", "0", "-1", ""} {
				line := "replicas: " + value
				if value == "" {
					line = ""
				}
				_, findings := pluginconfig.Lint([]byte(strings.NewReplacer("replicas: 4", line, "timeSlicing", way).Replace(shared())), "")
				var bad []string
				for _, f := range findings {
					if f.Severity == pluginconfig.Error {
						bad = append(bad, f.Message)
					}
				}
				switch value {
				case "2":
					assert.Empty(t, bad)
				case "":
					assert.Equal(t, []string{"resource nvidia.com/gpu: replicas is missing"}, bad)
				default:
					assert.Equal(t, []string{fmt.Sprintf("resource nvidia.com/gpu: %s replicas; at least 2 are needed, for MPS too", value)}, bad)
				}
			}
		}
	})

	t.Run("83 a device twice in a list is refused, as a number and as a text", func(t *testing.T) {
		t.Parallel()
		_, err := pluginconfig.Parse([]byte(shared(`devices: [0, "0"]`)), "")
		require.ErrorIs(t, err, pluginconfig.ErrFormat)
		assert.Contains(t, err.Error(), "device 0 stands there twice")

		// By its index and by its UUID, once the node is known.
		inv := a100s(2)
		inv[0].UUID = uuidA
		_, err = advertise(t, shared("devices: [0, "+uuidA+"]"), inv, pluginconfig.AsWritten)
		require.ErrorIs(t, err, pluginconfig.ErrSelection)
		assert.Contains(t, err.Error(), "device 0 ("+uuidA+") is selected twice")
	})

	t.Run("85 a renamed resource is asked for by its new name", func(t *testing.T) {
		t.Parallel()
		n, err := advertise(t, strings.Replace(shared(), "    resources", "    renameByDefault: true\n    resources", 1),
			pluginconfig.Inventory{{Product: "Quadro P2000"}}, pluginconfig.AsPlugin)
		require.NoError(t, err)
		assert.Equal(t, map[string]int{"nvidia.com/gpu.shared": 4}, counts(n))
		require.ErrorIs(t, n.Request("nvidia.com/gpu", 1), pluginconfig.ErrRequest)
		require.NoError(t, n.Request("nvidia.com/gpu.shared", 1))
		require.ErrorIs(t, n.Request("nvidia.com/gpu.shared", 2), timeslice.ErrOnlyOne)
	})

	t.Run("86 a new name and a selection are honoured or refused, never dropped in silence", func(t *testing.T) {
		t.Parallel()
		text := shared("rename: nvidia.com/gpu.mine", "devices: [0]")
		_, err := pluginconfig.Parse([]byte(text), "")
		require.ErrorIs(t, err, pluginconfig.ErrFormat, "by those who accept no surprise")

		written, err := advertise(t, text, a100s(4), pluginconfig.AsWritten)
		require.NoError(t, err)
		assert.Equal(t, map[string]int{"nvidia.com/gpu.mine": 4, "nvidia.com/gpu": 3}, counts(written))

		plugin, err := advertise(t, text, a100s(4), pluginconfig.AsPlugin)
		require.NoError(t, err)
		assert.Equal(t, map[string]int{"nvidia.com/gpu": 16}, counts(plugin))
	})
}
