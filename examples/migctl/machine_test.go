package main

import (
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// odd returns a machine with a GPU that a table is for, one that none is for, one
// that cannot do MIG, and one that is lost.
func odd(t *testing.T) *machine {
	t.Helper()
	a30, err := mig.Lookup("a30-24gb")
	require.NoError(t, err)
	spec := a30.Spec()
	spec.Key, spec.ProductNames, spec.PCIDeviceIDs = "a31-24gb", []string{"NVIDIA A31"}, []uint32{0x123410DE}
	unknown, err := mig.NewModel(spec)
	require.NoError(t, err)
	server, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{
		{Model: "a30-24gb", MIG: true}, {Table: unknown, MIG: true}, {Model: "a30-24gb"}, {Model: "a30-24gb"},
	}})
	require.NoError(t, err)
	rules, err := fault.New(1,
		fault.Rule{Method: "Device.GetMigMode", GPU: "2", Effect: fault.Refuse, Return: nvml.ERROR_NOT_SUPPORTED},
		fault.Rule{Method: "Device.*", GPU: "3", Effect: fault.Lose},
	)
	require.NoError(t, err)
	m := &machine{lib: fault.Wrap(server.NVML(), rules), fake: &fakeMachine{server: server}}
	require.Equal(t, nvml.SUCCESS, m.lib.Init())
	t.Cleanup(func() { require.NoError(t, m.close()) })
	require.NoError(t, m.look(t.Context()))
	return m
}

func TestOddMachine(t *testing.T) {
	t.Parallel()
	m := odd(t)
	require.Len(t, m.gpus, 4)
	var states []gpuState
	for _, g := range m.gpus {
		states = append(states, readState(t.Context(), g))
	}
	assert.Equal(t, "a30-24gb", states[0].Model)
	assert.True(t, states[1].MIGCapable, "by what it says of itself")
	assert.False(t, m.gpus[1].tabled)
	assert.Equal(t, 4, m.gpus[1].dev.Model().MemorySlices())
	assert.False(t, states[2].MIGCapable)
	assert.Empty(t, states[2].Error)
	assert.Contains(t, states[3].Error, "GPU 3")
	text := stateText(states)
	assert.Contains(t, text, "not capable")
	assert.Contains(t, text, "GPU 3 could not be read: ")

	require.NoError(t, m.gpus[1].capable())
	require.ErrorContains(t, m.gpus[2].capable(), "GPU 2 (NVIDIA A30) cannot do MIG")
	require.Error(t, m.gpus[3].capable())
	_, err := partedStates(t.Context(), m.gpus)
	require.Error(t, err, "not all could be read")
	parts, err := partedStates(t.Context(), m.gpus[:3])
	require.NoError(t, err)
	assert.Equal(t, []bool{true, true, false}, []bool{parts[0].Capable, parts[1].Capable, parts[2].Capable})
	file, err := layoutOf(t.Context(), m.gpus[:3])
	require.NoError(t, err)
	assert.Len(t, file.GPUs, 2)
}

// TestUnknownModel: a GPU that no table is for is planned for by what it says of
// itself.
func TestUnknownModel(t *testing.T) {
	t.Parallel()
	m := odd(t)
	inv := newInvocation(command.New("apply", strings.NewReader(""), &strings.Builder{}))
	_, err := inv.demandTargets(m, m.gpus[1:2], mig.Demand{"1g.6gb": 2})
	require.ErrorContains(t, err, "-gpu is missing: there are 4 GPUs")
	require.NoError(t, inv.Flags.Parse([]string{"-gpu", "1"}))
	targets, err := inv.demandTargets(m, m.gpus[1:2], mig.Demand{"1g.6gb": 2})
	require.NoError(t, err)
	changes, err := prepare(t.Context(), targets)
	require.NoError(t, err)
	assert.Len(t, changes[0].plan.Steps, 2)
	assert.Contains(t, changesText(changes), "after  │")
}

// TestJournalDir: on a real machine nothing is changed off the record.
func TestJournalDir(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args       []string
		path, want string
	}{
		{[]string{"-nvml", "-journal", "j"}, "", "j"},
		{[]string{"-fake", "m.json"}, "m.json", "m.json.journal"},
		{[]string{"-fake", "m.json", "-journal", "j"}, "m.json", "j"},
		{[]string{"-fake", "dgx-a100"}, "", ""},
		{[]string{"-nvml"}, "", "-journal is missing"},
	} {
		inv := newInvocation(command.New("apply", strings.NewReader(""), &strings.Builder{}))
		inv.changes()
		require.NoError(t, inv.Flags.Parse(c.args))
		got, err := inv.journalDir(&machine{fake: &fakeMachine{path: c.path}})
		if err != nil {
			got = err.Error()
		}
		assert.True(t, got == c.want || err != nil && strings.HasPrefix(got, c.want), "%v: %s", c.args, got)
	}
}

func TestVerifyText(t *testing.T) {
	t.Parallel()
	v := gpuVerify{Model: "a30-24gb", MIGCapable: true, Differences: []mig.Difference{
		{Profile: "1g.6gb", Field: "SMs", Table: "14", Device: "unknown", Verdict: mig.DeviceUnknown},
		{Profile: "1g.6gb", Field: "memory", Table: "1 MiB", Device: "2 MiB", Verdict: mig.Contradiction},
	}}
	assert.Equal(t, `a30-24gb contradicts its table: 1 contradictions, 1 figures only in the table, 0 only from the device
  1g.6gb: memory: table 1 MiB, device 2 MiB (another driver's figure)
  1g.6gb: SMs: table 14, device unknown
`, v.text())
	assert.Equal(t, "cannot do MIG\n", gpuVerify{}.text())
	assert.Equal(t, "no table is for it\n", gpuVerify{MIGCapable: true}.text())
}

func FuzzReadLayout(f *testing.F) {
	f.Add([]byte(`{"schema":1,"gpus":[{"index":0,"uuid":"GPU-1","model":"a30-24gb","mig":true,"instances":[{"profile":"4g.24gb","start":0,"computeInstances":null}]}]}`))
	f.Add([]byte(`{"schema":1,"gpus":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := readLayout(data)
		if err != nil {
			require.Empty(t, file.GPUs)
			return
		}
		var out strings.Builder
		require.NoError(t, (&command.Invocation{Out: &out, JSON: true}).Print(file, nil))
		again, err := readLayout([]byte(out.String()))
		require.NoError(t, err)
		require.Len(t, again.GPUs, len(file.GPUs))
	})
}
