package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// a100 returns a state with one compute instance of full size in each instance.
func a100(instances ...string) plan.State {
	m, err := mig.Lookup("a100-40gb")
	if err != nil {
		panic(err)
	}
	var list []mig.Instance
	for _, s := range instances {
		in, err := mig.ParseInstance(s)
		if err != nil {
			panic(err)
		}
		list = append(list, in)
	}
	l, err := m.Layout(list...)
	if err != nil {
		panic(err)
	}
	return plan.StateOf(l)
}

func ExampleRepartition() {
	from := a100("1g.5gb@0", "1g.5gb@1", "1g.5gb@4")
	from.Instances[0].Busy = true
	p, err := plan.Repartition(from, mig.Demand{"1g.5gb": 2, "3g.20gb": 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(p.Explain())
	// Output:
	// a100-40gb: destroys 1, creates 1, keeps 2
	//   keep     1g.5gb@0
	//   keep     1g.5gb@1
	//   destroy  1g.5gb@4       in the way of 3g.20gb@4
	//   create   3g.20gb@4
	// takes about 1.7s at the default costs and costs 6.7s of one memory slice
}

func ExampleRepartition_busy() {
	from := a100("1g.5gb@0", "1g.5gb@4", "1g.5gb@6")
	from.Instances[0].Busy = true
	_, err := plan.Repartition(from, mig.Demand{"4g.20gb": 1, "1g.5gb": 1})
	var no *plan.Refusal
	if errors.As(err, &no) {
		fmt.Println(no.Kind()+":", no.Detail)
		fmt.Println("in the way:", no.Busy[0], errors.Is(err, plan.ErrBusy))
	}
	// Output:
	// position: 1 of 4g.20gb wanted, legal starts are free for 0
	// in the way: 1g.5gb@0 true
}

func ExampleRepartition_computeInstances() {
	p, err := plan.Repartition(a100("3g.20gb@4"), mig.Demand{"1c.3g.20gb": 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range p.Steps {
		fmt.Println(s, s.Compute)
	}
	// Output:
	// create 3g.20gb@0 [1c.3g.20gb@0 1c.3g.20gb@1 1c.3g.20gb@2]
	// destroy 3g.20gb@4 [3g.20gb@0]
	// create 3g.20gb@4 [1c.3g.20gb@0]
}

func ExampleAdmit() {
	from := a100("2g.10gb@0", "2g.10gb@2", "1g.5gb@4")
	p, err := plan.Admit(from, mig.Demand{"2g.10gb": 1, "3g.20gb": 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p)
	fmt.Println("kept:", p.Kept[0], p.Kept[1])
	// Output:
	// destroy 1g.5gb@4, create 3g.20gb@4
	// kept: 2g.10gb@0 2g.10gb@2
}

func ExampleRestore() {
	before := a100("2g.10gb@0", "3g.20gb@4")
	p, err := plan.Restore(a100("7g.40gb@0"), before.Instances)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p)
	// Output:
	// destroy 7g.40gb@0, create 3g.20gb@4, create 2g.10gb@0
}

func ExampleDecode() {
	p, _ := plan.Repartition(a100("1g.5gb@0"), mig.Demand{"7g.40gb": 1})
	text, _ := json.MarshalIndent(p.Steps, "", " ")
	fmt.Println(string(text))

	whole, _ := json.Marshal(p)
	read, err := plan.Decode(strings.NewReader(string(whole)))
	fmt.Println(read, err)
	_, err = plan.Decode(strings.NewReader(`{"schema":2}`))
	fmt.Println(err)
	// Output:
	// [
	//  {
	//   "op": "destroy",
	//   "profile": "1g.5gb",
	//   "start": 0,
	//   "size": 1,
	//   "computeInstances": [
	//    {
	//     "profile": "1g.5gb",
	//     "start": 0,
	//     "size": 1,
	//     "index": 0
	//    }
	//   ]
	//  },
	//  {
	//   "op": "create",
	//   "profile": "7g.40gb",
	//   "start": 0,
	//   "size": 8,
	//   "computeInstances": [
	//    {
	//     "profile": "7g.40gb",
	//     "start": 0,
	//     "size": 7,
	//     "index": 4
	//    }
	//   ]
	//  }
	// ]
	// destroy 1g.5gb@0, create 7g.40gb@0 <nil>
	// plan: schema 2, this package reads 1: malformed plan
}

func ExamplePlan_Check() {
	planned := a100("1g.5gb@0")
	p, _ := plan.Repartition(planned, mig.Demand{"3g.20gb": 1})
	fmt.Println(p.Check(planned))

	now := a100("1g.5gb@0", "1g.5gb@1") // somebody was there meanwhile
	fmt.Println(errors.Is(p.Check(now), plan.ErrStale))
	// Output:
	// <nil>
	// true
}

func ExampleCost_BreakEven() {
	from := a100("1g.5gb@0")
	from.Instances[0].LossSeconds = 600 // since the last checkpoint
	p, _ := plan.Repartition(from, mig.Demand{"7g.40gb": 1})
	cost := plan.DefaultCosts().Of(p)
	fmt.Println("takes", cost.Duration, "and costs", cost.SliceTime(), "of a slice")

	after, pays := cost.BreakEven(2000) // two more slices at work
	fmt.Println(after, pays)
	// Output:
	// takes 1.7s and costs 10m6.7s of a slice
	// 5m5.05s true
}

func ExampleGate() {
	gate := plan.Gate{Persist: 5 * time.Minute, Dwell: time.Hour}
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for minute, wanted := range []string{"3g.20gb=2", "3g.20gb=2", "7g.40gb=1", "7g.40gb=1", "7g.40gb=1"} {
		var d plan.Decision
		gate, d = gate.Next(now.Add(time.Duration(minute)*3*time.Minute), wanted)
		fmt.Println(wanted, d.Reason, d.Wait)
	}
	// Output:
	// 3g.20gb=2 persist 5m0s
	// 3g.20gb=2 persist 2m0s
	// 7g.40gb=1 persist 5m0s
	// 7g.40gb=1 persist 2m0s
	// 7g.40gb=1 open 0s
}

func ExampleMode() {
	for _, key := range []string{"a100-40gb", "h100-80gb-sxm5"} {
		m, err := mig.Lookup(key)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, s := range plan.Mode(m, false, false, true) {
			fmt.Println(key, s.Op)
		}
	}
	// Output:
	// a100-40gb set-mode
	// a100-40gb reset
	// h100-80gb-sxm5 set-mode
}
