package mpsfake_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// A limit is set, a client comes, and the daemon is replaced behind the caller's back.
func Example() {
	daemon, err := mpsfake.New(mpsfake.Config{
		GPUs:  []mpsfake.GPU{{UUID: "GPU-89ab0000", Name: "H100", SMs: 132, MemoryMiB: 81559}},
		Rules: []mpsfake.Rule{{Command: "get_default", Nth: 2, Trouble: mpsfake.Replace}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	client := mps.New(daemon, mps.Options{Identity: daemon.PIDFile})

	set, err := client.SetDefaultPercentage(ctx, 25)
	fmt.Println(set.Verified, err)

	at, err := daemon.Connect(mpsfake.Client{PID: 4242, UID: 1000})
	fmt.Println(at.State, at.Shares[0].SMs, err)

	_, err = client.DefaultPercentage(ctx)
	fmt.Println(errors.Is(err, mps.ErrReplaced))
	// Output:
	// true <nil>
	// active 32 <nil>
	// true
}
