package device_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// Whether a plain 1g may stand beside a 1g with +me is disputed; the device
// decides where it shows it.
func TestSurveyOfTheMediaRule(t *testing.T) {
	t.Parallel()
	strict := altered(t, "a100-40gb", func(s *mig.Spec) { s.MediaAlone = true })
	lax := altered(t, "a100-40gb", func(*mig.Spec) {})
	tests := []struct {
		name   string
		device *mig.Model
		there  []string
		alone  bool // what the survey says; the table that is found says false
		shown  bool
	}{
		{"nothing there", strict, nil, false, false},
		{"no +me there", strict, []string{"1g.5gb@0", "3g.20gb@4"}, false, false},
		{"+me alone", strict, []string{"1g.5gb+me@3"}, true, true},
		{"+me beside others", strict, []string{"1g.5gb+me@0", "2g.10gb@2", "1g.10gb@4"}, true, true},
		{"+me on a full GPU", strict, []string{"3g.20gb@0", "2g.10gb@4", "1g.5gb+me@6"}, false, false},
		{"+me on a lax device", lax, []string{"1g.5gb+me@3"}, false, true},
		{"+me beside a 1g", lax, []string{"1g.5gb+me@0", "1g.5gb@1"}, false, true},
		{"+me beside a 1g and nothing free", lax, []string{"1g.5gb+me@0", "1g.5gb@1", "1g.10gb@2", "3g.20gb@4"}, false, true},
		{"+me on a full lax device", lax, []string{"3g.20gb@0", "2g.10gb@4", "1g.5gb+me@6"}, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, dev := tableServer(t, tt.device)
			d, err := device.OpenModel(t.Context(), dev, tt.device)
			require.NoError(t, err)
			create(t, d, tt.there...)
			spec, m := surveyed(t, dev)
			assert.Equal(t, tt.alone, spec.MediaAlone)
			assert.Equal(t, tt.shown, slices.ContainsFunc(spec.Sources, func(s string) bool { return strings.HasPrefix(s, "MediaAlone") }))
			assert.Equal(t, tt.alone, m.Spec().MediaAlone)
		})
	}
	t.Run("changed by others meanwhile", func(t *testing.T) {
		t.Parallel()
		_, dev := tableServer(t, strict)
		d, err := device.OpenModel(t.Context(), dev, strict)
		require.NoError(t, err)
		in := create(t, d, "1g.5gb+me@3")[0]
		spec, _ := surveyed(t, faulty(t, dev, fault.Rule{
			Method: "Device.GetGpuInstanceRemainingCapacity", Times: 1,
			After: func(fault.Call) { assert.NoError(t, d.Destroy(context.Background(), in)) },
		}))
		assert.False(t, spec.MediaAlone, "the table's, since the device had changed")
	})
	t.Run("no capacity told", func(t *testing.T) {
		t.Parallel()
		_, dev := tableServer(t, strict)
		d, err := device.OpenModel(t.Context(), dev, strict)
		require.NoError(t, err)
		create(t, d, "1g.5gb+me@3")
		spec, _ := surveyed(t, faulty(t, dev, fault.Rule{Method: "Device.GetGpuInstanceRemainingCapacity", Effect: fault.Refuse, Return: nvml.ERROR_NOT_SUPPORTED}))
		assert.False(t, spec.MediaAlone)
	})
}

// On every model and after every sequence of creations, a survey never claims
// the rule that the device does not have.
func TestSurveyNeverInventsTheMediaRule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SampledFrom(slices.Collect(placed)).Draw(t, "model")
		rule := rapid.Bool().Draw(t, "media alone")
		m := altered(t, base.Key(), func(s *mig.Spec) { s.MediaAlone = rule })
		_, dev := tableServer(t, m)
		d, err := device.OpenModel(context.Background(), dev, m)
		require.NoError(t, err)
		_, list := genLayout(t, m)
		for _, in := range list {
			_, err := d.Create(context.Background(), in)
			require.NoError(t, err)
		}
		spec, err := device.Survey(context.Background(), dev)
		require.NoError(t, err)
		if spec.MediaAlone {
			require.True(t, rule)
		}
		if slices.ContainsFunc(spec.Sources, func(s string) bool { return strings.HasPrefix(s, "MediaAlone") }) {
			require.Equal(t, rule, spec.MediaAlone)
		}
	})
}

// Every call of a survey that fails makes it fail.
func TestSurveySurfacesEveryFault(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "h100-80gb-sxm5")
	create(t, open(t, devs[0]), "1g.10gb+me@0", "1g.20gb@2", "3g.40gb@4")
	rules, err := fault.New(1)
	require.NoError(t, err)
	dev := fault.WrapDevice(devs[0], rules)
	want, err := device.Survey(t.Context(), dev)
	require.NoError(t, err)
	calls := rules.Calls()
	require.Greater(t, len(calls), 60)
	for n, call := range calls {
		if call.Method == "Device.IsMigDeviceHandle" {
			continue // a check beside the others
		}
		require.NoError(t, rules.Set(fault.Rule{Method: "*", Nth: n + 1, Times: 1, Effect: fault.Refuse, Return: nvml.ERROR_UNKNOWN}))
		_, err := device.Survey(t.Context(), dev)
		require.ErrorIs(t, err, nvml.ERROR_UNKNOWN, "call %d, %s", n+1, call.Method)
		require.Equal(t, []int{1}, rules.Fired())
	}
	require.NoError(t, rules.Set())
	got, err := device.Survey(t.Context(), dev)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// Instances that come and go during a survey are no error.
func TestSurveyWhileOthersAct(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	other := open(t, devs[0])
	rules, err := fault.New(1)
	require.NoError(t, err)
	create(t, other, "1g.5gb+me@0", "3g.20gb@4")
	_, err = device.Survey(t.Context(), fault.WrapDevice(devs[0], rules))
	require.NoError(t, err)
	calls := len(rules.Calls())
	random := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= calls; n++ {
		_, devs := newServer(t, true, "a100-40gb")
		other := open(t, devs[0])
		made := create(t, other, "1g.5gb+me@0", "3g.20gb@4")
		gone := made[random.IntN(2)]
		dev := faulty(t, devs[0], fault.Rule{Method: "*", Nth: n, Times: 1, Before: func(fault.Call) {
			assert.NoError(t, other.Destroy(context.Background(), gone))
		}})
		spec, err := device.Survey(t.Context(), dev)
		require.NoError(t, err, "%s before call %d", gone, n)
		_, err = mig.NewModel(spec)
		require.NoError(t, err)
	}
}
