package mps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// V3 speaks protocol 3: a module, a verb and their arguments for each run of the
// program. It is the same client underneath, with its deadlines, its check of who
// answers and its turns to write, and as safe for concurrent use.
//
// What the program says when it refuses is not published. So a write gives its reply
// as it is, and Verified once a list or a get showed what was asked for.
type V3 struct{ c *Client }

// V3 is the client for a daemon of protocol 3; see Detect.
func (c *Client) V3() V3 { return V3{c} }

// V3Reply is what a command that changes something left.
type V3Reply struct {
	Raw      string // what the program said
	Verified bool   // read back as asked for; false where nothing tells, which is no failure
}

// read is a command whose answer is on standard output.
func (v V3) read(ctx context.Context, args ...string) (Call, Output, error) {
	call := Call{Args: args}
	out, err := v.c.do(ctx, call)
	if err == nil {
		err = judge(call, out)
	}
	return call, out, err
}

// get is the bare value of a field.
func (v V3) get(ctx context.Context, args ...string) (string, error) {
	call, out, err := v.read(ctx, args...)
	if err != nil {
		return "", err
	}
	value := strings.TrimSpace(out.Stdout)
	if value == "" || strings.Contains(value, "\n") {
		return "", replyError(call, out, errors.New("want one line with the value"))
	}
	// A path and the command of a client may hold any words.
	switch args[len(args)-1] {
	case "cmd":
	case "pipe-directory":
		if !strings.HasPrefix(value, "/") {
			return "", replyError(call, out, errors.New("want a path"))
		}
	default:
		if _, failed := classify(value); failed {
			return "", replyError(call, out, nil)
		}
	}
	return value, nil
}

// proof says whether what was written is there.
type proof uint8

const (
	untold   proof = iota // nothing tells
	shown                 // it is
	disputed              // something else is
)

// write runs a command that changes something and then looks for what it did. Both
// runs are of one daemon.
func (v V3) write(ctx context.Context, args []string, look func(context.Context, V3) (proof, error)) (V3Reply, error) {
	call := Call{Args: args}
	end, err := v.c.begin(ctx, call.command())
	if err != nil {
		return V3Reply{}, err
	}
	defer end()
	v = V3{v.c.pin()}
	out, err := v.c.do(ctx, call)
	reply := V3Reply{Raw: out.reply()}
	if err != nil {
		return reply, err
	}
	if err := judgeWrite(call, out); err != nil || look == nil {
		return reply, err
	}
	switch found, err := look(ctx, v); {
	case err != nil && lost(err):
		return reply, fmt.Errorf("%s: not read back: %w", call.command(), err)
	case err == nil && found == disputed:
		return reply, &OpError{
			Kind: Unverified, Command: call.command(), Reply: out.reply(), Exit: out.Exit,
			Err: errors.New("what was read afterwards says otherwise"),
		}
	default:
		reply.Verified = err == nil && found == shown
		return reply, nil
	}
}

// judgeWrite takes for a success what does not look like a failure. Names in quotes
// are no part of what is looked at: they may be any words.
func judgeWrite(call Call, out Output) error {
	if err := judge(call, out); err != nil {
		return err
	}
	text := out.Stdout
	for _, arg := range call.Args {
		text = strings.ReplaceAll(text, "'"+arg+"'", "")
	}
	if _, failed := classify(text); failed {
		return replyError(call, out, nil)
	}
	return nil
}

// lost tells whether an error is about the daemon, and not about what it said.
func lost(err error) bool {
	for _, e := range [...]error{ErrNoDaemon, ErrReplaced, ErrTimedOut, ErrNoProgram} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// checkV3Name refuses what cannot be a name of a server, a namespace or a partition.
func checkV3Name(what, name string) error {
	if name == "" || len(name) > 64 {
		return fmt.Errorf("%w: %s name %.80q has %d characters, want 1 to 64", ErrInput, what, name, len(name))
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
			return fmt.Errorf("%w: %s name %q: %q is not one of a-z, 0-9 and _", ErrInput, what, name, r)
		}
	}
	return nil
}

// checkV3Field refuses a field that is not documented for the module.
func checkV3Field(field string, known ...string) error {
	if slices.Contains(known, field) {
		return nil
	}
	return fmt.Errorf("%w: field %q, want one of %s", ErrInput, field, strings.Join(known, ", "))
}

// option is --key=value, or nothing for an empty value.
func option(args []string, key, value string) []string {
	if value == "" {
		return args
	}
	return append(args, "--"+key+"="+value)
}

func optionInt(args []string, key string, value *int) []string {
	if value == nil {
		return args
	}
	return append(args, "--"+key+"="+strconv.Itoa(*value))
}

func optionBool(args []string, key string, value *bool) []string {
	if value == nil {
		return args
	}
	return append(args, "--"+key+"="+strconv.FormatBool(*value))
}
