package fragmentation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gpushare/gpushare/fragmentation"
)

// sharing returns the target mix of the public trace in which all GPU tasks are
// fractions: 21 shapes of 7784 tasks.
func sharing() fragmentation.Mix {
	var mix fragmentation.Mix
	for _, e := range [][3]int64{
		{3152, 810, 2373},
		{11908, 470, 879},
		{8000, 470, 833},
		{4000, 320, 559},
		{11908, 650, 532},
		{12500, 0, 366},
		{32000, 0, 290},
		{4000, 230, 283},
		{6000, 460, 281},
		{8000, 0, 185},
		{3152, 590, 180},
		{8000, 320, 173},
		{4152, 550, 143},
		{15400, 0, 120},
		{4000, 160, 115},
		{4152, 370, 108},
		{16500, 0, 95},
		{4000, 220, 86},
		{1000, 320, 65},
		{4152, 810, 63},
		{8000, 220, 55},
	} {
		mix = append(mix, fragmentation.Entry{Shape: plain(e[0], e[1]), Count: e[2]})
	}
	return mix
}

// plain returns the shape of a task with one share of a GPU, or with none.
func plain(cpu, milli int64) fragmentation.Shape {
	return whole(cpu, min(1, int(milli)), milli)
}

func whole(cpu int64, gpus int, milli int64) fragmentation.Shape {
	return fragmentation.Shape{CPU: cpu, GPUs: gpus, Milli: milli}
}

// TestPublished has some of the vectors of TestGolden, in units of 1/7784
// milli-GPU, in which they are whole numbers.
func TestPublished(t *testing.T) {
	t.Parallel()
	v := fgdOf(t, sharing())
	assert.EqualValues(t, 7784, v.Scale())
	tests := []struct {
		name    string
		cpu     int64
		milli   []int64
		task    fragmentation.Shape
		class   fragmentation.Class
		amounts fragmentation.Amounts
		forTask int64           // fragment for the task alone, in milli-GPU
		falls   map[int64]int64 // by how much F falls when the task goes to a GPU
	}{
		{
			name: "CPU-only task, GPUs nearly full", cpu: 97696, milli: []int64{190, 190},
			task: plain(15400, 0), class: fragmentation.NoUse, forTask: 380,
			amounts: fragmentation.Amounts{0, 2512940, 43700, 0, 401280, 0, 0},
		},
		{
			name: "four whole GPUs on shared ones", cpu: 46500, milli: []int64{540, 848, 357, 326},
			task: whole(14300, 4, 1000), class: fragmentation.LackGPU, forTask: 2071,
			amounts: fragmentation.Amounts{0, 5459876, 8473812, 0, 2186976, 0, 0},
		},
		{
			name: "CPU too little for some tasks without GPU", cpu: 29400, milli: []int64{190, 1000, 70, 559},
			task: whole(14500, 2, 1000), class: fragmentation.LackGPU, forTask: 1819,
			amounts: fragmentation.Amounts{0, 3487162, 8751070, 0, 1393354, 527510, 0},
		},
		{
			name: "fraction on the only GPU that has room", cpu: 35900, milli: []int64{1000, 190},
			task: plain(2500, 322), class: fragmentation.Satisfied, forTask: 190,
			amounts: fragmentation.Amounts{0, 1256470, 6749850, 0, 1256640, 0, 0},
			falls:   map[int64]int64{0: -1311576},
		},
		{
			name: "small fraction, each GPU another fall", cpu: 43700, milli: []int64{985, 1000, 720, 1000},
			task: plain(16300, 19), class: fragmentation.Satisfied,
			amounts: fragmentation.Amounts{0, 1753920, 23173320, 0, 3912480, 0, 0},
			falls:   map[int64]int64{0: 20064, 1: 20064, 2: 66348, 3: 20064},
		},
		{
			name: "fraction, tight GPU gains and idle GPU loses", cpu: 16000, milli: []int64{350, 1000, 499, 190},
			task: plain(4000, 320), class: fragmentation.Satisfied, forTask: 190,
			amounts: fragmentation.Amounts{0, 4785879, 8932513, 0, 1368169, 785015, 0},
			falls:   map[int64]int64{0: 2023280, 1: -1318560, 2: 796402},
		},
		{
			name: "fraction, two of four GPUs fit", cpu: 16900, milli: []int64{310, 83, 530, 491},
			task: plain(8000, 320), class: fragmentation.Satisfied, forTask: 393,
			amounts: fragmentation.Amounts{0, 5837125, 3676267, 0, 1083124, 410060, 0},
			falls:   map[int64]int64{2: 261831, 3: 357108},
		},
		{
			name: "fraction, every GPU loses", cpu: 12600, milli: []int64{680, 1000, 695, 115},
			task: plain(3152, 590), class: fragmentation.Satisfied, forTask: 115,
			amounts: fragmentation.Amounts{0, 4123220, 12629500, 0, 1371990, 1257450, 0},
			falls:   map[int64]int64{0: -717645, 1: -3483525, 2: -760860},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &fragmentation.State{CPU: tt.cpu, Model: "T4", GPUs: uncut(tt.milli...)}
			class, split := fragmentation.Classify(s, &tt.task)
			assert.Equal(t, tt.class, class)
			assert.Equal(t, tt.forTask, split.Fragment())
			assert.Equal(t, tt.amounts, v.Amounts(s))
			assert.Equal(t, tt.amounts[fragmentation.Satisfied], v.Of(s))
			for gpu, fall := range tt.falls {
				assert.Equal(t, -fall, fragmentation.Strands(v, s, place(s, tt.task, int(gpu))), "GPU %d", gpu)
			}
		})
	}
}
