package nvmlfake_test

import (
	"slices"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/nvmlfake"
)

// machine drives one GPU of a fake beside a naive model of it, which knows the
// rows of the table and nothing of the algebra over them.
type machine struct {
	s   *nvmlfake.Server
	lib nvml.Interface
	d   nvml.Device
	m   *mig.Model

	refs             int
	current, pending bool
	gis              []*modelGI
	uuids            map[string]bool // ever seen
	deadGIs          []nvml.GpuInstance
	deadCIs          []nvml.ComputeInstance
	deadMIGs         []nvml.Device
	holds            []*modelHold
	pids             int               // ever given
	ids              map[string]uint32 // of profiles, by name
}

type modelGI struct {
	profile mig.Profile
	start   int
	id      uint32
	handle  nvml.GpuInstance
	cis     []*modelCI
}

type modelCI struct {
	profile mig.ComputeProfile
	start   int
	id      uint32
	index   int
	uuid    string
	handle  nvml.ComputeInstance
	mig     nvml.Device
}

func newMachine(t *rapid.T) *machine {
	m := genModel(t)
	enabled := rapid.Bool().Draw(t, "MIG at start")
	s, lib := start(t, nvmlfake.Config{Seed: 1, GPUs: []nvmlfake.GPU{{Model: m.Key(), MIG: enabled}, {Model: "a30-24gb"}}})
	d, ids := must(lib.DeviceGetHandleByIndex(0)), map[string]uint32{}
	for p := range m.Profiles() {
		ids[p.Name] = must(d.GetGpuInstanceProfileInfo(p.Index)).Id
		if p.ID != mig.NotKnown {
			require.Equal(t, uint32(p.ID), ids[p.Name])
		}
	}
	return &machine{
		s: s, lib: lib, d: d, m: m, ids: ids,
		refs: 1, current: enabled, pending: enabled, uuids: map[string]bool{},
	}
}

// wrap returns the code that the model expects, given that of a call on an
// initialised library.
func (x *machine) wrap(ret nvml.Return) nvml.Return {
	if x.refs == 0 {
		return nvml.ERROR_UNINITIALIZED
	}
	return ret
}

func (x *machine) Init(t *rapid.T) {
	require.Equal(t, nvml.SUCCESS, x.lib.Init())
	x.refs++
}

func (x *machine) Shutdown(t *rapid.T) {
	require.Equal(t, x.wrap(nvml.SUCCESS), x.lib.Shutdown())
	x.refs = max(x.refs-1, 0)
}

func (x *machine) SetMode(t *rapid.T) {
	want := rapid.IntRange(0, 1).Draw(t, "mode")
	activation, ret := x.d.SetMigMode(want)
	require.Equal(t, x.wrap(nvml.SUCCESS), ret)
	if x.refs == 0 {
		return
	}
	x.pending = want == nvml.DEVICE_MIG_ENABLE
	expected := nvml.SUCCESS
	switch {
	case x.pending == x.current:
	case len(x.gis) > 0 || len(x.holds) > 0:
		expected = nvml.ERROR_IN_USE
	case x.m.Spec().ModeNeedsReset:
		expected = nvml.ERROR_RESET_REQUIRED
	default:
		x.current = x.pending
	}
	require.Equal(t, expected, activation)
}

func (x *machine) Reset(t *rapid.T) {
	err := x.s.Reset(0)
	if len(x.holds) > 0 {
		var held *nvmlfake.HeldError
		require.ErrorAs(t, err, &held)
		var names []nvmlfake.Holder
		for _, h := range x.holds {
			names = append(names, h.Holder)
		}
		require.ElementsMatch(t, names, held.Holders)
		return
	}
	require.NoError(t, err)
	x.bury(x.gis...)
	x.current = x.pending
}

func (x *machine) Reboot(*rapid.T) {
	x.s.Reboot()
	x.bury(x.gis...)
	x.holds = nil
	x.refs = 0
	x.pending = x.pending && x.m.Spec().ModeNeedsReset
	x.current = x.pending
}

// bury moves GPU instances with their contents to the dead.
func (x *machine) bury(gis ...*modelGI) {
	for _, g := range slices.Clone(gis) {
		x.buryCompute(g, g.cis...)
		x.deadGIs = append(x.deadGIs, g.handle)
		x.gis = slices.DeleteFunc(x.gis, func(o *modelGI) bool { return o == g })
	}
}

func (x *machine) buryCompute(g *modelGI, cis ...*modelCI) {
	for _, c := range slices.Clone(cis) {
		x.deadCIs, x.deadMIGs = append(x.deadCIs, c.handle), append(x.deadMIGs, c.mig)
		g.cis = slices.DeleteFunc(g.cis, func(o *modelCI) bool { return o == c })
	}
}

func (x *machine) Create(t *rapid.T) {
	p := genProfile(t, x.m)
	info := nvml.GpuInstanceProfileInfo{Id: x.ids[p.Name]}
	at := x.chosen(p)
	want := nvml.ERROR_INSUFFICIENT_RESOURCES
	if at >= 0 {
		want = nvml.SUCCESS
	}
	gi, ret := x.d.CreateGpuInstance(&info)
	x.created(t, p, at, gi, ret, want)
}

func (x *machine) CreateAt(t *rapid.T) {
	p := genProfile(t, x.m)
	info := nvml.GpuInstanceProfileInfo{Id: x.ids[p.Name]}
	at := rapid.IntRange(0, x.m.MemorySlices()).Draw(t, "start")
	if rapid.IntRange(0, 3).Draw(t, "any start") > 0 {
		at = rapid.SampledFrom(slices.Collect(p.Starts.All())).Draw(t, "legal start")
	}
	size := p.Size
	if rapid.IntRange(0, 9).Draw(t, "other size") == 0 {
		size = rapid.IntRange(0, 12).Draw(t, "size")
	}
	want := nvml.ERROR_INSUFFICIENT_RESOURCES
	switch {
	case size != p.Size || !p.Starts.Has(at):
		want = nvml.ERROR_INVALID_ARGUMENT
	case slices.Contains(free(p, x.gis), at):
		want = nvml.SUCCESS
	}
	gi, ret := x.d.CreateGpuInstanceWithPlacement(&info, &nvml.GpuInstancePlacement{Start: uint32(at), Size: uint32(size)})
	x.created(t, p, at, gi, ret, want)
}

func (x *machine) created(t *rapid.T, p mig.Profile, at int, gi nvml.GpuInstance, ret, want nvml.Return) {
	if !x.current {
		want = nvml.ERROR_NOT_SUPPORTED
	}
	want = x.wrap(want)
	require.Equal(t, want, ret, "%s@%d\n%s", p.Name, at, x.s)
	if want != nvml.SUCCESS {
		require.NotEqual(t, nvml.SUCCESS, code(gi.GetInfo()))
		return
	}
	got := must(gi.GetInfo())
	require.Equal(t, x.ids[p.Name], got.ProfileId)
	require.Equal(t, nvml.GpuInstancePlacement{Start: uint32(at), Size: uint32(p.Size)}, got.Placement)
	x.gis = append(x.gis, &modelGI{profile: p, start: at, id: got.Id, handle: gi})
}

// anyGI returns a GPU instance, nil if there is none.
func (x *machine) anyGI(t *rapid.T) *modelGI {
	if len(x.gis) == 0 {
		return nil
	}
	return rapid.SampledFrom(x.gis).Draw(t, "GPU instance")
}

func (x *machine) Destroy(t *rapid.T) {
	g := x.anyGI(t)
	if g == nil {
		return
	}
	want := nvml.SUCCESS
	if len(g.cis) > 0 || x.held(func(h *modelHold) bool { return h.gi == g }) {
		want = nvml.ERROR_IN_USE
	}
	want = x.wrap(want)
	require.Equal(t, want, g.handle.Destroy())
	if want == nvml.SUCCESS {
		x.bury(g)
	}
}

func (x *machine) CreateCompute(t *rapid.T) {
	g := x.anyGI(t)
	if g == nil {
		return
	}
	c := rapid.SampledFrom(computeOffers(x.m, g.profile)).Draw(t, "compute profile")
	info := nvml.ComputeInstanceProfileInfo{Id: uint32(c.Index)}
	starts := freeCompute(c, g)
	want := nvml.ERROR_INSUFFICIENT_RESOURCES
	var ci nvml.ComputeInstance
	var ret nvml.Return
	if rapid.Bool().Draw(t, "placed") {
		at := rapid.IntRange(0, g.profile.ComputeSlices).Draw(t, "start")
		switch {
		case !c.Starts.Has(at):
			want = nvml.ERROR_INVALID_ARGUMENT
		case slices.Contains(starts, at):
			want, starts = nvml.SUCCESS, []int{at}
		}
		ci, ret = g.handle.CreateComputeInstanceWithPlacement(&info, &nvml.ComputeInstancePlacement{Start: uint32(at), Size: uint32(c.Size)})
	} else {
		if len(starts) > 0 {
			want = nvml.SUCCESS
		}
		ci, ret = g.handle.CreateComputeInstance(&info)
	}
	want = x.wrap(want)
	require.Equal(t, want, ret, "%s in %s@%d\n%s", c.Name, g.profile.Name, g.start, x.s)
	if want != nvml.SUCCESS {
		return
	}
	got := must(ci.GetInfo())
	require.Contains(t, starts, int(got.Placement.Start))
	uuid := must(got.Device.GetUUID())
	require.False(t, x.uuids[uuid], "%s was there before", uuid)
	x.uuids[uuid] = true
	g.cis = append(g.cis, &modelCI{
		profile: c, start: int(got.Placement.Start), id: got.Id,
		index: must(got.Device.GetIndex()), uuid: uuid, handle: ci, mig: got.Device,
	})
}

func (x *machine) DestroyCompute(t *rapid.T) {
	g := x.anyGI(t)
	if g == nil {
		return
	}
	if len(g.cis) == 0 {
		return
	}
	c := rapid.SampledFrom(g.cis).Draw(t, "compute instance")
	want := nvml.SUCCESS
	if x.held(func(h *modelHold) bool { return h.ci == c }) {
		want = nvml.ERROR_IN_USE
	}
	want = x.wrap(want)
	require.Equal(t, want, c.handle.Destroy())
	if want == nvml.SUCCESS {
		x.buryCompute(g, c)
	}
}

func (x *machine) CallDead(t *rapid.T) {
	want := x.wrap(nvml.ERROR_INVALID_ARGUMENT)
	if len(x.deadGIs) > 0 {
		gi := rapid.SampledFrom(x.deadGIs).Draw(t, "dead GPU instance")
		require.Equal(t, want, code(gi.GetInfo()))
		require.Equal(t, want, code(gi.CreateComputeInstance(&nvml.ComputeInstanceProfileInfo{})))
		require.Equal(t, want, gi.Destroy())
	}
	if len(x.deadCIs) > 0 {
		i := rapid.IntRange(0, len(x.deadCIs)-1).Draw(t, "dead compute instance")
		require.Equal(t, want, code(x.deadCIs[i].GetInfo()))
		require.Equal(t, want, x.deadCIs[i].Destroy())
		require.Equal(t, want, code(x.deadMIGs[i].GetUUID()))
	}
}

// Check compares all that can be read with the model.
func (x *machine) Check(t *rapid.T) {
	require.NoError(t, x.s.Audit(), "%s", x.s)
	layout, err := x.s.Layout(0)
	require.NoError(t, err)
	require.Equal(t, len(x.gis), layout.Len())
	for _, g := range x.gis {
		in, found := layout.At(g.start)
		require.True(t, found)
		require.Equal(t, g.profile.Name, in.Profile)
	}
	if x.refs == 0 {
		require.Equal(t, nvml.ERROR_UNINITIALIZED, code(x.d.GetMaxMigDeviceCount()))
		return
	}
	current, pending, ret := x.d.GetMigMode()
	require.Equal(t, nvml.SUCCESS, ret)
	require.Equal(t, []bool{x.current, x.pending}, []bool{current == nvml.DEVICE_MIG_ENABLE, pending == nvml.DEVICE_MIG_ENABLE})
	x.checkHolders(t)
	if !x.current {
		require.Zero(t, must(x.d.GetMaxMigDeviceCount()))
		require.Equal(t, nvml.ERROR_NOT_SUPPORTED, code(x.d.GetGpuInstanceById(0)))
		return
	}
	x.checkInstances(t)
	x.checkDevices(t)
}

func (x *machine) checkInstances(t *rapid.T) {
	for p := range x.m.Profiles() {
		info := must(x.d.GetGpuInstanceProfileInfo(p.Index))
		require.Equal(t, fits(p, x.gis), must(x.d.GetGpuInstanceRemainingCapacity(&info)), "%s", p.Name)
		var want []nvml.GpuInstance
		for id := range uint32(16) {
			for _, g := range x.gis {
				if g.id == id && g.profile.Name == p.Name {
					want = append(want, g.handle)
				}
			}
		}
		require.ElementsMatch(t, want, must(x.d.GetGpuInstances(&info)))
	}
	for id := range uint32(16) {
		at := slices.IndexFunc(x.gis, func(g *modelGI) bool { return g.id == id })
		gi, ret := x.d.GetGpuInstanceById(int(id))
		if at < 0 {
			require.Equal(t, nvml.ERROR_NOT_FOUND, ret)
			continue
		}
		require.Equal(t, nvml.SUCCESS, ret)
		require.Equal(t, x.gis[at].handle, gi)
		for _, c := range x.gis[at].cis {
			require.Equal(t, c.handle, must(gi.GetComputeInstanceById(int(c.id))))
		}
	}
}

func (x *machine) checkDevices(t *rapid.T) {
	byIndex := map[int]*modelCI{}
	for _, g := range x.gis {
		for _, c := range g.cis {
			require.Nil(t, byIndex[c.index])
			byIndex[c.index] = c
			require.Equal(t, c.mig, must(x.lib.DeviceGetHandleByUUID(c.uuid)))
			require.Equal(t, c.uuid, must(c.mig.GetUUID()))
		}
	}
	for i := range must(x.d.GetMaxMigDeviceCount()) {
		d, ret := x.d.GetMigDeviceHandleByIndex(i)
		if byIndex[i] == nil {
			require.Equal(t, nvml.ERROR_NOT_FOUND, ret)
			continue
		}
		require.Equal(t, nvml.SUCCESS, ret)
		require.Equal(t, byIndex[i].mig, d)
		delete(byIndex, i)
	}
	require.Empty(t, byIndex, "a MIG device beyond the maximum")
}

// An action that cannot be done does nothing. It must not skip: a fuzzer's input
// that asks for nothing else would then count as a failure.
func runMachine(t *rapid.T) { t.Repeat(rapid.StateMachineActions(newMachine(t))) }

func TestMachine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, runMachine)
}
