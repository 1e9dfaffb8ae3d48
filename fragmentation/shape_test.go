package fragmentation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

func TestShapeValidate(t *testing.T) {
	t.Parallel()
	type shape = fragmentation.Shape
	tests := []struct {
		name  string
		shape shape
		text  string // what the error names; empty: the shape is good
	}{
		{"nothing", shape{}, ""},
		{"CPU and memory only", shape{CPU: 1, Memory: 1}, ""},
		{"smallest fraction", shape{GPUs: 1, Milli: 1}, ""},
		{"largest fraction", shape{GPUs: 1, Milli: 999, DeviceMemory: 8000}, ""},
		{"whole GPU with a need for memory", shape{GPUs: 1, Milli: 1000, DeviceMemory: 40000}, ""},
		{"all GPUs of the largest node", shape{GPUs: 64, Milli: 1000}, ""},
		{"MIG instance", shape{GPUs: 1, Profile: "3g.20gb", DeviceMemory: 10000, Models: "A100"}, ""},
		{"MIG instance with media engines", shape{GPUs: 1, Profile: "1g.5gb+me"}, ""},

		{"negative CPU", shape{CPU: -1}, "CPU -1"},
		{"negative memory", shape{Memory: -7}, "memory -7"},
		{"negative GPU count", shape{GPUs: -1, Milli: 1000}, "GPU count -1"},
		{"too many GPUs", shape{GPUs: 65, Milli: 1000}, "GPU count 65"},
		{"negative milli-GPU", shape{GPUs: 1, Milli: -500}, "milli-GPU -500"},
		{"negative device memory", shape{GPUs: 1, Milli: 500, DeviceMemory: -1}, "device memory -1"},
		{"GPU without a share", shape{GPUs: 1}, "milli-GPU 0"},
		{"share without a GPU", shape{Milli: 500}, "milli-GPU 500"},
		{"device memory without a GPU", shape{DeviceMemory: 500}, "device memory 500"},
		{"one GPU and a half", shape{GPUs: 1, Milli: 1500}, "milli-GPU 1500"},
		{"fractions of two GPUs", shape{GPUs: 2, Milli: 500}, "milli-GPU 500"},
		{"two MIG instances", shape{GPUs: 2, Profile: "1g.5gb"}, "profile 1g.5gb"},
		{"MIG instance without a GPU", shape{Profile: "1g.5gb"}, "profile 1g.5gb"},
		{"MIG instance and a share", shape{GPUs: 1, Milli: 100, Profile: "1g.5gb"}, "profile 1g.5gb"},
		{"no profile name", shape{GPUs: 1, Profile: "MIG-1"}, "MIG-1"},
		{"zero slices", shape{GPUs: 1, Profile: "0g.5gb"}, "0g.5gb"},
		{"compute instance", shape{GPUs: 1, Profile: "1c.3g.20gb"}, "1c.3g.20gb"},
		{"not canonical", shape{GPUs: 1, Profile: "3c.3g.20gb"}, "3c.3g.20gb"},
		{"resource name", shape{GPUs: 1, Profile: "nvidia.com/mig-1g.5gb"}, "nvidia.com/mig-1g.5gb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.shape.Validate()
			if tt.text == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, fragmentation.ErrBadShape)
			require.ErrorContains(t, err, tt.text)
		})
	}
}

func TestShapeNameErrorWrapsBoth(t *testing.T) {
	t.Parallel()
	err := fragmentation.Shape{GPUs: 1, Profile: "9g.5gb"}.Validate()
	require.ErrorIs(t, err, fragmentation.ErrBadShape)
	require.ErrorIs(t, err, mig.ErrBadName)
}

// Generated shapes are what Validate accepts.
func TestGeneratedShapesAreValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		require.NoError(t, genPlainShape(t).Validate())
		require.NoError(t, genMIGShape(t).Validate())
	})
}

func TestTotalMilli(t *testing.T) {
	t.Parallel()
	assert.EqualValues(t, 0, fragmentation.Shape{CPU: 1000}.TotalMilli())
	assert.EqualValues(t, 460, plain(0, 460).TotalMilli())
	assert.EqualValues(t, 8000, whole(0, 8, 1000).TotalMilli())
	assert.EqualValues(t, 0, fragmentation.Shape{GPUs: 1, Profile: "1g.5gb"}.TotalMilli(), "depends on the model")
}

func FuzzShapeValidate(f *testing.F) {
	f.Add(int64(1000), int64(0), 1, int64(500), int64(0), "")
	f.Add(int64(0), int64(0), 1, int64(0), int64(0), "3g.20gb")
	f.Fuzz(func(t *testing.T, cpu, memory int64, gpus int, milli, device int64, profile string) {
		s := fragmentation.Shape{CPU: cpu, Memory: memory, GPUs: gpus, Milli: milli, DeviceMemory: device, Profile: profile}
		if err := s.Validate(); err != nil {
			require.ErrorIs(t, err, fragmentation.ErrBadShape)
			return
		}
		assert.GreaterOrEqual(t, s.TotalMilli(), int64(0))
		assert.LessOrEqual(t, s.TotalMilli(), int64(fragmentation.MostGPUs*fragmentation.Whole))
		// A good shape can be counted by one of the values, unless no model has
		// the profile.
		mix := fragmentation.Mix{{s, 1}}
		require.NoError(t, mix.Validate())
		if profile == "" {
			fgdOf(t, mix)
		}
	})
}
