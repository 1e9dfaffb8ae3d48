package churn_test

import (
	"fmt"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/churn"
)

// Sixteen GPUs offered as much as they have: what first fit rejects, and what a rule
// chosen for the mix does.
func ExampleSelect() {
	a100, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	mix := fragmentation.Mix{
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "3g.20gb"}, Count: 1},
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "2g.10gb"}, Count: 1},
		{Shape: fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}, Count: 1},
	}
	selected, err := churn.Select(a100, mix, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	trace, err := churn.NewTrace(churn.Config{
		Fleet: []churn.Group{{Model: a100, GPUs: 16}}, Mix: mix, Load: 1,
		WarmUp: 6, Arrivals: 20_000, Seed: 2,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range []placement.Policy{placement.FirstFit(), selected.Best.Policy} {
		r, err := trace.Run(p)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%.0f %% of the requests rejected, %.0f %% of the slices\n", 100*r.Requests.Share(), 100*r.Slices.Share())
	}
	// Output:
	// 13 % of the requests rejected, 18 % of the slices
	// 11 % of the requests rejected, 15 % of the slices
}
