package fragmentation_test

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// Three values of three nodes to a mix of one shape: 300 milli-GPU with 10 CPUs.
// What fits as the next task is not what can be used up.
func ExampleCapped() {
	mix := fragmentation.Mix{{Shape: fragmentation.Shape{CPU: 10000, GPUs: 1, Milli: 300}, Count: 1}}
	fgd, err := fragmentation.NewFGD(mix)
	if err != nil {
		fmt.Println(err)
		return
	}
	capped, err := fragmentation.NewCapped(mix)
	if err != nil {
		fmt.Println(err)
		return
	}
	fill, err := fragmentation.NewFill(mix, fragmentation.FillOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	idle := fragmentation.GPU{Milli: fragmentation.Whole}
	fmt.Println("left on the node              FGD  Capped  Fill")
	for _, node := range []struct {
		what string
		left fragmentation.State
	}{
		{"4 GPUs and 20 CPUs", fragmentation.State{CPU: 20000, GPUs: []fragmentation.GPU{idle, idle, idle, idle}}},
		{"1 GPU and 64 CPUs", fragmentation.State{CPU: 64000, GPUs: []fragmentation.GPU{idle}}},
		{"380 milli-GPU and 64 CPUs", fragmentation.State{CPU: 64000, GPUs: []fragmentation.GPU{{Milli: 380}}}},
	} {
		fmt.Printf("%-27s %5d %7d %5d\n", node.what,
			fgd.Of(&node.left)/fgd.Scale(), capped.Of(&node.left)/capped.Scale(), fill.Of(&node.left)/fill.Scale())
	}
	// Output:
	// left on the node              FGD  Capped  Fill
	// 4 GPUs and 20 CPUs           4000     600   600
	// 1 GPU and 64 CPUs            1000    1000   900
	// 380 milli-GPU and 64 CPUs     380     380   300
}

// Where a 2g.10gb costs least, by two values for a mix of 3g, 2g and 1g in equal
// parts. To MIGFGD, which counts what fits now, all of these places are one and the
// same. The index counts what will fit when the neighbours have left.
func ExampleIndex() {
	a100, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	states, err := fragmentation.NewStates(a100)
	if err != nil {
		fmt.Println(err)
		return
	}
	mix := fragmentation.Mix{
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "3g.20gb"}, Count: 1},
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "2g.10gb"}, Count: 1},
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}, Count: 1},
	}
	now, err := fragmentation.NewMIGFGD(mix)
	if err != nil {
		fmt.Println(err)
		return
	}
	index, err := fragmentation.NewIndex(states, mix, fragmentation.DefaultIndex())
	if err != nil {
		fmt.Println(err)
		return
	}
	type place struct {
		state, start int
		loss         int64
	}
	var places []place
	kind := states.Kind("2g.10gb")
	for state := range states.Len() {
		if start, loss, ok := index.Loss(state, kind); ok && onlyOf(mix, states.Layout(state)) {
			places = append(places, place{state, start, loss})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.loss, b.loss) })
	places = slices.CompactFunc(places, func(a, b place) bool { return a.loss == b.loss }) // mirror images
	fmt.Println("MIGFGD  index  where")
	for _, p := range places[:9] {
		before := fragmentation.State{GPUs: []fragmentation.GPU{{Layout: states.Layout(p.state)}}}
		after := fragmentation.State{GPUs: []fragmentation.GPU{{Layout: states.Layout(states.With(p.state, kind, p.start))}}}
		fmt.Printf("%6d %6.1f  at %d beside %s\n", fragmentation.Strands(now, &before, &after)/now.Scale(),
			float64(p.loss)/fragmentation.IndexScale, p.start, states.Layout(p.state))
	}
	// Output:
	// MIGFGD  index  where
	//    -83    9.8  at 2 beside 1g.5gb@0 1g.5gb@1 1g.5gb@4 1g.5gb@5 1g.5gb@6
	//    -83   10.1  at 2 beside 1g.5gb@0 1g.5gb@1 2g.10gb@4 1g.5gb@6
	//    -83   10.8  at 2 beside 1g.5gb@0 1g.5gb@1 3g.20gb@4
	//    -83   10.9  at 2 beside 1g.5gb@0 1g.5gb@1 1g.5gb@4 1g.5gb@6
	//    -83   10.9  at 2 beside 1g.5gb@0 1g.5gb@1 1g.5gb@4 1g.5gb@5
	//    -83   11.9  at 2 beside 1g.5gb@0 1g.5gb@1 1g.5gb@6
	//    -83   12.1  at 2 beside 1g.5gb@0 1g.5gb@1 2g.10gb@4
	//    -83   12.2  at 2 beside 2g.10gb@0 1g.5gb@4 1g.5gb@5 1g.5gb@6
	//    -83   12.3  at 2 beside 1g.5gb@0 1g.5gb@1 1g.5gb@4
}

// onlyOf reports whether a layout holds nothing but what a mix asks for.
func onlyOf(mix fragmentation.Mix, l mig.Layout) bool {
	for i := range l.Instances() {
		if !slices.ContainsFunc(mix, func(e fragmentation.Entry) bool { return e.Shape.Profile == i.Profile }) {
			return false
		}
	}
	return true
}

// A mix that nobody knows is learned from the tasks that arrive; what is long past
// fades.
func ExampleLearner_Mix() {
	learner, err := fragmentation.NewLearner(fragmentation.LearnerOptions{Window: 1000})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 2000 {
		shape := fragmentation.Shape{CPU: 4000, GPUs: 1, Milli: 500}
		if i >= 1000 { // from here on another one
			shape.Milli = 200
		}
		if err := learner.Observe(shape); err != nil {
			fmt.Println(err)
			return
		}
	}
	mix := learner.Mix()
	for _, e := range mix {
		fmt.Printf("%d milli-GPU: %d %%\n", e.Shape.Milli, 100*e.Count/mix.Total())
	}
	// Output:
	// 200 milli-GPU: 73 %
	// 500 milli-GPU: 26 %
}
