// Command migctl is the operator's tool for MIG: it reads how the GPUs of a
// machine are cut, compares that with a mig-parted file, changes it as a
// transaction with a journal, and undoes it.
//
//	migctl init -fake dgx-a100 -to m.json
//	migctl apply -fake m.json -gpu 0 -want 3g.40gb=1,1g.10gb=4
//	migctl state -fake m.json
//	migctl undo -fake m.json
//
// The machine is a fake one of package nvmlfake, for trying things out, or the
// real one behind NVML. It prints tables and pictures for people and, with -json,
// one JSON object for programs. Its exit status is 0 when done, 1 when the answer
// is no, and 2 for bad usage or input; the error then goes to standard error.
package main

import (
	"context"
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

// named is a command with its name.
type named struct {
	name string
	run  func(context.Context, *invocation, []string) error
}

// commands lists all of them, in the order of the usage text.
func commands() []named {
	return []named{
		{"state", state},
		{"blockers", blockers},
		{"assert", assertCommand},
		{"export", export},
		{"verify", verify},
		{"apply", apply},
		{"restore", restore},
		{"undo", undo},
		{"resume", resume},
		{"init", initialise},
		{"reboot", reboot},
		{"hold", hold},
		{"kill", kill},
	}
}

// run is the whole program.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := command.Program{Name: "migctl", Usage: usage}
	for _, c := range commands() {
		p.Commands = append(p.Commands, command.Command{Name: c.name, Run: func(frame *command.Invocation, args []string) error {
			inv := newInvocation(frame)
			return inv.explain(c.name, c.run(ctx, inv, args))
		}})
	}
	return p.Run(args, stdin, stdout, stderr)
}
