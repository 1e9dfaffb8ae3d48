package mps

import (
	"context"
	"fmt"
	"strconv"
)

// DefaultClientPriority is the priority that clients get, 0 normal or 1 below normal.
func (c *Client) DefaultClientPriority(ctx context.Context) (int, error) {
	return ask(ctx, c, "get_default_client_priority", parsePriority)
}

// SetDefaultClientPriority sets the priority of clients that connect from now on: 0
// normal, 1 below normal. It is a hint to the driver.
func (c *Client) SetDefaultClientPriority(ctx context.Context, priority int) (Setting, error) {
	if priority != 0 && priority != 1 {
		return Setting{}, fmt.Errorf("%w: client priority %d is %w", ErrInput, priority, errPriority)
	}
	return c.change(ctx, "set_default_client_priority "+strconv.Itoa(priority), "get_default_client_priority",
		func(reply string) (bool, error) {
			got, err := parsePriority(reply)
			return got == priority, err
		})
}
