package mig_test

import (
	"errors"
	"fmt"

	"github.com/gpushare/gpushare/mig"
)

func ExampleLookup() {
	m, err := mig.Lookup("NVIDIA A100-SXM4-40GB")
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := m.Profile("3g.20gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m, p.Name, "id", p.ID, "takes", p.Size, "of", m.MemorySlices(), "memory slices")

	_, err = m.Profile("3g.40gb")
	fmt.Println(errors.Is(err, mig.ErrUnknownProfile))
	// Output:
	// a100-40gb 3g.20gb id 9 takes 4 of 8 memory slices
	// true
}

func ExampleModel_Layout() {
	m, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := m.Layout(mig.Instance{Profile: "2g.10gb", Start: 0}, mig.Instance{Profile: "1g.5gb", Start: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	for p := range m.PlainProfiles() {
		fmt.Print(p.Name, " may start at")
		for start := range l.FreeStarts(p).All() {
			fmt.Print(" ", start)
		}
		fmt.Println()
	}
	// Output:
	// 1g.5gb may start at 2 4 5 6
	// 1g.10gb may start at 4 6
	// 2g.10gb may start at 4
	// 3g.20gb may start at 4
	// 4g.20gb may start at
	// 7g.40gb may start at
}

func ExampleModel_Validate() {
	m, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = m.Validate(
		mig.Instance{Profile: "1g.5gb", Start: 5},
		mig.Instance{Profile: "3g.20gb", Start: 4},
	)
	fmt.Println(err)
	// Output: mig: model a100-40gb: 1g.5gb@5 and 3g.20gb@4 overlap
}

func ExampleLayout_Fit() {
	m, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	have, err := m.Layout(mig.Instance{Profile: "1g.5gb", Start: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	after, err := have.Fit(mig.Demand{"3g.20gb": 1, "2g.10gb": 1})
	fmt.Println(after, err)

	// Six slices are free, and yet:
	_, err = have.Fit(mig.Demand{"4g.20gb": 1})
	var no *mig.FitError
	if errors.As(err, &no) {
		fmt.Println(no.Limit, "-", no.Detail)
	}
	_, err = m.Empty().Fit(mig.Demand{"1g.10gb": 4, "1g.5gb": 3})
	if errors.As(err, &no) {
		fmt.Println(no.Limit, "-", no.Detail)
	}
	// Output:
	// 2g.10gb@0 1g.5gb@3 3g.20gb@4 <nil>
	// position - 1 of 4g.20gb wanted, legal starts are free for 0
	// memory - 11 memory slices needed in all, the GPU has 8
}

func ExampleLayout_DefaultStart() {
	m, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	// Smallest first, the driver paints itself into a corner.
	l := m.Empty()
	for _, name := range []string{"1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb"} {
		p, err := m.Profile(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		start, ok := l.DefaultStart(p)
		if !ok {
			fmt.Println("no room for", name, "beside", l)
			return
		}
		if l, err = l.With(p, start); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output: no room for 3g.20gb beside 2g.10gb@0 1g.5gb@4 1g.5gb@6
}

func ExampleLayout_Stranded() {
	m, err := mig.Lookup("b200-180gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, want := range []mig.Demand{{"2g.45gb": 3}, {"1g.45gb": 4}} {
		l, err := m.Empty().Fit(want)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(want)
		fmt.Println("  unused:  ", l.Unused())
		fmt.Println("  stranded:", l.Stranded())
	}
	// Output:
	// 2g.45gb=3
	//   unused:   2 memory slices, 1 compute slice
	//   stranded: 0 memory slices, 0 compute slices
	// 1g.45gb=4
	//   unused:   0 memory slices, 3 compute slices
	//   stranded: 0 memory slices, 3 compute slices
}

func ExampleModel_Layouts() {
	m, err := mig.Lookup("a30-24gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	for l := range m.Layouts(nil) {
		if l.Maximal(nil) {
			fmt.Println(l)
		}
	}
	c := m.Census(nil)
	fmt.Println(c.PlacedSets, "layouts of", c.Multisets, "demands")
	// Output:
	// 1g.6gb@0 1g.6gb@1 1g.6gb@2 1g.6gb@3
	// 1g.6gb@0 1g.6gb@1 2g.12gb@2
	// 2g.12gb@0 1g.6gb@2 1g.6gb@3
	// 2g.12gb@0 2g.12gb@2
	// 4g.24gb@0
	// 25 layouts of 9 demands
}

func ExampleParseName() {
	n, err := mig.ParseName("1c.3g.20gb+me")
	fmt.Println(n.ComputeSlices, n.GPUSlices, n.MemoryGB, n.Attrs, err)
	_, err = mig.ParseName("2c.1g.5gb")
	fmt.Println(err)
	// Output:
	// 1 3 20 +me <nil>
	// mig: name "2c.1g.5gb": 2 compute slices in 1 GPU slices: malformed profile name
}

func ExampleMemoryGB() {
	// One PCI id, two boards: the name follows the total that is reported.
	fmt.Println(mig.MemoryGB(22528, 189471), mig.MemoryGB(22528, 193000))
	// Output: 23 24
}

func ExampleNewModel() {
	known, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	// A device of which the answers say that a 1g beside a 1g+me is refused.
	table := known.Spec()
	table.Key, table.MediaAlone = "gpu-0", true
	m, err := mig.NewModel(table)
	if err != nil {
		fmt.Println(err)
		return
	}
	want := mig.Demand{"1g.5gb+me": 1, "1g.5gb": 1}
	_, err = known.Empty().Fit(want)
	fmt.Println(err)
	_, err = m.Empty().Fit(want)
	fmt.Println(err)

	table.Profiles[0].MaxInstances = 0
	_, err = mig.NewModel(table)
	fmt.Println(err)
	// Output:
	// <nil>
	// mig: 1g.5gb=1,1g.5gb+me=1 does not fit on gpu-0 beside "empty": media: 1g.5gb and 1g.5gb+me compete for media engines
	// mig: table "gpu-0": Profiles[0] "1g.5gb": MaxInstances is 0: malformed table
}

func ExampleCompare() {
	known, err := mig.Lookup("b200-180gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	// What a device with another driver may say.
	device := known.Spec()
	for i := range device.Profiles {
		switch p := &device.Profiles[i]; p.Name {
		case "1g.23gb":
			p.MemoryMiB += 128
		case "3g.90gb":
			p.SMs = 70
		}
	}
	for _, d := range mig.Compare(known.Spec(), device) {
		fmt.Printf("%s (%s)\n", d, d.Verdict)
	}
	// Output:
	// 1g.23gb: memory: table 22528 MiB, device 22656 MiB (contradiction)
	// 3g.90gb: SMs: table unknown, device 70 (table unknown)
}

func ExampleBest() {
	a100, err := mig.Lookup("a100-80gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	h100, err := mig.Lookup("h100-80gb-sxm5")
	if err != nil {
		fmt.Println(err)
		return
	}
	half, err := a100.Layout(mig.Instance{Profile: "3g.40gb", Start: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	gpus := []mig.Layout{h100.Empty(), a100.Empty(), half}

	// The half that is left of a GPU in use, before any of an empty one.
	gpu, after, err := mig.Best(gpus, mig.Demand{"3g.40gb": 1})
	fmt.Println(gpu, after, err)

	_, _, err = mig.Best(gpus, mig.Demand{"3g.40gb": 2, "1g.10gb": 1})
	fmt.Println(err)
	// Output:
	// 2 3g.40gb@0 3g.40gb@4 <nil>
	// mig: 1g.10gb=1,3g.40gb=2 fits on none of 3 GPUs: 3 full (3 of them by memory), 0 of a model that does not offer it
}
