package fragmentation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
)

func TestFGDAgreesWithDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mix, s := genMix(genPlainShape).Draw(t, "mix"), genState(t)
		v, err := fragmentation.NewFGD(mix)
		require.NoError(t, err)

		amounts := v.Amounts(s)
		assert.InDelta(t, naiveFGD(mix, s), float64(v.Of(s))/float64(v.Scale()), 1e-6, "milli-GPU of use")
		assert.Equal(t, amounts[fragmentation.Satisfied], v.Of(s), "the fast sum is the satisfied amount")
		assert.Equal(t, v.Scale()*uncutLeft(s), amounts.Left(), "the amounts split what is left")
		assert.Equal(t, v.Scale()*s.Left()-v.Of(s), fragmentation.Fragment(v, s))
		for class, a := range amounts {
			assert.GreaterOrEqual(t, a, int64(0), "%s", fragmentation.Class(class))
		}
	})
}

func TestClassify(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, shape := genState(t), genPlainShape(t)
		class, split := fragmentation.Classify(s, &shape)
		assert.Equal(t, uncutLeft(s), split.Left())
		assert.Equal(t, int64(naiveUsable(s, shape)), split[fragmentation.Satisfied])

		gpu, cpu := len(firstFitting(&fragmentation.State{CPU: shape.CPU, GPUs: s.GPUs}, shape)) == shape.GPUs, s.CPU >= shape.CPU
		switch {
		case shape.GPUs == 0 && cpu:
			assert.Equal(t, fragmentation.NoUse, class)
		case shape.GPUs == 0:
			assert.Equal(t, fragmentation.NoUseLackCPU, class)
		case !naiveAccept(shape.Models, s.Model):
			assert.Equal(t, fragmentation.NoAccess, class)
		case gpu && cpu:
			assert.Equal(t, fragmentation.Satisfied, class)
		case gpu:
			assert.Equal(t, fragmentation.LackCPU, class)
		case cpu:
			assert.Equal(t, fragmentation.LackGPU, class)
		default:
			assert.Equal(t, fragmentation.LackBoth, class)
		}
		for c, a := range split {
			booked := fragmentation.Class(c) == class || class == fragmentation.Satisfied && fragmentation.Class(c) == fragmentation.LackGPU
			if !booked {
				assert.Zero(t, a, "%s beside %s", fragmentation.Class(c), class)
			}
		}
	})
}

// A request for a MIG instance has no use for a GPU that is not cut, though it
// asks for no milli-GPU.
func TestClassifyMIG(t *testing.T) {
	t.Parallel()
	s := &fragmentation.State{CPU: 1000, GPUs: uncut(1000, 500)}
	class, split := fragmentation.Classify(s, &fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"})
	assert.Equal(t, fragmentation.LackGPU, class)
	assert.Equal(t, fragmentation.Amounts{fragmentation.LackGPU: 1500}, split)
}

// What a choice strands by FGD is the growth of the published fragment F.
func TestFGDStrandsIsGrowthOfFragment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mix, s, task := genMix(genPlainShape).Draw(t, "mix"), genState(t), genPlainShape(t)
		gpus := firstFitting(s, task)
		if gpus == nil {
			gpus, task.GPUs, task.CPU, task.Memory = []int{}, 0, 0, 0 // nothing is placed: no growth
		}
		v, err := fragmentation.NewFGD(mix)
		require.NoError(t, err)
		after := place(s, task, gpus...)
		growth := v.Amounts(after).Fragment() - v.Amounts(s).Fragment()
		assert.Equal(t, growth, fragmentation.Strands(v, s, after))
		assert.Equal(t, growth, fragmentation.Fragment(v, after)-fragmentation.Fragment(v, s))
		assert.LessOrEqual(t, v.Of(after), v.Of(s), "a task that comes never adds value")
	})
}

// Device memory binds: a GPU with milli-GPU enough but too little memory is a
// fragment for the shape.
func TestFGDDeviceMemory(t *testing.T) {
	t.Parallel()
	s := &fragmentation.State{CPU: 8000, GPUs: []fragmentation.GPU{{Milli: 600, Memory: 7999}, {Milli: 500, Memory: 8000}}}
	v := fgdOf(t, fragmentation.Mix{{fragmentation.Shape{GPUs: 1, Milli: 500, DeviceMemory: 8000}, 1}})
	assert.Equal(t, fragmentation.Amounts{fragmentation.LackGPU: 600, fragmentation.Satisfied: 500}, v.Amounts(s))
	rapid.Check(t, func(t *rapid.T) {
		mix, s := genMix(genPlainShape).Draw(t, "mix"), genState(t)
		v, err := fragmentation.NewFGD(mix)
		require.NoError(t, err)
		more := place(s, fragmentation.Shape{})
		for i := range more.GPUs {
			if more.GPUs[i].Layout.Model() == nil {
				more.GPUs[i].Memory++
			}
		}
		assert.GreaterOrEqual(t, v.Of(more), v.Of(s), "more device memory is never worth less")
	})
}

func TestClassNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for c := fragmentation.LackBoth; c <= fragmentation.NoAccess; c++ {
		seen[c.String()] = true
	}
	assert.Len(t, seen, len(fragmentation.Amounts{}))
	assert.Equal(t, "unknown", fragmentation.Class(200).String())
}

func TestAmountsAdd(t *testing.T) {
	t.Parallel()
	a := fragmentation.Amounts{1, 2, 3, 4, 5, 6, 7}
	assert.Equal(t, fragmentation.Amounts{2, 4, 6, 8, 10, 12, 14}, a.Add(a))
	assert.EqualValues(t, 28, a.Left())
	assert.EqualValues(t, 25, a.Fragment())
	assert.Equal(t, fragmentation.Amounts{1, 2, 3, 4, 5, 6, 7}, a, "Add changes no operand")
}
