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
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// schema is the version of the JSON that every command prints.
const schema = 1

// The exit statuses.
const (
	exitDone = iota
	exitNo
	exitBad
)

// errNo says that the question was answered, with no.
var errNo = errors.New("the answer is no")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// command is what the first argument names.
type command struct {
	name string
	run  func(context.Context, *invocation, []string) error
}

// commands lists all of them, in the order of the usage text.
func commands() []command {
	return []command{
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
		{"reset", reset},
		{"reboot", reboot},
		{"hold", hold},
		{"kill", kill},
	}
}

// run is the whole program.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return exitBad
	}
	switch args[0] {
	case "-h", "-help", "--help", "help":
		fmt.Fprint(stdout, usage)
		return exitDone
	}
	list := commands()
	chosen := slices.IndexFunc(list, func(c command) bool { return c.name == args[0] })
	if chosen < 0 {
		var names []string
		for _, c := range list {
			names = append(names, c.name)
		}
		fmt.Fprintf(stderr, "migctl: unknown command %q (there are %s; -h explains)\n", args[0], strings.Join(names, ", "))
		return exitBad
	}
	inv := newInvocation(args[0], stdin, stdout)
	err := list[chosen].run(ctx, inv, args[1:])
	var no *noError
	if errors.As(err, &no) {
		err = inv.print(noAnswer{Schema: schema, Reason: reason{no.kind, no.Error()}}, func() string {
			return fmt.Sprintf("%s: no\nreason: %s: %s\n", args[0], no.kind, no.Error())
		})
		if err == nil {
			err = errNo
		}
	}
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errNo):
		return exitNo
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return exitDone
	default:
		fmt.Fprintf(stderr, "migctl %s: %s\n", args[0], oneLine(err.Error()))
		return exitBad
	}
}

// oneLine joins the lines of a text: some errors list several problems.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), "; ")
}

// noError is why a command as a whole was not carried out, though nothing is
// wrong with what was asked.
type noError struct {
	kind string // "locked", "unfinished", "changed"
	err  error
}

func (e *noError) Error() string { return e.err.Error() }
func (e *noError) Unwrap() error { return e.err }

type noAnswer struct {
	Schema int    `json:"schema"`
	Done   bool   `json:"done"`
	Reason reason `json:"reason"`
}

type reason struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// print writes the value as indented JSON, or what text gives for people.
func (inv *invocation) print(value any, text func() string) error {
	if !inv.json {
		_, err := io.WriteString(inv.out, text())
		return err
	}
	enc := json.NewEncoder(inv.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// answer prints, and says no unless all is as asked.
func (inv *invocation) answer(yes bool, value any, text func() string) error {
	err := inv.print(value, text)
	if err == nil && !yes {
		return errNo
	}
	return err
}
