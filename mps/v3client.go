package mps

import (
	"context"
	"strconv"
	"strings"
)

// Terminate ends the work of a client, given by its PID in the namespace of the
// daemon, on all its devices. Its process lives on, with errors from every call.
//
// Verified is true only if the reply is 0 and nothing else, which is what protocol 2
// documents for success; what protocol 3 says is not published. Another number is taken
// for a CUDA code, and the error wraps it. Only if Verified is true is it safe
// to kill the process: a client that is killed at work leaves the server in a state
// that nobody defines.
func (v V3) Terminate(ctx context.Context, pid int) (V3Reply, error) {
	if err := checkPID("client", pid); err != nil {
		return V3Reply{}, err
	}
	args := []string{"client", "terminate", strconv.Itoa(pid)}
	reply, err := v.write(ctx, args, nil)
	if err != nil {
		return reply, err
	}
	text := strings.TrimSpace(reply.Raw)
	if code, err := strconv.ParseUint(text, 10, 31); err == nil && code != 0 {
		return reply, &OpError{Kind: Refused, Command: Call{Args: args}.command(), Reply: reply.Raw, Err: CUDAError(code)}
	}
	reply.Verified = text == "0"
	return reply, nil
}

// ClientField is one value of a client as told: pid, server, device, pci-id, linux-ns,
// maws-ns or cmd. A command may be any words: where the program ends with status 0 all
// the same, a refusal passes for it.
func (v V3) ClientField(ctx context.Context, pid int, field string) (string, error) {
	if err := checkPID("client", pid); err != nil {
		return "", err
	}
	if err := checkV3Field(field, "pid", "server", "device", "pci-id", "linux-ns", "maws-ns", "cmd"); err != nil {
		return "", err
	}
	return v.get(ctx, "client", "get", strconv.Itoa(pid), field)
}
