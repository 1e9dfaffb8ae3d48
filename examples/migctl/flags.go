package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/mig/parted"
)

// invocation is one run of a command, with the flags that all of them take.
type invocation struct {
	*command.Invocation
	args []string // those that are no flags

	fake string
	nvml bool
	gpus string

	change   changeFlags
	warnings []parted.Finding // of the file that a change is made from
}

// changeFlags are the flags of the commands that change something.
type changeFlags struct {
	journal, lock string
	wait, timeout time.Duration
	dryRun, reset bool
	crashAfter    int
}

func newInvocation(frame *command.Invocation) *invocation {
	inv := &invocation{Invocation: frame}
	inv.Flags.StringVar(&inv.fake, "fake", "", "")
	inv.Flags.BoolVar(&inv.nvml, "nvml", false, "")
	inv.Flags.StringVar(&inv.gpus, "gpu", "", "")
	return inv
}

// changes defines the flags of a command that changes something.
func (inv *invocation) changes() {
	c := &inv.change
	inv.Flags.StringVar(&c.journal, "journal", "", "")
	inv.Flags.StringVar(&c.lock, "lock", "", "")
	inv.Flags.DurationVar(&c.wait, "wait", 10*time.Second, "")
	inv.Flags.DurationVar(&c.timeout, "timeout", 2*time.Minute, "")
	inv.Flags.BoolVar(&c.reset, "reset", false, "")
	inv.Flags.IntVar(&c.crashAfter, "crash-after", 0, "")
}

// parse reads the flags, which may stand before and after what is no flag, of
// which there can be as many as most. The ones named in required must be given.
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
	if err := inv.Require(required...); err != nil {
		return err
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
	_, err := inv.ExactlyOne("fake", "nvml")
	return err
}
