package fleet_test

import (
	"errors"
	"fmt"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/fleet"
)

// Four GPUs of two models, two of them in use: the demand goes where it costs
// least, beside what is there.
func ExampleFit() {
	small, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	large, err := mig.Lookup("a100-80gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	busy, err := small.Layout(mig.Instance{Profile: "3g.20gb", Start: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	gpus := []fleet.GPU{
		{Layout: small.Empty()},
		{Layout: busy, Free: true}, // it runs anyway
		{Layout: large.Empty(), Weight: 2},
		{Layout: small.Empty()},
	}
	fit, err := fleet.Fit(gpus, mig.Demand{"1g.10gb": 4, "3g.20gb": 1}, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, i := range fit.Used {
		fmt.Printf("GPU %d, %s: %s\n", i, fit.Layouts[i].Model(), fit.Layouts[i])
	}
	fmt.Println("weight", fit.Weight)

	_, err = fleet.Fit(gpus, mig.Demand{"4g.20gb": 4}, 0)
	var no *fleet.FitError
	if errors.As(err, &no) {
		fmt.Println(no.Limit, "binds:", no.Detail)
	}
	// Output:
	// GPU 0, a100-40gb: 1g.10gb@0 1g.10gb@2 1g.10gb@4 1g.10gb@6
	// GPU 1, a100-40gb: 3g.20gb@0 3g.20gb@4
	// weight 1
	// count binds: 4 of 4g.20gb wanted, the driver allows 3 more on all GPUs
}

// Requests that wait, and the way to cut 100 GPUs that serves most of them.
func ExampleBestMix() {
	m, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	pools := []fleet.Pool{{Layout: m.Empty(), Count: 100}}
	waiting := []fleet.Request{
		{Profile: "1g.5gb", Count: 220},
		{Profile: "2g.10gb", Count: 90},
		{Profile: "3g.20gb", Count: 110},
	}
	mix, err := fleet.BestMix(pools, waiting, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range mix.Cuts {
		fmt.Printf("%3d GPUs: %s\n", c.Count, c.Layout)
	}
	fmt.Printf("served %s, value %d of at most %d\n", mix.Served, mix.Value, mix.Bound)
	fmt.Printf("not served %s\n", mix.Unserved)
	// Output:
	//  55 GPUs: 1g.5gb@0 1g.5gb@1 1g.5gb@2 1g.5gb@3 3g.20gb@4
	//  45 GPUs: 2g.10gb@0 2g.10gb@2 3g.20gb@4
	// served 1g.5gb=220,2g.10gb=90,3g.20gb=100, value 800 of at most 800
	// not served 3g.20gb=10
}
