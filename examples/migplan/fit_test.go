package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFitJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{
			"beside what is there",
			[]string{"-model", "a100-40gb", "-want", "3g.20gb=1,2g.10gb=1", "-have", "1g.5gb@3"},
			exitDone,
			`{"schema":1,"model":"a100-40gb","feasible":true,"layout":[
				{"profile":"2g.10gb","start":0,"size":2},{"profile":"1g.5gb","start":3,"size":1},
				{"profile":"3g.20gb","start":4,"size":4}],
				"unused":{"memorySlices":1,"computeSlices":1},"stranded":{"memorySlices":0,"computeSlices":0}}`,
		},
		{
			"unused but not stranded",
			[]string{"-model", "b200-180gb", "-want", "2g.45gb=3"},
			exitDone,
			`{"schema":1,"model":"b200-180gb","feasible":true,"layout":[
				{"profile":"2g.45gb","start":0,"size":2},{"profile":"2g.45gb","start":2,"size":2},
				{"profile":"2g.45gb","start":4,"size":2}],
				"unused":{"memorySlices":2,"computeSlices":1},"stranded":{"memorySlices":0,"computeSlices":0}}`,
		},
		{
			"nothing wanted, nothing there",
			[]string{"-model", "a30-24gb", "-want", "1g.6gb=0", "-have", ""},
			exitDone,
			`{"schema":1,"model":"a30-24gb","feasible":true,"layout":[],
				"unused":{"memorySlices":4,"computeSlices":4},"stranded":{"memorySlices":0,"computeSlices":0}}`,
		},
		{
			"memory",
			[]string{"-model", "a100-40gb", "-want", "1g.10gb=4,1g.5gb=3"},
			exitNo,
			`{"schema":1,"model":"a100-40gb","feasible":false,"reason":{"kind":"memory","detail":"11 memory slices needed in all, the GPU has 8"}}`,
		},
		{
			"compute",
			[]string{"-model", "a100-40gb", "-want", "4g.20gb=2"},
			exitNo,
			`{"schema":1,"model":"a100-40gb","feasible":false,"reason":{"kind":"compute","detail":"8 compute slices needed in all, the GPU has 7"}}`,
		},
		{
			"count",
			[]string{"-model", "a100-40gb", "-want", "1g.5gb+me=1", "-have", "1g.5gb+me@2"},
			exitNo,
			`{"schema":1,"model":"a100-40gb","feasible":false,"reason":{"kind":"count","detail":"2 of 1g.5gb+me needed in all, the driver allows 1"}}`,
		},
		{
			"media",
			[]string{"-model", "a30-24gb", "-want", "1g.6gb+me=1,2g.12gb+me=1"},
			exitNo,
			`{"schema":1,"model":"a30-24gb","feasible":false,"reason":{"kind":"media","detail":"1g.6gb+me and 2g.12gb+me compete for media engines"}}`,
		},
		{
			"position",
			[]string{"-model", "a100-40gb", "-want", "4g.20gb=1", "-have", "1g.5gb@0"},
			exitNo,
			`{"schema":1,"model":"a100-40gb","feasible":false,"reason":{"kind":"position","detail":"1 of 4g.20gb wanted, legal starts are free for 0"}}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			status, out, errs := call(t, append([]string{"fit", "-json"}, c.args...)...)
			assert.Equal(t, c.status, status)
			assert.JSONEq(t, c.want, out)
			assert.Empty(t, errs)
		})
	}
}

func TestFitText(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t, "fit", "-model", "a30-24gb", "-want", "2g.12gb=1", "-have", "1g.6gb@1")
	assert.Equal(t, exitDone, status)
	assert.Empty(t, errs)
	assert.Equal(t, `a30-24gb: 2g.12gb=1 fits beside 1g.6gb@1

 0       1       2       3
┌───────┬───────┬───────────────┐
│·······│ 1g.6gb│ 2g.12gb       │
└───────┴───────┴───────────────┘

unused    ·  1 memory slice, 1 compute slice
stranded  ░  0 memory slices, 0 compute slices
`, out)

	status, out, errs = call(t, "fit", "-model", "a30-24gb", "-want", "4g.24gb=1", "-have", "2g.12gb@0")
	assert.Equal(t, exitNo, status)
	assert.Empty(t, errs)
	assert.Equal(t, `a30-24gb: 4g.24gb=1 does not fit beside 2g.12gb@0
reason: memory: 6 memory slices needed in all, the GPU has 4

 0       1       2       3
┌───────────────┬───────┬───────┐
│ 2g.12gb       │·······│·······│
└───────────────┴───────┴───────┘
`, out)

	_, out, _ = call(t, "fit", "-model", "a30-24gb", "-want", "4g.24gb=1")
	assert.Contains(t, out, "fits on an empty GPU")
}
