package mps

import (
	"context"
	"fmt"
	"strings"
	"unicode"
)

// ServerState is the state of a server.
type ServerState uint8

// The states. A server in ServerFault refuses new clients on all its devices until
// those that the fault reached have left.
const (
	ServerInitializing ServerState = iota + 1
	ServerActive
	ServerFault
)

var stateWords = [...]string{ServerInitializing: "INITIALIZING", ServerActive: "ACTIVE", ServerFault: "FAULT"}

// String is the word of the daemon.
func (s ServerState) String() string {
	if s == 0 || int(s) >= len(stateWords) {
		return fmt.Sprintf("ServerState(%d)", uint8(s))
	}
	return stateWords[s]
}

// maxStateReply is the length of the longest text in which a state is looked for.
const maxStateReply = 1000

// parseState reads a server's state. The three words are documented, what stands
// around them is not, so exactly one of them must be there, in capitals.
func parseState(reply string) (ServerState, error) {
	if len(reply) > maxStateReply {
		return 0, fmt.Errorf("%d bytes are no state", len(reply))
	}
	var found ServerState
	for word := range strings.FieldsFuncSeq(reply, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' }) {
		if strings.EqualFold(word, "not") {
			return 0, fmt.Errorf("%.80q is no state", strings.TrimSpace(reply))
		}
		for state := ServerInitializing; state <= ServerFault; state++ {
			if word != stateWords[state] {
				continue
			}
			if found != 0 {
				return 0, fmt.Errorf("%.80q names more than one state", strings.TrimSpace(reply))
			}
			found = state
		}
	}
	if found == 0 {
		return 0, fmt.Errorf("%.80q is no state", strings.TrimSpace(reply))
	}
	return found, nil
}

// Servers are the pids of the servers, in the daemon's order. None is no error: the
// daemon starts one for the first client.
func (c *Client) Servers(ctx context.Context) ([]int, error) {
	return ask(ctx, c, "get_server_list", parsePIDs)
}

// ServerStatus is the state of a server.
func (c *Client) ServerStatus(ctx context.Context, server int) (ServerState, error) {
	if err := checkPID("server", server); err != nil {
		return 0, err
	}
	return ask(ctx, c, fmt.Sprintf("get_server_status %d", server), parseState)
}

// StartServer has the daemon start a server for a user. It may not be ready yet when
// this returns, and its pid is not told: see Servers and ServerStatus. mlopart asks for
// the locality domains of the device, on drivers that have them. The reply is returned
// as it came; its format is not published.
func (c *Client) StartServer(ctx context.Context, uid int, mlopart bool) (reply string, err error) {
	if err := checkUID(&uid); err != nil {
		return "", err
	}
	line := fmt.Sprintf("start_server -uid %d", uid)
	if mlopart {
		line += " -mlopart"
	}
	return c.write(ctx, line)
}

// ShutdownServer ends a server. Without force the daemon waits until its clients are
// gone, which can take longer than the time for a run: then the error is ErrTimedOut
// and the shutdown remains asked for. The reply is returned as it came.
func (c *Client) ShutdownServer(ctx context.Context, server int, force bool) (reply string, err error) {
	if err := checkPID("server", server); err != nil {
		return "", err
	}
	line := fmt.Sprintf("shutdown_server %d", server)
	if force {
		line += " -f"
	}
	return c.write(ctx, line)
}

// write is tell when it is this client's turn.
func (c *Client) write(ctx context.Context, line string) (reply string, err error) {
	end, err := c.begin(ctx, line)
	if err != nil {
		return "", err
	}
	defer end()
	return c.tell(ctx, line)
}
