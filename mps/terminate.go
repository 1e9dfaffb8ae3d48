package mps

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// CUDAError is a code of the CUDA driver that the daemon reported.
type CUDAError int

// Error names the code where MPS gives it a meaning.
func (e CUDAError) Error() string {
	name := ""
	switch e {
	case 805:
		name = " (MPS connection failed)"
	case 806:
		name = " (MPS RPC failure)"
	case 807:
		name = " (MPS server not ready)"
	case 808:
		name = " (MPS clients at their maximum)"
	case 809:
		name = " (MPS connections at their maximum)"
	case 810:
		name = " (MPS client terminated)"
	}
	return fmt.Sprintf("CUDA error %d%s", int(e), name)
}

// TerminateClient has a server end the work of a client: the CUDA calls of the process
// fail from then on, the process lives. Only after a nil error is it safe to kill the
// process by a signal: any other end of this method, a time-out above all, leaves open
// whether the client is still at work, and killing a busy client leaves the server
// undefined.
//
// Both pids are of the daemon's namespace. The daemon answers when it is done, and may
// refuse new clients meanwhile. If it answers with a CUDA code, the error wraps the
// CUDAError.
func (c *Client) TerminateClient(ctx context.Context, server, client int) error {
	if err := checkPID("server", server); err != nil {
		return err
	}
	if err := checkPID("client", client); err != nil {
		return err
	}
	line := fmt.Sprintf("terminate_client %d %d", server, client)
	end, err := c.begin(ctx, line)
	if err != nil {
		return err
	}
	defer end()
	call := Call{Input: line + "\n"}
	out, err := c.do(ctx, call)
	if err != nil {
		return err
	}
	code, err := strconv.ParseUint(strings.TrimSpace(out.reply()), 10, 31)
	switch {
	case err != nil:
		return replyError(call, out, fmt.Errorf("%w: not a CUDA code", strconv.ErrSyntax))
	case code == 0 && out.Exit == 0 && strings.TrimSpace(out.Stdout) == "0":
		return nil
	case code == 0:
		return replyError(call, out, nil)
	case code == 807:
		return &OpError{Kind: NotReady, Command: line, Reply: out.reply(), Exit: out.Exit, Err: CUDAError(code)}
	}
	return &OpError{Kind: Refused, Command: line, Reply: out.reply(), Exit: out.Exit, Err: CUDAError(code)}
}
