package timeslice_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice"
)

func TestPVMRLValues(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		value    timeslice.PVMRL
		header   string
		guide    string
		weights  bool
		warnings []string // a part of each
	}{
		{0, "best-effort", "", false, nil},
		{0x01, "equal-share arr=on", "", true, nil},
		{0x11, "fixed-share arr=on", "", true, nil},
		{0x00030003, "equal-share arr=off slice=3ms", "", true, nil},
		{0x3c3c0001, "equal-share arr=on frequency=960Hz factor=60", "", true, nil},
		{0x3c3c0011, "fixed-share arr=on frequency=960Hz factor=60", "", true, nil},
		{
			0x00180011, "fixed-share arr=on frequency=384Hz", "fixed-share arr=off slice=24ms", true,
			[]string{"frequency of 384 Hz; the vendor's guide describes such values as a slice of 24 ms"},
		},
		{
			0x00030001, "equal-share arr=on frequency=48Hz", "equal-share arr=off slice=3ms", true,
			[]string{"slice of 3 ms", "frequency 48 Hz is taken as 63 Hz"},
		},
		{0x09, "equal-share arr=on", "", false, nil},
		{0x10, "best-effort", "", false, []string{"bit 0 is clear"}},
		{0x21, "unknown arr=on", "", true, []string{"policy 2 in bits 7:4"}},
		{0x05, "equal-share arr=on", "", true, []string{"bits 0x4 have no published meaning"}},
		{0x00ff0003, "equal-share arr=off slice=255ms", "", true, []string{"slice 255 ms is taken as 30 ms"}},
		{0x21031003, "equal-share arr=off slice=3ms", "", true, []string{"bits 15:12", "averaging factor 33 is not used"}},
		{0xffff0001, "equal-share arr=on frequency=1008Hz factor=255", "", true, []string{"1008 Hz is taken as 960", "bits 23:22", "factor 255 is taken as 60"}},
	} {
		r := row.value.Decode()
		assert.Equal(t, row.header, r.Scheduler.String(), "%#08x", uint32(row.value))
		assert.Equal(t, row.weights, r.Weights, "%#08x", uint32(row.value))
		if row.guide == "" {
			assert.Nil(t, r.Guide, "%#08x", uint32(row.value))
		} else if assert.NotNil(t, r.Guide, "%#08x", uint32(row.value)) {
			assert.Equal(t, row.guide, r.Guide.String())
		}
		if assert.Len(t, r.Warnings, len(row.warnings), "%#08x: %q", uint32(row.value), r.Warnings) {
			for i, part := range row.warnings {
				assert.Contains(t, r.Warnings[i], part)
			}
		}
	}
}

// What is encoded is read back as the same, in one reading and without a warning.
func TestPVMRLRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := genVGPUScheduler(t)
		v, err := timeslice.EncodePVMRL(s)
		require.NoError(t, err)
		r := v.Decode()
		require.Empty(t, r.Warnings, "%#08x", uint32(v))
		require.Nil(t, r.Guide)
		for _, vGPUs := range []int{8, 9} {
			require.Equal(t, s.Effective(vGPUs), r.Scheduler.Effective(vGPUs), "%#08x", uint32(v))
		}
	})
}

func TestPVMRLAvoidsTheAmbiguity(t *testing.T) {
	t.Parallel()
	v, err := timeslice.EncodePVMRL(timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare, Frequency: 480})
	require.NoError(t, err)
	assert.Equal(t, timeslice.PVMRL(0x211e0001), v, "0x001e0001 could be taken for a slice of 30 ms")
	v, err = timeslice.EncodePVMRL(timeslice.VGPUScheduler{Policy: timeslice.VGPUEqualShare, Frequency: 481})
	require.NoError(t, err)
	assert.Equal(t, timeslice.PVMRL(0x001e1001), v)
}

func TestPVMRLRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []timeslice.VGPUScheduler{
		{}, {Policy: 4}, {Policy: timeslice.VGPUEqualShare, ARR: timeslice.ARROff, Slice: 1_500_000},
	} {
		_, err := timeslice.EncodePVMRL(s)
		require.ErrorIs(t, err, timeslice.ErrInput, "%s", s)
	}
	_, err := timeslice.EncodePVMRL(timeslice.VGPUScheduler{Policy: timeslice.VGPUFixedShare, Frequency: 1000})
	require.ErrorIs(t, err, timeslice.ErrVGPUScheduler)
}

func FuzzPVMRL(f *testing.F) {
	for _, v := range []uint32{0, 1, 0x11, 0x00030003, 0x00180011, 0x3c3c0011, 0xffffffff} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v uint32) {
		r := timeslice.PVMRL(v).Decode()
		if r.Scheduler.Policy == timeslice.VGPUUnknown {
			require.NotEmpty(t, r.Warnings)
			return
		}
		if r.Guide != nil {
			require.NotEmpty(t, r.Warnings)
			require.NotEqual(t, r.Scheduler, *r.Guide)
		}
		// What it means can be written without its oddities.
		clean, err := timeslice.EncodePVMRL(r.Scheduler.Effective(1))
		require.NoError(t, err)
		again := clean.Decode()
		require.Empty(t, again.Warnings)
		require.Equal(t, r.Scheduler.Effective(1), again.Scheduler.Effective(1))
	})
}

func TestElasticCap(t *testing.T) {
	t.Parallel()
	c, err := timeslice.DecodeElasticCap(0x0003000a)
	require.NoError(t, err)
	assert.Equal(t, timeslice.ElasticCap{Num: 3, Den: 10}, c)
	assert.Equal(t, int64(325), c.Limit(250), "a quarter and 0.3 of it")
	assert.Equal(t, int64(250), timeslice.ElasticCap{}.Limit(250))

	c, err = timeslice.DecodeElasticCap(0xffff0001)
	require.NoError(t, err)
	assert.Equal(t, timeslice.ElasticCap{Num: timeslice.MaxElasticCap, Den: 1}, c)
	_, err = timeslice.DecodeElasticCap(0x00010000)
	require.ErrorIs(t, err, timeslice.ErrInput)
	_, err = timeslice.EncodeElasticCap(timeslice.ElasticCap{Num: 1})
	require.ErrorIs(t, err, timeslice.ErrInput)
	_, err = timeslice.EncodeElasticCap(timeslice.ElasticCap{Num: 33, Den: 1})
	require.ErrorIs(t, err, timeslice.ErrInput)

	rapid.Check(t, func(t *rapid.T) {
		den := rapid.Uint16Range(1, 2000).Draw(t, "den")
		want := timeslice.ElasticCap{Num: rapid.Uint16Range(0, 32*den).Draw(t, "num"), Den: den}
		v, err := timeslice.EncodeElasticCap(want)
		require.NoError(t, err)
		got, err := timeslice.DecodeElasticCap(v)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}
