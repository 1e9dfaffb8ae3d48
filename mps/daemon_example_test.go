package mps_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// A daemon of two clients that share a GPU in halves. On a node, leave out Runner and
// Client and name the directories.
func ExampleDaemon() {
	fake, err := mpsfake.New(mpsfake.Config{
		GPUs:    []mpsfake.GPU{{UUID: "GPU-74d43ed3", SMs: 132, MemoryMiB: 81559}},
		Stopped: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	daemon, err := mps.NewDaemon(mps.DaemonConfig{
		Limits: mps.DaemonLimits{Percentage: 50, PinnedMiB: map[string]int64{"0": 40779}},
		BeforeStart: func(context.Context) error {
			fmt.Println("set the compute mode to EXCLUSIVE_PROCESS")
			return nil
		},
		AfterQuit: func(context.Context) error {
			fmt.Println("set it back")
			return nil
		},
		Runner: fake,
		Client: mps.Options{Identity: fake.PIDFile},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	ready, err := daemon.Start(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("daemon", ready.Identity.PID, "is", ready.Phase)

	_, err = daemon.Start(ctx)
	fmt.Println("a second one:", errors.Is(err, mps.ErrRunning))

	if err := daemon.Quit(ctx, 0); err != nil {
		fmt.Println(err)
	}
	// Output:
	// set the compute mode to EXCLUSIVE_PROCESS
	// daemon 1000 is ready
	// a second one: true
	// set it back
}
