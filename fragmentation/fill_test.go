package fragmentation_test

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
)

func fillOf(t require.TestingT, mix fragmentation.Mix, options fragmentation.FillOptions) *fragmentation.Fill {
	v, err := fragmentation.NewFill(mix, options)
	require.NoError(t, err)
	return v
}

// naiveFill puts the tasks of a sequence on a node, one after the other, and
// returns the milli-GPU put there.
func naiveFill(s *fragmentation.State, sequence []fragmentation.Shape) int64 {
	var at fragmentation.State
	s.CopyTo(&at)
	filled := int64(0)
	for _, shape := range sequence {
		if at.CPU < shape.CPU || !naiveAccept(shape.Models, at.Model) {
			continue
		}
		var fitting []int
		for i, g := range at.GPUs {
			if g.Layout.Model() == nil && g.Milli >= shape.Milli && g.Memory >= shape.DeviceMemory {
				fitting = append(fitting, i)
			}
		}
		if len(fitting) < shape.GPUs {
			continue
		}
		slices.SortStableFunc(fitting, func(a, b int) int {
			x, y := at.GPUs[a], at.GPUs[b]
			return cmp.Or(cmp.Compare(x.Milli, y.Milli), cmp.Compare(x.Memory, y.Memory))
		})
		at.CPU -= shape.CPU
		for _, i := range fitting[:shape.GPUs] {
			at.GPUs[i].Milli -= shape.Milli
			at.GPUs[i].Memory -= shape.DeviceMemory
			if shape.Milli == fragmentation.Whole {
				at.GPUs[i].Memory = 0
			}
			filled += shape.Milli
		}
	}
	return filled
}

// naiveFillOf is the weighted sum over the sequences.
func naiveFillOf(t require.TestingT, mix fragmentation.Mix, options fragmentation.FillOptions, s *fragmentation.State) int64 {
	sequences, weights, err := fragmentation.FillSequences(mix, options)
	require.NoError(t, err)
	sum := int64(0)
	for k, sequence := range sequences {
		sum += weights[k] * naiveFill(s, sequence)
	}
	return sum + naiveKeep(mix, options, s, sum, weights)
}

// naiveKeep is what an idle node is worth besides.
func naiveKeep(mix fragmentation.Mix, options fragmentation.FillOptions, s *fragmentation.State, filled int64, weights []int64) int64 {
	scale, gangs, choosy, total := int64(0), int64(0), int64(0), int64(0)
	for _, w := range weights {
		scale += w
	}
	for _, e := range mix {
		if e.Shape.GPUs == 0 || e.Shape.Profile != "" {
			continue
		}
		total += e.Count
		if e.Shape.GPUs > 1 {
			gangs += e.Count
		}
		if strings.Trim(string(e.Shape.Models), "|") != "" {
			choosy += e.Count
		}
	}
	for _, g := range s.GPUs {
		if g.Milli < 1000 {
			return 0
		}
	}
	if len(s.GPUs) < 3 || gangs == 0 || 3*choosy >= total {
		return 0
	}
	return min(options.Keep*scale*(total-3*choosy)/total, s.Left()*scale-filled)
}

func genAnyShape(t *rapid.T) fragmentation.Shape {
	if rapid.IntRange(0, 4).Draw(t, "MIG") == 0 {
		return genMIGShape(t)
	}
	return genPlainShape(t)
}

// genFillMix draws a mix with a shape that takes part.
func genFillMix(t *rapid.T, memory bool) fragmentation.Mix {
	mix := genMix(genAnyShape).Draw(t, "mix")
	mix = append(mix, fragmentation.Entry{
		Shape: fragmentation.Shape{CPU: genCPU().Draw(t, "CPU"), GPUs: 1, Milli: genMilli(1, fragmentation.Whole).Draw(t, "milli")},
		Count: rapid.Int64Range(1, 1000).Draw(t, "count"),
	})
	if !memory {
		for i := range mix {
			mix[i].Shape.DeviceMemory = 0
		}
	}
	return mix
}

// TestFillIsDefinition compares with the definition, in the way without and in
// the one with device memory.
func TestFillIsDefinition(t *testing.T) {
	t.Parallel()
	for _, memory := range []bool{false, true} {
		t.Run("memory="+strconv.FormatBool(memory), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				mix := genFillMix(t, memory)
				options := fragmentation.FillOptions{
					Sequences: rapid.SampledFrom([]int{1, 2, 9, 31, 40, 64}).Draw(t, "sequences"),
					Length:    rapid.SampledFrom([]int{1, 2, 7, 20, 63, 64}).Draw(t, "length"),
					Seed:      rapid.Uint64().Draw(t, "seed"),
					Keep:      rapid.Int64Range(1, 1000).Draw(t, "keep"),
				}
				v := fillOf(t, mix, options)
				for range 5 {
					s := genState(t)
					if rapid.Bool().Draw(t, "idle") {
						for i := range s.GPUs {
							s.GPUs[i] = fragmentation.GPU{Milli: fragmentation.Whole, Memory: s.GPUs[i].Memory}
						}
					}
					assert.Equal(t, naiveFillOf(t, mix, options, s), v.Of(s), s)
				}
			})
		})
	}
}

// TestFillIsValue checks what every Value promises.
func TestFillIsValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mix := genFillMix(t, rapid.Bool().Draw(t, "memory"))
		v := fillOf(t, mix, fragmentation.FillOptions{Sequences: 8})
		s := genState(t)
		worth := v.Of(s)
		assert.GreaterOrEqual(t, worth, int64(0))
		assert.LessOrEqual(t, worth, uncutLeft(s)*v.Scale())
		assert.Equal(t, worth, v.Of(shuffled(t, s)), "order of GPUs")
		other := rapid.Permutation(mix).Draw(t, "order of entries")
		assert.Equal(t, worth, fillOf(t, other, fragmentation.FillOptions{Sequences: 8}).Of(s), "order of entries")
	})
}

// TestFillManyGPUs has states that no node of package placement has.
func TestFillManyGPUs(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]int64{"without": 0, "with": 1000} {
		t.Run(name+" memory", func(t *testing.T) {
			t.Parallel()
			third := fragmentation.Shape{CPU: 10, GPUs: 1, Milli: 333, DeviceMemory: memory}
			all := fragmentation.Shape{CPU: 10, GPUs: fragmentation.MostGPUs, Milli: fragmentation.Whole}
			mix := fragmentation.Mix{{Shape: third, Count: 1}, {Shape: all, Count: 1}}
			v := fillOf(t, mix, fragmentation.FillOptions{Length: 64})
			s := &fragmentation.State{CPU: 1 << 62, Memory: 1 << 62}
			s.GPUs = append(uncut(slices.Repeat([]int64{1000}, 130)...), uncut(slices.Repeat([]int64{700}, 70)...)...)
			options := fragmentation.FillOptions{Sequences: 64, Length: 64, Keep: 80}
			assert.Equal(t, naiveFillOf(t, mix, options, s), v.Of(s))
			assert.Zero(t, v.Of(&fragmentation.State{CPU: -1, GPUs: s.GPUs}))
		})
	}
}

// TestFillExtremes has the largest numbers that a mix may have.
func TestFillExtremes(t *testing.T) {
	t.Parallel()
	huge := fragmentation.Shape{CPU: math.MaxInt64, GPUs: 1, Milli: 1}
	free := fragmentation.Shape{GPUs: fragmentation.MostGPUs, Milli: fragmentation.Whole}
	v := fillOf(t, fragmentation.Mix{{Shape: huge, Count: 9_999_999}, {Shape: free, Count: 1}},
		fragmentation.FillOptions{Sequences: 4096, Length: 64, Seed: math.MaxUint64})
	one := &fragmentation.State{CPU: math.MaxInt64, GPUs: uncut(1)}
	assert.Positive(t, v.Of(one))
	one.CPU--
	assert.Zero(t, v.Of(one))
	assert.LessOrEqual(t, v.Scale(), int64(fragmentation.MostScale))
}

func TestNewFillRefuses(t *testing.T) {
	t.Parallel()
	good := fragmentation.Mix{{Shape: plain(1, 1), Count: 1}}
	tests := []struct {
		name    string
		mix     fragmentation.Mix
		options fragmentation.FillOptions
		want    error
		text    string
	}{
		{name: "empty", want: fragmentation.ErrEmptyMix},
		{name: "no GPU", mix: fragmentation.Mix{{Shape: plain(1, 0), Count: 1}}, want: fragmentation.ErrEmptyMix},
		{name: "MIG alone", mix: fragmentation.Mix{{Shape: fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}, Count: 1}}, want: fragmentation.ErrEmptyMix},
		{name: "bad shape", mix: fragmentation.Mix{{Shape: whole(0, 2, 500), Count: 1}}, want: fragmentation.ErrBadShape, text: "500"},
		{name: "negative sequences", mix: good, options: fragmentation.FillOptions{Sequences: -1}, want: fragmentation.ErrBadFill, text: "-1"},
		{name: "many sequences", mix: good, options: fragmentation.FillOptions{Sequences: 4097}, want: fragmentation.ErrBadFill, text: "4097"},
		{name: "negative length", mix: good, options: fragmentation.FillOptions{Length: -2}, want: fragmentation.ErrBadFill, text: "-2"},
		{name: "negative keep", mix: good, options: fragmentation.FillOptions{Keep: -2}, want: fragmentation.ErrBadFill, text: "-2"},
		{name: "large keep", mix: good, options: fragmentation.FillOptions{Keep: 1001}, want: fragmentation.ErrBadFill, text: "1001"},
		{name: "long sequences", mix: good, options: fragmentation.FillOptions{Length: 65}, want: fragmentation.ErrBadFill, text: "65"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v, err := fragmentation.NewFill(tt.mix, tt.options)
			assert.Nil(t, v)
			require.ErrorIs(t, err, tt.want)
			assert.ErrorContains(t, err, tt.text)
		})
	}
}

// TestFillSequencesStay has figures by hand where they are easy, and one of
// many drawn sequences, which would change with the sequences.
func TestFillSequencesStay(t *testing.T) {
	t.Parallel()
	whole := fillOf(t, fragmentation.Mix{{Shape: whole(10, 1, 1000), Count: 3}}, fragmentation.FillOptions{})
	assert.EqualValues(t, 64*1000, whole.Of(&fragmentation.State{CPU: 19, GPUs: uncut(1000, 999, 1000)}), "CPU for one")
	assert.EqualValues(t, 64*2000, whole.Of(&fragmentation.State{CPU: 1000, GPUs: uncut(1000, 999, 1000)}), "two idle GPUs")
	cut := uncut(1000)
	cut = append(cut, fragmentation.GPU{Layout: lookup(t, "a100-40gb").Empty()})
	assert.EqualValues(t, 64*1000, whole.Of(&fragmentation.State{CPU: 1000, GPUs: cut}), "a cut GPU")
	v := fillOf(t, trace(), fragmentation.FillOptions{})
	s := &fragmentation.State{CPU: 64000, Model: "G2", GPUs: uncut(1000, 190, 530, 1000, 0, 1000, 320, 750)}
	assert.EqualValues(t, 271190, v.Of(s))
	assert.NotEqual(t, v.Of(s), fillOf(t, trace(), fragmentation.FillOptions{Seed: 1}).Of(s))
}

// TestFillKeepsIdleNodes has the one term that is no fill.
func TestFillKeepsIdleNodes(t *testing.T) {
	t.Parallel()
	of := func(keep, cpu int64, models fragmentation.Models, milli ...int64) float64 {
		some := whole(9000, 1, 1000)
		some.Models = models
		mix := fragmentation.Mix{
			{Shape: whole(8000, 1, 1000), Count: 80},
			{Shape: some, Count: 10},
			{Shape: whole(64000, 8, 1000), Count: 10},
		}
		v := fillOf(t, mix, fragmentation.FillOptions{Keep: keep})
		return float64(v.Of(&fragmentation.State{CPU: cpu, Model: "T4", GPUs: uncut(milli...)})) / float64(v.Scale())
	}
	idle, used := []int64{1000, 1000, 1000, 1000}, []int64{1000, 1000, 1000, 999}
	without := of(-1, 30000, "", idle...)
	assert.InDelta(t, 3000, without, 0, "CPU for three")
	assert.InDelta(t, 3080, of(0, 30000, "", idle...), 0)
	assert.InDelta(t, 3050, of(50, 30000, "", idle...), 0)
	assert.InDelta(t, 3056, of(0, 30000, "T4", idle...), 1e-4, "a tenth of the mix is choosy")
	assert.InDelta(t, 4000, of(0, 90000, "", idle...), 0, "not more than is left")
	assert.InDelta(t, 3000, of(0, 30000, "", used...), 0)
	assert.InDelta(t, 1000, of(0, 9000, "", 1000, 1000), 0, "a small node")
}

// TestFillSeesComplements is what FGD cannot see: both shapes of the mix fit on
// either GPU, but only one GPU is filled by them to the end.
func TestFillSeesComplements(t *testing.T) {
	t.Parallel()
	mix := fragmentation.Mix{{Shape: plain(0, 300), Count: 1}, {Shape: plain(0, 400), Count: 1}}
	pair := &fragmentation.State{GPUs: uncut(700)} // 300 + 400
	odd := &fragmentation.State{GPUs: uncut(790)}  // the same, and 90 over
	fgd, fill := fgdOf(t, mix), fillOf(t, mix, fragmentation.FillOptions{})
	assert.Equal(t, 90*fgd.Scale(), fgd.Of(odd)-fgd.Of(pair))
	assert.Equal(t, fill.Of(odd), fill.Of(pair))
	assert.Greater(t, fill.Of(pair), 600*fill.Scale())
}

//nolint:paralleltest // AllocsPerRun counts the allocations of all goroutines.
func TestFillDoesNotAllocate(t *testing.T) {
	mixes := map[string]fragmentation.Mix{"without": trace(), "with": trace()}
	mixes["with"][0].Shape.DeviceMemory = 1000
	for _, name := range []string{"without", "with"} {
		v := fillOf(t, mixes[name], fragmentation.FillOptions{})
		s := &fragmentation.State{CPU: 1 << 40, GPUs: uncut(slices.Repeat([]int64{1000}, 64)...)}
		var total int64
		assert.Zero(t, testing.AllocsPerRun(10, func() { total += v.Of(s) }), name)
	}
}
