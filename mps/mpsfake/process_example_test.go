//go:build linux

package mpsfake_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// A program that is its own fake: TestMain calls Main when it is started under the
// name of the link.
func ExampleStart() {
	dir, err := os.MkdirTemp("", "mps")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program, err := mpsfake.Link(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	daemon, err := mpsfake.Start(ctx, mpsfake.Options{
		Program: program,
		Setup: mpsfake.Setup{Config: mpsfake.Config{
			GPUs: []mpsfake.GPU{{UUID: "GPU-8a1d2e3f", Name: "NVIDIA A100-SXM4-40GB", SMs: 108, MemoryMiB: 40960, ChunkSMs: 4}},
			PID:  7001,
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { fmt.Println("stopped:", daemon.Stop()) }()

	// A client of the control program, which starts it for each command.
	directories := mps.Directories{Pipe: daemon.Pipe, Log: daemon.Log}
	client := mps.New(&mps.Exec{Path: program, Directories: directories}, mps.Options{Identity: mps.PIDFile(daemon.Pipe)})
	if _, err := client.SetDefaultPercentage(ctx, 30); err != nil {
		fmt.Println(err)
		return
	}

	// Two CUDA programs, which stay.
	for pid := 501; pid <= 502; pid++ {
		a, err := daemon.Connect(mpsfake.Client{PID: pid, UID: 1000})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(pid, a.State, a.Shares[0].SMs)
	}
	servers, err := client.Servers(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	clients, err := client.Clients(ctx, servers[0])
	fmt.Println(servers, clients, err)
	// Output:
	// 501 active 32
	// 502 active 32
	// [7002] [501 502] <nil>
	// stopped: <nil>
}
