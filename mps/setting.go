package mps

import (
	"context"
	"fmt"
)

// Setting is what is known of a value after it was set. The formats of most of these
// replies are not published, so what the daemon said is kept as it came.
type Setting struct {
	// Verified: the daemon was asked afterwards and reported the value. If it is false
	// and there is no error, the daemon took the value without complaint, but its
	// answer to the question could not be read.
	Verified bool
	Reply    string // to the command that set
	Read     string // to the question afterwards
	Warning  string // what is known to go wrong with this form, or ""
}

// change sends set, and then asks with get. equal tells whether an answer is the
// value; its error is for an answer that it cannot read.
func (c *Client) change(ctx context.Context, set, get string, equal func(answer string) (bool, error)) (Setting, error) {
	end, err := c.begin(ctx, set)
	if err != nil {
		return Setting{}, err
	}
	defer end()
	c = c.pin()
	var s Setting
	if s.Reply, err = c.tell(ctx, set); err != nil {
		return s, err
	}
	call := Call{Input: get + "\n"}
	out, err := c.do(ctx, call)
	s.Read = out.Stdout
	if err != nil {
		return s, err
	}
	if err := judge(call, out); err != nil {
		return s, err
	}
	same, err := equal(out.Stdout)
	switch {
	case err != nil:
		if _, failed := classify(out.Stdout); failed {
			return s, replyError(call, out, err)
		}
	case !same:
		return s, &OpError{
			Kind: Unverified, Command: set, Reply: out.reply(), Exit: out.Exit,
			Err: fmt.Errorf("%s tells another value", get),
		}
	default:
		s.Verified = true
	}
	return s, nil
}
