package names_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig/names"
)

func TestParseUUID(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		want names.UUID
		text string // canonical, if it is not what was read
		gpu  string // if it follows
	}{
		{"GPU-" + idA, names.UUID{Kind: names.UUIDOfGPU, ID: idA}, "", "GPU-" + idA},
		{"MIG-" + idB, names.UUID{Kind: names.UUIDOfMIG, ID: idB}, "", ""},
		{"MIG-GPU-" + idA + "/10/0", names.UUID{Kind: names.UUIDOfMIGOld, ID: idA, GPUInstance: 10}, "", "GPU-" + idA},
		{"MIG-GPU-" + idA + "/0/3", names.UUID{Kind: names.UUIDOfMIGOld, ID: idA, ComputeInstance: 3}, "", "GPU-" + idA},
		{"GPU-4CF8DB2D-06C0-7D70-1A51-E59B25B2C16C", names.UUID{Kind: names.UUIDOfGPU, ID: idA}, "GPU-" + idA, "GPU-" + idA},
	} {
		t.Run(c.in, func(t *testing.T) {
			t.Parallel()
			got, err := names.ParseUUID(c.in)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
			if c.text == "" {
				c.text = c.in
			}
			assert.Equal(t, c.text, got.String())
			gpu, known := got.GPU()
			assert.Equal(t, c.gpu, gpu)
			assert.Equal(t, c.gpu != "", known)
		})
	}
	assert.Empty(t, names.UUID{}.String())
	_, known := names.UUID{}.GPU()
	assert.False(t, known)
}

func TestParseUUIDRefuses(t *testing.T) {
	t.Parallel()
	for in, says := range map[string]string{
		"":                    "begins neither with GPU- nor with MIG-",
		idA:                   "begins neither",
		"gpu-" + idA:          "begins neither",
		" GPU-" + idA:         "begins neither",
		"GPU-":                `"" is not 8-4-4-4-12`,
		"GPU-5a88edbe":        `"5a88edbe" is not 8-4-4-4-12`,
		"GPU-" + idA + " ":    "is not 8-4-4-4-12",
		"GPU-" + idA + "/1/0": "is not 8-4-4-4-12",
		"GPU-4cf8db2dx06c0-7d70-1a51-e59b25b2c16c": "is not 8-4-4-4-12",
		"GPU-4cf8db2d-06c0-7d70-1a51-e59b25b2c16g": "is not 8-4-4-4-12",
		"MIG-foo":                    `"foo" is not`,
		"MIG-" + idB + "/1/0":        "is not 8-4-4-4-12",
		"MIG-MIG-" + idB:             "is not 8-4-4-4-12",
		"MIG-GPU-" + idA:             "not of the form MIG-GPU-<id>/",
		"MIG-GPU-" + idA + "/0":      "not of the form",
		"MIG-GPU-" + idA + "/0/0/0":  "not of the form",
		"MIG-GPU-" + idA + "//0":     `GPU instance "" is missing`,
		"MIG-GPU-" + idA + "/01/0":   `GPU instance "01" has a leading zero`,
		"MIG-GPU-" + idA + "/1/-1":   `compute instance "-1" is not a number`,
		"MIG-GPU-" + idA + "/1/1000": `compute instance "1000" is not a number from 0 to 999`,
		"MIG-GPU-5a88/1/0":           `"5a88" is not`,
	} {
		got, err := names.ParseUUID(in)
		require.ErrorIs(t, err, names.ErrBadDevice, "%q", in)
		require.ErrorContains(t, err, says)
		assert.Zero(t, got)
	}
}

func TestUUIDKindString(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "GPU", names.UUIDOfGPU.String())
	assert.Equal(t, "MIG", names.UUIDOfMIG.String())
	assert.Equal(t, "MIG, old form", names.UUIDOfMIGOld.String())
	assert.Equal(t, "unknown", names.UUIDKind(0).String())
}

func TestParseUUIDUndoesFormat(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := genUUID(t)
		got, err := names.ParseUUID(u.String())
		require.NoError(t, err)
		assert.Equal(t, u, got)
	})
}
