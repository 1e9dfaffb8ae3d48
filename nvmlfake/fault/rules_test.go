package fault_test

import (
	"math"
	"path"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/nvmlfake/fault"
)

func TestBadRules(t *testing.T) {
	t.Parallel()
	refuse := func(method string) fault.Rule {
		return fault.Rule{Method: method, Effect: fault.Refuse, Return: nvml.ERROR_UNKNOWN}
	}
	with := func(change func(*fault.Rule)) fault.Rule {
		r := refuse("Device.GetName")
		change(&r)
		return r
	}
	rows := []struct {
		name string
		rule fault.Rule
		says string
	}{
		{"no method", fault.Rule{Effect: fault.Lose}, `method ""`},
		{"a method that is not there", refuse("Device.GetNmae"), `"Device.GetNmae": no method`},
		{"one of two that is not there", refuse("Device.GetName,GPUInstance.Destroy"), `"GPUInstance.Destroy"`},
		{"a function that is a handle's method", refuse("DeviceGetName"), `"DeviceGetName"`},
		{"a bad pattern", refuse("Device.[Get"), `"Device.[Get"`},
		{"a call that no rule sees", refuse("Device.GetTemperatureV"), `"Device.GetTemperatureV"`},
		{"a GPU below 0", with(func(r *fault.Rule) { r.GPU = "-1" }), `GPU "-1"`},
		{"nth below 0", with(func(r *fault.Rule) { r.Nth = -1 }), "nth -1"},
		{"times below 0", with(func(r *fault.Rule) { r.Times = -2 }), "times -2"},
		{"probability above 1", with(func(r *fault.Rule) { r.Probability = 1.5 }), "probability 1.5"},
		{"probability that is no number", with(func(r *fault.Rule) { r.Probability = math.NaN() }), "probability NaN"},
		{"delay below 0", with(func(r *fault.Rule) { r.Delay = -1 }), "delay -1ns"},
		{"until a call that is not there", with(func(r *fault.Rule) { r.UntilCall = "Device.Gone" }), `until call "Device.Gone"`},
		{"no code", with(func(r *fault.Rule) { r.Return = nvml.SUCCESS }), "no code"},
		{"a code nobody gets", with(func(r *fault.Rule) { r.Effect = fault.Lose }), "does not return"},
		{"an effect that is not there", with(func(r *fault.Rule) { r.Effect = 17 }), "effect 17"},
		{"nothing at all", fault.Rule{Method: "*"}, "does nothing"},
		{"to pretend a value", fault.Rule{Method: "Device.GetName", Effect: fault.Pretend}, "Device.GetName returns more"},
		{"to pretend creation", fault.Rule{Method: "Device.CreateGpuInstance*", Effect: fault.Pretend}, "returns more than codes"},
		{"to pretend one value of several", fault.Rule{Method: "GpuInstance.*,Device.GetName", Effect: fault.Pretend}, "Device.GetName returns more"},
		{"to lose no GPU", fault.Rule{Method: "Init", Effect: fault.Lose}, "Init is not a call on a GPU"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := fault.New(0, refuse("*"), row.rule)
			require.ErrorIs(t, err, fault.ErrBadRule)
			require.ErrorContains(t, err, "rule 1")
			require.ErrorContains(t, err, row.says)
		})
	}
}

func TestBadRulesChangeNothing(t *testing.T) {
	t.Parallel()
	_, lib, r := start(t, fault.Rule{Method: "DeviceGetCount", Effect: fault.Refuse, Return: nvml.ERROR_UNKNOWN})
	require.Error(t, r.Set(fault.Rule{}))
	assert.Equal(t, nvml.ERROR_UNKNOWN, code(lib.DeviceGetCount()))
	assert.Equal(t, []int{1}, r.Fired())
}

// A pattern for everything means what can be meant.
func TestPatternForAllOfAKind(t *testing.T) {
	t.Parallel()
	s, lib, _ := start(t, fault.Rule{Method: "*", Effect: fault.Pretend})
	d := must(lib.DeviceGetHandleByIndex(0))
	gi, ci := create(d)
	assert.Equal(t, nvml.SUCCESS, ci.Destroy())
	assert.Equal(t, nvml.SUCCESS, gi.Destroy())
	assert.Equal(t, 1, count(t, s, 0))
	_, lib, _ = start(t, fault.Rule{Method: "*", Nth: 3, Effect: fault.Lose})
	d = must(lib.DeviceGetHandleByIndex(0)) // not counted: on no GPU
	assert.Equal(t, nvml.SUCCESS, code(d.GetName()))
	assert.Equal(t, nvml.SUCCESS, code(d.GetName()))
	assert.Equal(t, nvml.ERROR_GPU_IS_LOST, code(d.GetName()))
}

func TestWhichGPU(t *testing.T) {
	t.Parallel()
	_, lib, _ := start(t)
	uuid := must(must(lib.DeviceGetHandleByIndex(1)).GetUUID())
	for gpu, want := range map[string][]nvml.Return{
		"":              {nvml.ERROR_UNKNOWN, nvml.ERROR_UNKNOWN},
		"0":             {nvml.ERROR_UNKNOWN, nvml.SUCCESS},
		"1":             {nvml.SUCCESS, nvml.ERROR_UNKNOWN},
		uuid:            {nvml.SUCCESS, nvml.ERROR_UNKNOWN},
		"7":             {nvml.SUCCESS, nvml.SUCCESS},
		"GPU-elsewhere": {nvml.SUCCESS, nvml.SUCCESS},
	} {
		t.Run("GPU "+gpu, func(t *testing.T) {
			t.Parallel()
			_, lib, _ := start(t, fault.Rule{Method: "Device.GetName,ComputeInstance.GetInfo", GPU: gpu, Effect: fault.Refuse, Return: nvml.ERROR_UNKNOWN})
			for i, ret := range want {
				d := must(lib.DeviceGetHandleByIndex(i))
				_, ci := create(d)
				assert.Equal(t, ret, code(d.GetName()))
				assert.Equal(t, ret, code(ci.GetInfo()), "what is cut from it counts")
			}
		})
	}
}

func TestUntil(t *testing.T) {
	t.Parallel()
	over := false
	_, lib, _ := start(
		t,
		fault.Rule{Method: "Device.GetName", UntilCall: "Device.GetIndex", Effect: fault.Refuse, Return: nvml.ERROR_UNKNOWN},
		fault.Rule{Method: "Device.GetUUID", Until: func(fault.Call) bool { return over }, Effect: fault.Refuse, Return: nvml.ERROR_TIMEOUT},
	)
	d := must(lib.DeviceGetHandleByIndex(0))
	for range 2 {
		assert.Equal(t, nvml.ERROR_UNKNOWN, code(d.GetName()))
		assert.Equal(t, nvml.ERROR_TIMEOUT, code(d.GetUUID()))
	}
	over = true
	must(d.GetIndex())
	assert.Equal(t, nvml.SUCCESS, code(d.GetName()))
	assert.Equal(t, nvml.SUCCESS, code(d.GetUUID()))
	over = false
	assert.Equal(t, nvml.SUCCESS, code(d.GetUUID()), "over is over")
}

// The same seed meets the same faults, another seed others, and about as many as
// the probability says.
func TestProbability(t *testing.T) {
	t.Parallel()
	run := func(seed uint64, p float64) (hits string) {
		_, bare, _ := start(t)
		r, err := fault.New(seed, fault.Rule{Method: "Device.GetName", Probability: p, Effect: fault.Refuse, Return: nvml.ERROR_UNKNOWN})
		require.NoError(t, err)
		d := must(fault.Wrap(bare, r).DeviceGetHandleByIndex(0))
		for range 1000 {
			if code(d.GetName()) == nvml.SUCCESS {
				hits += "."
			} else {
				hits += "x"
			}
		}
		assert.Equal(t, []int{strings.Count(hits, "x")}, r.Fired())
		return hits
	}
	hits := run(1, 0.3)
	again := run(1, 0.3)
	assert.Equal(t, hits, again)
	assert.NotEqual(t, hits, run(2, 0.3))
	assert.InDelta(t, 300, strings.Count(hits, "x"), 60)
	assert.Equal(t, 1000, strings.Count(run(1, 1), "x"))
}

func TestCalls(t *testing.T) {
	t.Parallel()
	_, lib, r := start(t)
	d := must(lib.DeviceGetHandleByIndex(1))
	uuid := must(lib.DeviceGetUUID(d))
	_, ret := d.GetMigDeviceHandleByIndex(0)
	require.Equal(t, nvml.ERROR_NOT_FOUND, ret)
	calls := r.Calls()
	n := calls[0].N
	want := []fault.Call{
		{N: n, Method: "DeviceGetHandleByIndex", GPU: -1, Done: true},
		{N: n + 1, Method: "Device.GetUUID", GPU: 1, UUID: uuid, Done: true},
		{N: n + 2, Method: "Device.GetMigDeviceHandleByIndex", GPU: 1, UUID: uuid, Done: true, Return: nvml.ERROR_NOT_FOUND},
	}
	assert.Equal(t, want, calls, "what the wrapper asks for itself is no call")
	calls[0].Method = "changed"
	assert.Equal(t, want, r.Calls(), "the slice is the caller's")
	r.Forget()
	assert.Empty(t, r.Calls())
	must(d.GetName())
	assert.Equal(t, n+3, r.Calls()[0].N)
}

func TestZeroRules(t *testing.T) {
	t.Parallel()
	_, bare, _ := start(t)
	var r fault.Rules
	lib := fault.Wrap(bare, &r)
	assert.Equal(t, 2, must(lib.DeviceGetCount()))
	assert.Empty(t, r.Fired())
	assert.Len(t, r.Calls(), 1)
	assert.Equal(t, bare, fault.Wrap(bare, nil))
	d := must(bare.DeviceGetHandleByIndex(0))
	assert.Equal(t, d, fault.WrapDevice(d, nil))
}

// naive is one rule, told as a story over all calls that were made.
func naive(r fault.Rule, calls []fault.Call) (fired map[int]bool) {
	fired = map[int]bool{}
	matched := 0
	for _, c := range calls {
		if r.GPU != "" && r.GPU != string(rune('0'+c.GPU)) {
			continue
		}
		if r.UntilCall == c.Method {
			return fired
		}
		hit := false
		for pattern := range strings.SplitSeq(r.Method, ",") {
			ok, _ := path.Match(pattern, c.Method)
			hit = hit || ok
		}
		if !hit {
			continue
		}
		if matched++; matched >= r.Nth && (r.Times == 0 || len(fired) < r.Times) {
			fired[c.N] = true
		}
	}
	return fired
}

// Any rules on any calls: they fire as the story says; the first decides.
func TestRulesAgreeWithTheStory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(rapid.Custom(genRule), 1, 4).Draw(t, "rules")
		_, lib, r := start(t, rules...)
		gpus := []nvml.Device{must(lib.DeviceGetHandleByIndex(0)), must(lib.DeviceGetHandleByIndex(1))}
		r.Forget()
		var got []nvml.Return
		for range rapid.IntRange(1, 30).Draw(t, "calls") {
			d := gpus[rapid.IntRange(0, 1).Draw(t, "on")]
			got = append(got, rapid.SampledFrom([]func() nvml.Return{
				func() nvml.Return { return code(d.GetName()) },
				func() nvml.Return { return code(d.GetUUID()) },
				func() nvml.Return { return code(d.GetIndex()) },
			}).Draw(t, "call")())
		}
		calls := r.Calls()
		require.Len(t, calls, len(got))
		sums := make([]int, len(rules))
		for _, c := range calls {
			for _, i := range c.Fired {
				sums[i]++
			}
		}
		require.Equal(t, sums, r.Fired())
		for i, rule := range rules {
			story := naive(rule, calls)
			for _, c := range calls {
				did := false
				for _, f := range c.Fired {
					did = did || f == i
				}
				if rule.Probability == 0 {
					require.Equal(t, story[c.N], did, "rule %d, call %d", i, c.N)
				}
			}
		}
		for k, c := range calls {
			want := nvml.SUCCESS
			if len(c.Fired) > 0 {
				want = rules[c.Fired[0]].Return
			}
			require.Equal(t, want, got[k])
			require.Equal(t, want, c.Return)
		}
	})
}

func TestBadPatternIsTold(t *testing.T) {
	t.Parallel()
	_, err := fault.New(0, fault.Rule{Method: "["})
	require.ErrorIs(t, err, path.ErrBadPattern)
}

func TestEffectNames(t *testing.T) {
	t.Parallel()
	for e, want := range map[fault.Effect]string{
		fault.Pass: "pass", fault.Refuse: "refuse", fault.After: "after", fault.Pretend: "pretend", fault.Lose: "lose", 9: "unknown",
	} {
		assert.Equal(t, want, e.String())
	}
}
