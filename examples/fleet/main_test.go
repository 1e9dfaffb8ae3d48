package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/examples/internal/picture"
)

// The exit statuses.
const (
	exitDone        = command.Done
	exitNo          = command.No
	exitBad         = command.Bad
	exitInterrupted = command.Interrupted
)

// call runs the program and returns what it printed.
func call(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), args, &out, &errs)
	return status, out.String(), errs.String()
}

// answer runs the program, which must succeed with JSON, and decodes it.
func answer(t *testing.T, args ...string) report {
	t.Helper()
	status, out, errs := call(t, append(args, "-json")...)
	require.Equal(t, exitDone, status, errs)
	var r report
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&r))
	return r
}

func TestUsage(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t, "-h")
	assert.Equal(t, exitDone, status)
	assert.Equal(t, usage, out)
	assert.Empty(t, errs)
	for _, name := range policyNames {
		assert.Contains(t, usage, name)
	}
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	r := answer(t)
	assert.Equal(t, schema, r.Schema)
	allocated := map[string]float64{}
	require.Len(t, r.Policies, len(policyNames))
	for i, p := range r.Policies {
		assert.Equal(t, policyNames[i], p.Name)
		assert.Equal(t, 1, p.Seeds)
		assert.Equal(t, figure{p.AllocatedPercent.Mean, p.AllocatedPercent.Mean, p.AllocatedPercent.Mean}, p.AllocatedPercent)
		assert.InDelta(t, 249*(1-p.AllocatedPercent.Mean/100), p.UnallocatedGPUs, 1e-6, p.Name)
		assert.Greater(t, p.FragmentPercent, 0.0, p.Name)
		assert.LessOrEqual(t, p.FragmentPercent, 100-p.AllocatedPercent.Mean+1e-9, "%s: no more than what is left is of no use", p.Name)
		assert.Greater(t, p.DecisionsPerSecond, 0.0, p.Name)
		allocated[p.Name] = p.AllocatedPercent.Mean
	}
	for name, share := range allocated {
		assert.Greater(t, share, 80.0, name)
		assert.LessOrEqual(t, share, allocated[fgdName], "%s allocates more than fgd", name)
	}
	assert.Greater(t, allocated["bestfit"], allocated["random"])
	assert.Greater(t, allocated[fgdName], allocated["worstfit"]+2)
	require.NotNil(t, r.CarriedOut)
	assert.Equal(t, fgdName, r.CarriedOut.Policy)
	assert.EqualValues(t, firstSeed, r.CarriedOut.Seed)
	assert.Equal(t, 48, r.CarriedOut.GPUs)
	assert.Greater(t, r.CarriedOut.Instances, 100)
	assert.Empty(t, r.CarriedOut.Differences)
	assert.Empty(t, r.Pictures, "-json draws no picture unless asked")
}

func TestDeterministic(t *testing.T) {
	t.Parallel()
	args := []string{"-seeds", "3", "-policies", "random,firstfit,clustering,fgd-published,fgd"}
	first, second := answer(t, args...), answer(t, args...)
	for _, r := range []*report{&first, &second} {
		for i := range r.Policies {
			r.Policies[i].DecisionsPerSecond = 0
		}
	}
	assert.Equal(t, first, second)
	for _, p := range first.Policies {
		assert.Less(t, p.AllocatedPercent.Min, p.AllocatedPercent.Max, "%s: the seeds do not differ", p.Name)
		assert.Equal(t, 3, p.Seeds)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	prefix := filepath.Join(t.TempDir(), "picture")
	status, out, errs := call(t, "-policies", "fgd,random", "-plot", prefix)
	require.Equal(t, exitDone, status, errs)
	assert.Contains(t, out, "46 nodes, 249 GPUs, 48 of them in MIG mode; tasks ask for 130 % of all GPU, seed 42\n")
	assert.Regexp(t, `\nfgd +9\d\.\d\d % `, out)
	assert.Regexp(t, `\nrandom +\d\d\.\d\d % `, out)
	assert.Contains(t, out, "picture: "+prefix+".png, "+prefix+".svg\n")
	assert.Contains(t, out, "MIG instances as fgd placed them")
	assert.Equal(t, 48, strings.Count(out, "\nGPU "))
	assert.Regexp(t, `\n\d+ instances on 48 GPUs created and read back; books and devices agree\n$`, out)

	data, err := os.ReadFile(prefix + ".png")
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	assert.Equal(t, 8*picture.DPI, img.Bounds().Dx())
	svg, err := os.ReadFile(prefix + ".svg")
	require.NoError(t, err)
	for dec := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if !assert.NoError(t, err) {
			break
		}
	}
	for _, text := range []string{">fgd  9", ">random  ", "% of the fleet<", ">130<"} {
		assert.Contains(t, string(svg), text)
	}
}

func TestLastPolicyIsCarriedOut(t *testing.T) {
	t.Parallel()
	r := answer(t, "-policies", "firstfit,worstfit", "-inflate", "0.5")
	require.NotNil(t, r.CarriedOut)
	assert.Equal(t, "worstfit", r.CarriedOut.Policy)
	assert.Empty(t, r.CarriedOut.Differences)
	for _, p := range r.Policies {
		assert.Greater(t, p.AllocatedPercent.Mean, 45.0, p.Name)
		assert.Less(t, p.AllocatedPercent.Mean, 52.0, p.Name)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	assert.Equal(t, exitInterrupted, run(ctx, nil, &out, &errs))
	assert.Empty(t, out.String())
	assert.Equal(t, "fleet: interrupted\n", errs.String())
}

// TestReadme wants every line that the README shows of a layout in the output.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	_, block, found := strings.Cut(string(readme), "```text\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	status, out, errs := call(t, "-plot", "")
	require.Equal(t, exitDone, status, errs)
	assert.Contains(t, out, block)
}
