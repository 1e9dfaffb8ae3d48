package mps

import (
	"context"
	"fmt"
)

// DefaultPercentage is the active thread percentage that servers start with.
func (c *Client) DefaultPercentage(ctx context.Context) (float64, error) {
	return ask(ctx, c, "get_default_active_thread_percentage", parsePercentage)
}

// SetDefaultPercentage sets the active thread percentage of servers that start from
// now on, above 0 and at most 100. Those that run keep theirs, and the daemon forgets
// it when it quits. Whether fractions are taken is not published; what the daemon made
// of one is in Setting.Read.
func (c *Client) SetDefaultPercentage(ctx context.Context, percentage float64) (Setting, error) {
	if err := checkPercentage(percentage); err != nil {
		return Setting{}, err
	}
	return c.change(ctx, "set_default_active_thread_percentage "+formatPercentage(percentage),
		"get_default_active_thread_percentage", percentageIs(percentage))
}

// Percentage is the active thread percentage of a server.
func (c *Client) Percentage(ctx context.Context, server int) (float64, error) {
	if err := checkPID("server", server); err != nil {
		return 0, err
	}
	return ask(ctx, c, fmt.Sprintf("get_active_thread_percentage %d", server), parsePercentage)
}

// SetPercentage sets the active thread percentage of a server, above 0 and at most
// 100, for clients that connect from now on.
func (c *Client) SetPercentage(ctx context.Context, server int, percentage float64) (Setting, error) {
	if err := checkPID("server", server); err != nil {
		return Setting{}, err
	}
	if err := checkPercentage(percentage); err != nil {
		return Setting{}, err
	}
	return c.change(ctx, fmt.Sprintf("set_active_thread_percentage %d %s", server, formatPercentage(percentage)),
		fmt.Sprintf("get_active_thread_percentage %d", server), percentageIs(percentage))
}

func checkPercentage(p float64) error {
	if !(p > 0 && p <= 100) { // also NaN
		return fmt.Errorf("%w: active thread percentage %v is not above 0 and at most 100", ErrInput, p)
	}
	return nil
}

func percentageIs(want float64) func(string) (bool, error) {
	return func(reply string) (bool, error) {
		got, err := parsePercentage(reply)
		return samePercentage(want, got), err
	}
}
