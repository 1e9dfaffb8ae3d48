package timeslice_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	all, err := timeslice.Expand([]timeslice.Device{
		{UUID: "GPU-1", Replicas: 2}, {UUID: "GPU-2"}, {UUID: "MIG-GPU-3/1/0", Parent: "GPU-3", Replicas: 1},
	})
	require.NoError(t, err)
	ids := []string{}
	for _, r := range all {
		ids = append(ids, r.String())
	}
	assert.Equal(t, []string{"GPU-1::0", "GPU-1::1", "GPU-2", "MIG-GPU-3/1/0::0"}, ids)
}

func TestExpandRefuses(t *testing.T) {
	t.Parallel()
	for name, devices := range map[string][]timeslice.Device{
		"no UUID":            {{Replicas: 1}},
		"sign in a UUID":     {{UUID: "GPU-1::0", Replicas: 1}},
		"half a sign":        {{UUID: "GPU-1:", Replicas: 1}},
		"twice":              {{UUID: "GPU-1"}, {UUID: "GPU-1"}},
		"negative":           {{UUID: "GPU-1", Replicas: -1}},
		"negative memory":    {{UUID: "GPU-1", Memory: -1}},
		"its own parent":     {{UUID: "GPU-1", Parent: "GPU-1"}},
		"part of a part":     {{UUID: "MIG-2", Parent: "MIG-1"}, {UUID: "MIG-1", Parent: "GPU-1"}},
		"too many":           {{UUID: "GPU-1", Replicas: timeslice.MaxReplicas}, {UUID: "GPU-2"}},
		"too many by far":    {{UUID: "GPU-1", Replicas: 5}, {UUID: "GPU-2", Replicas: int(^uint(0) >> 1)}},
		"more than too many": {{UUID: "GPU-1", Replicas: timeslice.MaxReplicas}, {UUID: "GPU-2", Replicas: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, err := timeslice.Expand(devices)
			require.ErrorIs(t, err, timeslice.ErrInput)
			assert.Nil(t, all)
		})
	}
}

// Every id that Expand makes is read back, and they differ.
func TestExpandRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all, err := timeslice.Expand(genDevices(t))
		require.NoError(t, err)
		seen := map[string]bool{}
		for _, r := range all {
			back, err := timeslice.ParseReplica(r.String())
			require.NoError(t, err)
			require.Equal(t, r, back)
			require.False(t, seen[r.String()])
			seen[r.String()] = true
		}
	})
}

func TestParseReplica(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]timeslice.Replica{
		"GPU-1::0":      {Device: "GPU-1", N: 0},
		"GPU-1::12":     {Device: "GPU-1", N: 12},
		"GPU-1":         {Device: "GPU-1", N: timeslice.Whole},
		"MIG-GPU-1/0/3": {Device: "MIG-GPU-1/0/3", N: timeslice.Whole},
		"0:1":           {Device: "0:1", N: timeslice.Whole},
	} {
		got, err := timeslice.ParseReplica(id)
		require.NoError(t, err, id)
		assert.Equal(t, want, got)
	}
	for _, id := range []string{
		"", "::", "::1", "GPU-1::", "GPU-1::-1", "GPU-1::+1", "GPU-1::01", "GPU-1::1::2", "GPU-1::x", "GPU-1:: 1",
		"GPU-1:::1", "GPU-1::99999999999999999999",
	} {
		got, err := timeslice.ParseReplica(id)
		require.ErrorIs(t, err, timeslice.ErrInput, id)
		assert.Zero(t, got)
	}
}

func FuzzParseReplica(f *testing.F) {
	for _, id := range []string{"GPU-1::0", "GPU-1", "::", "a:::1", "a::1::2", "a::-0"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		r, err := timeslice.ParseReplica(id)
		if err != nil {
			require.ErrorIs(t, err, timeslice.ErrInput)
			require.Zero(t, r)
			return
		}
		require.Equal(t, id, r.String())
	})
}

func TestDevicesOf(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"GPU-2", "GPU-1"}, timeslice.DevicesOf(replicas(t, "GPU-2::3", "GPU-1::0", "GPU-2::1", "GPU-1::7")))
	assert.Empty(t, timeslice.DevicesOf(nil))
}

func TestDomains(t *testing.T) {
	t.Parallel()
	devices := []timeslice.Device{
		{UUID: "GPU-1", Replicas: 4},
		{UUID: "MIG-a", Parent: "GPU-2", Replicas: 2},
		{UUID: "MIG-b", Parent: "GPU-2", Replicas: 2},
	}
	held := replicas(t, "MIG-b::1", "GPU-1::3", "MIG-a::0", "GPU-1::0")
	domains, err := timeslice.Domains(devices, held)
	require.NoError(t, err)
	assert.Equal(t, []timeslice.Domain{
		{Device: "GPU-1", GPU: "GPU-1", Replicas: replicas(t, "GPU-1::0", "GPU-1::3")},
		{Device: "MIG-a", GPU: "GPU-2", Replicas: replicas(t, "MIG-a::0")},
		{Device: "MIG-b", GPU: "GPU-2", Replicas: replicas(t, "MIG-b::1")},
	}, domains)

	for _, test := range []struct {
		at    string
		reach timeslice.Reach
		want  []string
	}{
		{"GPU-1::0", timeslice.ReachDevice, []string{"GPU-1::3", "GPU-1::0"}},
		{"GPU-1::2", timeslice.ReachGPU, []string{"GPU-1::3", "GPU-1::0"}}, // not in use itself
		{"MIG-a::0", timeslice.ReachDevice, []string{"MIG-a::0"}},
		{"MIG-a::0", timeslice.ReachGPU, []string{"MIG-b::1", "MIG-a::0"}},
	} {
		got, err := timeslice.Affected(devices, held, replicas(t, test.at)[0], test.reach)
		require.NoError(t, err)
		assert.Equal(t, replicas(t, test.want...), got, "%s", test.at)
	}

	_, err = timeslice.Domains(devices, replicas(t, "GPU-1::0", "GPU-1::0"))
	require.ErrorIs(t, err, timeslice.ErrInput)
	_, err = timeslice.Affected(devices, held, replicas(t, "GPU-1")[0], timeslice.ReachDevice)
	require.ErrorIs(t, err, timeslice.ErrInput)
	_, err = timeslice.Affected(devices, replicas(t, "GPU-9"), replicas(t, "GPU-1::0")[0], timeslice.ReachDevice)
	require.ErrorIs(t, err, timeslice.ErrInput)
	for _, f := range []func([]timeslice.Device) error{
		func(d []timeslice.Device) error { _, err := timeslice.Domains(d, nil); return err },
		func(d []timeslice.Device) error {
			_, err := timeslice.Affected(d, nil, timeslice.Replica{}, timeslice.ReachGPU)
			return err
		},
	} {
		require.ErrorIs(t, f([]timeslice.Device{{}}), timeslice.ErrInput)
	}
}
