package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sixGPUs = "4*a100-80gb;a100-80gb:3g.40gb=1,1g.10gb=3"

func TestAdvertise(t *testing.T) {
	t.Parallel()
	file := write(t, reset)
	a := answer[advertiseAnswer](t, exitDone, "advertise", "-f", file, "-inventory", sixGPUs)
	assert.Equal(t, schema, a.Schema)
	assert.False(t, a.Same)
	assert.Len(t, a.Findings, 3)
	counts := func(n nodeAnswer) map[string]int {
		m := map[string]int{}
		for _, r := range n.Resources {
			m[r.Name] = r.Count
		}
		return m
	}
	assert.Equal(t, map[string]int{"nvidia.com/gpu": 16, "nvidia.com/mig-1g.10gb": 6, "nvidia.com/mig-3g.40gb": 1}, counts(a.Plugin))
	assert.Equal(t, map[string]int{
		"nvidia.com/gpu": 2, "nvidia.com/shared": 8, "nvidia.com/mig-1g.10gb": 6, "nvidia.com/mig-3g.40gb": 1,
	}, counts(a.Written))
	assert.Equal(t, "NVIDIA-A100-SXM4-80GB-SHARED", a.Plugin.Labels["nvidia.com/gpu.product"])
	assert.Equal(t, deviceAnswer{"GPU-0", 4}, a.Plugin.Resources[0].Devices[0])

	again := answer[advertiseAnswer](t, exitNo, "advertise", "-f", file, "-inventory", sixGPUs, "-strict")
	assert.Equal(t, a.Plugin.Resources, again.Plugin.Resources)
	same := answer[advertiseAnswer](t, exitDone, "advertise", "-f", write(t, plain), "-inventory", sixGPUs, "-strict")
	assert.True(t, same.Same)

	_, text, _ := call(t, "advertise", "-f", file, "-inventory", sixGPUs, "-json")
	inventory, err := json.Marshal(decode[advertiseAnswer](t, text).Inventory)
	require.NoError(t, err)
	for _, text := range []string{text, string(inventory)} {
		assert.Equal(t, a, answer[advertiseAnswer](t, exitDone, "advertise", "-f", file, "-gpus", write(t, text)))
	}
}

func TestAdvertiseText(t *testing.T) {
	t.Parallel()
	file := write(t, reset)
	out := done(t, "advertise", "-f", file, "-inventory", sixGPUs)
	head, rest, _ := strings.Cut(out, "\n\n")
	assert.Equal(t, `RESOURCE                AS THE PLUGIN DOES               AS WRITTEN
nvidia.com/gpu          16, time-slicing, one a request  2
nvidia.com/mig-1g.10gb  6, time-slicing, one a request   6, time-slicing, one a request
nvidia.com/mig-3g.40gb  1                                1
nvidia.com/shared       -                                8, time-slicing, one a request`, head)
	assert.Regexp(t, `\nnvidia.com/gpu.product +NVIDIA-A100-SXM4-80GB-SHARED +NVIDIA-A100-SXM4-80GB\n`, rest)
	assert.True(t, strings.HasSuffix(rest, "0 errors, 3 warnings, 0 notes\n"))
}

func TestAdvertiseRequest(t *testing.T) {
	t.Parallel()
	ask := func(status int, request string) *requestAnswer {
		return answer[advertiseAnswer](t, status, "advertise", "-f", write(t, reset), "-inventory", sixGPUs, "-request", request).Request
	}
	assert.Equal(t, &requestAnswer{Resource: "nvidia.com/gpu", Count: 1, Served: true}, ask(exitDone, "nvidia.com/gpu=1"))
	assert.Contains(t, ask(exitNo, "nvidia.com/gpu=2").Reason, "more than one replica")
	assert.Contains(t, ask(exitNo, "nvidia.com/shared=1").Reason, "not advertised")
	status, out, _ := call(t, "advertise", "-f", write(t, reset), "-inventory", sixGPUs, "-request", "nvidia.com/gpu=2")
	assert.Equal(t, exitNo, status)
	assert.Contains(t, out, "\n2 of nvidia.com/gpu: no: ")
	assert.Contains(t, done(t, "advertise", "-f", write(t, plain), "-inventory", "a30-24gb", "-request", "nvidia.com/gpu=1"), "\n1 of nvidia.com/gpu: yes\n")
}

// TestAdvertiseNot: a plugin that advertises nothing is an answer.
func TestAdvertiseNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ config, gpus, says string }{
		{"version: v2\n", "a100-80gb", "has an error"},
		{"flags:\n  migStrategy: single\n", "a100-80gb;a100-80gb:1g.10gb=7", "migStrategy single"},
	} {
		a := answer[advertiseAnswer](t, exitNo, "advertise", "-f", write(t, c.config), "-inventory", c.gpus)
		assert.Contains(t, a.Plugin.Error, c.says)
		assert.Empty(t, a.Plugin.Resources)
		status, out, _ := call(t, "advertise", "-f", write(t, c.config), "-inventory", c.gpus)
		assert.Equal(t, exitNo, status)
		assert.Contains(t, out, "the plugin would advertise nothing: ")
		assert.NotContains(t, out, "RESOURCE", "a table of nothing")
	}
	missing := strings.Replace(plain, "replicas: 4", "replicas: 4\n      devices: [7]", 1)
	a := answer[advertiseAnswer](t, exitDone, "advertise", "-f", write(t, missing), "-inventory", "a100-80gb")
	assert.Contains(t, a.Written.Error, "no device 7")
	assert.Equal(t, 4, a.Plugin.Resources[0].Count, "the plugin drops the selection")
}

func TestAdvertiseBadInput(t *testing.T) {
	t.Parallel()
	f := write(t, plain)
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"no GPUs", []string{"-f", f}, []string{"-inventory, -gpus is missing"}},
		{"both", []string{"-f", f, "-inventory", "a100-80gb", "-gpus", f}, []string{"exclude each other"}},
		{"no config", []string{"-inventory", "a100-80gb"}, []string{"-f is missing"}},
		{"no such config", []string{"-f", "none.yaml", "-inventory", "a100-80gb"}, []string{"-f", "none.yaml"}},
		{"unknown model", []string{"-f", f, "-inventory", "a100-80gb;t4"}, []string{"-inventory", "item 2", `"t4"`}},
		{"no count", []string{"-f", f, "-inventory", "0*a100-80gb"}, []string{`"0" is no number of GPUs`}},
		{"too many", []string{"-f", f, "-inventory", "1000*a100-80gb;25*a100-80gb"}, []string{"item 2", "more than 1024"}},
		{"unknown profile", []string{"-f", f, "-inventory", "a100-80gb:9g.1gb=1"}, []string{`"9g.1gb"`}},
		{"profile without count", []string{"-f", f, "-inventory", "a100-80gb:1g.10gb"}, []string{`"1g.10gb"`, "=count"}},
		{"cut that cannot be", []string{"-f", f, "-inventory", "a100-80gb:3g.40gb=3"}, []string{"-inventory", "3g.40gb"}},
		{"request without number", []string{"-f", f, "-inventory", "a100-80gb", "-request", "nvidia.com/gpu"}, []string{"-request", "NAME=N"}},
		{"request for none", []string{"-f", f, "-inventory", "a100-80gb", "-request", "nvidia.com/gpu=0"}, []string{"-request", "NAME=N"}},
		{"GPUs that are no JSON", []string{"-f", f, "-gpus", f}, []string{"-gpus: line 1"}},
		{"GPUs without schema", []string{"-f", f, "-gpus", write(t, `{"gpus": []}`)}, []string{"-gpus", `"schema": 1`}},
		{"unknown field", []string{"-f", f, "-gpus", write(t, `{"schema": 1, "gpus": [{"model": "x"}]}`)}, []string{"-gpus", `"model"`}},
		{"UUID twice", []string{"-f", f, "-gpus", write(t, `{"schema": 1, "gpus": [{"uuid": "GPU-a", "product": "x"}, {"uuid": "GPU-a", "product": "x"}]}`)}, []string{"-gpus", `"GPU-a"`}},
		{"bad profile", []string{"-f", f, "-gpus", write(t, `{"schema": 1, "gpus": [{"product": "x", "mig": [{"profile": "big"}]}]}`)}, []string{"-gpus", `"big"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refuses(t, append([]string{"advertise"}, c.args...), c.says)
		})
	}
}
