package mig_test

import (
	"fmt"

	"github.com/gpushare/gpushare/mig"
)

func ExampleModel_Smallest() {
	m, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, mib := range []int{8000, 19968, 20000} {
		p, err := m.Smallest(mig.Need{MemoryMiB: mib})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d MiB: %s with %d MiB\n", mib, p.Name, p.MemoryMiB)
	}
	// Output:
	// 8000 MiB: 1g.10gb with 9856 MiB
	// 19968 MiB: 3g.20gb with 19968 MiB
	// 20000 MiB: 7g.40gb with 40192 MiB
}
