package mps_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// runnerFunc is a daemon as a function.
type runnerFunc func(ctx context.Context, c mps.Call) (mps.Output, error)

func (f runnerFunc) Run(ctx context.Context, c mps.Call) (mps.Output, error) { return f(ctx, c) }

// scripted answers calls by their command line; "" stands for all others.
func scripted(replies map[string]string) runnerFunc {
	return func(_ context.Context, c mps.Call) (mps.Output, error) {
		line := strings.TrimSpace(strings.Join(c.Args, " ") + c.Input)
		reply, known := replies[line]
		if !known {
			reply, known = replies[""]
		}
		if !known {
			return mps.Output{Exit: -1}, errors.New("unexpected: " + line)
		}
		return mps.Output{Stdout: reply}, nil
	}
}

func fakeDaemon(t testing.TB, c mpsfake.Config) *mpsfake.Daemon {
	t.Helper()
	if c.GPUs == nil {
		c.GPUs = []mpsfake.GPU{
			{UUID: "GPU-0e9ce6cc-a0ac-6bd1-9f1a-4c4d6c4f3b71", Name: "NVIDIA H100 80GB HBM3", SMs: 132, MemoryMiB: 81559, Chunks: 15},
			{UUID: v3GPU, Name: "NVIDIA H100 80GB HBM3", SMs: 132, MemoryMiB: 81559, Chunks: 15},
		}
	}
	d, err := mpsfake.New(c)
	require.NoError(t, err)
	return d
}

func allPlaceholders(t *testing.T, run func(t *testing.T, p mpsfake.Placeholders)) {
	t.Helper()
	for name, p := range map[string]mpsfake.Placeholders{
		"quiet": mpsfake.Quiet, "wordy": mpsfake.Wordy, "failing": mpsfake.Failing, "silent": mpsfake.Silent,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, p)
		})
	}
}

func ptr[T any](v T) *T { return &v }

// Every command of protocol 3, whatever the daemon says where nothing is published.
func TestV3AgainstFake(t *testing.T) {
	t.Parallel()
	allPlaceholders(t, func(t *testing.T, p mpsfake.Placeholders) {
		t.Helper()
		ctx := t.Context()
		fake := fakeDaemon(t, mpsfake.Config{Protocol: 3, Placeholders: p})
		v := mps.New(fake, mps.Options{Identity: fake.PIDFile}).V3()
		verified := func(r mps.V3Reply, err error) {
			t.Helper()
			require.NoError(t, err)
			assert.True(t, r.Verified)
		}
		servers, err := v.Servers(ctx)
		require.NoError(t, err)
		assert.Empty(t, servers)

		verified(v.CreateServer(ctx, "training", mps.V3ServerOptions{UID: ptr(1000), AllowedDevices: []string{"0", v3GPU}}))
		verified(v.CreateServer(ctx, "", mps.V3ServerOptions{UID: ptr(1001)}))
		fake.Advance()
		servers, err = v.Servers(ctx)
		require.NoError(t, err)
		require.Len(t, servers, 2)
		assert.Equal(t, "training", servers[0].Name)
		assert.Equal(t, 1000, servers[0].UID)
		assert.Positive(t, servers[0].PID)
		assert.Equal(t, "Ready", servers[0].Status)
		assert.Equal(t, []string{"0", v3GPU}, servers[0].AllowedDevices)
		uid, err := v.ServerField(ctx, "training", "uid")
		require.NoError(t, err)
		assert.Equal(t, "1000", uid)

		verified(v.SetServer(ctx, "training", mps.V3ServerSettings{Limits: mps.V3Limits{MemoryMiB: 8192, Percentage: 30, Priority: ptr(1)}}))
		r, err := v.SetServer(ctx, "training", mps.V3ServerSettings{LocalityDomains: ptr(false)})
		require.NoError(t, err)
		assert.False(t, r.Verified, "nothing reads locality domains back")
		verified(v.CreateNamespace(ctx, "training", "high"))
		verified(v.SetNamespace(ctx, "training", "high", mps.V3Limits{Percentage: 12.5, MemoryMiB: 4096}))
		namespaces, err := v.Namespaces(ctx, "training")
		require.NoError(t, err)
		require.Len(t, namespaces, 2)
		assert.Equal(t, "default", namespaces[0].Name)
		assert.InDelta(t, 30, namespaces[0].Percentage, 0.01)
		assert.Equal(t, 1, namespaces[0].ClientPriority)
		assert.Equal(t, "high", namespaces[1].Name)
		limit, err := v.NamespaceField(ctx, "training", "high", "pinned-memory-limit")
		require.NoError(t, err)
		assert.Equal(t, "4096M", limit)

		at, err := fake.Connect(mpsfake.Client{PID: 51023, UID: 1000, Command: "python error.py, failed", Namespace: "training/high"})
		require.NoError(t, err)
		require.Equal(t, mpsfake.Active, at.State)
		clients, err := v.Clients(ctx, "training")
		require.NoError(t, err)
		require.NotEmpty(t, clients)
		assert.Equal(t, 51023, clients[0].PID)
		assert.Equal(t, "high", clients[0].Namespace)
		assert.Equal(t, "python error.py, failed", clients[0].Command)
		command, err := v.ClientField(ctx, 51023, "cmd")
		require.NoError(t, err)
		assert.Equal(t, "python error.py, failed", command)
		all, err := v.Clients(ctx, "")
		require.NoError(t, err)
		assert.Equal(t, clients, all)

		r, err = v.Terminate(ctx, 51023)
		require.NoError(t, err)
		assert.Equal(t, strings.TrimSpace(r.Raw) == "0", r.Verified)
		require.NoError(t, fake.Disconnect(51023))

		devices, err := v.Devices(ctx, "training")
		require.NoError(t, err)
		require.Len(t, devices, 2)
		assert.Equal(t, 15, devices[1].Chunks)
		assert.Equal(t, 132, devices[1].SMs)

		made, err := v.CreatePartition(ctx, mps.V3PartitionSpec{Server: "training", Name: "failed", Device: v3GPU, Chunks: 4})
		verified(made.V3Reply, err)
		assert.Equal(t, v3GPU, made.Device)
		assert.Equal(t, 32, made.SMs)
		assert.True(t, strings.HasPrefix(made.ID, v3GPU+"/"), made.ID)
		partitions, err := v.Partitions(ctx, "training", v3GPU)
		require.NoError(t, err)
		require.NotEmpty(t, partitions)
		assert.Equal(t, "failed", partitions[0].Name)
		assert.Equal(t, "created", partitions[0].Status)
		verified(v.DeletePartition(ctx, "training", v3GPU, "failed"))

		verified(v.SetFeature(ctx, mps.FeatureContextShare, false))
		verified(v.SetFeature(ctx, mps.FeatureContextShare, true))
		r, err = v.SetAuditLog(ctx, true)
		require.NoError(t, err)
		assert.False(t, r.Verified)
		about, err := v.DescribeMemoryAccounting(ctx)
		require.NoError(t, err)
		assert.Contains(t, about, "audit_log")

		verified(v.DeleteNamespace(ctx, "training", "high", false))
		verified(v.DeleteServer(ctx, "training", true))
		require.NoError(t, fake.Check())
	})
}

// A refusal is an error however it is put, and never a success: what is silent is
// found out by reading.
func TestV3Refusals(t *testing.T) {
	t.Parallel()
	allPlaceholders(t, func(t *testing.T, p mpsfake.Placeholders) {
		t.Helper()
		ctx := t.Context()
		fake := fakeDaemon(t, mpsfake.Config{Protocol: 3, Placeholders: p})
		v := mps.New(fake, mps.Options{Identity: fake.PIDFile}).V3()
		_, err := v.CreateServer(ctx, "a", mps.V3ServerOptions{})
		require.NoError(t, err)
		fake.Advance()

		_, err = v.CreateNamespace(ctx, "missing", "b")
		require.Error(t, err)
		_, err = v.SetNamespace(ctx, "a", "missing", mps.V3Limits{Percentage: 30})
		if p != mpsfake.Silent { // there the question is as silent: nothing tells
			require.Error(t, err)
		}
		_, err = v.CreatePartition(ctx, mps.V3PartitionSpec{Server: "a", Name: "p", Device: "0", Chunks: 99})
		require.Error(t, err)
		_, err = v.ServerField(ctx, "missing", "pid")
		require.Error(t, err)
		_, err = v.Devices(ctx, "missing")
		require.Error(t, err)

		_, err = fake.Connect(mpsfake.Client{PID: 7, Namespace: "a"})
		require.NoError(t, err)
		_, err = v.DeleteServer(ctx, "a", false)
		if p == mpsfake.Silent {
			require.ErrorIs(t, err, mps.ErrUnverified, "it is still in the list")
		}
		require.Error(t, err)
		servers, err := v.Servers(ctx)
		require.NoError(t, err)
		assert.Len(t, servers, 1)
	})
}

// A value of the caller is refused before anything runs.
func TestV3Input(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	v := mps.New(runnerFunc(func(context.Context, mps.Call) (mps.Output, error) {
		assert.Fail(t, "something was run")
		return mps.Output{}, nil
	}), mps.Options{}).V3()
	part := mps.V3PartitionSpec{Server: "a", Name: "p", Device: "0", Chunks: 1}
	with := func(change func(*mps.V3PartitionSpec)) error {
		s := part
		change(&s)
		_, err := v.CreatePartition(ctx, s)
		return err
	}
	for name, do := range map[string]func() error{
		"server name in capitals": func() error { _, err := v.CreateServer(ctx, "Training", mps.V3ServerOptions{}); return err },
		"server name too long":    func() error { _, err := v.DeleteServer(ctx, strings.Repeat("a", 65), false); return err },
		"server without name":     func() error { _, err := v.CreateServer(ctx, "", mps.V3ServerOptions{}); return err },
		"server with a flag":      func() error { _, err := v.CreateServer(ctx, "--force", mps.V3ServerOptions{}); return err },
		"no uid": func() error {
			none := int64(math.MaxUint32)
			_, err := v.CreateServer(ctx, "a", mps.V3ServerOptions{UID: ptr(int(none))})
			return err
		},
		"uid": func() error { _, err := v.CreateServer(ctx, "a", mps.V3ServerOptions{UID: ptr(-1)}); return err },
		"device": func() error {
			_, err := v.CreateServer(ctx, "a", mps.V3ServerOptions{AllowedDevices: []string{"0,1"}})
			return err
		},
		"nothing to set": func() error { _, err := v.SetServer(ctx, "a", mps.V3ServerSettings{}); return err },
		"memory": func() error {
			_, err := v.SetNamespace(ctx, "a", "b", mps.V3Limits{MemoryMiB: -1})
			return err
		},
		"memory too large": func() error {
			_, err := v.SetNamespace(ctx, "a", "b", mps.V3Limits{MemoryMiB: 1 << 60})
			return err
		},
		"percentage": func() error {
			_, err := v.SetNamespace(ctx, "a", "b", mps.V3Limits{Percentage: 0.5})
			return err
		},
		"priority": func() error {
			_, err := v.SetNamespace(ctx, "a", "b", mps.V3Limits{Priority: ptr(2)})
			return err
		},
		"nothing to set of a namespace": func() error { _, err := v.SetNamespace(ctx, "a", "b", mps.V3Limits{}); return err },
		"namespace":                     func() error { _, err := v.CreateNamespace(ctx, "a", "b c"); return err },
		"namespace of no server":        func() error { _, err := v.DeleteNamespace(ctx, "", "b", false); return err },
		"field":                         func() error { _, err := v.ServerField(ctx, "a", "colour"); return err },
		"namespace field":               func() error { _, err := v.NamespaceField(ctx, "a", "b", "uid"); return err },
		"client field":                  func() error { _, err := v.ClientField(ctx, 7, "uid"); return err },
		"client":                        func() error { _, err := v.Terminate(ctx, 0); return err },
		"list of a server":              func() error { _, err := v.Clients(ctx, "a b"); return err },
		"list of a device":              func() error { _, err := v.Partitions(ctx, "a", "GPU-"); return err },
		"chunks":                        func() error { return with(func(s *mps.V3PartitionSpec) { s.Chunks = 0 }) },
		"partition name":                func() error { return with(func(s *mps.V3PartitionSpec) { s.Name = "" }) },
		"partition device":              func() error { return with(func(s *mps.V3PartitionSpec) { s.Device = "H100" }) },
		"feature":                       func() error { _, err := v.SetFeature(ctx, "everything", true); return err },
	} {
		require.ErrorIs(t, do(), mps.ErrInput, name)
	}
}

func TestV3Commands(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var sent []string
	v := mps.New(runnerFunc(func(_ context.Context, c mps.Call) (mps.Output, error) {
		sent = append(sent, strings.Join(c.Args, " "))
		return mps.Output{}, nil
	}), mps.Options{}).V3()
	for want, do := range map[string]func() error{
		"server create a --uid=7 --allowed-devices=0,GPU-1 --locality-domains=true": func() error {
			_, err := v.CreateServer(ctx, "a", mps.V3ServerOptions{
				UID: ptr(7), AllowedDevices: []string{"0", "GPU-1"}, LocalityDomains: ptr(true),
			})
			return err
		},
		"server delete a --force": func() error { _, err := v.DeleteServer(ctx, "a", true); return err },
		"server set a --uid=0 --pinned-memory-limit=512M --active-thread-percentage=33.3 --client-priority=0": func() error {
			_, err := v.SetServer(ctx, "a", mps.V3ServerSettings{
				UID: ptr(0), Limits: mps.V3Limits{MemoryMiB: 512, Percentage: 33.3, Priority: ptr(0)},
			})
			return err
		},
		"namespace create b --server=a":         func() error { _, err := v.CreateNamespace(ctx, "a", "b"); return err },
		"namespace delete b --server=a --force": func() error { _, err := v.DeleteNamespace(ctx, "a", "b", true); return err },
		"namespace set b --server=a --client-priority=1": func() error {
			_, err := v.SetNamespace(ctx, "a", "b", mps.V3Limits{Priority: ptr(1)})
			return err
		},
		"sm-partition create p --server=a --device=0 --chunks=2 --include-remainder=true": func() error {
			_, err := v.CreatePartition(ctx, mps.V3PartitionSpec{Server: "a", Name: "p", Device: "0", Chunks: 2, IncludeRemainder: true})
			return err
		},
		"sm-partition delete p --server=a --device=GPU-1": func() error { _, err := v.DeletePartition(ctx, "a", "GPU-1", "p"); return err },
		"feature disable memacct":                         func() error { _, err := v.SetFeature(ctx, mps.FeatureMemoryAccounting, false); return err },
		"memacct set audit_log=false":                     func() error { _, err := v.SetAuditLog(ctx, false); return err },
		"client terminate 7":                              func() error { _, err := v.Terminate(ctx, 7); return err },
	} {
		sent = nil
		require.NoError(t, do(), "%s: a reply that nobody knows is no failure, and neither is one that cannot be read afterwards", want)
		require.NotEmpty(t, sent)
		assert.Equal(t, want, sent[0])
	}
}

// What is read back decides, and a daemon that goes away meanwhile is an error.
func TestV3ReadBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for answer, want := range map[string]error{
		"33.33\n": nil, "33.3\n": nil, "33.34\n": mps.ErrUnverified, "33.32\n": mps.ErrUnverified, "100.00\n": mps.ErrUnverified,
	} {
		v := mps.New(scripted(map[string]string{
			"namespace set b --server=a --active-thread-percentage=33.33": "", "namespace get b a active-thread-percentage": answer,
		}), mps.Options{}).V3()
		r, err := v.SetNamespace(ctx, "a", "b", mps.V3Limits{Percentage: 33.33})
		require.ErrorIs(t, err, want, answer)
		assert.Equal(t, want == nil, r.Verified, answer)
	}
	const set = "namespace set b --server=a --pinned-memory-limit=4096M"
	for name, test := range map[string]struct {
		answer   string
		verified bool
		err      error
	}{
		"as set":            {"4096M\n", true, nil},
		"in other units":    {"4G\n", true, nil},
		"another value":     {"4095M\n", false, mps.ErrUnverified},
		"not to be read":    {"four gigabytes\n", false, nil},
		"nothing":           {"", false, nil},
		"daemon has left":   {"Cannot find MPS control daemon process\n", false, mps.ErrNoDaemon},
		"number of no unit": {"4294967296\n", false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := mps.New(scripted(map[string]string{set: "as you like\n", "namespace get b a pinned-memory-limit": test.answer}), mps.Options{}).V3()
			r, err := v.SetNamespace(ctx, "a", "b", mps.V3Limits{MemoryMiB: 4096})
			if test.err == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, test.err)
			}
			assert.Equal(t, test.verified, r.Verified)
			assert.Equal(t, "as you like\n", r.Raw, "the reply is kept")
		})
	}
}

func TestV3TerminateIsSafeOnlyAfterZero(t *testing.T) {
	t.Parallel()
	for reply, safe := range map[string]bool{"0\n": true, "0": true, "": false, "00\n": false, "done\n": false, "0 1\n": false} {
		r, err := mps.New(scripted(map[string]string{"": reply}), mps.Options{}).V3().Terminate(t.Context(), 7)
		require.NoError(t, err)
		assert.Equal(t, safe, r.Verified, reply)
	}
	for _, out := range []mps.Output{{Stdout: "0\n", Exit: 1}, {Stdout: "810\n"}} {
		v := mps.New(leaving(out), mps.Options{}).V3()
		r, err := v.Terminate(t.Context(), 7)
		require.Error(t, err)
		assert.False(t, r.Verified)
	}
	_, err := mps.New(scripted(map[string]string{"": "810\n"}), mps.Options{}).V3().Terminate(t.Context(), 7)
	require.ErrorIs(t, err, mps.CUDAError(810))
	require.ErrorIs(t, err, mps.ErrRefused)
}

func TestV3DaemonReplaced(t *testing.T) {
	t.Parallel()
	fake := fakeDaemon(t, mpsfake.Config{Protocol: 3})
	v := mps.New(fake, mps.Options{Identity: fake.PIDFile}).V3()
	require.NoError(t, fake.AddRule(mpsfake.Rule{Command: "server list", Trouble: mpsfake.Replace}))
	_, err := v.CreateServer(t.Context(), "a", mps.V3ServerOptions{})
	require.ErrorIs(t, err, mps.ErrReplaced, "the server went with its daemon")
}
