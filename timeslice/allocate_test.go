package timeslice_test

import (
	"fmt"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice"
)

// allocateByHand is the device plugin's way: sort all candidates again for every
// pick, with keys for what it leaves to chance.
func allocateByHand(devices []timeslice.Device, req timeslice.Request) ([]timeslice.Replica, error) {
	position, gpu := map[string]int{}, map[string]string{}
	for i, d := range devices {
		position[d.UUID], gpu[d.UUID] = i, d.GPU()
	}
	if req.Size > len(req.Available) {
		return nil, timeslice.ErrNotEnough
	}
	var candidates []timeslice.Replica
	for _, r := range req.Available {
		if !slices.Contains(req.Must, r) {
			candidates = append(candidates, r)
		}
	}
	chosen := slices.Clone(req.Must)
	onGPU := func(g string) (n int) {
		for _, r := range chosen {
			if gpu[r.Device] == g {
				n++
			}
		}
		return n
	}
	for _, r := range req.Must {
		if req.Policy == timeslice.Distinct && onGPU(gpu[r.Device]) > 1 {
			return nil, timeslice.ErrSameGPU
		}
	}
	// inUse counts what is neither available nor left, over devices of which a
	// key is the given one.
	inUse := func(key func(string) string, of string) int {
		n := 0
		for _, d := range devices {
			if key(d.UUID) == of {
				n += max(d.Replicas, 1)
			}
		}
		for _, r := range candidates {
			if key(r.Device) == of {
				n--
			}
		}
		return n
	}
	self := func(uuid string) string { return uuid }
	parent := func(uuid string) string { return gpu[uuid] }
	picks := func(uuid string) (n int) {
		for _, r := range chosen {
			if r.Device == uuid {
				n++
			}
		}
		return n
	}
	for len(chosen) < req.Size {
		var open []timeslice.Replica
		for _, r := range candidates {
			if req.Policy != timeslice.Distinct || onGPU(gpu[r.Device]) == 0 {
				open = append(open, r)
			}
		}
		if len(open) == 0 {
			return nil, timeslice.ErrSameGPU
		}
		key := func(r timeslice.Replica) []int {
			use := inUse(self, r.Device)
			first := 0
			switch req.Policy {
			case timeslice.Packed:
				use = -use
			case timeslice.Distinct:
				first = inUse(parent, gpu[r.Device])
			case timeslice.Distributed:
			}
			return []int{first, use, picks(r.Device), position[r.Device], r.N}
		}
		sort.Slice(open, func(i, j int) bool { return slices.Compare(key(open[i]), key(open[j])) < 0 })
		chosen = append(chosen, open[0])
		candidates = slices.DeleteFunc(candidates, func(r timeslice.Replica) bool { return r == open[0] })
	}
	if req.OnlyOne && len(chosen) > 1 && slices.ContainsFunc(chosen, timeslice.Replica.Shared) {
		return nil, timeslice.ErrOnlyOne
	}
	return chosen, nil
}

func TestAllocateMatchesSorting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		devices := genDevices(t)
		all, err := timeslice.Expand(devices)
		require.NoError(t, err)
		req := genRequest(t, all)
		want, wantErr := allocateByHand(devices, req)
		got, err := timeslice.Allocate(devices, req)
		if wantErr != nil {
			require.ErrorIs(t, err, wantErr)
			require.Nil(t, got)
			return
		}
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func TestAllocatePromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		devices := genDevices(t)
		all, err := timeslice.Expand(devices)
		require.NoError(t, err)
		req := genRequest(t, all)
		before := slices.Clone(req.Available)
		got, err := timeslice.Allocate(devices, req)
		require.Equal(t, before, req.Available, "the request is not touched")

		shuffled := req
		if len(req.Available) > 0 {
			shuffled.Available = rapid.Permutation(req.Available).Draw(t, "other order")
		}
		again, errAgain := timeslice.Allocate(devices, shuffled)
		require.Equal(t, got, again)
		require.Equal(t, err == nil, errAgain == nil)
		if err != nil {
			return
		}
		require.Len(t, got, req.Size)
		require.True(t, slices.Equal(req.Must, got[:len(req.Must)]))
		gpus := map[string]bool{}
		for i, r := range got {
			require.Contains(t, req.Available, r)
			require.NotContains(t, got[:i], r)
			at := slices.IndexFunc(devices, func(d timeslice.Device) bool { return d.UUID == r.Device })
			gpus[devices[at].GPU()] = true
		}
		if req.Policy == timeslice.Distinct {
			require.Len(t, gpus, req.Size, "two replicas mean two GPUs")
		}
	})
}

// A refusal of Distinct is right: no choice of the available replicas would do.
func TestDistinctRefusesOnlyWhatCannotBe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		devices := genDevices(t)
		all, err := timeslice.Expand(devices)
		require.NoError(t, err)
		req := genRequest(t, all)
		req.Policy, req.OnlyOne, req.Must = timeslice.Distinct, false, nil
		gpus := map[string]bool{}
		for _, r := range req.Available {
			at := slices.IndexFunc(devices, func(d timeslice.Device) bool { return d.UUID == r.Device })
			gpus[devices[at].GPU()] = true
		}
		_, err = timeslice.Allocate(devices, req)
		require.Equal(t, len(gpus) >= req.Size, err == nil, "%v", err)
	})
}

func TestAllocateTable(t *testing.T) {
	t.Parallel()
	two := []timeslice.Device{{UUID: "GPU-0", Replicas: 4}, {UUID: "GPU-1", Replicas: 4}}
	instances := []timeslice.Device{
		{UUID: "MIG-a", Parent: "GPU-0", Replicas: 2},
		{UUID: "MIG-b", Parent: "GPU-0", Replicas: 2},
		{UUID: "MIG-c", Parent: "GPU-1", Replicas: 2},
	}
	for _, test := range []struct {
		name      string
		devices   []timeslice.Device
		policy    timeslice.Policy
		available []string
		must      []string
		size      int
		want      []string
		err       error
	}{
		{
			name: "distributed alternates", devices: two, size: 3,
			available: []string{"GPU-0::0", "GPU-0::1", "GPU-0::2", "GPU-0::3", "GPU-1::0", "GPU-1::1", "GPU-1::2", "GPU-1::3"},
			want:      []string{"GPU-0::0", "GPU-1::0", "GPU-0::1"},
		},
		{
			name: "packed fills the fuller one", devices: two, policy: timeslice.Packed, size: 2,
			available: []string{"GPU-0::0", "GPU-0::1", "GPU-0::2", "GPU-0::3", "GPU-1::1", "GPU-1::2", "GPU-1::3"},
			want:      []string{"GPU-1::1", "GPU-1::2"},
		},
		{
			name: "distributed gives one GPU twice where it is the emptier one", devices: two, size: 2,
			available: []string{"GPU-0::0", "GPU-0::1", "GPU-0::2", "GPU-0::3", "GPU-1::3"},
			want:      []string{"GPU-0::0", "GPU-0::1"},
		},
		{
			name: "distinct does not", devices: two, policy: timeslice.Distinct, size: 2,
			available: []string{"GPU-0::0", "GPU-0::1", "GPU-0::2", "GPU-0::3", "GPU-1::3"},
			want:      []string{"GPU-0::0", "GPU-1::3"},
		},
		{
			name: "distinct refuses", devices: two, policy: timeslice.Distinct, size: 2,
			available: []string{"GPU-0::0", "GPU-0::1", "GPU-0::2"}, err: timeslice.ErrSameGPU,
		},
		{
			name: "distinct refuses what must be on one GPU", devices: two, policy: timeslice.Distinct, size: 2,
			available: []string{"GPU-0::0", "GPU-0::1", "GPU-1::0"}, must: []string{"GPU-0::0", "GPU-0::1"}, err: timeslice.ErrSameGPU,
		},
		{
			name: "two instances of one GPU are one GPU", devices: instances, policy: timeslice.Distinct, size: 2,
			available: []string{"MIG-a::0", "MIG-b::0"}, err: timeslice.ErrSameGPU,
		},
		{
			name: "instances of two GPUs", devices: instances, policy: timeslice.Distinct, size: 2,
			available: []string{"MIG-b::1", "MIG-a::0", "MIG-c::1"}, want: []string{"MIG-c::1", "MIG-a::0"},
		},
		{
			name: "must counts as chosen", devices: two, size: 2,
			available: []string{"GPU-0::0", "GPU-0::1", "GPU-0::2", "GPU-1::1", "GPU-1::2"}, must: []string{"GPU-1::2"},
			want: []string{"GPU-1::2", "GPU-0::0"},
		},
		{name: "nothing asked for", devices: two, want: []string{}},
		{name: "not enough", devices: two, size: 2, available: []string{"GPU-1::2"}, err: timeslice.ErrNotEnough},
		{name: "no such device", devices: two, size: 1, available: []string{"GPU-2::0"}, err: timeslice.ErrInput},
		{name: "no such replica", devices: two, size: 1, available: []string{"GPU-0::4"}, err: timeslice.ErrInput},
		{name: "whole of a shared device", devices: two, size: 1, available: []string{"GPU-0"}, err: timeslice.ErrInput},
		{name: "available twice", devices: two, size: 1, available: []string{"GPU-0::0", "GPU-0::0"}, err: timeslice.ErrInput},
		{name: "must is not available", devices: two, size: 1, available: []string{"GPU-0::0"}, must: []string{"GPU-0::1"}, err: timeslice.ErrInput},
		{name: "must is more than asked for", devices: two, available: []string{"GPU-0::0"}, must: []string{"GPU-0::0"}, err: timeslice.ErrInput},
		{name: "negative", devices: two, size: -1, err: timeslice.ErrInput},
		{name: "unknown policy", devices: two, policy: 7, err: timeslice.ErrInput},
		{name: "device twice", devices: []timeslice.Device{{UUID: "a"}, {UUID: "a"}}, err: timeslice.ErrInput},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := timeslice.Allocate(test.devices, timeslice.Request{
				Policy: test.policy, Size: test.size,
				Available: replicas(t, test.available...), Must: replicas(t, test.must...),
			})
			if test.err != nil {
				require.ErrorIs(t, err, test.err)
				assert.Nil(t, got)
				return
			}
			require.NoError(t, err)
			ids := []string{}
			for _, r := range got {
				ids = append(ids, r.String())
			}
			assert.Equal(t, test.want, ids)
		})
	}
}

func replicas(t require.TestingT, ids ...string) []timeslice.Replica {
	if h, ok := t.(interface{ Helper() }); ok {
		h.Helper()
	}
	var all []timeslice.Replica
	for _, id := range ids {
		r, err := timeslice.ParseReplica(id)
		require.NoError(t, err)
		all = append(all, r)
	}
	return all
}

func TestPolicyNames(t *testing.T) {
	t.Parallel()
	for _, p := range []timeslice.Policy{timeslice.Distributed, timeslice.Packed, timeslice.Distinct} {
		back, err := timeslice.ParsePolicy(p.String())
		require.NoError(t, err)
		assert.Equal(t, p, back)
	}
	_, err := timeslice.ParsePolicy("Packed")
	require.ErrorIs(t, err, timeslice.ErrInput)
	assert.Equal(t, "policy(9)", timeslice.Policy(9).String())
}

func BenchmarkAllocate(b *testing.B) {
	devices := make([]timeslice.Device, 8)
	for i := range devices {
		devices[i] = timeslice.Device{UUID: fmt.Sprintf("GPU-%d", i), Replicas: 16}
	}
	all, err := timeslice.Expand(devices)
	require.NoError(b, err)
	req := timeslice.Request{Available: all, Size: 8}
	for _, way := range []struct {
		name string
		run  func([]timeslice.Device, timeslice.Request) ([]timeslice.Replica, error)
	}{{"counts", timeslice.Allocate}, {"oracle", allocateByHand}} {
		b.Run("way="+way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := way.run(devices, req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
