package mps

import (
	"context"
	"errors"
	"fmt"
)

// TerminateClients has a server end the work of clients, one after the other, and
// gives those that are safe to kill: those for which the daemon said 0. The errors of
// the others are joined. A client that is not among the safe ones may still be at
// work, and killing it leaves the server undefined.
func (c *Client) TerminateClients(ctx context.Context, server int, clients ...int) (safe []int, err error) {
	c = c.pin()
	var failed []error
	for _, client := range clients {
		if err := c.TerminateClient(ctx, server, client); err != nil {
			failed = append(failed, fmt.Errorf("client %d: %w", client, err))
			continue
		}
		safe = append(safe, client)
	}
	return safe, errors.Join(failed...)
}
