package mps

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// DefaultTimeout is how long a call may take if Options says nothing.
const DefaultTimeout = 10 * time.Second

// Options are the settings of a Client. The zero value is good: ten seconds for each
// call, and no check of who answers.
type Options struct {
	// Timeout bounds each run of the program; 0 is DefaultTimeout. One method may run
	// it more than once: a set is two runs.
	Timeout time.Duration

	// Identity tells who the daemon is, see PIDFile. It is asked before and after each
	// run. If it is nil, a daemon that was replaced goes unnoticed.
	Identity IdentityFunc
}

// Client speaks protocol 2 to a control daemon: one command line for each run of the
// program. It is safe for concurrent use; what changes something waits for its turn,
// so that a value is read back before the same client sets another.
type Client struct {
	runner   Runner
	timeout  time.Duration
	identity IdentityFunc
	pinned   *Identity     // what identity must say, or nil
	writing  chan struct{} // holds a token while a method that writes is at work
}

// New is a client that reaches the daemon through r: Exec, or a fake. Without one every
// method fails with ErrInput, as those of a zero Client do.
func New(r Runner, o Options) *Client {
	c := &Client{runner: r, timeout: o.Timeout, identity: o.Identity, writing: make(chan struct{}, 1)}
	if c.timeout <= 0 {
		c.timeout = DefaultTimeout
	}
	return c
}

// Open is a client of the daemon of the directories, through the program of the
// driver, with the check of the pid file. It is an error that wraps ErrInput if the
// pipe directory cannot be used. Nothing is run yet.
func Open(d Directories, o Options) (*Client, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	if o.Identity == nil {
		o.Identity = PIDFile(d.Pipe)
	}
	return New(&Exec{Directories: d}, o), nil
}

// WithTimeout is the same client with another time for each run; what writes still
// takes turns with c. 0 is DefaultTimeout.
func (c *Client) WithTimeout(d time.Duration) *Client {
	other := *c
	if other.timeout = d; d <= 0 {
		other.timeout = DefaultTimeout
	}
	return &other
}

// Pin is the same client, bound to the daemon that is there now: as soon as another
// one answers, its methods fail with ErrReplaced. Use it for answers that belong
// together. It fails with ErrInput without Options.Identity, and with ErrNoDaemon and
// what Identity said where it names none. A pid without a process (ErrStale) names one,
// as the daemon may live in another PID namespace. Where only the pid is known, a new
// daemon with the pid of the old one passes for it.
func (c *Client) Pin() (*Client, error) {
	if c == nil || c.identity == nil {
		return nil, fmt.Errorf("%w: pin without Options.Identity", ErrInput)
	}
	id, known, err := c.who()
	if !known {
		return nil, &OpError{Kind: NoDaemon, Command: "pin", Exit: -1, Err: err}
	}
	other := *c
	other.pinned = &id
	return &other, nil
}

// pin is Pin for a method of several runs: where there is nobody to bind to, the
// client stays as it is.
func (c *Client) pin() *Client {
	if c == nil || c.identity == nil || c.pinned != nil {
		return c
	}
	if pinned, err := c.Pin(); err == nil {
		return pinned
	}
	return c
}

// unmade is the error of a client that did not come from New, or had nothing to run.
func (c *Client) unmade(command string) error {
	if c != nil && c.runner != nil {
		return nil
	}
	return &OpError{Kind: NoProgram, Command: command, Exit: -1, Err: fmt.Errorf("%w: no Runner, as of a value that no constructor made", ErrInput)}
}

// begin waits for the turn to write.
func (c *Client) begin(ctx context.Context, command string) (end func(), err error) {
	if err := c.unmade(command); err != nil {
		return nil, err
	}
	select {
	case c.writing <- struct{}{}:
		return func() { <-c.writing }, nil
	case <-ctx.Done():
		return nil, &OpError{Kind: TimedOut, Command: command, Exit: -1, Err: fmt.Errorf("waiting for another command: %w", ctx.Err())}
	}
}

// who asks for the daemon's identity. A pid file of a process that is not seen names
// one all the same: the process may live in another PID namespace.
func (c *Client) who() (id Identity, known bool, err error) {
	if c == nil || c.identity == nil {
		return Identity{}, false, nil
	}
	id, err = c.identity()
	return id, err == nil || errors.Is(err, ErrStale), err
}

// do is one run with a deadline, by one and the same daemon. Its error is an OpError:
// NoProgram, TimedOut, NoDaemon, Replaced, or Unparsed for a run without an end. What
// the reply means otherwise, and the exit status, are the caller's to judge.
func (c *Client) do(ctx context.Context, call Call) (Output, error) {
	if err := c.unmade(call.command()); err != nil {
		return Output{Exit: -1}, err
	}
	return c.round(ctx, call, c.timeout, true)
}

// round is do with another time, and without the look at the daemon afterwards where
// the command is meant to end it.
func (c *Client) round(ctx context.Context, call Call, timeout time.Duration, stays bool) (Output, error) {
	fail := func(k Kind, out Output, err error) (Output, error) {
		return out, &OpError{Kind: k, Command: call.command(), Reply: out.reply(), Exit: out.Exit, Err: err}
	}
	none := Output{Exit: -1}
	before, known, whoErr := c.who()
	if c.pinned != nil {
		switch {
		case !known, whoErr != nil && before.PID == c.pinned.PID && c.pinned.Start != 0:
			return fail(NoDaemon, none, fmt.Errorf("daemon %d is gone: %w", c.pinned.PID, whoErr))
		case before != *c.pinned:
			return fail(Replaced, none, fmt.Errorf("nothing was run: %w", changed(*c.pinned, before)))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if ctx.Err() != nil {
		return fail(TimedOut, none, fmt.Errorf("nothing was run: %w", ctx.Err()))
	}
	out, err := c.runner.Run(ctx, call)
	if err != nil {
		out.Exit = -1
		switch {
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
			return fail(TimedOut, out, errors.Join(err, stale(whoErr)))
		case errors.Is(err, ErrNoProgram):
			return fail(NoProgram, out, err)
		}
		return fail(Unparsed, out, err)
	}
	if saysNoDaemon(out) {
		return fail(NoDaemon, out, stale(whoErr))
	}
	if out.Exit != 0 && stale(whoErr) != nil {
		if kind, _ := failure(out); kind == Unparsed {
			return fail(NoDaemon, out, whoErr) // the pid file says more than the reply
		}
	}
	if !stays || !known {
		return out, nil
	}
	switch after, stillKnown, err := c.who(); {
	case !stillKnown:
		return fail(NoDaemon, out, fmt.Errorf("daemon %d ended meanwhile: %w", before.PID, err))
	case whoErr == nil && err != nil:
		return fail(NoDaemon, out, fmt.Errorf("daemon %d ended meanwhile: %w", before.PID, err))
	case after != before:
		return fail(Replaced, out, changed(before, after))
	}
	return out, nil
}

func changed(old, now Identity) error {
	return fmt.Errorf("daemon %v was followed by %v", old, now)
}

// stale keeps of an error of the identity what explains that nobody answers.
func stale(err error) error {
	if errors.Is(err, ErrStale) {
		return err
	}
	return nil
}

// command is the call as a person would type it.
func (c Call) command() string {
	return strings.TrimSpace(strings.Join(c.Args, " ") + " " + c.Input)
}

// reply is all that was said, standard output first.
func (o Output) reply() string {
	if strings.TrimSpace(o.Stderr) == "" {
		return o.Stdout
	}
	if o.Stdout == "" || strings.HasSuffix(o.Stdout, "\n") {
		return o.Stdout + o.Stderr
	}
	return o.Stdout + "\n" + o.Stderr
}
