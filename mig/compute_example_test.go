package mig_test

import (
	"fmt"

	"github.com/gpushare/gpushare/mig"
)

// Four small compute instances need two GPU instances; a plain name is a GPU
// instance with one of full size.
func ExampleModel_Furnish() {
	a100, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	list, err := a100.Furnish(mig.Demand{"1c.3g.20gb": 4, "1g.5gb": 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	gpuInstances := mig.Demand{}
	for _, f := range list {
		fmt.Println(f.Profile, f.Compute)
		gpuInstances[f.Profile]++
	}
	_, err = a100.Empty().Fit(gpuInstances)
	fmt.Println(err)
	// Output:
	// 3g.20gb [1c.3g.20gb@0 1c.3g.20gb@1 1c.3g.20gb@2]
	// 3g.20gb [1c.3g.20gb@0]
	// 1g.5gb [1g.5gb@0]
	// mig: 1g.5gb=1,3g.20gb=2 does not fit on a100-40gb beside "empty": memory: 9 memory slices needed in all, the GPU has 8
}

func ExampleModel_ComputeLayout() {
	h100, err := mig.Lookup("h100-80gb-sxm5")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h100.ComputeLayout("7g.80gb", "2c.7g.80gb", "3c.7g.80gb", "2c.7g.80gb"))
	fmt.Println(h100.ComputeLayout("7g.80gb", "3c.7g.80gb", "3c.7g.80gb", "2c.7g.80gb"))

	// The double-memory 1g has two compute profiles of one name. Without names it
	// is the one with all multiprocessors.
	full, err := h100.ComputeLayout("1g.20gb")
	fmt.Println(full, full[0].Index, err)
	// Output:
	// [2c.7g.80gb@0 2c.7g.80gb@2 3c.7g.80gb@4] <nil>
	// [] mig: model h100-80gb-sxm5: no starts in one 7g.80gb hold 3c.7g.80gb, 3c.7g.80gb, 2c.7g.80gb together: demand does not fit
	// [1g.20gb@0] 7 <nil>
}

func ExampleFullSize() {
	offers := []mig.ComputeProfile{
		{Name: "1g.67gb", Index: 0, Slices: 1, SMs: 18},
		{Name: "1g.67gb", Index: 7, Slices: 1, SMs: 30},
	}
	full, ok := mig.FullSize(offers)
	fmt.Println(full.Index, full.SMs, ok)
	// Output: 7 30 true
}
