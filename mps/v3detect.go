package mps

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Detection is which protocol a running daemon speaks.
type Detection struct {
	Protocol int    // 2 or 3
	Command  string // what showed it
	Reply    string // what it answered
}

// Detect asks the running daemon which protocol it speaks: a program that is started
// as a client follows the daemon, whatever it is told itself. It only reads: a list of
// servers in protocol 3, then in protocol 2, and the default percentage if that list
// is empty, since an empty reply shows nothing. If no reply is one of the protocol's,
// the error is ErrUnparsed and holds the last one.
func (c *Client) Detect(ctx context.Context) (Detection, error) {
	c = c.pin()
	probes := [...]struct {
		protocol int
		call     Call
		shows    func(reply string) error
	}{
		{3, Call{Args: []string{"server", "list", "--format=csv"}}, func(reply string) error {
			_, err := parseV3Servers(reply)
			return err
		}},
		{2, Call{Input: "get_server_list\n"}, func(reply string) error {
			if strings.TrimSpace(reply) == "" {
				return errors.New("an empty list shows nothing")
			}
			_, err := parsePIDs(reply)
			return err
		}},
		{2, Call{Input: "get_default_active_thread_percentage\n"}, func(reply string) error {
			_, err := parsePercentage(reply)
			return err
		}},
	}
	var last error
	for _, p := range probes {
		out, err := c.do(ctx, p.call)
		if err != nil {
			return Detection{}, err
		}
		if last = judge(p.call, out); last != nil {
			continue
		}
		if err := p.shows(out.Stdout); err != nil {
			last = replyError(p.call, out, err)
			continue
		}
		return Detection{Protocol: p.protocol, Command: p.call.command(), Reply: out.Stdout}, nil
	}
	return Detection{}, fmt.Errorf("neither protocol: %w", unparsed(last))
}

// unparsed is an error of a reply as one that nothing was made of.
func unparsed(err error) error {
	var op *OpError
	if errors.As(err, &op) {
		other := *op
		other.Kind = Unparsed
		return &other
	}
	return err
}
