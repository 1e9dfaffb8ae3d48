package mps_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

// Reports that people filed in public about MPS, with the right answers: those about
// numbers, limits and environments. The numbers are those of the collection.

// TestCasesShares: what a client of an equal split gets.
func TestCasesShares(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		device   mps.Capacity
		k        int
		want     mps.Share
		reserved int64 // MiB of all clients
	}{
		{
			"69 memory is rounded down, never up",
			mps.Capacity{Device: "l40s", SMs: 142, MemoryMiB: 46068},
			10,
			mps.Share{Percent: 10, SMs: 14, MemoryMiB: 4606},
			46060,
		},
		{
			"70 ten clients of a T4 see 4 SMs of 40",
			mps.Capacity{Device: "t4", SMs: 40, MemoryMiB: 15360},
			10,
			mps.Share{Percent: 10, SMs: 4, MemoryMiB: 1536},
			15360,
		},
		{
			"71 a tenth of 80 GiB",
			mps.Capacity{SMs: 132, MemoryMiB: 81920},
			10,
			mps.Share{Percent: 10, SMs: 12, MemoryMiB: 8192},
			81920,
		},
		{
			"81 one client has all",
			mps.Capacity{SMs: 132, MemoryMiB: 81559},
			1,
			mps.Share{Percent: 100, SMs: 132, MemoryMiB: 81559},
			81559,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := mps.SplitEven(c.device, c.k)
			require.NoError(t, err)
			require.Len(t, s.Clients, c.k)
			for _, share := range s.Clients {
				assert.Equal(t, c.want, share)
			}
			assert.Equal(t, c.device.MemoryMiB-c.reserved, s.StrandedMiB)
		})
	}
	for _, c := range []struct {
		name   string
		sms, k int
	}{
		{"A16, 6 clients: 16 % of 10 SMs", 10, 6},
		{"T4, 21 clients: 4 % of 40 SMs", 40, 21},
	} {
		t.Run(c.name+" is less than a TPC", func(t *testing.T) {
			t.Parallel()
			_, err := mps.SplitEven(mps.Capacity{SMs: c.sms}, c.k)
			require.ErrorIs(t, err, mps.ErrNoSMs)
		})
	}
}

// TestCasesLimits: limits as text.
func TestCasesLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []mps.DeviceLimit // nil: refused
		why        string
	}{
		{"71 bytes, MB and no device", "8589934592MB", nil, "want <device>=<limit>"},
		{"71 the form that works", "0=8192M", []mps.DeviceLimit{{"0", 8192}}, ""},
		// The documentation's own example. Programs that worked use G and M only, so it
		// is refused with the right spelling in place of a limit that may not hold.
		{"72 MB beside G", "0=1G,1=512MB", nil, "entry 2 \"1=512MB\": mps: bad input: limit \"512MB\": unit MB: write 512M"},
		{"72 the same in the form that works", "0=1G,1=512M", []mps.DeviceLimit{{"0", 1024}, {"1", 512}}, ""},
		{"72 G and M", "0=8G,1=2048M", []mps.DeviceLimit{{"0", 8192}, {"1", 2048}}, ""},
		{"72 typographic quotes", "”0=1G,1=512MB”", nil, "quotation mark or bracket '”'"},
		{"72 no device", "1G", nil, "entry 1 \"1G\""},
		{"72 no value", "0=", nil, "entry 1 \"0=\""},
		{"72 a device twice", "0=1G,0=2G", nil, "entry 2: device 0"},
		{"72 zero", "0=0", nil, "entry 1 \"0=0\""},
		{"72 negative", "0=-1G", nil, "entry 1 \"0=-1G\""},
		{"72 no ordinal", "a=1G", nil, "entry 1: mps: bad input: device \"a\""},
		{"72 unknown unit", "0=1T", nil, "unit T"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := mps.ParseDeviceLimits(c.text)
			assert.Equal(t, c.want, got)
			if c.want == nil {
				require.ErrorIs(t, err, mps.ErrInput)
				require.ErrorContains(t, err, c.why)
				return
			}
			require.NoError(t, err)
		})
	}
	env, err := mps.ClientEnv{Percent: 10, PinnedLimits: []mps.DeviceLimit{{"0", 85899345920 / 10 >> 20}}}.Env()
	require.NoError(t, err)
	assert.Equal(t, []string{
		"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=10", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=8192M",
	}, env, "71 the environment of one client")
}

// TestCasesDevices: which device a limit is for.
func TestCasesDevices(t *testing.T) {
	t.Parallel()
	t.Run("74 a limit by UUID, and by the ordinal that the daemon shows", func(t *testing.T) {
		t.Parallel()
		gpus := []string{"GPU-00000000-aaaa", "GPU-11111111-aaaa", "GPU-22222222-aaaa"}
		shown, err := mps.VisibleDevices(gpus, "0,2")
		require.NoError(t, err)
		ordinal, err := mps.DeviceOrdinal(shown, gpus[2])
		require.NoError(t, err)
		assert.Equal(t, 1, ordinal, "74 physical 2 behind a daemon with 0,2")

		warnings := mps.ClientEnv{PinnedLimits: []mps.DeviceLimit{{gpus[2], 4606}}}.Check(mps.DaemonView{Devices: shown})
		require.Len(t, warnings, 1)
		assert.Equal(t, mps.MayBeIgnored, warnings[0].Effect, "74 a limit by UUID")
	})
}

func TestCasesReach(t *testing.T) {
	t.Parallel()
	t.Run("75 a limit is one of each process", func(t *testing.T) {
		t.Parallel()
		s, err := mps.SplitEven(mps.Capacity{SMs: 108, MemoryMiB: 40960}, 4)
		require.NoError(t, err)
		pod, err := mps.ReachableMiB(s.Clients[0].MemoryMiB, 2)
		require.NoError(t, err)
		assert.Equal(t, int64(20480), pod, "75 two processes of one pod")
		assert.Equal(t, int64(81920), 4*pod, "75 four such pods on a card of 40960")
	})
}

// TestCasesClients: 76 a V100 is a Volta, whatever the device plugin says.
func TestCasesClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		major        int
		fits, refuse []int
	}{
		{"76 P100", 6, []int{16}, []int{17, 29, 48, 49}},
		{"76 V100 and T4", 7, []int{16, 17, 29, 48}, []int{49}},
		{"76 H100", 9, []int{16, 17, 29, 48}, []int{49}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l, err := mps.MaxClients(mps.ClientLimitQuery{ComputeMajor: c.major})
			require.NoError(t, err)
			for _, n := range c.fits {
				require.NoError(t, l.Check(n))
			}
			for _, n := range c.refuse {
				require.ErrorIs(t, l.Check(n), mps.ErrInput)
			}
		})
	}
}

// TestCasesMIG: 77 a daemon for one MIG instance works, with fewer clients, and says
// that the device plugin will not have it.
func TestCasesMIG(t *testing.T) {
	t.Parallel()
	t.Run("77 a daemon for one MIG instance", func(t *testing.T) {
		t.Parallel()
		s, err := mps.SplitEven(mps.Capacity{Device: "1g.5gb", SMs: 14, MemoryMiB: 4864}, 4)
		require.NoError(t, err)
		p, err := mps.NewPlan(mps.PlanOptions{
			UUID: planMIG, Split: s, Directories: mps.Directories{Pipe: "/run/mps/mig0"},
			Limit: mps.ClientLimitQuery{ComputeMajor: 8, InstanceSize: 1, DeviceSize: 7},
		})
		require.NoError(t, err)
		assert.Contains(t, p.Daemon.Env, "CUDA_VISIBLE_DEVICES="+planMIG)
		assert.Len(t, p.Warnings, 2)

		_, err = mps.SplitEven(mps.Capacity{SMs: 14, MemoryMiB: 4864}, 7)
		require.ErrorIs(t, err, mps.ErrNoSMs, "14 % of 14 SMs is no TPC")
		s, err = mps.SplitWeighted(mps.Capacity{SMs: 14, MemoryMiB: 4864}, []int{1, 1, 1, 1, 1, 1, 1}, mps.SplitOptions{BySMs: true})
		require.NoError(t, err)
		_, err = mps.NewPlan(mps.PlanOptions{
			UUID: planMIG, Split: s, Directories: mps.Directories{Pipe: "/run/mps/mig0"},
			Limit: mps.ClientLimitQuery{ComputeMajor: 8, InstanceSize: 1, DeviceSize: 7},
		})
		require.ErrorIs(t, err, mps.ErrInput, "a seventh of 48 is less than 7")
	})
}
