package mpsfake_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

func start3(t *testing.T, change func(*mpsfake.Config)) *mpsfake.Daemon {
	t.Helper()
	return daemon(t, func(c *mpsfake.Config) {
		c.Protocol = 3
		if change != nil {
			change(c)
		}
	})
}

// told3 sends a command of protocol 3, words apart by blanks.
func told3(t *testing.T, d *mpsfake.Daemon, line string) string {
	t.Helper()
	out, err := d.Run(t.Context(), mps.Call{Args: strings.Fields(line)})
	require.NoError(t, err)
	require.NoError(t, d.Check())
	require.Zero(t, out.Exit)
	return out.Stdout
}

func TestCommandsOfProtocol3(t *testing.T) {
	t.Parallel()
	d := start3(t, nil)
	uuid := gpus(2)[1].UUID
	for _, row := range []struct{ line, want string }{
		{"server list --format=csv", "name,uid,pid,status,pipe-directory,allowed-devices,context-ids\n"},
		{"server create training --uid=1000 --allowed-devices=" + uuid, ""},
		{"server create training", "Server training already exists\n"},
		{"server create Training", "Invalid server name Training\n"},
		{"server create", "Invalid server name \n"},
		{"server create --uid=7", ""},
		{
			"server list --format=csv,noheader",
			"training,1000,1001,Ready,/run/nvidia-mps/training," + uuid + ",-\nuid_7,7,1002,Ready,/run/nvidia-mps/uid_7,-,-\n",
		},
		{"server list uid_7 --format=table", "NAME   UID  PID   STATUS  PIPE DIRECTORY         ALLOWED DEVICES  CONTEXT IDS\n" +
			"uid_7  7    1002  Ready   /run/nvidia-mps/uid_7  -                -\n"},
		{"server list --format=xml", "Invalid format xml\n"},
		{"server get training pid", "1001\n"},
		{"server get training context-ids", "Invalid field context-ids\n"},
		{"server set training --active-thread-percentage=30 --pinned-memory-limit=4G", ""},
		{"server set training", "Invalid argument -\n"},
		{"server set training --pinned-memory-limit=4", "Invalid memory limit 4\n"},
		{"namespace create batch --server=training", ""},
		{"namespace create batch --server=training", "Namespace batch already exists\n"},
		{"namespace create other training", "Server - not found\n"}, // the server is a key, but for get
		{"namespace set batch training client-priority=1", "Server - not found\n"},
		{"namespace set batch --server=training", "Invalid argument -\n"},
		{"namespace delete batch training", "Server - not found\n"},
		{"namespace create x --server=nowhere", "Server nowhere not found\n"},
		{"namespace set batch --server=training client-priority=1", ""},
		{"namespace set batch --server=training --colour=red", "Invalid argument colour\n"},
		{"namespace list --server=training --format=csv", "name,server,server-status,pinned-memory-limit,active-thread-percentage,client-priority,pipe-directory\n" +
			"default,training,Ready,4G,30.00,0,/run/nvidia-mps/training/default\n" +
			"batch,training,Ready,-,100.00,1,/run/nvidia-mps/training/batch\n"},
		{"namespace get default training pinned-memory-limit", "4G\n"},
		{"namespace delete default --server=training", "Invalid namespace: default stays\n"},
		{"namespace delete batch --server=training", ""},
		{"device list --format=csv,noheader --server=training", "1,training,0000:27:00.0," + uuid + ",NVIDIA H100 80GB HBM3,132,15,-\n"},
		{"sm-partition list --format=csv,noheader", ""},
		{"sm-partition create big --server=training --device=1 --chunks=16", "Insufficient chunks: 16 of 15\n"},
		{"sm-partition create big --server=training --device=0 --chunks=1", "Invalid device 0\n"},
		{"sm-partition delete big --server=training --device=1", "Partition big not found\n"},
		{"client list --format=csv", "pid,server,device,namespace,cmd\n"},
		{"client get 5 cmd", "Client 5 not found\n"},
		{"feature disable memacct", ""},
		{"feature describe --format=csv,noheader", "memacct,disabled,memacct,memory accounting\ncontext-share,enabled (default),context-share,shared contexts\n"},
		{"feature enable memacct", ""},
		{"memacct describe", "audit_log=false\n"},
		{"memacct set audit_log=true", ""},
		{"memacct describe", "audit_log=true\n"},
		{"memacct set audit_log=loud", "Invalid argument -\n"},
		{"server delete training", ""},
		{"server delete training", "Server training not found\n"},
		{"server list a b c d", "Invalid number of arguments: 4\n"},
		{"get_server_list", "Unknown command: get_server_list \n"},
	} {
		assert.Equal(t, row.want, told3(t, d, row.line), row.line)
	}
	assert.Contains(t, told(t, d, "get_server_list"), "protocol 3 takes arguments")
	assert.Empty(t, told3(t, d, "-q"))
	_, err := d.PIDFile()
	require.Error(t, err)
}

// TestNamespaces: one inherits nothing, and says more than the client.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	d := start3(t, func(c *mpsfake.Config) { c.GPUs = gpus(1) })
	told3(t, d, "server create train --uid=0")
	told3(t, d, "server set train --active-thread-percentage=30 --pinned-memory-limit=4G")
	told3(t, d, "namespace create free --server=train")
	enter := func(pid, uid int, where string) mpsfake.Attachment {
		at, err := d.Connect(mpsfake.Client{
			PID: pid, UID: uid, Namespace: where, Env: map[string]string{percentEnv: "50", limitEnv: "0=8G"},
		})
		require.NoError(t, err)
		require.NoError(t, d.Check())
		return at
	}
	uuid := gpus(1)[0].UUID
	assert.Equal(t, []mpsfake.Share{{UUID: uuid, Percent: 30, SMs: 38, LimitMiB: 4096}}, enter(50, 0, "train").Shares)
	assert.Equal(t, []mpsfake.Share{{UUID: uuid, Percent: 50, SMs: 66, LimitMiB: 8192}}, enter(51, 0, "train/free").Shares)
	assert.Equal(t, mpsfake.Direct, enter(52, 0, "train/nowhere").State)
	assert.Equal(t, mpsfake.NotPermitted, enter(53, 5, "train").Code)
	assert.Equal(t, mpsfake.Active, enter(54, 5, "").State)
	assert.Equal(t, mpsfake.Active, enter(55, 6, "").State, "users side by side")
	assert.Equal(t, "50,train,"+uuid+",default,./app\n51,train,"+uuid+",free,./app\n",
		told3(t, d, "client list --server=train --format=csv,noheader"))
	assert.Equal(t, "free\n", told3(t, d, "client get 51 maws-ns"))
	assert.Contains(t, told3(t, d, "server delete train"), "has clients")
	assert.Contains(t, told3(t, d, "namespace delete free --server=train"), "has clients")
	told3(t, d, "client terminate 51")
	at, _ := d.Client(51)
	assert.Equal(t, mpsfake.ClientTerminated, at.Code)
	told3(t, d, "namespace delete free --server=train")
	told3(t, d, "namespace create brief --server=train")
	assert.Equal(t, mpsfake.Active, enter(56, 0, "train/brief").State)
	assert.Contains(t, told3(t, d, "namespace delete brief --server=train --force=false"), "has clients")
	assert.Empty(t, told3(t, d, "namespace delete brief --server=train --force"))
	assert.NotContains(t, told3(t, d, "namespace list --server=train"), "brief")
	at, _ = d.Client(56)
	assert.Equal(t, mpsfake.Attachment{State: mpsfake.Inactive, Code: mpsfake.RPCFailure},
		mpsfake.Attachment{State: at.State, Code: at.Code})
	told3(t, d, "server delete train --force")
	assert.Equal(t, mpsfake.Inactive, stateOf(t, d, 50))
	assert.Equal(t, []string{"control.log", "train/server.log", "uid_5/server.log", "uid_6/server.log"}, d.LogFiles())
}

// TestPartitionsOfProtocol3: recorded before the server runs, created when it does.
func TestPartitionsOfProtocol3(t *testing.T) {
	t.Parallel()
	d := start3(t, func(c *mpsfake.Config) { c.GPUs, c.HoldInit = gpus(1), true })
	uuid := gpus(1)[0].UUID
	told3(t, d, "server create train")
	const args = " --server=train --device=0"
	assert.Empty(t, told3(t, d, "sm-partition create early --chunks=10"+args))
	assert.Equal(t, "train,"+uuid+",early,10,-,false,configured,-\n", told3(t, d, "sm-partition list --format=csv,noheader"))
	require.NoError(t, d.ServerReady(1001))
	assert.Contains(t, told3(t, d, "sm-partition list --format=csv,noheader"), ",early,10,80,false,created,")
	assert.Contains(t, told3(t, d, "sm-partition create late --chunks=6"+args), "Insufficient")
	out := told3(t, d, "sm-partition create late --chunks=5 --include-remainder=true"+args)
	first, second, _ := strings.Cut(out, "\n")
	assert.Equal(t, "SM partition 'late' created on device "+uuid+" (sm-count=52)", first)
	full := strings.TrimSpace(strings.TrimPrefix(second, "CUDA_MPS_SM_PARTITION="))
	at, err := d.Connect(mpsfake.Client{PID: 50, Namespace: "train", Env: map[string]string{"CUDA_MPS_SM_PARTITION": full}})
	require.NoError(t, err)
	assert.Equal(t, 52, at.Shares[0].SMs)
	assert.Contains(t, told3(t, d, "sm-partition delete late"+args), "in use")
	assert.Equal(t, "SM partition 'early' deleted from device "+uuid+"\n", told3(t, d, "sm-partition delete early"+args))
	assert.Contains(t, told3(t, d, "sm-partition create new --chunks=1"+args), "active clients")
}

// TestServerOfAMissingDevice is taken, and gone soon after.
func TestServerOfAMissingDevice(t *testing.T) {
	t.Parallel()
	d := start3(t, nil)
	assert.Empty(t, told3(t, d, "server create ghost --allowed-devices=GPU-ffffffff"))
	for range 3 {
		d.Advance()
	}
	assert.Empty(t, told3(t, d, "server list --format=csv,noheader"))
	assert.Contains(t, d.LogFrom("control.log", 0), "Server 1001 exited with status 1")
}

// TestClientOfProtocol3 runs the real client through the same life, whatever the
// words are where nobody knows them.
func TestClientOfProtocol3(t *testing.T) {
	t.Parallel()
	for words := mpsfake.Quiet; words <= mpsfake.Silent; words++ {
		d := start3(t, func(c *mpsfake.Config) { c.Placeholders = words })
		ctx := t.Context()
		c := mps.New(d, mps.Options{Identity: d.PIDFile})
		detected, err := c.Detect(ctx)
		require.NoError(t, err)
		require.Equal(t, 3, detected.Protocol)
		v := c.V3()
		uid := 1000
		reply, err := v.CreateServer(ctx, "train", mps.V3ServerOptions{UID: &uid, AllowedDevices: []string{gpus(2)[0].UUID, gpus(2)[1].UUID}})
		require.NoError(t, err)
		require.True(t, reply.Verified)
		_, err = v.CreateServer(ctx, "train", mps.V3ServerOptions{UID: &uid})
		require.True(t, err != nil || words == mpsfake.Silent)
		reply, err = v.CreateNamespace(ctx, "train", "batch")
		require.NoError(t, err)
		require.True(t, reply.Verified)
		reply, err = v.SetNamespace(ctx, "train", "batch", mps.V3Limits{MemoryMiB: 4096, Percentage: 30})
		require.NoError(t, err)
		require.True(t, reply.Verified)
		namespaces, err := v.Namespaces(ctx, "train")
		require.NoError(t, err)
		require.Len(t, namespaces, 2)
		require.InDelta(t, 30, namespaces[1].Percentage, 0)
		devices, err := v.Devices(ctx, "")
		require.NoError(t, err)
		require.Equal(t, 15, devices[1].Chunks)
		part, err := v.CreatePartition(ctx, mps.V3PartitionSpec{Server: "train", Name: "half", Device: "0", Chunks: 7})
		require.NoError(t, err)
		require.Equal(t, 56, part.SMs)
		servers, err := v.Servers(ctx)
		require.NoError(t, err)
		require.Equal(t, []string{gpus(2)[0].UUID, gpus(2)[1].UUID}, servers[0].AllowedDevices)
		_, err = d.Connect(mpsfake.Client{PID: 50, UID: 1000, Namespace: "train/batch", Env: map[string]string{visibleEnv: "1"}})
		require.NoError(t, err)
		clients, err := v.Clients(ctx, "")
		require.NoError(t, err)
		require.Equal(t, "batch", clients[0].Namespace)
		features, err := v.Features(ctx)
		require.NoError(t, err)
		require.Len(t, features, 2)
		reply, err = v.DeletePartition(ctx, "train", "0", "half")
		require.NoError(t, err)
		require.True(t, reply.Verified)
		reply, err = v.DeleteServer(ctx, "train", true)
		require.NoError(t, err)
		require.True(t, reply.Verified)
	}
}
