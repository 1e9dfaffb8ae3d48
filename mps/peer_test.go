package mps_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

// peer is the daemon's side of a test: a function from a call to what the program
// leaves. It notes the command lines.
type peer struct {
	answer func(ctx context.Context, line string) (mps.Output, error)

	mu    sync.Mutex
	lines []string
}

func (p *peer) Run(ctx context.Context, c mps.Call) (mps.Output, error) {
	line := strings.TrimSuffix(c.Input, "\n")
	p.mu.Lock()
	p.lines = append(p.lines, line)
	p.mu.Unlock()
	return p.answer(ctx, line)
}

func (p *peer) sent() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.lines...)
}

// saying is a peer that gives the replies in turn, on standard output with status 0,
// and the last one for ever.
func saying(replies ...string) *peer {
	n := 0
	return &peer{answer: func(context.Context, string) (mps.Output, error) {
		reply := replies[min(n, len(replies)-1)]
		n++
		return mps.Output{Stdout: reply}, nil
	}}
}

// leaving is a peer whose every run leaves out.
func leaving(out mps.Output) *peer {
	return &peer{answer: func(context.Context, string) (mps.Output, error) { return out, nil }}
}

// hanging is a peer that never answers.
func hanging() *peer {
	return &peer{answer: func(ctx context.Context, _ string) (mps.Output, error) {
		<-ctx.Done()
		return mps.Output{Exit: -1}, fmt.Errorf("killed: %w", ctx.Err())
	}}
}

// operations are all methods of the client, with arguments that are in order, and the
// command line that each sends first.
var operations = []struct {
	name, line string
	reads      bool // the reply has an answer in it
	do         func(ctx context.Context, c *mps.Client) (any, error)
}{
	{"Servers", "get_server_list", true, func(ctx context.Context, c *mps.Client) (any, error) { return c.Servers(ctx) }},
	{"ServerStatus", "get_server_status 7", true, func(ctx context.Context, c *mps.Client) (any, error) { return c.ServerStatus(ctx, 7) }},
	{"StartServer", "start_server -uid 1000", false, func(ctx context.Context, c *mps.Client) (any, error) { return c.StartServer(ctx, 1000, false) }},
	{"StartServer mlopart", "start_server -uid 0 -mlopart", false, func(ctx context.Context, c *mps.Client) (any, error) { return c.StartServer(ctx, 0, true) }},
	{"ShutdownServer", "shutdown_server 7", false, func(ctx context.Context, c *mps.Client) (any, error) { return c.ShutdownServer(ctx, 7, false) }},
	{"ShutdownServer force", "shutdown_server 7 -f", false, func(ctx context.Context, c *mps.Client) (any, error) { return c.ShutdownServer(ctx, 7, true) }},
	{"Clients", "get_client_list 7", true, func(ctx context.Context, c *mps.Client) (any, error) { return c.Clients(ctx, 7) }},
	{"DeviceClients", "get_device_client_list", false, func(ctx context.Context, c *mps.Client) (any, error) { return c.DeviceClients(ctx, 0) }},
	{"DeviceClients of a server", "get_device_client_list 7", false, func(ctx context.Context, c *mps.Client) (any, error) { return c.DeviceClients(ctx, 7) }},
	{"Processes", "ps", true, func(ctx context.Context, c *mps.Client) (any, error) { return c.Processes(ctx, 0) }},
	{"Processes of a server", "ps -p 7", true, func(ctx context.Context, c *mps.Client) (any, error) { return c.Processes(ctx, 7) }},
	{"DefaultPercentage", "get_default_active_thread_percentage", true, func(ctx context.Context, c *mps.Client) (any, error) { return c.DefaultPercentage(ctx) }},
	{"SetDefaultPercentage", "set_default_active_thread_percentage 25", false, func(ctx context.Context, c *mps.Client) (any, error) { return c.SetDefaultPercentage(ctx, 25) }},
	{"Percentage", "get_active_thread_percentage 7", true, func(ctx context.Context, c *mps.Client) (any, error) { return c.Percentage(ctx, 7) }},
	{"SetPercentage", "set_active_thread_percentage 7 12.5", false, func(ctx context.Context, c *mps.Client) (any, error) { return c.SetPercentage(ctx, 7, 12.5) }},
	{"DefaultPinnedLimit", "get_default_device_pinned_mem_limit 0", true, func(ctx context.Context, c *mps.Client) (any, error) { return c.DefaultPinnedLimit(ctx, "0") }},
	{"SetDefaultPinnedLimit", "set_default_device_pinned_mem_limit 0 1919M", false, func(ctx context.Context, c *mps.Client) (any, error) { return c.SetDefaultPinnedLimit(ctx, "0", 1919) }},
	{"PinnedLimit", "get_device_pinned_mem_limit 7 GPU-12ab", true, func(ctx context.Context, c *mps.Client) (any, error) { return c.PinnedLimit(ctx, 7, "GPU-12ab") }},
	{"SetPinnedLimit", "set_device_pinned_mem_limit 7 GPU-12ab 5120M", false, func(ctx context.Context, c *mps.Client) (any, error) {
		return c.SetPinnedLimit(ctx, 7, "GPU-12ab", 5120)
	}},
	{"DefaultClientPriority", "get_default_client_priority", true, func(ctx context.Context, c *mps.Client) (any, error) { return c.DefaultClientPriority(ctx) }},
	{"SetDefaultClientPriority", "set_default_client_priority 1", false, func(ctx context.Context, c *mps.Client) (any, error) { return c.SetDefaultClientPriority(ctx, 1) }},
	{"TerminateClient", "terminate_client 7 8", true, func(ctx context.Context, c *mps.Client) (any, error) { return nil, c.TerminateClient(ctx, 7, 8) }},
	{"QueryDevices", "device_query --csv", false, func(ctx context.Context, c *mps.Client) (any, error) { return c.QueryDevices(ctx, 0) }},
	{"QueryDevices of a server", "device_query 7 --csv", false, func(ctx context.Context, c *mps.Client) (any, error) { return c.QueryDevices(ctx, 7) }},
	{"Partitions", "lspart", true, func(ctx context.Context, c *mps.Client) (any, error) { return c.Partitions(ctx) }},
	{"AddPartition", "sm_partition add GPU-12ab 7", true, func(ctx context.Context, c *mps.Client) (any, error) { return c.AddPartition(ctx, "GPU-12ab", 7) }},
	{"RemovePartition", "sm_partition rm GPU-12ab a/b+", false, func(ctx context.Context, c *mps.Client) (any, error) {
		return c.RemovePartition(ctx, mps.PartitionID{Device: "GPU-12ab", ID: "a/b+"})
	}},
	{"Quit", "quit", false, func(ctx context.Context, c *mps.Client) (any, error) { return nil, c.Quit(ctx, 0) }},
}

// opError is the OpError of err, which must be one.
func opError(t *testing.T, err error) *mps.OpError {
	t.Helper()
	var op *mps.OpError
	require.ErrorAs(t, err, &op)
	return op
}
