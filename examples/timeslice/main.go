// Command timeslice shows what sharing a GPU in time does: who runs when under
// each scheduler, what a device plugin makes of its sharing config, what launch
// governors are worth to a protected tenant, and how the vGPU scheduler of a
// machine is set.
//
//	timeslice simulate -clients '2*busy,web=poisson:load=0.3:work=5ms' -policy roundrobin,fixed
//	timeslice lint -f config.yaml
//	timeslice advertise -f config.yaml -inventory '8*a100-80gb'
//	timeslice governor -plot governor
//	timeslice vgpu set -fake a100-80gb -policy fixed -frequency 480
//	timeslice registry 0x00030001
//
// It prints tables and pictures for people and, with -json, one JSON object for
// programs. Its exit status is 0 when done, 1 when the answer is no, 2 for bad
// usage or input, and 130 when interrupted; the error then goes to standard error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/gpushare/gpushare/examples/internal/command"
)

// schema is the version of the JSON that every command prints.
const schema = 1

func main() {
	os.Exit(command.Interruptible(func(ctx context.Context) int {
		return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	}, os.Interrupt, syscall.SIGTERM))
}

// named is a command with its name and its part of the help.
type named struct {
	name  string
	usage string
	run   func(context.Context, *invocation, []string) error
}

// commands lists all of them, in the order of the usage text.
func commands() []named {
	return []named{
		{"simulate", simulateUsage, simulate},
		{"lint", lintUsage, lint},
		{"advertise", advertiseUsage, advertise},
		{"governor", governorUsage, tryGovernors},
		{"vgpu", vgpuUsage, vgpu},
		{"registry", registryUsage, registry},
	}
}

// invocation is one run of a command.
type invocation struct {
	*command.Invocation
	stderr io.Writer // for progress
	args   []string  // those that are no flags
}

// run is the whole program.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := command.Program{Name: "timeslice", Usage: usage}
	for _, c := range commands() {
		p.Commands = append(p.Commands, command.Command{Name: c.name, Run: func(frame *command.Invocation, args []string) error {
			err := c.run(ctx, &invocation{Invocation: frame, stderr: stderr}, args)
			if errors.Is(err, flag.ErrHelp) {
				_, err = io.WriteString(stdout, c.usage)
			}
			if ctx.Err() != nil {
				err = nil // it is said once, below
			}
			return err
		}})
	}
	status := p.Run(args, stdin, stdout, stderr)
	if ctx.Err() != nil {
		return command.Ended(ctx, p.Name, nil, stderr)
	}
	return status
}

// parse reads the flags, which may stand before and after what is no flag, of
// which there can be as many as most.
func (inv *invocation) parse(args []string, most int, required ...string) error {
	for len(args) > 0 {
		if err := inv.Flags.Parse(args); err != nil {
			return err
		}
		if args = inv.Flags.Args(); len(args) == 0 {
			break
		}
		if len(inv.args) == most {
			return fmt.Errorf("unexpected argument %q", args[0])
		}
		inv.args, args = append(inv.args, args[0]), args[1:]
	}
	return inv.Require(required...)
}
