package pluginconfig_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/timeslice/pluginconfig"
)

func TestLabels(t *testing.T) {
	t.Parallel()
	const gpu = "nvidia.com/gpu"
	some := cut(a100s(3), "1g.10gb+me")
	some[2] = a100s(1)[0]
	two := a100s(2)
	two[1].Product = "Tesla T4"
	for _, test := range []struct {
		name, text string
		inv        pluginconfig.Inventory
		want       map[string]string
		remarks    int
	}{
		{"nothing", "", nil, map[string]string{}, 0},
		{"not shared", "", a100s(2), map[string]string{
			gpu + ".product": "NVIDIA-A100-SXM4-80GB", gpu + ".count": "2", gpu + ".replicas": "1", gpu + ".sharing-strategy": "none",
			gpu + ".memory": "81920", gpu + ".family": "ampere", gpu + ".compute.major": "8", gpu + ".compute.minor": "0",
			"nvidia.com/mig.capable": "true", "nvidia.com/mps.capable": "false",
		}, 0},
		{"shared", shared(), a100s(2), map[string]string{
			gpu + ".product": "NVIDIA-A100-SXM4-80GB-SHARED", gpu + ".count": "2", gpu + ".replicas": "4", gpu + ".sharing-strategy": "time-slicing",
			gpu + ".memory": "81920", gpu + ".family": "ampere", gpu + ".compute.major": "8", gpu + ".compute.minor": "0",
			"nvidia.com/mig.capable": "true", "nvidia.com/mps.capable": "false",
		}, 0},
		{"renamed", strings.Replace(shared(), "    resources", "    renameByDefault: true\n    resources", 1), pluginconfig.Inventory{{Product: "GeForce (R) RTX  2080"}}, map[string]string{
			gpu + ".product": "GeForce-R-RTX-2080", gpu + ".count": "1", gpu + ".replicas": "4", gpu + ".sharing-strategy": "time-slicing",
			"nvidia.com/mig.capable": "false", "nvidia.com/mps.capable": "false",
		}, 0},
		{"no product known", shared(), pluginconfig.Inventory{{}}, map[string]string{
			gpu + ".count": "1", gpu + ".replicas": "4", gpu + ".sharing-strategy": "time-slicing",
			"nvidia.com/mig.capable": "false", "nvidia.com/mps.capable": "false",
		}, 0},
		{"no product known, single", "flags: {migStrategy: single}\n", pluginconfig.Inventory{{MIGCapable: true, MIGEnabled: true, MIG: []pluginconfig.MIGDevice{{Profile: "1g.10gb"}}}}, map[string]string{
			gpu + ".count": "1", gpu + ".replicas": "1", gpu + ".sharing-strategy": "none",
			"nvidia.com/mig.capable": "true", "nvidia.com/mig.strategy": "single", "nvidia.com/mps.capable": "false",
		}, 0},
		{"MPS", strings.Replace(shared(), "timeSlicing", "mps", 1), pluginconfig.Inventory{{Product: "Tesla T4", Capability: "7.5"}}, map[string]string{
			gpu + ".product": "Tesla-T4-SHARED", gpu + ".count": "1", gpu + ".replicas": "4", gpu + ".sharing-strategy": "mps",
			gpu + ".family": "turing", gpu + ".compute.major": "7", gpu + ".compute.minor": "5",
			"nvidia.com/mig.capable": "false", "nvidia.com/mps.capable": "true",
		}, 0},
		{"MPS with MIG on", strings.Replace(shared(), "timeSlicing", "mps", 1), cut(a100s(1)), map[string]string{}, 1},
		{"MIG on without a strategy: sharing is not looked at", shared(), cut(a100s(1)), map[string]string{
			gpu + ".product": "NVIDIA-A100-SXM4-80GB", gpu + ".count": "1", gpu + ".replicas": "0", gpu + ".sharing-strategy": "none",
			gpu + ".memory": "81920", gpu + ".family": "ampere", gpu + ".compute.major": "8", gpu + ".compute.minor": "0",
			"nvidia.com/mig.capable": "true", "nvidia.com/mps.capable": "false",
		}, 0},
		{"single", "flags: {migStrategy: single}\n" + shared(), cut(a100s(2), "1g.10gb+me"), map[string]string{
			gpu + ".product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb.me-SHARED", gpu + ".count": "2", gpu + ".replicas": "4", gpu + ".sharing-strategy": "time-slicing",
			gpu + ".memory": "9728", gpu + ".family": "ampere", gpu + ".compute.major": "8", gpu + ".compute.minor": "0",
			"nvidia.com/mig.capable": "true", "nvidia.com/mig.strategy": "single", "nvidia.com/mps.capable": "false",
		}, 0},
		{"mixed", "flags: {migStrategy: mixed}\n" + shared(), some, map[string]string{
			gpu + ".product": "NVIDIA-A100-SXM4-80GB-SHARED", gpu + ".count": "3", gpu + ".replicas": "4", gpu + ".sharing-strategy": "time-slicing",
			gpu + ".memory": "81920", gpu + ".family": "ampere", gpu + ".compute.major": "8", gpu + ".compute.minor": "0",
			"nvidia.com/mig-1g.10gb.me.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb.me", "nvidia.com/mig-1g.10gb.me.count": "2",
			"nvidia.com/mig-1g.10gb.me.replicas": "1", "nvidia.com/mig-1g.10gb.me.sharing-strategy": "none", "nvidia.com/mig-1g.10gb.me.memory": "9728",
			"nvidia.com/mig.capable": "true", "nvidia.com/mig.strategy": "mixed", "nvidia.com/mps.capable": "false",
		}, 0},
		{"two products", "", two, map[string]string{
			gpu + ".product": "NVIDIA-A100-SXM4-80GB", gpu + ".count": "1", gpu + ".replicas": "1", gpu + ".sharing-strategy": "none",
			gpu + ".memory": "81920", gpu + ".family": "ampere", gpu + ".compute.major": "8", gpu + ".compute.minor": "0",
			"nvidia.com/mig.capable": "true", "nvidia.com/mps.capable": "false",
		}, 1},
		{"an entry for nothing", strings.Replace(shared(), "nvidia.com/gpu", "nvidia.com/gpus", 1), pluginconfig.Inventory{{Product: "x"}}, map[string]string{
			gpu + ".product": "x", gpu + ".count": "1", gpu + ".replicas": "1", gpu + ".sharing-strategy": "none",
			"nvidia.com/mig.capable": "false", "nvidia.com/mps.capable": "false",
		}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n, err := advertise(t, test.text, test.inv, pluginconfig.AsPlugin)
			require.NoError(t, err)
			assert.Equal(t, test.want, n.Labels)
			assert.Len(t, n.Remarks, test.remarks, "%q", n.Remarks)
		})
	}
}

func TestFamilies(t *testing.T) {
	t.Parallel()
	families := map[string]bool{}
	for capability, want := range map[string]string{
		"5.2": "maxwell", "6.0": "pascal", "7.0": "volta", "7.2": "volta", "7.5": "turing", "8.0": "ampere", "8.6": "ampere",
		"8.9": "ada-lovelace", "9.0": "hopper", "10.0": "blackwell", "12.0": "blackwell", "11.0": "undefined", "1.3": "tesla", "2.0": "fermi", "3.5": "kepler", "13.0": "rubin",
	} {
		n, err := pluginconfig.Advertise(nil, pluginconfig.Inventory{{Product: "x", Capability: capability}}, pluginconfig.AsPlugin)
		require.NoError(t, err)
		assert.Equal(t, want, n.Labels["nvidia.com/gpu.family"], capability)
		families[want] = true
	}
	assert.Len(t, families, 13)
}
