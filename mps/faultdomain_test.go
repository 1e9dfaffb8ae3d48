package mps_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
)

func TestFaultDomain(t *testing.T) {
	t.Parallel()
	servers := []mps.FaultServer{
		{
			Name: "big", Devices: []string{"0", "1", "2", "3"},
			Clients: []mps.FaultClient{
				{"a", []string{"0"}},
				{"b", []string{"1", "0"}},
				{"c", []string{"2"}},
				{"d", nil},
				{"e", []string{"1"}},
			},
		},
		{Name: "other", Devices: []string{"3"}, Clients: []mps.FaultClient{{"f", []string{"3"}}}},
	}
	for _, c := range []struct {
		device string
		want   []mps.FaultReach
	}{
		{"0", []mps.FaultReach{{"big", []string{"0", "1"}, []string{"a", "b", "e"}, []string{"c", "d"}}}},
		{"1", []mps.FaultReach{{"big", []string{"0", "1"}, []string{"a", "b", "e"}, []string{"c", "d"}}}},
		{"2", []mps.FaultReach{{"big", []string{"2"}, []string{"c"}, []string{"a", "b", "d", "e"}}}},
		{"3", []mps.FaultReach{
			{"big", []string{"3"}, nil, []string{"a", "b", "c", "d", "e"}},
			{"other", []string{"3"}, []string{"f"}, nil},
		}},
	} {
		got, err := mps.FaultDomain(servers, c.device)
		require.NoError(t, err)
		assert.Equal(t, c.want, got, c.device)
	}
	advice, err := mps.OneServerPerGPU(servers)
	require.NoError(t, err)
	assert.Equal(t, []mps.Separation{{
		Server: "big",
		Groups: []mps.FaultServer{
			{"big", []string{"0", "1"}, []mps.FaultClient{{"a", []string{"0"}}, {"b", []string{"1", "0"}}, {"e", []string{"1"}}}},
			{"big", []string{"2"}, []mps.FaultClient{{"c", []string{"2"}}}},
			{"big", []string{"3"}, nil},
		},
		Idle: []string{"d"},
	}}, advice)

	for _, bad := range [][]mps.FaultServer{
		nil,
		{{Name: "s", Devices: []string{"1"}}},
		{{Name: "s", Devices: []string{"0", "0"}}},
		{{Name: "s", Devices: []string{"0"}}, {Name: "s"}},
		{{Name: "s", Devices: []string{"0"}, Clients: []mps.FaultClient{{"a", []string{"1"}}}}},
	} {
		got, err := mps.FaultDomain(bad, "0")
		require.ErrorIs(t, err, mps.ErrInput, "%+v", bad)
		assert.Nil(t, got)
	}
	_, err = mps.OneServerPerGPU([]mps.FaultServer{{Name: "s", Devices: []string{"0", "0"}}})
	require.ErrorIs(t, err, mps.ErrInput)
}

// TestFaultDomainIsReachability compares with spreading until nothing changes, and the
// advice with what it is for: after it a fault makes no device refuse clients but
// those whose clients it reaches anyway.
func TestFaultDomainIsReachability(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := mps.FaultServer{Name: "s"}
		for i := range rapid.IntRange(1, 7).Draw(t, "devices") {
			s.Devices = append(s.Devices, strconv.Itoa(i))
		}
		for i := range rapid.IntRange(0, 7).Draw(t, "clients") {
			s.Clients = append(s.Clients, mps.FaultClient{
				Name:    "c" + strconv.Itoa(i),
				Devices: rapid.SliceOfN(rapid.SampledFrom(s.Devices), 0, 3).Draw(t, "client's devices"),
			})
		}
		device := rapid.SampledFrom(s.Devices).Draw(t, "device")

		hit, spread := map[string]bool{device: true}, true
		for spread {
			spread = false
			for _, c := range s.Clients {
				if slices.ContainsFunc(c.Devices, func(d string) bool { return hit[d] }) {
					for _, d := range c.Devices {
						spread = spread || !hit[d]
						hit[d] = true
					}
				}
			}
		}
		got, err := mps.FaultDomain([]mps.FaultServer{s}, device)
		require.NoError(t, err)
		require.Len(t, got, 1)
		for _, d := range s.Devices {
			require.Equal(t, hit[d], slices.Contains(got[0].Devices, d), d)
		}
		for _, c := range s.Clients {
			reached := len(c.Devices) > 0 && hit[c.Devices[0]]
			require.Equal(t, reached, slices.Contains(got[0].Clients, c.Name), c.Name)
			require.Equal(t, !reached, slices.Contains(got[0].Spared, c.Name), c.Name)
		}

		advice, err := mps.OneServerPerGPU([]mps.FaultServer{s})
		require.NoError(t, err)
		if len(got[0].Devices) == len(s.Devices) {
			require.Empty(t, advice)
			return
		}
		require.Len(t, advice, 1)
		clients, devices := len(advice[0].Idle), 0
		for i, g := range advice[0].Groups {
			clients, devices = clients+len(g.Clients), devices+len(g.Devices)
			for _, d := range g.Devices {
				alone, err := mps.FaultDomain(advice[0].Groups[i:i+1], d)
				require.NoError(t, err)
				require.Equal(t, g.Devices, alone[0].Devices)
				require.Empty(t, alone[0].Spared)
			}
		}
		require.Equal(t, len(s.Clients), clients)
		require.Equal(t, len(s.Devices), devices)
	})
}
