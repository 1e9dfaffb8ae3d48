package device_test

import (
	"context"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake"
)

// A GPU that no table knows is opened with the table that it gives of itself.
func ExampleSurvey() {
	srv, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a30-24gb", MIG: true}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	lib := srv.NVML() // on hardware nvml.New()
	if ret := lib.Init(); ret != nvml.SUCCESS {
		fmt.Println(ret)
		return
	}
	handle, ret := lib.DeviceGetHandleByIndex(0)
	if ret != nvml.SUCCESS {
		fmt.Println(ret)
		return
	}
	ctx := context.Background()
	spec, err := device.Survey(ctx, handle)
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := mig.NewModel(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	for p := range model.PlainProfiles() {
		fmt.Println(p.Name, p.MemoryMiB, "MiB", p.SMs, "SMs")
	}
	layout, err := model.Empty().Fit(mig.Demand{"1g.6gb": 2, "2g.12gb": 1})
	fmt.Println(layout, err)
	gpu, err := device.OpenModel(ctx, handle, model)
	fmt.Println(gpu.Model(), err)
	// Output:
	// 1g.6gb 5952 MiB 14 SMs
	// 2g.12gb 11968 MiB 28 SMs
	// 4g.24gb 24000 MiB 56 SMs
	// 2g.12gb@0 1g.6gb@2 1g.6gb@3 <nil>
	// a30-24gb <nil>
}
