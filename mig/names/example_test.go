package names_test

import (
	"errors"
	"fmt"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/names"
)

func ExampleParseUUID() {
	for _, s := range []string{
		"MIG-3eb87630-93d5-b2b6-b8ff-9b359caf4ee2",
		"MIG-GPU-662077db-fa3f-0d8f-9502-21ab0ef058a2/10/0",
		"MIG-GPU-662077db-fa3f-0d8f-9502-21ab0ef058a2",
	} {
		u, err := names.ParseUUID(s)
		if err != nil {
			fmt.Println(err)
			continue
		}
		gpu, known := u.GPU()
		fmt.Println(u.Kind, gpu, known)
	}
	// Output:
	// MIG  false
	// MIG, old form GPU-662077db-fa3f-0d8f-9502-21ab0ef058a2 true
	// mig/names: UUID "MIG-GPU-662077db-fa3f-0d8f-9502-21ab0ef058a2": not of the form MIG-GPU-<id>/<GPU instance>/<compute instance>: malformed device identifier
}

// CUDA shows the devices before the first item that names none.
func ExampleVisibleDevices() {
	uuids := []string{"GPU-5a88edbe", "GPU-5a88f000", "GPU-17aa0000"}
	fmt.Println(names.VisibleDevices("2,0", uuids))
	fmt.Println(names.VisibleDevices("2,-1,0", uuids))
	fmt.Println(names.VisibleDevices("GPU-17", uuids))

	_, err := names.VisibleDevices("GPU-5a88", uuids)
	fmt.Println(errors.Is(err, names.ErrAmbiguousDevice))
	// Output:
	// [2 0] <nil>
	// [2] mig/names: device list "2,-1,0" ends before item 2: "-1" is not a number of a GPU: no such device
	// [2] <nil>
	// true
}

func ExampleResources() {
	node := []names.NodeGPU{
		{MIG: true, Devices: []string{"1g.6gb", "1g.6gb", "2g.12gb"}},
	}
	fmt.Println(names.Resources(names.StrategyMixed, node))
	_, err := names.Resources(names.StrategySingle, node)
	fmt.Println(err)
	// Output:
	// map[nvidia.com/gpu:0 nvidia.com/mig-1g.6gb:2 nvidia.com/mig-2g.12gb:1] <nil>
	// mig/names: GPU 0: MIG devices of 1g.6gb and of 2g.12gb on one node: not possible with this MIG strategy "single"
}

func ExampleResource() {
	fmt.Println(names.Resource("1g.10gb+me"))
	fmt.Println(names.ParseResource("nvidia.com/mig-1g.10gb.me"))
	// Output:
	// nvidia.com/mig-1g.10gb.me <nil>
	// 1g.10gb+me <nil>
}

func ExampleParseDRA() {
	m, err := mig.Lookup("rtx-pro-6000-96gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range []string{"gpu-0-mig-1g24gb-me-21-3", "gpu-0-mig-1g24gb-me-67-3"} {
		d, err := names.ParseDRA(s)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(d.Instance(m))
	}
	// Output:
	// 1g.24gb+me@3 <nil>
	// 1g.24gb-me@3 <nil>
}

func ExampleMatch() {
	fmt.Println(names.Match("1g.24gb", "1g.24gb+me"), names.Match("1g.*", "1g.24gb+me"))
	// Output: false true
}
