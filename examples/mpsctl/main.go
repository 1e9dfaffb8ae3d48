// Command mpsctl is the operator's tool for NVIDIA MPS: it asks the control daemon of
// a node what it serves and under which limits, sets limits and reads them back,
// divides a GPU into static partitions, ends the work of clients so that a kill is
// safe, and watches. Without a daemon it computes shares and plans.
//
//	mpsctl share -model h100-80gb-sxm5 -clients 3,2,1
//	mpsctl status -fake
//	mpsctl limits set -fake -percent 30 -memory 0=20G
//	mpsctl terminate -pipe /run/nvidia-mps -client 4711
//
// The daemon is the one of this node, reached through nvidia-cuda-mps-control, or a
// fake one of package mpsfake, for trying things out on a machine without a GPU. It
// prints tables for people and, with -json, one JSON object for programs (watch: one
// a line). Its exit status is 0 when done, 1 when the answer is no, and 2 for bad
// usage or input; the error then goes to standard error.
package main

import (
	"context"
	"io"
	"os"
	"syscall"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// schema is the version of the JSON that every command prints.
const schema = 1

func main() {
	if mpsfake.Invoked(os.Args[0]) { // started by -fake, as the program of the daemon
		os.Exit(mpsfake.Main(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(command.Interruptible(func(ctx context.Context) int {
		return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	}, os.Interrupt, syscall.SIGTERM))
}

// named is a command with its name.
type named struct {
	name string
	run  func(context.Context, *invocation, []string) error
}

// commands lists all of them, in the order of the usage text.
func commands() []named {
	return []named{
		{"status", status},
		{"servers", servers},
		{"clients", clients},
		{"limits", limits},
		{"partition", partition},
		{"terminate", terminate},
		{"watch", watch},
		{"share", share},
		{"plan", plan},
		{"fake", fakeDaemon},
	}
}

// run is the whole program.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := command.Program{Name: "mpsctl", Usage: usage}
	interrupted := false
	for _, c := range commands() {
		p.Commands = append(p.Commands, command.Command{Name: c.name, Run: func(frame *command.Invocation, args []string) error {
			inv := newInvocation(frame)
			defer inv.close()
			err := inv.explain(ctx, c.name, c.run(ctx, inv, args))
			interrupted = err != nil && ctx.Err() != nil
			if interrupted {
				return nil // said below
			}
			return err
		}})
	}
	code := p.Run(args, stdin, stdout, stderr)
	if interrupted {
		return command.Ended(ctx, "mpsctl", nil, stderr)
	}
	return code
}
