package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// invocation is one run of a command.
type invocation struct {
	in    io.Reader
	out   io.Writer
	flags *flag.FlagSet
	args  []string // those that are no flags

	json, nvml bool
	fake, gpus string

	change changeFlags
}

// changeFlags are the flags of the commands that change something.
type changeFlags struct {
	journal, lock string
	wait, timeout time.Duration
	dryRun, reset bool
	crashAfter    int
}

func newInvocation(name string, in io.Reader, out io.Writer) *invocation {
	inv := &invocation{in: in, out: out, flags: flag.NewFlagSet(name, flag.ContinueOnError)}
	inv.flags.SetOutput(io.Discard)
	inv.flags.BoolVar(&inv.json, "json", false, "")
	inv.flags.StringVar(&inv.fake, "fake", "", "")
	inv.flags.BoolVar(&inv.nvml, "nvml", false, "")
	inv.flags.StringVar(&inv.gpus, "gpu", "", "")
	return inv
}

// changes defines the flags of a command that changes something.
func (inv *invocation) changes() {
	c := &inv.change
	inv.flags.StringVar(&c.journal, "journal", "", "")
	inv.flags.StringVar(&c.lock, "lock", "", "")
	inv.flags.DurationVar(&c.wait, "wait", 10*time.Second, "")
	inv.flags.DurationVar(&c.timeout, "timeout", 2*time.Minute, "")
	inv.flags.BoolVar(&c.reset, "reset", false, "")
	inv.flags.IntVar(&c.crashAfter, "crash-after", 0, "")
}

// parse reads the flags, which may stand before and after what is no flag, of
// which there can be as many as most. The ones named in required must be given.
func (inv *invocation) parse(args []string, most int, required ...string) error {
	for len(args) > 0 {
		if err := inv.flags.Parse(args); err != nil {
			return err
		}
		if args = inv.flags.Args(); len(args) == 0 {
			break
		}
		if len(inv.args) == most {
			return fmt.Errorf("unexpected argument %q", args[0])
		}
		inv.args, args = append(inv.args, args[0]), args[1:]
	}
	for _, name := range required {
		if !inv.given(name) {
			return fmt.Errorf("-%s is missing (-h explains)", name)
		}
	}
	switch {
	case inv.change.wait < 0:
		return fmt.Errorf("-wait: %v is negative", inv.change.wait)
	case inv.change.timeout < 0:
		return fmt.Errorf("-timeout: %v is negative", inv.change.timeout)
	case inv.change.crashAfter < 0:
		return fmt.Errorf("-crash-after: %d is negative", inv.change.crashAfter)
	case inv.change.crashAfter > 0 && inv.nvml:
		return errors.New("-crash-after is for a fake machine")
	case inv.change.reset && !inv.nvml:
		return errors.New("-reset is for -nvml: a fake GPU is always reset where that is needed")
	}
	return nil
}

// parseMachine is parse for the commands that take either kind of machine.
func (inv *invocation) parseMachine(args []string, most int, required ...string) error {
	if err := inv.parse(args, most, required...); err != nil {
		return err
	}
	_, err := inv.exactlyOne("fake", "nvml")
	return err
}

// given reports whether a flag stands on the command line.
func (inv *invocation) given(name string) bool {
	found := false
	inv.flags.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// exactlyOne returns which of the flags was given; it must be one of them.
func (inv *invocation) exactlyOne(names ...string) (string, error) {
	var found []string
	for _, name := range names {
		if inv.given(name) && (name != "nvml" || inv.nvml) { // -nvml=false
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("one of -%s is missing (-h explains)", strings.Join(names, ", -"))
	case 1:
		return found[0], nil
	default:
		return "", fmt.Errorf("-%s exclude each other", strings.Join(found, " and -"))
	}
}

// read returns what stands in a file, or in the standard input where the name is
// "-".
func (inv *invocation) read(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(inv.in)
	}
	return os.ReadFile(name)
}
