package mps

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Quit ends the daemon and its servers, and returns before the daemon is gone. That
// there is no daemon is no error. A wait above 0 is passed on as the time-out of the
// command, rounded up to whole seconds, which is how others read its unit; the run may
// take that much longer.
func (c *Client) Quit(ctx context.Context, wait time.Duration) error {
	if wait < 0 {
		return fmt.Errorf("%w: quit with a wait of %v", ErrInput, wait)
	}
	line := "quit"
	if wait > 0 {
		line += fmt.Sprintf(" -t %d", (wait-1)/time.Second+1)
	}
	end, err := c.begin(ctx, line)
	if err != nil {
		return err
	}
	defer end()
	call := Call{Input: line + "\n"}
	out, err := c.round(ctx, call, c.timeout+wait, false)
	switch {
	case errors.Is(err, ErrNoDaemon) && (saysNoDaemon(out) || strings.TrimSpace(out.reply()) == ""):
		return nil // a text that nobody knows does not pass for that
	case err != nil:
		return err
	}
	_, err = accept(call, out)
	return err
}
