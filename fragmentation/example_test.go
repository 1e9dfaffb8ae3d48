package fragmentation_test

import (
	"fmt"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// What is left on a node, split by what a mix of three kinds of tasks could do
// with it.
func ExampleFGD() {
	fgd, err := fragmentation.NewFGD(fragmentation.Mix{
		{Shape: fragmentation.Shape{CPU: 4000, GPUs: 1, Milli: 300}, Count: 5},
		{Shape: fragmentation.Shape{CPU: 8000, GPUs: 1, Milli: 1000}, Count: 4},
		{Shape: fragmentation.Shape{CPU: 2000}, Count: 1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	node := &fragmentation.State{
		CPU:  32000,
		GPUs: []fragmentation.GPU{{Milli: 190}, {Milli: 1000}, {Milli: 530}},
	}
	amounts := fgd.Amounts(node)
	fmt.Println("left:", node.Left())
	fmt.Println("of use:", amounts[fragmentation.Satisfied]/fgd.Scale())
	fmt.Println("too small:", amounts[fragmentation.LackGPU]/fgd.Scale())
	fmt.Println("no use for a GPU:", amounts[fragmentation.NoUse]/fgd.Scale())
	// Output:
	// left: 1720
	// of use: 1165
	// too small: 383
	// no use for a GPU: 172
}

// A new 1g instance costs the mix nothing at the end of the GPU, where no
// larger instance reaches, and a place for a larger one anywhere else.
func ExampleMIGFGD() {
	a100, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	value, err := fragmentation.NewMIGFGD(fragmentation.Mix{
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}, Count: 1},
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "2g.10gb"}, Count: 1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	before := &fragmentation.State{GPUs: []fragmentation.GPU{{Layout: a100.Empty()}}}
	small, err := a100.Profile("1g.5gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, start := range []int{0, 6} {
		layout, err := a100.Empty().With(small, start)
		if err != nil {
			fmt.Println(err)
			return
		}
		after := &fragmentation.State{GPUs: []fragmentation.GPU{{Layout: layout}}}
		strands := float64(fragmentation.Strands(value, before, after)) / float64(value.Scale())
		fmt.Printf("%s strands %v milli-GPU\n", layout, strands)
	}
	// Output:
	// 1g.5gb@0 strands 62.5 milli-GPU
	// 1g.5gb@6 strands -62.5 milli-GPU
}

// The task goes where it strands least: to the GPU whose rest nobody wants.
func ExampleStrands() {
	fgd, err := fragmentation.NewFGD(fragmentation.Mix{
		{Shape: fragmentation.Shape{GPUs: 1, Milli: 400}, Count: 5},
		{Shape: fragmentation.Shape{GPUs: 1, Milli: 100}, Count: 95},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	before := &fragmentation.State{GPUs: []fragmentation.GPU{{Milli: 1000}, {Milli: 300}}}
	for i := range before.GPUs {
		var after fragmentation.State
		before.CopyTo(&after)
		after.GPUs[i].Milli -= 100
		fmt.Printf("GPU %d strands %d milli-GPU\n", i, fragmentation.Strands(fgd, before, &after)/fgd.Scale())
	}
	// Output:
	// GPU 0 strands 0 milli-GPU
	// GPU 1 strands -5 milli-GPU
}

// Rare shapes at the end of a list of tasks cost time and say little.
func ExampleMix_Cover() {
	small := fragmentation.Shape{CPU: 4000, GPUs: 1, Milli: 250}
	large := fragmentation.Shape{CPU: 8000, GPUs: 2, Milli: 1000}
	rare := fragmentation.Shape{CPU: 1000}
	mix := fragmentation.MixOf([]fragmentation.Shape{small, large, small, rare, small, large})
	most, err := mix.Cover(80)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range most {
		fmt.Printf("%d of %d: %d x %d milli-GPU\n", e.Count, most.Total(), e.Shape.GPUs, e.Shape.Milli)
	}
	// Output:
	// 3 of 5: 1 x 250 milli-GPU
	// 2 of 5: 2 x 1000 milli-GPU
}
