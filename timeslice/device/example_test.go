package device_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/timeslice"
	"github.com/gpushare/gpushare/timeslice/device"
)

// exampleHost is a vGPU host without hardware. On hardware the library is
// nvml.New().
func exampleHost() (*nvmlfake.Server, nvml.Interface, nvml.Device, error) {
	srv, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a100-40gb", VGPUHost: true}}})
	if err != nil {
		return nil, nil, nil, err
	}
	lib := srv.NVML()
	if ret := lib.Init(); ret != nvml.SUCCESS {
		return nil, nil, nil, ret
	}
	dev, ret := lib.DeviceGetHandleByIndex(0)
	if ret != nvml.SUCCESS {
		return nil, nil, nil, ret
	}
	return srv, lib, dev, nil
}

// A GPU's vGPUs get equal shares, 480 turns a second. While one of them runs the
// setting stays.
func Example() {
	srv, lib, dev, err := exampleHost()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	s, err := device.Open(ctx, lib, dev)
	if err != nil {
		fmt.Println(err)
		return
	}
	equal := timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare, ARR: timeslice.ARROn, Frequency: 480}
	st, err := s.Set(ctx, timeslice.EngineGraphics, equal)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(st)

	if _, err := srv.RunVGPU(0, "vm-1"); err != nil { // somebody starts a virtual machine
		fmt.Println(err)
		return
	}
	if st, err = s.State(ctx, timeslice.EngineGraphics); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(st)
	_, err = s.Set(ctx, timeslice.EngineGraphics, timeslice.VGPUScheduler{Policy: timeslice.VGPUBestEffort})
	fmt.Println("a vGPU runs:", errors.Is(err, device.ErrNotSettable))
	// Output:
	// equal-share
	// equal-share arr=on factor=33 slice=2.083333ms
	// a vGPU runs: true
}

// Who ran how long, from the log.
func ExampleScheduler_Follow() {
	srv, lib, dev, err := exampleHost()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := device.Open(ctx, lib, dev)
	if err != nil {
		fmt.Println(err)
		return
	}
	// Two vGPUs have had turns.
	if err := srv.LogVGPU(0, nvml.VGPU_SCHEDULER_ENGINE_TYPE_GRAPHICS,
		nvml.VgpuSchedulerLogEntry_v2{Timestamp: 2_000_000, SwRunlistId: 4, TimeRun: 2_000_000, TimeRunTotal: 2_000_000},
		nvml.VgpuSchedulerLogEntry_v2{Timestamp: 3_500_000, SwRunlistId: 7, TimeRun: 1_500_000, TimeRunTotal: 1_500_000},
		nvml.VgpuSchedulerLogEntry_v2{Timestamp: 5_600_000, SwRunlistId: 4, TimeRun: 2_100_000, TimeRunTotal: 4_100_000},
	); err != nil {
		fmt.Println(err)
		return
	}
	err = s.Follow(ctx, timeslice.EngineGraphics, 0, func(b device.Batch) error {
		ran := map[uint32]int64{}
		for _, e := range b.Entries {
			ran[e.RunList] += e.Ran
		}
		fmt.Println("gap:", b.Gap, "ran, ns:", ran)
		cancel()
		return nil
	})
	fmt.Println("ended by the context:", errors.Is(err, context.Canceled))
	// Output:
	// gap: false ran, ns: map[4:4100000 7:1500000]
	// ended by the context: true
}
