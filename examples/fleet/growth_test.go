package main

import (
	"bytes"
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGrowth(t *testing.T) {
	t.Parallel()
	prefix := filepath.Join(t.TempDir(), "growth")
	status, out, errs := call(t, "growth", "-gpus", "16,80", "-decisions", "20", "-plot", prefix, "-json")
	require.Equal(t, exitDone, status, errs)
	var r growthReport
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&r))
	require.Len(t, r.Rows, 2*4)
	for i, row := range r.Rows {
		assert.Equal(t, []int{16, 80}[i/4], row.GPUs)
		assert.Equal(t, []string{"FGD", "expected fill", "MIG-FGD", "value index"}[i%4], row.Rule)
		assert.GreaterOrEqual(t, row.Engine, 0.0)
		assert.Greater(t, row.Plain, 0.0)
	}
	require.Equal(t, []string{prefix + ".png", prefix + ".svg"}, r.Pictures)
	data, err := os.ReadFile(r.Pictures[0])
	require.NoError(t, err)
	_, err = png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
}

func TestGrowthTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	writeGrowth(&b, []growthRow{{"FGD", 1000, 2.346, 23.46}, {"other", 1000, 0.5, 234.6}, {"FGD", 3000, 12, 99}, {"other", 3000, 1, 1}})
	assert.Equal(t, `Microseconds for a decision, and in brackets by asking every node:

| GPUs | FGD | other |
|---|---|---|
| 1000 | 2.35 (23.5) | 0.50 (235) |
| 3000 | 12.0 (99.0) | 1.00 (1.00) |
`, b.String())
}

func TestGrowthUsage(t *testing.T) {
	t.Parallel()
	status, out, _ := call(t, "growth", "-h")
	assert.Equal(t, exitDone, status)
	assert.Equal(t, growthUsage, out)
	for _, c := range []struct{ flags, want string }{
		{"-gpus 1", `-gpus: "1" is not a number from 8 to 1000000`},
		{"-gpus 8,8", "-gpus: 8 stands there twice"},
		{"-gpus=", "-gpus: no size"},
		{"-decisions 0", "-decisions 0: not from 1 to 1000000"},
		{"-nope", "flag provided but not defined: -nope"},
		{"there", `unexpected argument "there" after the flags`},
		{"-plot nowhere/x", `-plot "nowhere/x"`},
	} {
		status, out, errs := call(t, append([]string{"growth"}, strings.Fields(c.flags)...)...)
		assert.Equal(t, exitBad, status, c.flags)
		assert.Empty(t, out)
		assert.Contains(t, errs, c.want)
	}
}
