package nvmlfake_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/nvmlfake"
)

// restore reads a machine and starts it.
func restore(t *testing.T, text string) (*nvmlfake.Server, nvml.Device) {
	t.Helper()
	snap, err := nvmlfake.ReadSnapshot(strings.NewReader(text))
	require.NoError(t, err)
	s, err := nvmlfake.Restore(snap)
	require.NoError(t, err)
	require.NoError(t, s.Audit())
	require.Equal(t, nvml.SUCCESS, s.NVML().Init())
	return s, must(s.NVML().DeviceGetHandleByIndex(0))
}

// A file by hand: what it leaves out is what creating the same would have given.
func TestHandwrittenMachine(t *testing.T) {
	t.Parallel()
	s, _ := restore(t, `{"schema":1,"gpus":[{"model":"a100-40gb","mig":true,"instances":[{"profile":"3g.20gb","start":4}]}]}`)
	made, d := startGPU(t, "a100-40gb")
	gi, _ := d.CreateGpuInstanceWithPlacement(infoOf(t, d, "a100-40gb", "3g.20gb"), &nvml.GpuInstancePlacement{Start: 4, Size: 4})
	must(gi.CreateComputeInstance(computeInfoOf(gi, nvml.COMPUTE_INSTANCE_PROFILE_3_SLICE)))
	assert.Equal(t, made.String(), s.String())
	assert.Equal(t, made.Snapshot(), s.Snapshot())
}

func TestSnapshotForms(t *testing.T) {
	t.Parallel()
	rows := []struct{ name, text, want string }{
		{
			"nothing there", `{"schema":1,"gpus":[]}`,
			"nvmlfake: 0 GPUs, 1 initialisations\n",
		},
		{
			"MIG off, on its way", `{"schema":1,"gpus":[{"model":"NVIDIA A100-PCIE-40GB","pendingMig":true}]}`,
			"GPU 0 a100-40gb MIG off (pending on)\n",
		},
		{
			"no compute instance",
			`{"schema":1,"gpus":[{"model":"a30-24gb","mig":true,"instances":[{"profile":"2g.12gb","start":2,"computeInstances":[]}]}]}`,
			"  GI 2 2g.12gb@2\n",
		},
		{
			"given ids stay, others are the lowest free",
			`{"schema":1,"gpus":[{"model":"a100-40gb","mig":true,"created":9,"instances":[{"profile":"3g.20gb","start":0,"id":2,"computeInstances":[
				{"profile":"1c.3g.20gb","start":2},{"profile":"1c.3g.20gb","start":0,"id":0,"device":0,"uuid":"MIG-00000000-0000-5000-8000-000000000000"}]},
				{"profile":"1g.5gb","start":6}]}]}`,
			"  GI 2 3g.20gb@0\n    CI 0 1c.3g.20gb@0 device 0 MIG-00000000-0000-5000-8000-000000000000\n    CI 1 1c.3g.20gb@2 device 1 MIG-",
		},
		{
			"holders",
			`{"schema":1,"gpus":[{"model":"a100-40gb","mig":true,"holders":[{"name":"nvidia_drm","hidden":true}],
				"instances":[{"profile":"1g.5gb","start":6,"holders":[{"pid":7,"name":"dcgm","hidden":true}],
				"computeInstances":[{"profile":"1g.5gb","holders":[{"pid":4242,"name":"train","memoryMiB":512}]}]}]}]}`,
			"  held by nvidia_drm (hidden)\n  GI 13 1g.5gb@6\n    held by dcgm (pid 7, hidden)\n    CI 0 1g.5gb@0 device 0 MIG-",
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			snap, err := nvmlfake.ReadSnapshot(strings.NewReader(row.text))
			require.NoError(t, err)
			s, err := nvmlfake.Restore(snap)
			require.NoError(t, err)
			require.Equal(t, nvml.SUCCESS, s.NVML().Init())
			assert.Contains(t, s.String(), row.want)
			throughJSON(t, s)
		})
	}
}

// Two compute profiles of one name: the file says which, or gets the ordinary
// one for a part and the larger one for the whole.
func TestSnapshotTellsProfilesOfOneNameApart(t *testing.T) {
	t.Parallel()
	index := func(text string) uint32 {
		_, d := restore(t, text)
		m, err := mig.Lookup("h100-80gb-sxm5")
		require.NoError(t, err)
		for p := range m.Profiles() {
			for _, gi := range must(d.GetGpuInstances(infoOf(t, d, m.Key(), p.Name))) {
				return must(must(gi.GetComputeInstanceById(0)).GetInfo()).ProfileId
			}
		}
		return 99
	}
	gpu := func(instance string) string {
		return `{"schema":1,"gpus":[{"model":"h100-80gb-sxm5","mig":true,"instances":[` + instance + `]}]}`
	}
	const rev1 = nvml.COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1
	assert.Equal(t, uint32(0), index(gpu(`{"profile":"2g.20gb","start":0,"computeInstances":[{"profile":"1c.2g.20gb"}]}`)))
	assert.Equal(t, uint32(rev1), index(gpu(`{"profile":"2g.20gb","start":0,"computeInstances":[{"profile":"1c.2g.20gb","index":7}]}`)))
	assert.Equal(t, uint32(rev1), index(gpu(`{"profile":"1g.20gb","start":0}`)), "26 multiprocessors, not 16")
}

// UUIDs stay unique, also where a file hands one out that would come next.
func TestRestoredUUIDsStayUnique(t *testing.T) {
	t.Parallel()
	made, d := startGPU(t, "a100-40gb")
	info := infoOf(t, d, "a100-40gb", "1g.5gb")
	for range 3 {
		gi := must(d.CreateGpuInstance(info))
		must(gi.CreateComputeInstance(computeInfoOf(gi, 0)))
	}
	snap := made.Snapshot()
	snap.GPUs[0].Created = 0
	snap.GPUs[0].Instances[0].Compute[0].UUID = ""
	s, err := nvmlfake.Restore(snap)
	require.NoError(t, err)
	require.Equal(t, nvml.SUCCESS, s.NVML().Init())
	d = must(s.NVML().DeviceGetHandleByIndex(0))
	for range 4 {
		gi := must(d.CreateGpuInstance(info))
		must(gi.CreateComputeInstance(computeInfoOf(gi, 0)))
		require.NoError(t, s.Audit())
	}
}

func TestReadSnapshotRefuses(t *testing.T) {
	t.Parallel()
	rows := []struct{ name, text, says string }{
		{"nothing", "", "EOF"},
		{"no JSON", "{\n  schema: 1}", "line 2, column 3"},
		{"a word for a number", "{\"schema\": 1,\n\"gpus\": [{\"model\": 3}]}", "line 2"},
		{"an unknown field", `{"schema":1,"gpus":[{"model":"a100-40gb","migg":true}]}`, `"migg"`},
		{"something behind it", `{"schema":1,"gpus":[]} {}`, "something follows"},
		{"another schema", `{"schema":2,"gpus":[]}`, "schema 2"},
		{"no schema", `{"gpus":[]}`, "schema 0"},
		{"too long", strings.Repeat(" ", 1<<20+1), "more than 1048576 bytes"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := nvmlfake.ReadSnapshot(strings.NewReader(row.text))
			require.ErrorIs(t, err, nvmlfake.ErrBadSnapshot)
			require.ErrorContains(t, err, row.says)
		})
	}
	broken := errors.New("the disk is gone")
	_, err := nvmlfake.ReadSnapshot(iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
	require.NotErrorIs(t, err, nvmlfake.ErrBadSnapshot)
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	_, err := nvmlfake.Restore(nvmlfake.Snapshot{})
	require.ErrorIs(t, err, nvmlfake.ErrBadSnapshot)
	const uuid = `"uuid":"GPU-00000000-0000-5000-8000-000000000000"`
	const migUUID = `"uuid":"MIG-00000000-0000-5000-8000-000000000000"`
	instances := func(list string) string { return `{"model":"a100-40gb","mig":true,"instances":[` + list + `]}` }
	compute := func(list string) string {
		return instances(`{"profile":"3g.20gb","start":4,"computeInstances":[` + list + `]}`)
	}
	holder := func(list string) string { return `{"model":"a100-40gb","holders":[` + list + `]}` }
	rows := []struct {
		name, gpus string
		is         error
		says       []string
	}{
		{"unknown model", `{"model":"a100-41gb"}`, mig.ErrUnknownModel, []string{"gpus[0].model", "a100-41gb"}},
		{"unknown product", `{"model":"a100-40gb","product":"NVIDIA H200"}`, nil, []string{"gpus[0].product", "NVIDIA H200"}},
		{"no UUID", `{"model":"a100-40gb","uuid":"GPU-1"}`, nil, []string{"gpus[0].uuid", `"GPU-1"`}},
		{"a MIG device's UUID", `{"model":"a100-40gb",` + migUUID + `}`, nil, []string{"gpus[0].uuid", `"MIG-0000`}},
		{"a UUID twice", `{"model":"a30-24gb",` + uuid + `},{"model":"a30-24gb",` + uuid + `}`, nil, []string{"gpus[1].uuid", "twice"}},
		{"too many created", `{"model":"a100-40gb","created":18446744073709551615}`, nil, []string{"gpus[0].created", "18446744073709551615"}},
		{"instances with MIG off", `{"model":"a100-40gb","instances":[{"profile":"7g.40gb","start":0}]}`, nil, []string{"gpus[0].instances", "MIG is off"}},
		{"unknown profile", instances(`{"profile":"3g.40gb","start":0}`), mig.ErrUnknownProfile, []string{"gpus[0].instances[0].profile", "3g.40gb"}},
		{"no name", instances(`{"profile":"3g","start":0}`), mig.ErrBadName, []string{"instances[0].profile"}},
		{"no such start", instances(`{"profile":"3g.20gb","start":2}`), nil, []string{"instances[0].start", "2"}},
		{"a start below 0", instances(`{"profile":"3g.20gb","start":-1}`), nil, []string{"instances[0].start", "-1"}},
		{"a start far off", instances(`{"profile":"3g.20gb","start":1000000}`), nil, []string{"instances[0].start", "1000000"}},
		{"in each other's way", instances(`{"profile":"3g.20gb","start":0},{"profile":"1g.5gb","start":2}`), mig.ErrConflict, []string{"instances[1].start"}},
		{"an id twice", instances(`{"profile":"1g.5gb","start":0,"id":4},{"profile":"1g.5gb","start":2,"id":4}`), nil, []string{"instances[1].id", "4"}},
		{"an id below 0", instances(`{"profile":"1g.5gb","start":0,"id":-4}`), nil, []string{"instances[0].id", "-4"}},
		{"unknown compute profile", compute(`{"profile":"2c.4g.20gb"}`), mig.ErrUnknownProfile, []string{"computeInstances[0].profile", "2c.4g.20gb", "1c.3g.20gb (index 0)"}},
		{"no compute profile", compute(`{"start":1}`), mig.ErrBadName, []string{"computeInstances[0].profile"}},
		{"unknown index", compute(`{"profile":"1c.3g.20gb","index":7}`), mig.ErrUnknownProfile, []string{"computeInstances[0].profile", "index 7"}},
		{"compute slices twice", compute(`{"profile":"1c.3g.20gb"},{"profile":"1c.3g.20gb"}`), nil, []string{"computeInstances[1].start", "1c.3g.20gb@0"}},
		{"a compute start far off", compute(`{"profile":"1c.3g.20gb","start":64}`), nil, []string{"computeInstances[0].start", "@64"}},
		{"a compute start below 0", compute(`{"profile":"1c.3g.20gb","start":-1}`), nil, []string{"computeInstances[0].start", "@-1"}},
		{"a compute id twice", compute(`{"profile":"1c.3g.20gb","id":1},{"profile":"1c.3g.20gb","start":1,"id":1}`), nil, []string{"computeInstances[1].id", "1"}},
		{"a device twice", compute(`{"profile":"1c.3g.20gb","device":1},{"profile":"1c.3g.20gb","start":1,"device":1}`), nil, []string{"computeInstances[1].device", "1"}},
		{"a device too many", compute(`{"profile":"1c.3g.20gb","device":7}`), nil, []string{"computeInstances[0].device", "7"}},
		{"a MIG UUID twice", compute(`{"profile":"1c.3g.20gb",` + migUUID + `},{"profile":"1c.3g.20gb","start":1,` + migUUID + `}`), nil, []string{"computeInstances[1].uuid", "twice"}},
		{"a holder without name", holder(`{"pid":3}`), nvmlfake.ErrBadHolder, []string{"gpus[0].holders[0]", "no name"}},
		{"a visible holder of a GPU with MIG", `{"model":"a100-40gb","mig":true,"holders":[{"pid":3,"name":"x"}]}`, nvmlfake.ErrBadHolder, []string{"gpus[0].holders[0]", "x (pid 3)"}},
		{"a visible holder of a GPU instance", instances(`{"profile":"1g.5gb","start":0,"holders":[{"pid":3,"name":"x"}]}`), nvmlfake.ErrBadHolder, []string{"instances[0].holders[0]"}},
		{"memory of a holder", compute(`{"profile":"3g.20gb","holders":[{"pid":3,"name":"x","memoryMiB":99999}]}`), nvmlfake.ErrBadHolder, []string{"computeInstances[0].holders[0]", "99999"}},
		{"one process under two names", holder(`{"pid":3,"name":"x"},{"pid":3,"name":"y"}`), nvmlfake.ErrBadHolder, []string{"holders[1]"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			snap, err := nvmlfake.ReadSnapshot(strings.NewReader(`{"schema":1,"gpus":[` + row.gpus + `]}`))
			require.NoError(t, err)
			s, err := nvmlfake.Restore(snap)
			require.ErrorIs(t, err, nvmlfake.ErrBadSnapshot)
			assert.Nil(t, s)
			if row.is != nil {
				require.ErrorIs(t, err, row.is)
			}
			for _, says := range row.says {
				require.ErrorContains(t, err, says)
			}
		})
	}
}

// A UUID that is given to one GPU is not made up for another.
func TestGivenUUIDOfAnotherGPU(t *testing.T) {
	t.Parallel()
	s, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Model: "a30-24gb"}, {Model: "a30-24gb"}}})
	require.NoError(t, err)
	for i := range 2 {
		snap := nvmlfake.Snapshot{Schema: nvmlfake.Schema, GPUs: []nvmlfake.GPUSnapshot{{Model: "a30-24gb"}, {Model: "a30-24gb"}}}
		snap.GPUs[i].UUID = s.Snapshot().GPUs[1-i].UUID
		_, err := nvmlfake.Restore(snap)
		require.ErrorIs(t, err, nvmlfake.ErrBadSnapshot)
		require.ErrorContains(t, err, "gpus[1].uuid")
	}
}

// A snapshot is the caller's: the server does not look at it again.
func TestSnapshotIsACopy(t *testing.T) {
	t.Parallel()
	s, _ := restore(t, `{"schema":1,"gpus":[{"model":"a100-40gb","mig":true,"instances":[{"profile":"1g.5gb","start":6}]}]}`)
	first, second := s.Snapshot(), s.Snapshot()
	restored, err := nvmlfake.Restore(first)
	require.NoError(t, err)
	*first.GPUs[0].Instances[0].ID = 99
	first.GPUs[0].Instances[0].Compute[0].Profile = "changed"
	assert.Equal(t, second, s.Snapshot())
	assert.Equal(t, second, restored.Snapshot())
}

func TestPresets(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"dgx-a100": "NVIDIA A100-SXM4-80GB", "dgx-a100-40gb": "NVIDIA A100-SXM4-40GB",
		"dgx-h100": "NVIDIA H100 80GB HBM3", "dgx-b200": "NVIDIA B200",
	}
	assert.Len(t, nvmlfake.Presets(), len(want))
	for _, name := range nvmlfake.Presets() {
		cfg, err := nvmlfake.Preset(name)
		require.NoError(t, err)
		s, lib := start(t, cfg)
		require.Equal(t, 8, must(lib.DeviceGetCount()))
		for i := range 8 {
			d := must(lib.DeviceGetHandleByIndex(i))
			assert.Equal(t, want[name], must(d.GetName()))
			assert.Equal(t, modes{on, on}, modesOf(t, d))
		}
		require.NoError(t, s.Audit())
	}
	_, err := nvmlfake.Preset("dgx-1")
	require.ErrorIs(t, err, nvmlfake.ErrUnknownPreset)
	require.ErrorContains(t, err, `"dgx-1"`)
	require.ErrorContains(t, err, "dgx-h100")
}

// The JSON form, as it stays.
func TestSnapshotText(t *testing.T) {
	t.Parallel()
	s, _ := restore(t, `{"schema":1,"gpus":[{"model":"a30-24gb","mig":true,"instances":[{"profile":"4g.24gb","start":0}]}]}`)
	text, err := json.Marshal(s.Snapshot())
	require.NoError(t, err)
	uuid := s.Snapshot().GPUs[0].UUID
	migUUID := s.Snapshot().GPUs[0].Instances[0].Compute[0].UUID
	assert.Equal(t, `{"schema":1,"gpus":[{"model":"a30-24gb","product":"NVIDIA A30","uuid":"`+uuid+`","mig":true,"pendingMig":true,"created":1,`+
		`"instances":[{"profile":"4g.24gb","start":0,"id":0,"computeInstances":[{"profile":"4g.24gb","start":0,"index":3,"id":0,"device":0,"uuid":"`+migUUID+`"}]}]}]}`, string(text))
}
