package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFleetJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		gpus, want string
		status     int
		json       string
	}{
		{
			"the GPU that holds all of it",
			"a100-40gb:1g.5gb@3;h100-80gb-sxm5:;a100-40gb", "3g.20gb=2", exitDone,
			`{"schema":1,"feasible":true,"gpus":[
				{"model":"a100-40gb","used":false,"layout":[{"profile":"1g.5gb","start":3,"size":1}]},
				{"model":"h100-80gb-sxm5","used":false,"layout":[]},
				{"model":"a100-40gb","used":true,"layout":[{"profile":"3g.20gb","start":0,"size":4},{"profile":"3g.20gb","start":4,"size":4}]}],
				"weight":1,"bound":1,"proven":true}`,
		},
		{
			"the cheaper two",
			"a30-24gb=9;2*a30-24gb=4", "2g.12gb=3", exitDone,
			`{"schema":1,"feasible":true,"gpus":[
				{"model":"a30-24gb","used":false,"layout":[]},
				{"model":"a30-24gb","used":true,"layout":[{"profile":"2g.12gb","start":0,"size":2},{"profile":"2g.12gb","start":2,"size":2}]},
				{"model":"a30-24gb","used":true,"layout":[{"profile":"2g.12gb","start":0,"size":2}]}],
				"weight":8,"bound":8,"proven":true}`,
		},
		{
			"too much",
			"2*a30-24gb", "2g.12gb=5", exitNo,
			`{"schema":1,"feasible":false,"reason":{"kind":"memory","detail":"10 memory slices needed, 8 unused on GPUs that offer the profiles"}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			status, out, errs := call(t, "fit", "-json", "-gpus", c.gpus, "-want", c.want)
			assert.Equal(t, c.status, status)
			assert.JSONEq(t, c.json, out)
			assert.Empty(t, errs)
		})
	}
}

func TestFleetText(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t, "fit", "-gpus", "2*a30-24gb:1g.6gb@0=0;a100-40gb", "-want", "2g.12gb=2,7g.40gb=1")
	assert.Equal(t, exitDone, status)
	assert.Empty(t, errs)
	assert.Equal(t, `2g.12gb=2,7g.40gb=1 fits on 3 of 3 GPUs

a30-24gb
       0       1       2       3
      ┌───────┬───────┬───────────────┐
GPU 0 │ 1g.6gb│·······│+2g.12gb       │
GPU 1 │ 1g.6gb│·······│+2g.12gb       │
      └───────┴───────┴───────────────┘

a100-40gb
       0       1       2       3       4       5       6       7
      ┌───────────────────────────────────────────────────────────────┐
GPU 2 │+7g.40gb                                                       │
      └───────────────────────────────────────────────────────────────┘

+ created

weight  1, the least that is possible
`, out)

	status, out, _ = call(t, "fit", "-gpus", "a30-24gb", "-want", "2g.12gb=3")
	assert.Equal(t, exitNo, status)
	assert.Contains(t, out, "2g.12gb=3 does not fit on 1 GPU\nreason: memory: ")
	_, out, _ = call(t, "fit", "-gpus", "3*a30-24gb", "-want", "2g.12gb=0")
	assert.Contains(t, out, "an empty demand fits on 0 of 3 GPUs\n")
}

func TestFleetBadInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"model and GPUs", []string{"fit", "-model", "a30-24gb", "-gpus", "a30-24gb", "-want", "1g.6gb=1"}, []string{"-model and -gpus"}},
		{"have beside GPUs", []string{"fit", "-gpus", "a30-24gb", "-have", "1g.6gb@0", "-want", "1g.6gb=1"}, []string{"-gpus and -have"}},
		{"no GPU", []string{"fit", "-gpus", "", "-want", "1g.6gb=1"}, []string{"-gpus", "item 1", `""`}},
		{"semicolon at the end", []string{"fit", "-gpus", "a30-24gb;", "-want", "1g.6gb=1"}, []string{"-gpus", "item 2", `""`}},
		{"zero GPUs", []string{"fit", "-gpus", "0*a30-24gb", "-want", "1g.6gb=1"}, []string{"-gpus", "item 1", `"0"`}},
		{"too many GPUs", []string{"fit", "-gpus", "100000*a30-24gb;a30-24gb", "-want", "1g.6gb=1"}, []string{"-gpus", "item 2", "100000"}},
		{"count of words", []string{"fit", "-gpus", "x*a30-24gb", "-want", "1g.6gb=1"}, []string{"-gpus", `"x"`}},
		{"negative weight", []string{"fit", "-gpus", "a30-24gb=-1", "-want", "1g.6gb=1"}, []string{"-gpus", "weight", `"-1"`}},
		{"illegal layout", []string{"fit", "-gpus", "a30-24gb:2g.12gb@1", "-want", "1g.6gb=1"}, []string{"-gpus", "item 1", "2g.12gb"}},
		{"profile of no GPU", []string{"fit", "-gpus", "a30-24gb;a100-40gb", "-want", "1g.10gb+gfx=1"}, []string{"-want", `"1g.10gb+gfx"`}},
		{"demand that is none", []string{"fit", "-gpus", "a30-24gb", "-want", "1g.6gb"}, []string{"-want", `"1g.6gb"`}},
		{"placements unknown", []string{"fit", "-gpus", "thor-igpu", "-want", "1g.0gb=1"}, []string{"-want", "unknown"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refuses(t, c.args, c.says)
		})
	}
}
