package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpushare/gpushare/examples/internal/command"
)

// invocation is one run of a command, with the flags of those that talk to a daemon.
type invocation struct {
	*command.Invocation

	fake     bool
	replies  string // how the fake words what is not published
	pipe     string
	log      string
	program  string
	protocol int
	timeout  time.Duration

	daemon *daemon // once it is open
}

func newInvocation(frame *command.Invocation) *invocation { return &invocation{Invocation: frame} }

// reaches defines the flags that say which daemon is meant.
func (inv *invocation) reaches() {
	inv.Flags.BoolVar(&inv.fake, "fake", false, "")
	inv.Flags.StringVar(&inv.replies, "replies", "quiet", "")
	inv.Flags.StringVar(&inv.pipe, "pipe", "", "")
	inv.Flags.StringVar(&inv.log, "log", "", "")
	inv.Flags.StringVar(&inv.program, "program", "", "")
	inv.Flags.IntVar(&inv.protocol, "protocol", 0, "")
	inv.Flags.DurationVar(&inv.timeout, "timeout", 10*time.Second, "")
}

// parse reads the flags of a command that talks to a daemon.
func (inv *invocation) parse(args []string, required ...string) error {
	if err := inv.Parse(args, required...); err != nil {
		return err
	}
	switch {
	case inv.Given("protocol") && inv.protocol != 2 && inv.protocol != 3:
		return fmt.Errorf("-protocol: %d is neither 2 nor 3", inv.protocol)
	case inv.timeout <= 0:
		return fmt.Errorf("-timeout: %v is not above 0", inv.timeout)
	case inv.fake && (inv.Given("pipe") || inv.Given("log") || inv.Given("program")):
		return errors.New("-fake excludes -pipe, -log and -program: the fake has its own")
	case !inv.fake && inv.Given("replies"):
		return errors.New("-replies is for -fake")
	case !slices.Contains(replySets, inv.replies):
		return fmt.Errorf("-replies: %q is none of %s", inv.replies, strings.Join(replySets, ", "))
	}
	for _, name := range []string{"pipe", "log", "program"} {
		if inv.Given(name) && inv.Flags.Lookup(name).Value.String() == "" {
			return fmt.Errorf("-%s: it is empty", name)
		}
	}
	return nil
}

// close ends what open has started.
func (inv *invocation) close() {
	if inv.daemon != nil {
		inv.daemon.close()
	}
}

// word takes the second word of a command: the "get" of "limits get".
func word(args []string, names ...string) (name string, rest []string, err error) {
	if len(args) == 0 {
		return "", nil, fmt.Errorf("one of %s is missing (-h explains)", strings.Join(names, ", "))
	}
	switch {
	case slices.Contains(names, args[0]):
		return args[0], args[1:], nil
	case slices.Contains([]string{"-h", "-help", "--help"}, args[0]):
		return "", nil, flag.ErrHelp
	}
	return "", nil, fmt.Errorf("%q is none of %s", args[0], strings.Join(names, ", "))
}

// number reads a whole number from least on.
func number(s string, least, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q is no whole number from %d to %d", s, least, most)
	}
	return n, nil
}

// numbers reads a list of them with commas between.
func numbers(s string, least, most int) ([]int, error) {
	var list []int
	for i, part := range strings.Split(s, ",") {
		n, err := number(part, least, most)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		list = append(list, n)
	}
	return list, nil
}

const maxPID = 1<<31 - 1

// pidFlag reads a flag that holds a pid.
func (inv *invocation) pidFlag(name, value string) (int, error) {
	pid, err := number(value, 1, maxPID)
	if err != nil {
		return 0, fmt.Errorf("-%s: %w", name, err)
	}
	return pid, nil
}

// count writes a number of things: "1 client", "2 clients".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
