package nvmlfake_test

import (
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/nvmlfake"
)

// A client cuts an A100 and sees the MIG device that appears.
func Example() {
	server, err := nvmlfake.New(nvmlfake.Config{
		GPUs: []nvmlfake.GPU{{Model: "a100-40gb", MIG: true}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	lib := server.NVML()
	if ret := lib.Init(); ret != nvml.SUCCESS {
		fmt.Println(ret)
		return
	}
	defer func() { _ = lib.Shutdown() }()

	gpu, _ := lib.DeviceGetHandleByIndex(0)
	profile, _ := gpu.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_3_SLICE)
	instance, _ := gpu.CreateGpuInstance(&profile)
	whole, _ := instance.GetComputeInstanceProfileInfo(nvml.COMPUTE_INSTANCE_PROFILE_3_SLICE, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
	compute, _ := instance.CreateComputeInstance(&whole)
	info, _ := compute.GetInfo()
	name, _ := info.Device.GetName()
	fmt.Println(name)

	layout, _ := server.Layout(0)
	fmt.Println(layout)
	fmt.Println("destroy while in use:", instance.Destroy())
	// Output:
	// NVIDIA A100-SXM4-40GB MIG 3g.20gb
	// 3g.20gb@4
	// destroy while in use: ERROR_IN_USE
}

// On Ampere a change of MIG mode waits for a reset.
func ExampleServer_Reset() {
	server, _ := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a100-40gb"}}})
	lib := server.NVML()
	if ret := lib.Init(); ret != nvml.SUCCESS {
		fmt.Println(ret)
		return
	}
	gpu, _ := lib.DeviceGetHandleByIndex(0)
	activation, ret := gpu.SetMigMode(nvml.DEVICE_MIG_ENABLE)
	fmt.Println(ret, activation)
	current, pending, _ := gpu.GetMigMode()
	fmt.Println(current, pending)
	if err := server.Reset(0); err != nil {
		fmt.Println(err)
	}
	current, pending, _ = gpu.GetMigMode()
	fmt.Println(current, pending)
	// Output:
	// SUCCESS ERROR_RESET_REQUIRED
	// 0 1
	// 1 1
}

// A process in a MIG device keeps it from being destroyed.
func ExampleServer_HoldCompute() {
	snap, err := nvmlfake.ReadSnapshot(strings.NewReader(`{"schema": 1, "gpus": [
		{"model": "a100-40gb", "mig": true, "instances": [{"profile": "3g.20gb", "start": 4}]}
	]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := nvmlfake.Restore(snap)
	if err != nil {
		fmt.Println(err)
		return
	}
	release, err := server.HoldCompute(0, 2, 0, nvmlfake.Holder{PID: 4242, Name: "train", MemoryMiB: 512})
	if err != nil {
		fmt.Println(err)
		return
	}
	lib := server.NVML()
	if ret := lib.Init(); ret != nvml.SUCCESS {
		fmt.Println(ret)
		return
	}
	gpu, _ := lib.DeviceGetHandleByIndex(0)
	processes, _ := gpu.GetComputeRunningProcesses()
	name, _ := lib.SystemGetProcessName(int(processes[0].Pid))
	fmt.Println(name, "in GPU instance", processes[0].GpuInstanceId)
	instance, _ := gpu.GetGpuInstanceById(2)
	compute, _ := instance.GetComputeInstanceById(0)
	fmt.Println(compute.Destroy())
	fmt.Println(server.Reset(0))
	release()
	fmt.Println(compute.Destroy(), instance.Destroy())
	// Output:
	// train in GPU instance 2
	// ERROR_IN_USE
	// nvmlfake: GPU 0 (00000000:01:00.0) is in use by train (pid 4242)
	// SUCCESS SUCCESS
}
