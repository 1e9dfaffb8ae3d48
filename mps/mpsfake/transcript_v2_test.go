//go:build linux

package mpsfake_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// commandsV2 is every documented command of protocol 2 but those for partitions.
var commandsV2 = []string{
	"get_server_list", "get_server_status", "start_server", "shutdown_server",
	"get_client_list", "get_device_client_list", "ps", "device_query", "terminate_client", "quit",
	"get_default_active_thread_percentage", "set_default_active_thread_percentage",
	"get_active_thread_percentage", "set_active_thread_percentage",
	"get_default_device_pinned_mem_limit", "set_default_device_pinned_mem_limit",
	"get_device_pinned_mem_limit", "set_device_pinned_mem_limit",
	"get_default_client_priority", "set_default_client_priority",
}

var commandsPartitionsV2 = []string{"sm_partition add", "sm_partition rm", "lspart", "quit"}

// styles are the forms of replies that a client has to understand, and what is said
// where nobody has published what the daemon says.
var styles = map[string]mpsfake.Config{
	"observed":   {Style: mpsfake.Observed, Placeholders: mpsfake.Quiet},
	"documented": {Style: mpsfake.Documented, Placeholders: mpsfake.Quiet},
	"wordy":      {Style: mpsfake.Observed, Placeholders: mpsfake.Wordy},
	"failing":    {Style: mpsfake.Documented, Placeholders: mpsfake.Failing},
	"silent":     {Style: mpsfake.Documented, Placeholders: mpsfake.Silent},
}

func TestTranscriptV2(t *testing.T) {
	t.Parallel()
	for name, config := range styles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o mpsfake.Options
			o.Setup.Config = config
			s, p, c := newTranscript(t, o)
			dialogueV2(t, s, p, c)
			s.logs(p)
			s.compare("v2-"+name, commandsV2)
		})
	}
}

func dialogueV2(t *testing.T, s *transcript, p *mpsfake.Process, c *mps.Client) {
	t.Helper()
	ctx := t.Context()
	const absent, first, second = 9999, 501, 502
	server := func() int {
		t.Helper()
		list, err := c.Servers(ctx)
		s.result(list, err)
		require.NoError(t, err)
		require.Len(t, list, 1)
		return list[0]
	}

	s.title("a daemon without servers")
	list, err := c.Servers(ctx)
	s.result(list, err)
	processes, err := c.Processes(ctx, 0)
	s.result(processes, err)
	devices, err := c.QueryDevices(ctx, 0)
	s.result(devices.Devices, err)
	clients, err := c.DeviceClients(ctx, 0)
	s.result(clients.Devices, err)
	status, err := c.ServerStatus(ctx, absent)
	s.result(status, err)

	s.title("what later servers start with")
	percent, err := c.DefaultPercentage(ctx)
	s.result(percent, err)
	set, err := c.SetDefaultPercentage(ctx, 50)
	s.result(set, err)
	limit, err := c.DefaultPinnedLimit(ctx, "0")
	s.result(limit, err)
	set, err = c.SetDefaultPinnedLimit(ctx, "0", 5120)
	s.result(set, err)
	set, err = c.SetDefaultPinnedLimit(ctx, "GPU-8a1d2e3f-4b5c-6d7e-8f90-a1b2c3d4e5f6", 2048)
	s.result(set, err)
	priority, err := c.DefaultClientPriority(ctx)
	s.result(priority, err)
	set, err = c.SetDefaultClientPriority(ctx, 1)
	s.result(set, err)

	s.title("a server and its clients")
	reply, err := c.StartServer(ctx, 0, false)
	s.result(reply, err)
	reply, err = c.StartServer(ctx, 0, false)
	s.result(reply, err)
	pid := server()
	status, err = c.ServerStatus(ctx, pid)
	s.result(status, err)
	s.connect(p, mpsfake.Client{PID: first, Command: "./train --fast"})
	pids, err := c.Clients(ctx, pid)
	s.result(pids, err)
	clients, err = c.DeviceClients(ctx, pid)
	s.result(clients.Devices, err)
	processes, err = c.Processes(ctx, pid)
	s.result(processes, err)
	devices, err = c.QueryDevices(ctx, pid)
	s.result(devices.Devices, err)

	s.title("limits of the server are for clients that come later")
	percent, err = c.Percentage(ctx, pid)
	s.result(percent, err)
	set, err = c.SetPercentage(ctx, pid, 25)
	s.result(set, err)
	limit, err = c.PinnedLimit(ctx, pid, "0")
	s.result(limit, err)
	set, err = c.SetPinnedLimit(ctx, pid, "0", 1919)
	s.result(set, err)
	s.look(p, first)
	s.connect(p, mpsfake.Client{PID: second})
	percent, err = c.Percentage(ctx, absent)
	s.result(percent, err)
	set, err = c.SetPinnedLimit(ctx, absent, "0", 1919)
	s.result(set, err)

	s.title("a fault and the recovery")
	s.event("a fault on device 0", p.Fault(pid, 0))
	status, err = c.ServerStatus(ctx, pid)
	s.result(status, err)
	s.look(p, first)
	s.connect(p, mpsfake.Client{PID: 503})
	s.event("client 501 exits", p.Disconnect(first))
	s.event("client 502 exits", p.Disconnect(second))
	s.event("time passes", p.Advance())
	status, err = c.ServerStatus(ctx, pid)
	s.result(status, err)

	s.title("a client is terminated")
	s.connect(p, mpsfake.Client{PID: 504})
	s.did(c.TerminateClient(ctx, pid, absent))
	s.did(c.TerminateClient(ctx, pid, 504))
	s.look(p, 504)

	s.title("partitions without static partitioning")
	added, err := c.AddPartition(ctx, "GPU-3f5b7c91-26d8-4e0a-9b14-c8d7a6e5f201", 2)
	s.result(added, err)
	partitions, err := c.Partitions(ctx)
	s.result(partitions, err)

	s.title("the server is shut down, and the daemon quits")
	reply, err = c.ShutdownServer(ctx, pid, true)
	s.result(reply, err)
	list, err = c.Servers(ctx)
	s.result(list, err)
	s.did(c.Quit(ctx, time.Second))
	gone(t, s, c)
}

// gone waits until the daemon is gone and shows what the client says of that.
func gone(t *testing.T, s *transcript, c *mps.Client) {
	t.Helper()
	waitGone(t, s.under)
	list, err := c.Servers(t.Context())
	s.result(list, err)
	s.did(c.Quit(t.Context(), 0))
}

// waitGone polls without writing down.
func waitGone(t *testing.T, r mps.Runner) {
	t.Helper()
	quiet := mps.New(r, mps.Options{Timeout: patience})
	require.Eventually(t, func() bool {
		_, err := quiet.Servers(t.Context())
		return err != nil
	}, patience, poll)
}

func TestTranscriptPartitionsV2(t *testing.T) {
	t.Parallel()
	for name, config := range styles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o mpsfake.Options
			o.Args, o.Setup.Config = []string{"-S"}, config
			s, p, c := newTranscript(t, o)
			dialoguePartitions(t, s, p, c)
			s.compare("v2-partitions-"+name, commandsPartitionsV2)
		})
	}
}

func dialoguePartitions(t *testing.T, s *transcript, p *mpsfake.Process, c *mps.Client) {
	t.Helper()
	ctx := t.Context()
	const device = "GPU-3f5b7c91-26d8-4e0a-9b14-c8d7a6e5f201"

	s.title("partitions")
	partitions, err := c.Partitions(ctx)
	s.result(partitions, err)
	big, err := c.AddPartition(ctx, device, 7)
	s.result(big, err)
	small, err := c.AddPartition(ctx, device, 2)
	s.result(small, err)
	tooBig, err := c.AddPartition(ctx, device, 7)
	s.result(tooBig, err)
	partitions, err = c.Partitions(ctx)
	s.result(partitions, err)

	s.title("a client in a partition, and one without")
	s.connect(p, mpsfake.Client{PID: 501, Env: map[string]string{"CUDA_MPS_SM_PARTITION": big.String()}})
	s.connect(p, mpsfake.Client{PID: 502})
	partitions, err = c.Partitions(ctx)
	s.result(partitions, err)
	removed, err := c.RemovePartition(ctx, big.PartitionID)
	s.result(removed, err)
	s.event("client 501 exits", p.Disconnect(501))
	removed, err = c.RemovePartition(ctx, big.PartitionID)
	s.result(removed, err)
	removed, err = c.RemovePartition(ctx, big.PartitionID)
	s.result(removed, err)
	partitions, err = c.Partitions(ctx)
	s.result(partitions, err)
	s.did(c.Quit(ctx, 0))
	gone(t, s, c)
}
