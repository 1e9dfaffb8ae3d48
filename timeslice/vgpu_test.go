package timeslice_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice"
)

// genVGPUScheduler draws a setting that Validate accepts.
func genVGPUScheduler(t *rapid.T) timeslice.VGPUScheduler {
	s := timeslice.VGPUScheduler{
		Policy: rapid.SampledFrom([]timeslice.VGPUPolicy{timeslice.VGPUBestEffort, timeslice.VGPUEqualShare, timeslice.VGPUFixedShare}).Draw(t, "policy"),
	}
	if s.Policy == timeslice.VGPUBestEffort {
		return s
	}
	s.ARR = rapid.SampledFrom([]timeslice.ARRMode{timeslice.ARRDefault, timeslice.ARROff, timeslice.ARROn}).Draw(t, "arr")
	if s.ARR == timeslice.ARROff {
		s.Slice = millisecond * rapid.Int64Range(0, 30).Draw(t, "slice ms")
		return s
	}
	if rapid.Bool().Draw(t, "has frequency") {
		s.Frequency = rapid.Uint32Range(timeslice.MinVGPUFrequency, timeslice.MaxVGPUFrequency).Draw(t, "frequency")
	}
	if rapid.Bool().Draw(t, "has factor") {
		s.Factor = rapid.Uint32Range(timeslice.MinVGPUFactor, timeslice.MaxVGPUFactor).Draw(t, "factor")
	}
	return s
}

func TestValidateVGPUScheduler(t *testing.T) {
	t.Parallel()
	const equal, fixed = timeslice.VGPUEqualShare, timeslice.VGPUFixedShare
	few := timeslice.DocumentedVGPUCapabilities()
	few.Policies, few.ARR = []timeslice.VGPUPolicy{timeslice.VGPUBestEffort, equal}, false
	for _, row := range []struct {
		name string
		s    timeslice.VGPUScheduler
		caps timeslice.VGPUCapabilities
		want error
	}{
		{"best effort", timeslice.VGPUScheduler{Policy: timeslice.VGPUBestEffort}, few, nil},
		{"defaults", timeslice.VGPUScheduler{Policy: equal}, few, nil},
		{"a slice", timeslice.VGPUScheduler{Policy: equal, ARR: timeslice.ARROff, Slice: 3 * millisecond}, few, nil},
		{"the longest", timeslice.VGPUScheduler{Policy: equal, ARR: timeslice.ARROff, Slice: 30 * millisecond}, few, nil},
		{"too long", timeslice.VGPUScheduler{Policy: equal, ARR: timeslice.ARROff, Slice: 30*millisecond + 1}, few, timeslice.ErrVGPUScheduler},
		{"too short", timeslice.VGPUScheduler{Policy: equal, ARR: timeslice.ARROff, Slice: 1}, few, timeslice.ErrVGPUScheduler},
		{"policy not offered", timeslice.VGPUScheduler{Policy: fixed}, few, timeslice.ErrVGPUScheduler},
		{"ARR not offered", timeslice.VGPUScheduler{Policy: equal, ARR: timeslice.ARROn}, few, timeslice.ErrVGPUScheduler},
		{"frequency", timeslice.VGPUScheduler{Policy: fixed, Frequency: 480, Factor: 33}, timeslice.DocumentedVGPUCapabilities(), nil},
		{"frequency low", timeslice.VGPUScheduler{Policy: fixed, Frequency: 62}, timeslice.DocumentedVGPUCapabilities(), timeslice.ErrVGPUScheduler},
		{"frequency high", timeslice.VGPUScheduler{Policy: fixed, Frequency: 961}, timeslice.DocumentedVGPUCapabilities(), timeslice.ErrVGPUScheduler},
		{"factor high", timeslice.VGPUScheduler{Policy: fixed, Factor: 61}, timeslice.DocumentedVGPUCapabilities(), timeslice.ErrVGPUScheduler},
		{"no policy", timeslice.VGPUScheduler{}, few, timeslice.ErrInput},
		{"a policy of the resource manager", timeslice.VGPUScheduler{Policy: 4}, few, timeslice.ErrInput},
		{"a mode that is none", timeslice.VGPUScheduler{Policy: equal, ARR: 3}, few, timeslice.ErrInput},
		{"best effort with a slice", timeslice.VGPUScheduler{Policy: timeslice.VGPUBestEffort, Slice: millisecond}, few, timeslice.ErrInput},
		{"slice with ARR", timeslice.VGPUScheduler{Policy: equal, ARR: timeslice.ARROn, Slice: millisecond}, few, timeslice.ErrInput},
		{"slice with ARR by default", timeslice.VGPUScheduler{Policy: equal, Slice: millisecond}, few, timeslice.ErrInput},
		{"frequency without ARR", timeslice.VGPUScheduler{Policy: equal, ARR: timeslice.ARROff, Frequency: 480}, few, timeslice.ErrInput},
		{"factor without ARR", timeslice.VGPUScheduler{Policy: equal, ARR: timeslice.ARROff, Factor: 33}, few, timeslice.ErrInput},
		{"negative", timeslice.VGPUScheduler{Policy: equal, ARR: timeslice.ARROff, Slice: -1}, few, timeslice.ErrInput},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			err := row.s.Validate(row.caps)
			if row.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, row.want)
		})
	}
}

func TestVGPUDefaults(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		s    timeslice.VGPUScheduler
		max  int
		want string
		ns   int64
	}{
		{"few, ARR", timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare}, 4, "equal-share arr=on frequency=480Hz factor=33", 2_083_333},
		{"the border counts as few", timeslice.VGPUScheduler{Policy: timeslice.VGPUFixedShare}, timeslice.FewVGPUs, "fixed-share arr=on frequency=480Hz factor=33", 2_083_333},
		{"many, ARR", timeslice.VGPUScheduler{Policy: timeslice.VGPUFixedShare}, timeslice.FewVGPUs + 1, "fixed-share arr=on frequency=960Hz factor=33", 1_041_666},
		{"few, ARR off", timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare, ARR: timeslice.ARROff}, 8, "equal-share arr=off slice=2ms", 2 * millisecond},
		{"many, ARR off", timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare, ARR: timeslice.ARROff}, 20, "equal-share arr=off slice=1ms", millisecond},
		{"above", timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare, ARR: timeslice.ARROff, Slice: 255 * millisecond}, 20, "equal-share arr=off slice=30ms", 30 * millisecond},
		{"below", timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare, Frequency: 48, Factor: 200}, 20, "equal-share arr=on frequency=63Hz factor=60", 15_873_015},
		{"best effort", timeslice.VGPUScheduler{Policy: timeslice.VGPUBestEffort, Slice: 7}, 20, "best-effort", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, row.s.Effective(row.max).String())
			assert.Equal(t, row.ns, row.s.SliceLength(row.max))
		})
	}
	assert.Zero(t, timeslice.SliceOfFrequency(0))
}

func TestEffectiveIsValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := timeslice.VGPUScheduler{
			Policy:    timeslice.VGPUPolicy(rapid.Uint32Range(1, 3).Draw(t, "policy")),
			ARR:       timeslice.ARRMode(rapid.Uint32Range(0, 2).Draw(t, "arr")),
			Factor:    rapid.Uint32().Draw(t, "factor"),
			Frequency: rapid.Uint32().Draw(t, "frequency"),
			Slice:     rapid.Int64Min(0).Draw(t, "slice"),
		}
		e := s.Effective(rapid.IntRange(1, 40).Draw(t, "vGPUs"))
		require.NoError(t, e.Validate(timeslice.DocumentedVGPUCapabilities()))
		require.Equal(t, e, e.Effective(1), "nothing is left to be defaulted")
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, d := range timeslice.Disciplines() {
		back, err := timeslice.ParseDiscipline(d.String())
		require.NoError(t, err)
		assert.Equal(t, d, back)
	}
	_, err := timeslice.ParseDiscipline("fifo")
	require.ErrorIs(t, err, timeslice.ErrInput)
	require.ErrorContains(t, err, "exclusive-turn")
	assert.Equal(t, "discipline(99)", timeslice.Discipline(99).String())
	assert.False(t, timeslice.Discipline(99).WorkConserving())

	for id, name := range []string{"unknown", "best-effort", "equal-share", "fixed-share", "vgpu policy(4)"} {
		p := timeslice.VGPUPolicy(id)
		assert.Equal(t, name, p.String())
		d, known := p.Discipline()
		back, err := timeslice.ParseVGPUPolicy(name)
		assert.Equal(t, known, err == nil, name)
		if known {
			assert.Equal(t, p, back)
			assert.Equal(t, name, d.String())
		} else {
			require.ErrorIs(t, err, timeslice.ErrInput)
		}
	}
	assert.Equal(t, "default off on arr mode(3)", timeslice.ARRDefault.String()+" "+timeslice.ARROff.String()+" "+timeslice.ARROn.String()+" "+timeslice.ARRMode(3).String())
	assert.Equal(t, "graphics nvenc1 nvenc0 engine(0)", timeslice.EngineGraphics.String()+" "+timeslice.EngineNVENC1.String()+" "+timeslice.EngineNVENC0.String()+" "+timeslice.VGPUEngine(0).String())
	assert.Equal(t, "idle switching working run kind(3)", timeslice.Idle.String()+" "+timeslice.Switching.String()+" "+timeslice.Working.String()+" "+timeslice.RunKind(3).String())
}

func TestVGPUsOfType(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		gpu               string
		frameBuffer, size int
		want              int
	}{
		{"A100 80C", 80, 80, 1},
		{"A100 40C", 80, 40, 2},
		{"A100 20C", 80, 20, 4},
		{"A100 16C", 80, 16, 5},
		{"A100 10C", 80, 10, 8},
		{"A100 8C", 80, 8, 10},
		{"A100 4C", 80, 4, 20},
		{"H100L 94C", 94, 94, 1},
		{"H100L 47C", 94, 47, 2},
		{"H100L 23C", 94, 23, 4},
		{"H100L 15C", 94, 15, 6},
		{"H100L 11C", 94, 11, 8},
		{"H100L 6C", 94, 6, 15},
		{"H100L 4C", 94, 4, 23},
		{"A30 24C", 24, 24, 1},
		{"A30 4C", 24, 4, 6},
		{"the driver's limit", 96, 2, timeslice.MaxVGPUsWithoutMIG},
	} {
		got, err := timeslice.VGPUsOfType(row.frameBuffer, row.size)
		require.NoError(t, err, row.gpu)
		assert.Equal(t, row.want, got, row.gpu)
	}
	for _, sizes := range [][2]int{{0, 1}, {1, 0}, {-1, -1}} {
		_, err := timeslice.VGPUsOfType(sizes[0], sizes[1])
		require.ErrorIs(t, err, timeslice.ErrInput)
	}
}

func TestInstancesForVGPUsIsTheLeast(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		per := rapid.IntRange(1, timeslice.MaxVGPUsPerInstance).Draw(t, "per instance")
		requested := rapid.IntRange(0, 100).Draw(t, "requested")
		n, err := timeslice.InstancesForVGPUs(requested, per)
		require.NoError(t, err)
		require.GreaterOrEqual(t, n*per, requested)
		require.Less(t, (n-1)*per, max(requested, 1))
	})
	for _, bad := range [][2]int{{-1, 1}, {1, 0}, {1, timeslice.MaxVGPUsPerInstance + 1}} {
		_, err := timeslice.InstancesForVGPUs(bad[0], bad[1])
		require.ErrorIs(t, err, timeslice.ErrInput)
	}
	for _, bad := range [][2]int{{0, 1}, {13, 1}, {1, 0}, {12, 5}, {1, 49}} {
		_, err := timeslice.VGPUsOnMIG(bad[0], bad[1])
		require.ErrorIs(t, err, timeslice.ErrInput, "%v", bad)
	}
}
