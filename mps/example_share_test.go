package mps_test

import (
	"fmt"

	"github.com/gpushare/gpushare/mps"
)

// The device plugin's thirds of an H100 leave 6 SMs to nobody; the fair split of whole
// percentages leaves 2, and counting SMs in place of percentages leaves none.
func ExampleSplitWeighted() {
	h100 := mps.Capacity{Device: "h100-80gb-sxm5", SMs: 132, MemoryMiB: 81559}
	even, err := mps.SplitEven(h100, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("even", even.Clients, even.StrandedSMs)
	for _, bySMs := range []bool{false, true} {
		s, err := mps.SplitWeighted(h100, []int{1, 1, 1}, mps.SplitOptions{BySMs: bySMs})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("fair", s.Clients, s.StrandedSMs)
	}
	// Output:
	// even [{33 42 27186} {33 42 27186} {33 42 27186}] 6
	// fair [{34 44 27187} {34 44 27186} {32 42 27186}] 2
	// fair [{34 44 27187} {34 44 27186} {34 44 27186}] 0
}

func ExampleCapacity_SmallestPercent() {
	h100 := mps.Capacity{SMs: 132}
	percent, err := h100.SmallestPercent(40)
	if err != nil {
		fmt.Println(err)
		return
	}
	sms, err := h100.EffectiveSMs(float64(percent))
	fmt.Println(percent, sms, err)
	_, err = h100.EffectiveSMs(1)
	fmt.Println(err)
	// Output:
	// 31 40 <nil>
	// mps: bad input: a share of no SMs: 1 % of 132 SMs is less than one TPC of 2 SMs
}

func ExampleParseDeviceLimits() {
	limits, err := mps.ParseDeviceLimits("0=4G,1=512M")
	fmt.Println(limits, err)
	_, err = mps.ParseDeviceLimits("0=4G,1=512MB")
	fmt.Println(err)
	// Output:
	// [{0 4096} {1 512}] <nil>
	// entry 2 "1=512MB": mps: bad input: limit "512MB": unit MB: write 512M
}

// A daemon that shows GPUs 0 and 2 numbers them anew: the limit for its second device
// is one for ordinal 1, and an entry for ordinal 2 would drop both.
func ExampleClientEnv_Check() {
	daemon := mps.DaemonView{Devices: []string{"GPU-a0", "GPU-c2"}}
	env, err := mps.ParseClientEnv([]string{"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=4G,2=4G"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, w := range env.Check(daemon) {
		fmt.Println(w)
	}
	// Output:
	// CUDA_MPS_PINNED_DEVICE_MEM_LIMIT: all memory limits dropped: device 2 is none of the 2 that the client sees
}

func ExampleBoundChunks() {
	bound, err := mps.BoundChunks(132, 8)
	fmt.Println(bound.Count, bound.Bound, err)
	asked := mps.Chunks{SMs: 132, Size: 8, Count: 15} // what the daemon lists
	s, err := asked.DivideByWeight([]int{2, 1})
	fmt.Println(s.Partitions, s.StrandedSMs, err)
	// Output:
	// 16 true <nil>
	// [{10 80} {5 40}] 12 <nil>
}

func ExampleFaultDomain() {
	servers := []mps.FaultServer{{
		Name: "all", Devices: []string{"0", "1", "2"},
		Clients: []mps.FaultClient{
			{Name: "train", Devices: []string{"0", "1"}},
			{Name: "serve", Devices: []string{"1"}},
			{Name: "alone", Devices: []string{"2"}},
		},
	}}
	reach, err := mps.FaultDomain(servers, "0")
	fmt.Println(reach[0].Clients, reach[0].Spared, err)
	advice, err := mps.OneServerPerGPU(servers)
	for _, g := range advice[0].Groups {
		fmt.Println(g.Devices, len(g.Clients), err)
	}
	// Output:
	// [train serve] [alone] <nil>
	// [0 1] 2 <nil>
	// [2] 1 <nil>
}

func ExampleNewPlan() {
	s, err := mps.SplitEven(mps.Capacity{Device: "a100-40gb", SMs: 108, MemoryMiB: 40960}, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := mps.NewPlan(mps.PlanOptions{
		UUID: "GPU-8f7e2b1a-0000-1111-2222-333344445555", Split: s,
		Limit:       mps.ClientLimitQuery{ComputeMajor: 8},
		Directories: mps.Directories{Pipe: "/run/mps/gpu0"},
		ClientPipe:  "/mps",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.DefaultPercent, p.DefaultLimits)
	for _, v := range p.Clients[0].Env {
		fmt.Println(v)
	}
	fmt.Println(p.Clients[0].Mounts)
	// Output:
	// 25 [{0 10240}]
	// CUDA_MPS_PIPE_DIRECTORY=/mps
	// CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25
	// CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=10240M
	// [{/run/mps/gpu0 /mps} {/dev/shm /dev/shm}]
}

func ExampleAllocate() {
	clients := []mps.MemoryPartition{
		{Name: "serve", UsedMiB: 10000, SoftMiB: 30000},
		{Name: "batch", UsedMiB: 60000, SoftMiB: 20000},
	}
	a, err := mps.Allocate(81559, clients, 0, 15000)
	fmt.Println(a.Outcome, clients[a.Candidates[0]].Name, err)
	a, err = mps.Allocate(81559, clients, 1, 15000)
	fmt.Println(a.Outcome, err)
	// Output:
	// evicts batch <nil>
	// exhausted <nil>
}
