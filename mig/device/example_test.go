package device_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake"
)

// An instance is created where the caller says, and what stands in the way of
// the next one is named. On hardware lib is nvml.New().
func Example() {
	srv, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a100-40gb", MIG: true}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	lib := srv.NVML()
	if ret := lib.Init(); ret != nvml.SUCCESS {
		fmt.Println(ret)
		return
	}
	defer func() { _ = lib.Shutdown() }()
	handle, ret := lib.DeviceGetHandleByIndex(0)
	if ret != nvml.SUCCESS {
		fmt.Println(ret)
		return
	}

	ctx := context.Background()
	gpu, err := device.Open(ctx, handle)
	if err != nil {
		fmt.Println(err)
		return
	}
	in, err := gpu.Create(ctx, mig.Instance{Profile: "3g.20gb", Start: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(in)

	_, err = gpu.Create(ctx, mig.Instance{Profile: "1g.5gb", Start: 6})
	var conflict *mig.ConflictError
	if errors.As(err, &conflict) {
		fmt.Println("in the way:", conflict.A)
	}

	st, err := gpu.State(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(st.Layout)

	// Only the instance that was created is destroyed, nothing that another
	// process may have put in its place meanwhile.
	if err := gpu.Destroy(ctx, in); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("gone:", errors.Is(gpu.Destroy(ctx, in), mig.ErrNoInstance))
	// Output:
	// 3g.20gb@4 GI 2 [3g.20gb CI 0]
	// in the way: 3g.20gb@4
	// 3g.20gb@4
	// gone: true
}
