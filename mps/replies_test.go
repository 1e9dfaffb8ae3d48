package mps_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

func TestReplies(t *testing.T) {
	t.Parallel()
	servers := func(ctx context.Context, c *mps.Client) (any, error) { return c.Servers(ctx) }
	status := func(ctx context.Context, c *mps.Client) (any, error) { return c.ServerStatus(ctx, 7) }
	percentage := func(ctx context.Context, c *mps.Client) (any, error) { return c.DefaultPercentage(ctx) }
	limit := func(ctx context.Context, c *mps.Client) (any, error) { return c.DefaultPinnedLimit(ctx, "0") }
	ps := func(ctx context.Context, c *mps.Client) (any, error) { return c.Processes(ctx, 0) }
	terminate := func(ctx context.Context, c *mps.Client) (any, error) { return true, c.TerminateClient(ctx, 7, 8) }
	const header = "PID     ID   SERVER  DEVICE             NAMESPACE    COMMAND\n"
	for _, tc := range []struct {
		name  string
		do    func(ctx context.Context, c *mps.Client) (any, error)
		reply string
		want  any   // or
		err   error // an error
	}{
		{"no server", servers, "", []int(nil), nil},
		{"no server, a blank line", servers, "\n", []int(nil), nil},
		{"servers in a line", servers, " 11803 7447\r\n", []int{11803, 7447}, nil},
		{"a server of words", servers, "11803\nnone\n", nil, mps.ErrUnparsed},
		{"a negative server", servers, "-1\n", nil, mps.ErrUnparsed},
		{"a server with a sign", servers, "+1\n", nil, mps.ErrUnparsed},
		{"server 0", servers, "0\n", nil, mps.ErrUnparsed},
		{"a pid of 33 bits", servers, "4294967297\n", nil, mps.ErrUnparsed},

		{"initializing", status, "INITIALIZING\n", mps.ServerInitializing, nil},
		{"active", status, "ACTIVE", mps.ServerActive, nil},
		{"fault", status, "FAULT\n", mps.ServerFault, nil},
		{"a sentence with the word", status, "Server 7: ACTIVE.\n", mps.ServerActive, nil},
		{"another word", status, "INACTIVE\n", nil, mps.ErrUnparsed},
		{"not the word", status, "server is not ACTIVE\n", nil, mps.ErrUnparsed},
		{"both words", status, "ACTIVE FAULT\n", nil, mps.ErrUnparsed},
		{"no word", status, "", nil, mps.ErrUnparsed},
		{"no such server", status, "Server 7 not found\n", nil, mps.ErrRefused},

		{"whole", percentage, "100.0\n", 100.0, nil},
		{"none at all", percentage, "0.0\n", 0.0, nil},
		{"of two decimals", percentage, "30.00\n", 30.0, nil},
		{"above", percentage, "100.1\n", nil, mps.ErrUnparsed},
		{"with a sign", percentage, "25.0%\n", nil, mps.ErrUnparsed},
		{"negative", percentage, "-1.0\n", nil, mps.ErrUnparsed},
		{"hexadecimal", percentage, "0x10\n", nil, mps.ErrUnparsed},
		{"a point", percentage, ".\n", nil, mps.ErrUnparsed},
		{"two numbers", percentage, "1.0 2.0\n", nil, mps.ErrUnparsed},

		{"a limit", limit, "20350M\n", int64(20350), nil},
		{"a limit in GiB", limit, "3G\n", int64(3072), nil},
		{"no limit", limit, "\n", int64(0), nil},
		{"a limit without a unit", limit, "21338521600\n", nil, mps.ErrUnparsed},
		{"a limit in MB", limit, "512MB\n", nil, mps.ErrUnparsed},
		{"a negative limit", limit, "-1M\n", nil, mps.ErrUnparsed},
		{"only a unit", limit, "M\n", nil, mps.ErrUnparsed},
		{"more than there is", limit, "8796093022208M\n", nil, mps.ErrUnparsed},

		{"nobody", ps, "", []mps.Process(nil), nil},
		{"nobody under a header", ps, header, []mps.Process(nil), nil},
		{
			"clients", ps, header + "9741  0  6472  GPU-cb1213a3-d6a4  4026531836  ./train --on error: failed, cannot\n9743 1 6472 GPU-cb1213a3-d6a4 4026531836\n",
			[]mps.Process{
				{9741, "0", 6472, "GPU-cb1213a3-d6a4", "4026531836", "./train --on error: failed, cannot"},
				{9743, "1", 6472, "GPU-cb1213a3-d6a4", "4026531836", ""},
			},
			nil,
		},
		{
			"a client named like the absent daemon", ps, header + "1 0 2 GPU-c 3 Cannot find MPS control daemon process\n",
			[]mps.Process{{1, "0", 2, "GPU-c", "3", "Cannot find MPS control daemon process"}},
			nil,
		},
		{"no header", ps, "9741 0 6472 GPU-c 4026531836 ./train\n", nil, mps.ErrUnparsed},
		{"another header", ps, "PID SERVER COMMAND\n", nil, mps.ErrUnparsed},
		{"a row cut short", ps, header + "9741 0 6472 GPU-c", nil, mps.ErrUnparsed},
		{"a row of words", ps, header + "a b c d e f", nil, mps.ErrUnparsed},

		{"terminated", terminate, "0\n", true, nil},
		{"terminated, without an end of line", terminate, "0", true, nil},
		{"code 1", terminate, "1\n", nil, mps.CUDAError(1)},
		{"code 807", terminate, "807\n", nil, mps.ErrNotReady},
		{"code 807 again", terminate, "807\n", nil, mps.CUDAError(807)},
		{"code 810", terminate, "810\n", nil, mps.ErrRefused},
		{"nothing", terminate, "", nil, mps.ErrUnparsed},
		{"zeros", terminate, "0 0\n", nil, mps.ErrUnparsed},
		{"a word", terminate, "success\n", nil, mps.ErrUnparsed},
		{"a negative code", terminate, "-1\n", nil, mps.ErrUnparsed},
		{"a zero and a reason", terminate, "0\nfailed\n", nil, mps.ErrUnparsed},
		{"no such client", terminate, "Client 8 does not exist\n", nil, mps.ErrRefused},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := tc.do(t.Context(), mps.New(saying(tc.reply), mps.Options{}))
			if tc.err != nil {
				require.ErrorIs(t, err, tc.err)
				assert.Equal(t, tc.reply, opError(t, err).Reply)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

// A zero is proof only if nothing speaks against it.
func TestTerminateIsStrict(t *testing.T) {
	t.Parallel()
	for name, out := range map[string]mps.Output{
		"a status":                      {Stdout: "0\n", Exit: 1},
		"only on standard error":        {Stderr: "0\n"},
		"a complaint on standard error": {Stdout: "0\n", Stderr: "lost connection"},
	} {
		err := mps.New(leaving(out), mps.Options{}).TerminateClient(t.Context(), 7, 8)
		require.ErrorIs(t, err, mps.ErrUnparsed, name)
	}
}

func TestUnpublishedFormats(t *testing.T) {
	t.Parallel()
	ask := func(reply string) *mps.Client { return mps.New(saying(reply), mps.Options{}) }
	const text = "GPU-12ab: 17 18\n\nGPU-34cd 19\nMIG-56ef\n"
	list, err := ask(text).DeviceClients(t.Context(), 7)
	require.NoError(t, err)
	assert.Equal(t, []mps.DeviceClients{{"GPU-12ab", []int{17, 18}}, {"GPU-34cd", []int{19}}, {"MIG-56ef", nil}}, list.Devices)
	for _, other := range []string{"", "device 0: 17", "GPU-12ab 17 x", "GPU-12ab\n17\n"} {
		list, err := ask(other).DeviceClients(t.Context(), 7)
		require.NoError(t, err)
		assert.Nil(t, list.Devices)
		assert.Equal(t, strings.TrimSpace(other), list.Reply)
	}

	const table = "Ordinal, Server, PCI ID, Device UUID, Name, Total SMs, Total Chunks, Attributes\n" +
		"0, 17, 0000:01:00.0, GPU-12ab, NVIDIA H100, 132, 15, MLOPart not supported\n"
	query, err := ask(table).QueryDevices(t.Context(), 0)
	require.NoError(t, err)
	want := []mps.V3Device{{
		Ordinal: 0, Server: "17", PCI: "0000:01:00.0", UUID: "GPU-12ab", Name: "NVIDIA H100",
		SMs: 132, Chunks: 15, Attributes: "MLOPart not supported",
	}}
	assert.Equal(t, want, query.Devices)
	for _, same := range []string{"ordinal,device-uuid,total_sms,total-chunks\n0,GPU-12ab,132,15\n"} {
		query, err := ask(same).QueryDevices(t.Context(), 0)
		require.NoError(t, err)
		assert.Equal(t, []mps.V3Device{{UUID: "GPU-12ab", SMs: 132, Chunks: 15}}, query.Devices)
	}
	for _, other := range []string{
		"", "one device", "Ordinal,Device UUID\n0,GPU-12ab\n", "Ordinal,Device UUID,Total SMs,Total Chunks\n0,GPU-12ab,132\n",
		"Ordinal,Device UUID,Total SMs,Total Chunks\nx,GPU-12ab,132,15\n", "a,\"b\n",
	} {
		query, err := ask(other).QueryDevices(t.Context(), 0)
		require.NoError(t, err)
		assert.Nil(t, query.Devices, other)
	}

	for _, silent := range []string{"", "ok\n", "0\n", "Started.\n"} {
		_, err := ask(silent).StartServer(t.Context(), 1000, false)
		require.NoError(t, err)
		_, err = ask(silent).ShutdownServer(t.Context(), 7, true)
		require.NoError(t, err)
		require.NoError(t, ask(silent).Quit(t.Context(), 0))
	}
	reply, err := ask(" Started.\n").StartServer(t.Context(), 1000, false)
	require.NoError(t, err)
	assert.Equal(t, "Started.", reply)
}

func TestServerStateString(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "INITIALIZING", mps.ServerInitializing.String())
	assert.Equal(t, "FAULT", mps.ServerFault.String())
	assert.Equal(t, "ServerState(0)", mps.ServerState(0).String())
	assert.Equal(t, "ServerState(9)", mps.ServerState(9).String())
	assert.Equal(t, "CUDA error 810 (MPS client terminated)", mps.CUDAError(810).Error())
	assert.Equal(t, "CUDA error 1", mps.CUDAError(1).Error())
}
