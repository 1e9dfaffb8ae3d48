package mps_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpushare/gpushare/mps"
)

// answers is a daemon in a table, for the examples: see package mpsfake for one that
// behaves.
type answers map[string]string

func (a answers) Run(_ context.Context, c mps.Call) (mps.Output, error) {
	return mps.Output{Stdout: a[c.Input]}, nil
}

// On a machine with a daemon, begin with
//
//	mps.Open(mps.ResolveDirectories(os.Getenv, 2, os.Geteuid() == 0), mps.Options{})
func ExampleClient() {
	daemon := answers{
		"get_server_list\n":         "11803\n",
		"get_server_status 11803\n": "ACTIVE\n",
		"get_client_list 11803\n":   "11921\n11950\n",
	}
	client := mps.New(daemon, mps.Options{})
	ctx := context.Background()

	servers, err := client.Servers(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, server := range servers {
		state, _ := client.ServerStatus(ctx, server)
		clients, _ := client.Clients(ctx, server)
		fmt.Println(server, state, clients)
	}
	// Output:
	// 11803 ACTIVE [11921 11950]
}

func ExampleClient_SetDefaultPercentage() {
	daemon := answers{"get_default_active_thread_percentage\n": "33.0\n"}
	setting, err := mps.New(daemon, mps.Options{}).SetDefaultPercentage(context.Background(), 33)
	fmt.Println(setting.Verified, err)
	// Output:
	// true <nil>
}

// The daemon says no, and the status of the program is 0 all the same.
func ExampleOpError() {
	daemon := answers{"sm_partition rm GPU-12ab AAAA/B+\n": "Partition %s in use. Terminate all clients before removing.\n"}
	client := mps.New(daemon, mps.Options{})
	id, _ := mps.ParsePartitionID("GPU-12ab/AAAA/B+")

	_, err := client.RemovePartition(context.Background(), id)
	fmt.Println(errors.Is(err, mps.ErrInUse))
	var op *mps.OpError
	if errors.As(err, &op) {
		fmt.Println(op.Kind, op.Exit)
	}
	// Output:
	// true
	// in use 0
}

func ExampleClient_TerminateClient() {
	daemon := answers{
		"terminate_client 11803 11921\n": "0\n",
		"terminate_client 11803 11950\n": "1\n",
	}
	client := mps.New(daemon, mps.Options{})
	for _, pid := range []int{11921, 11950} {
		err := client.TerminateClient(context.Background(), 11803, pid)
		fmt.Println("safe to kill", pid, err == nil)
	}
	// Output:
	// safe to kill 11921 true
	// safe to kill 11950 false
}
