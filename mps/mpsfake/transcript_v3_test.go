//go:build linux

package mpsfake_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// commandsV3 is every documented module and verb that a client uses.
var commandsV3 = []string{
	"server create", "server delete", "server list", "server set", "server get",
	"namespace create", "namespace delete", "namespace list", "namespace set", "namespace get",
	"client list", "client get", "client terminate", "device list",
	"sm-partition create", "sm-partition delete", "sm-partition list",
	"feature enable", "feature disable", "feature describe", "memacct set", "memacct describe",
	"--quit",
}

func TestTranscriptV3(t *testing.T) {
	t.Parallel()
	for name, config := range styles {
		if name == "documented" {
			continue // protocol 3 is known from documentation only
		}
		if name == "observed" {
			name = "quiet"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var o mpsfake.Options
			o.Args, o.Setup.Config = []string{"-p", "3"}, config
			s, p, c := newTranscript(t, o)
			dialogueV3(t, s, p, c)
			s.logs(p)
			s.compare("v3-"+name, commandsV3)
		})
	}
}

func dialogueV3(t *testing.T, s *transcript, p *mpsfake.Process, c *mps.Client) {
	t.Helper()
	ctx, v := t.Context(), c.V3()
	const gpu = "GPU-3f5b7c91-26d8-4e0a-9b14-c8d7a6e5f201"

	s.title("a daemon without servers")
	found, err := c.Detect(ctx)
	s.result(found, err)
	servers, err := v.Servers(ctx)
	s.result(servers, err)
	devices, err := v.Devices(ctx, "")
	s.result(devices, err)
	features, err := v.Features(ctx)
	s.result(features, err)
	pids, err := c.Servers(ctx) // protocol 2
	s.result(pids, err)

	s.title("a server")
	reply, err := v.CreateServer(ctx, "training", mps.V3ServerOptions{AllowedDevices: []string{gpu}})
	s.result(reply, err)
	reply, err = v.CreateServer(ctx, "training", mps.V3ServerOptions{})
	s.result(reply, err)
	reply, err = v.SetServer(ctx, "training", mps.V3ServerSettings{Limits: mps.V3Limits{MemoryMiB: 10240, Percentage: 50}})
	s.result(reply, err)
	servers, err = v.Servers(ctx)
	s.result(servers, err)
	field, err := v.ServerField(ctx, "training", "status")
	s.result(field, err)
	field, err = v.ServerField(ctx, "absent", "status")
	s.result(field, err)
	devices, err = v.Devices(ctx, "training")
	s.result(devices, err)

	s.title("namespaces, which inherit nothing")
	reply, err = v.CreateNamespace(ctx, "training", "small")
	s.result(reply, err)
	one := 1
	reply, err = v.SetNamespace(ctx, "training", "small", mps.V3Limits{MemoryMiB: 4096, Percentage: 30, Priority: &one})
	s.result(reply, err)
	namespaces, err := v.Namespaces(ctx, "training")
	s.result(namespaces, err)
	field, err = v.NamespaceField(ctx, "training", "small", "active-thread-percentage")
	s.result(field, err)

	s.title("clients")
	s.connect(p, mpsfake.Client{PID: 501, Namespace: "training", Command: "./train"})
	s.connect(p, mpsfake.Client{PID: 502, Namespace: "training/small", Command: "./infer"})
	s.connect(p, mpsfake.Client{PID: 503})
	clients, err := v.Clients(ctx, "")
	s.result(clients, err)
	clients, err = v.Clients(ctx, "training")
	s.result(clients, err)
	field, err = v.ClientField(ctx, 502, "server")
	s.result(field, err)
	reply, err = v.Terminate(ctx, 502)
	s.result(reply, err)
	s.look(p, 502)
	reply, err = v.Terminate(ctx, 9999)
	s.result(reply, err)
	s.connect(p, mpsfake.Client{PID: 504, Namespace: "training/small"})
	reply, err = v.DeleteNamespace(ctx, "training", "small", false)
	s.result(reply, err)
	reply, err = v.DeleteNamespace(ctx, "training", "small", true)
	s.result(reply, err)
	s.look(p, 504)
	reply, err = v.DeleteServer(ctx, "training", false)
	s.result(reply, err)
	s.event("client 501 exits", p.Disconnect(501))
	s.event("client 503 exits", p.Disconnect(503))

	s.title("partitions")
	made, err := v.CreatePartition(ctx, mps.V3PartitionSpec{Server: "training", Name: "half", Device: gpu, Chunks: 7})
	s.result(made, err)
	id := made.ID
	made, err = v.CreatePartition(ctx, mps.V3PartitionSpec{Server: "training", Name: "more", Device: gpu, Chunks: 9})
	s.result(made, err)
	partitions, err := v.Partitions(ctx, "training", "")
	s.result(partitions, err)
	s.connect(p, mpsfake.Client{PID: 505, Namespace: "training", Env: map[string]string{"CUDA_MPS_SM_PARTITION": id}})
	reply, err = v.DeletePartition(ctx, "training", gpu, "half")
	s.result(reply, err)
	s.event("client 505 exits", p.Disconnect(505))
	reply, err = v.DeletePartition(ctx, "training", gpu, "half")
	s.result(reply, err)

	s.title("features")
	reply, err = v.SetFeature(ctx, mps.FeatureContextShare, false)
	s.result(reply, err)
	reply, err = v.SetFeature(ctx, mps.FeatureContextShare, true)
	s.result(reply, err)
	reply, err = v.SetAuditLog(ctx, true)
	s.result(reply, err)
	text, err := v.DescribeMemoryAccounting(ctx)
	s.result(text, err)

	s.title("the end")
	reply, err = v.DeleteServer(ctx, "training", true)
	s.result(reply, err)
	servers, err = v.Servers(ctx)
	s.result(servers, err)
	_, err = s.Run(ctx, mps.Call{Args: []string{"--quit"}})
	require.NoError(t, err)
	waitGone(t, s.under)
	servers, err = v.Servers(ctx)
	s.result(servers, err)
}
