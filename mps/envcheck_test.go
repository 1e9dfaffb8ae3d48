package mps_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
)

func TestClientEnvCheck(t *testing.T) {
	t.Parallel()
	const a, b = "GPU-a0000000", "GPU-b0000000"
	limit := func(device string, mib int64) []mps.DeviceLimit { return []mps.DeviceLimit{{device, mib}} }
	type found struct {
		effect   mps.EnvEffect
		variable string
	}
	const (
		pipe, percent, limits       = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"
		visible, partition, maximum = "CUDA_VISIBLE_DEVICES", "CUDA_MPS_SM_PARTITION", "CUDA_DEVICE_MAX_CONNECTIONS"
	)
	for _, c := range []struct {
		name string
		e    mps.ClientEnv
		d    mps.DaemonView
		want []found
	}{
		{"nothing said, nothing known", mps.ClientEnv{}, mps.DaemonView{}, nil},
		{
			"all is well",
			mps.ClientEnv{PipeDirectory: "/p", Percent: 50, PinnedLimits: limit("1", 1024), VisibleDevices: []string{b, a}},
			mps.DaemonView{
				PipeDirectory: "/p", Devices: []string{a, b}, Percent: 50, PinnedLimits: limit("0", 2048), Capacity: mps.Capacity{SMs: 132},
			},
			nil,
		},
		{
			"protocol 3: a percentage of no SM that does not count",
			mps.ClientEnv{Percent: 1},
			mps.DaemonView{Protocol: 3, Percent: 50, Capacity: mps.Capacity{SMs: 132}},
			[]found{{mps.NoEffect, percent}},
		},
		{
			"protocol 3: the namespace's comes to no SM",
			mps.ClientEnv{Percent: 50},
			mps.DaemonView{Protocol: 3, Percent: 1, Capacity: mps.Capacity{SMs: 132}},
			[]found{{mps.NoContext, percent}, {mps.NoEffect, percent}},
		},
		{"another daemon's directory", mps.ClientEnv{PipeDirectory: "/q"}, mps.DaemonView{PipeDirectory: "/p"}, []found{{mps.WithoutMPS, pipe}}},
		{"no directory", mps.ClientEnv{}, mps.DaemonView{PipeDirectory: "/p"}, []found{{mps.WithoutMPS, pipe}}},

		{
			"a limit on a device that the daemon does not show",
			mps.ClientEnv{PinnedLimits: limit("2", 1)},
			mps.DaemonView{Devices: []string{a, b}},
			[]found{{mps.LimitsDropped, limits}},
		},
		{
			"a limit on a device that the client hides",
			mps.ClientEnv{PinnedLimits: limit("1", 1), VisibleDevices: []string{"1"}},
			mps.DaemonView{Devices: []string{a, b}},
			[]found{{mps.LimitsDropped, limits}},
		},
		{
			"one entry of two",
			mps.ClientEnv{PinnedLimits: []mps.DeviceLimit{{"0", 1}, {"7", 1}}},
			mps.DaemonView{Devices: []string{a}},
			[]found{{mps.LimitsDropped, limits}},
		},
		{
			"by UUID, of a hidden device",
			mps.ClientEnv{PinnedLimits: limit("GPU-a", 1), VisibleDevices: []string{b}},
			mps.DaemonView{},
			[]found{{mps.LimitsDropped, limits}, {mps.MayBeIgnored, limits}},
		},
		{
			"by UUID",
			mps.ClientEnv{PinnedLimits: limit("GPU-a", 1)},
			mps.DaemonView{Devices: []string{a}},
			[]found{{mps.MayBeIgnored, limits}},
		},
		{
			"by UUID, devices not known",
			mps.ClientEnv{PinnedLimits: limit("GPU-a", 1)},
			mps.DaemonView{},
			[]found{{mps.NotKnown, limits}, {mps.MayBeIgnored, limits}},
		},
		{
			"above the server's limit",
			mps.ClientEnv{PinnedLimits: limit("0", 4096), VisibleDevices: []string{b}},
			mps.DaemonView{Devices: []string{a, b}, PinnedLimits: []mps.DeviceLimit{{"0", 8192}, {"1", 2048}}},
			[]found{{mps.NoEffect, limits}},
		},
		{
			"above the server's limit by UUID",
			mps.ClientEnv{PinnedLimits: limit("0", 4096)},
			mps.DaemonView{Devices: []string{a}, PinnedLimits: limit(a, 2048)},
			[]found{{mps.NoEffect, limits}},
		},

		{
			"the daemon's ordinals again",
			mps.ClientEnv{VisibleDevices: []string{"0", "2"}, PinnedLimits: limit("1", 1)},
			mps.DaemonView{Devices: []string{a, b}},
			[]found{{mps.NoContext, visible}},
		},
		{
			"ordinals of what is not known",
			mps.ClientEnv{VisibleDevices: []string{"0"}, PinnedLimits: limit("1", 1)},
			mps.DaemonView{},
			[]found{{mps.NotKnown, visible}, {mps.LimitsDropped, limits}},
		},
		{
			"no device at all",
			mps.ClientEnv{VisibleDevices: []string{}, PinnedLimits: limit("0", 1)},
			mps.DaemonView{},
			[]found{{mps.NoContext, visible}, {mps.LimitsDropped, limits}},
		},

		{"no SMs", mps.ClientEnv{Percent: 1}, mps.DaemonView{Capacity: mps.Capacity{SMs: 132}}, []found{{mps.NoContext, percent}}},
		{
			"no SMs by the server's cap",
			mps.ClientEnv{Percent: 50},
			mps.DaemonView{Percent: 1, Capacity: mps.Capacity{SMs: 132}},
			[]found{{mps.NoContext, percent}, {mps.NoEffect, percent}},
		},
		{"above the server's percentage", mps.ClientEnv{Percent: 60}, mps.DaemonView{Percent: 50}, []found{{mps.NoEffect, percent}}},
		{"below a namespace's percentage", mps.ClientEnv{Percent: 40}, mps.DaemonView{Protocol: 3, Percent: 50}, []found{{mps.NoEffect, percent}}},
		{"a fraction", mps.ClientEnv{Percent: 12.5}, mps.DaemonView{}, []found{{mps.NotKnown, percent}}},

		{"no partition", mps.ClientEnv{}, mps.DaemonView{Static: true}, []found{{mps.NoContext, partition}}},
		{
			"a percentage beside a partition",
			mps.ClientEnv{Percent: 1, SMPartition: mps.PartitionID{Device: "GPU-a", ID: "xyz"}},
			mps.DaemonView{Static: true, Devices: []string{a}, Capacity: mps.Capacity{SMs: 132}},
			[]found{{mps.NoEffect, percent}},
		},
		{
			"a partition of a hidden device",
			mps.ClientEnv{SMPartition: mps.PartitionID{Device: "GPU-b", ID: "xyz"}},
			mps.DaemonView{Static: true, Devices: []string{a}},
			[]found{{mps.NotKnown, partition}},
		},
		{
			"a partition of a daemon without",
			mps.ClientEnv{SMPartition: mps.PartitionID{Device: "GPU-a", ID: "xyz"}},
			mps.DaemonView{Protocol: 2},
			[]found{{mps.NotKnown, partition}},
		},
		{"partitions need no flag with protocol 3", mps.ClientEnv{SMPartition: mps.PartitionID{Device: "GPU-a", ID: "xyz"}}, mps.DaemonView{Protocol: 3}, nil},

		{"connections as by default", mps.ClientEnv{MaxConnections: 2}, mps.DaemonView{}, nil},
		{"more connections", mps.ClientEnv{MaxConnections: 3}, mps.DaemonView{}, []found{{mps.FewerClients, maximum}}},
		{
			"other variables",
			mps.ClientEnv{Other: []string{"CUDA_MPS_DEVICE_MEM_LIMIT"}},
			mps.DaemonView{},
			[]found{{mps.NotKnown, "CUDA_MPS_DEVICE_MEM_LIMIT"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := c.e.Env()
			require.NoError(t, err, "the environment is valid")
			var got []found
			for _, w := range c.e.Check(c.d) {
				got = append(got, found{w.Effect, w.Variable})
				assert.NotEmpty(t, w.Text)
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// TestLimitsDroppedExactly: the warning is there exactly if an entry names a device
// that the client does not see.
func TestLimitsDroppedExactly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := genUUIDs(t, 1, 6)
		shown := all[:rapid.IntRange(1, len(all)).Draw(t, "shown")]
		seen := shown
		e := mps.ClientEnv{}
		if rapid.Bool().Draw(t, "client chooses") {
			seen = shown[rapid.IntRange(0, len(shown)-1).Draw(t, "from"):]
			e.VisibleDevices = seen
		}
		dropped := false
		used := map[string]bool{}
		for range rapid.IntRange(1, 3).Draw(t, "entries") {
			at := rapid.IntRange(0, len(all)-1).Draw(t, "entry")
			key, hidden := rapid.SampledFrom([]string{"0", "1", "2", "5"}).Draw(t, "ordinal"), false
			if rapid.Bool().Draw(t, "by UUID") {
				key, hidden = all[at], true
				for _, s := range seen {
					hidden = hidden && s != key
				}
			} else {
				hidden = int(key[0]-'0') >= len(seen)
			}
			if !used[key] {
				used[key] = true
				e.PinnedLimits = append(e.PinnedLimits, mps.DeviceLimit{Device: key, MiB: 1})
				dropped = dropped || hidden
			}
		}
		warned := false
		for _, w := range e.Check(mps.DaemonView{Devices: shown}) {
			warned = warned || w.Effect == mps.LimitsDropped
		}
		require.Equal(t, dropped, warned)
	})
}

func TestEnvWarningString(t *testing.T) {
	t.Parallel()
	w := mps.EnvWarning{Effect: mps.LimitsDropped, Variable: "X", Text: "why"}
	assert.Equal(t, "X: all memory limits dropped: why", w.String())
	assert.Equal(t, "EnvEffect(99)", mps.EnvEffect(99).String())
	assert.Equal(t, "not known", mps.NotKnown.String())
}
