package device_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
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

// exampleGPU opens a fake GPU. On hardware the library is nvml.New().
func exampleGPU(ctx context.Context) (*device.GPU, error) {
	srv, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a100-40gb", MIG: true}}})
	if err != nil {
		return nil, err
	}
	lib := srv.NVML()
	if ret := lib.Init(); ret != nvml.SUCCESS {
		return nil, ret
	}
	handle, ret := lib.DeviceGetHandleByIndex(0)
	if ret != nvml.SUCCESS {
		return nil, ret
	}
	return device.Open(ctx, handle)
}

// A GPU is cut anew as one transaction, and later back.
func ExampleGPU_Apply() {
	ctx := context.Background()
	gpu, err := exampleGPU(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, in := range []mig.Instance{{Profile: "1g.5gb", Start: 0}, {Profile: "1g.5gb", Start: 5}} {
		if _, err := gpu.Create(ctx, in); err != nil {
			fmt.Println(err)
			return
		}
	}

	st, err := gpu.PlanState(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := plan.Repartition(st, mig.Demand{"1g.5gb": 1, "3g.20gb": 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer // on a node, a file opened for appending
	report, err := gpu.Apply(ctx, p, device.ApplyOptions{
		Journal:     &file,
		CallTimeout: time.Minute,
		Observe:     func(e device.Event) { fmt.Println(e.Step, "of", e.Total, e.Op, e.Instance.Instance, e.Phase) },
	})
	if err != nil {
		fmt.Println(report, err)
		return
	}
	fmt.Println(report)

	j, err := device.ReadJournal(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err = gpu.Undo(ctx, j, device.ApplyOptions{})
	fmt.Println(report, err)
	// Output:
	// 1 of 2 destroy 1g.5gb@5 begin
	// 1 of 2 destroy 1g.5gb@5 done
	// 2 of 2 create 3g.20gb@4 begin
	// 2 of 2 create 3g.20gb@4 done
	// done: 1g.5gb@0 3g.20gb@4
	// rolledBack: 1g.5gb@0 1g.5gb@5 <nil>
}

// A second run carries on where the first was cut off: here after a reboot,
// which has taken all instances with it.
func ExampleGPU_Resume() {
	ctx := context.Background()
	gpu, err := exampleGPU(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	st, err := gpu.PlanState(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := plan.Repartition(st, mig.Demand{"3g.20gb": 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if _, err := gpu.Apply(ctx, p, device.ApplyOptions{Journal: &file}); err != nil {
		fmt.Println(err)
		return
	}
	now, err := gpu.State(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, in := range now.Instances {
		if err := gpu.Destroy(ctx, in); err != nil {
			fmt.Println(err)
			return
		}
	}

	j, err := device.ReadJournal(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := gpu.Resume(ctx, j, device.ApplyOptions{})
	fmt.Println(report, err)
	// Output:
	// done: 3g.20gb@0 3g.20gb@4 <nil>
}
