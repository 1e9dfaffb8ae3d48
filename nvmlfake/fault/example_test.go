package fault_test

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// The first attempt to destroy a GPU instance meets a driver that is busy.
func Example() {
	server, _ := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a100-40gb", MIG: true}}})
	rules, err := fault.New(1, fault.Rule{
		Method: "GpuInstance.Destroy", Times: 1,
		Effect: fault.Refuse, Return: nvml.ERROR_IN_USE,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	lib := fault.Wrap(server.NVML(), rules)
	if ret := lib.Init(); ret != nvml.SUCCESS {
		fmt.Println(ret)
		return
	}
	gpu, _ := lib.DeviceGetHandleByIndex(0)
	profile, _ := gpu.GetGpuInstanceProfileInfo(nvml.GPU_INSTANCE_PROFILE_3_SLICE)
	instance, _ := gpu.CreateGpuInstance(&profile)
	fmt.Println(instance.Destroy())
	fmt.Println(instance.Destroy())
	for _, call := range rules.Calls() {
		fmt.Println(call.Method, call.Return, call.Fired)
	}
	// Output:
	// ERROR_IN_USE
	// SUCCESS
	// Init SUCCESS []
	// DeviceGetHandleByIndex SUCCESS []
	// Device.GetGpuInstanceProfileInfo SUCCESS []
	// Device.CreateGpuInstance SUCCESS []
	// GpuInstance.Destroy ERROR_IN_USE [0]
	// GpuInstance.Destroy SUCCESS []
}
