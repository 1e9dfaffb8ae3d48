package timeslice_test

import (
	"fmt"

	"github.com/gpushare/gpushare/timeslice"
)

// Two replicas are two GPUs, or the request is refused.
func ExampleAllocate() {
	devices := []timeslice.Device{{UUID: "GPU-a", Replicas: 4}, {UUID: "GPU-b", Replicas: 4}}
	available := []timeslice.Replica{{"GPU-a", 0}, {"GPU-a", 1}, {"GPU-a", 2}, {"GPU-b", 3}}
	for _, policy := range []timeslice.Policy{timeslice.Distributed, timeslice.Packed, timeslice.Distinct} {
		got, err := timeslice.Allocate(devices, timeslice.Request{Policy: policy, Size: 2, Available: available})
		fmt.Println(policy, got, timeslice.DevicesOf(got), err)
	}
	_, err := timeslice.Allocate(devices, timeslice.Request{
		Policy: timeslice.Distinct, Size: 2, Available: available[:3],
	})
	fmt.Println(err)
	// Output:
	// distributed [GPU-a::0 GPU-a::1] [GPU-a] <nil>
	// packed [GPU-b::3 GPU-a::0] [GPU-b GPU-a] <nil>
	// distinct [GPU-a::0 GPU-b::3] [GPU-a GPU-b] <nil>
	// timeslice: replicas of one GPU: 2 asked for, available ones are on 1
}

// Nothing keeps processes from each other's memory but admission by their peaks.
func ExampleLedger() {
	devices := []timeslice.Device{{UUID: "GPU-a", Memory: 81559, Replicas: 4}}
	ledger, err := timeslice.NewLedger(devices, timeslice.Memory{Context: 500, Reserved: 600})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, peak := range []int64{30000, 40000, 12000} {
		fmt.Println(ledger.Admit(timeslice.Tenant{
			Name: fmt.Sprint("job-", i), Replicas: []timeslice.Replica{{"GPU-a", i}}, Peak: peak,
		}))
	}
	ledger.Release("job-0")
	fmt.Println(ledger.Usage()[0].Free(), "MiB free")
	// Output:
	// <nil>
	// <nil>
	// timeslice: memory does not suffice: tenant "job-2" on GPU-a: no room: needs 83500 MiB of 80959
	// 40459 MiB free
}
