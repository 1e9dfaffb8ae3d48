package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMixJSON(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t, "mix", "-json", "-model", "a30-24gb", "-gpus", "2", "-requests", "2g.12gb=5")
	assert.Equal(t, exitDone, status)
	assert.Empty(t, errs)
	assert.JSONEq(t, `{"schema":1,"model":"a30-24gb","cuts":[{"gpus":2,"layout":[
		{"profile":"2g.12gb","start":0,"size":2},{"profile":"2g.12gb","start":2,"size":2}]}],
		"served":{"2g.12gb":4},"unserved":{"2g.12gb":1},"value":8,"bound":8,"proven":true}`, out)

	got := answer[mixAnswer](t, "mix", "-model", "a30-24gb", "-gpus", "1", "-requests", "1g.6gb=4:3,2g.12gb=2:5")
	assert.Equal(t, 12, got.Value, "four small ones are worth more than two large ones, at these values")
	assert.Empty(t, got.Served["2g.12gb"])
	got = answer[mixAnswer](t, "mix", "-model", "a100-40gb", "-gpus", "2000", "-requests", "1g.5gb=90000")
	assert.Equal(t, 14000, got.Served["1g.5gb"])
	got = answer[mixAnswer](t, "mix", "-model", "a100-40gb", "-gpus", "0", "-requests", "1g.5gb=1")
	assert.NotNil(t, got.Cuts)
	assert.Zero(t, got.Value)
}

func TestMixText(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t, "mix", "-model", "a30-24gb", "-gpus", "3", "-requests", "1g.6gb=6,2g.12gb=1:8")
	assert.Equal(t, exitDone, status)
	assert.Empty(t, errs)
	assert.Contains(t, out, "a30-24gb: 3 GPUs for 1g.6gb=6,2g.12gb=1:8\n")
	assert.Contains(t, out, "served    1g.6gb=6,2g.12gb=1\nunserved  nothing\nvalue     14, the most that is possible\n")
	assert.Contains(t, out, "1 GPU")
}

func TestMixBadInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"mix without requests", []string{"mix", "-model", "a30-24gb", "-gpus", "1"}, []string{"-requests is missing"}},
		{"mix on a negative number", []string{"mix", "-model", "a30-24gb", "-gpus", "-1", "-requests", "1g.6gb=1"}, []string{"-gpus", `"-1"`}},
		{"mix of an unknown profile", []string{"mix", "-model", "a30-24gb", "-gpus", "1", "-requests", "1g.5gb=1"}, []string{"-requests", `"1g.5gb"`}},
		{"mix of no count", []string{"mix", "-model", "a30-24gb", "-gpus", "1", "-requests", "1g.6gb"}, []string{"-requests", `"1g.6gb"`}},
		{"mix of a negative count", []string{"mix", "-model", "a30-24gb", "-gpus", "1", "-requests", "1g.6gb=-1"}, []string{"-requests", `"-1"`}},
		{"mix of no value", []string{"mix", "-model", "a30-24gb", "-gpus", "1", "-requests", "1g.6gb=1:0"}, []string{"-requests", "1g.6gb", `"0"`}},
		{"mix of a profile twice", []string{"mix", "-model", "a30-24gb", "-gpus", "1", "-requests", "1g.6gb=1,1g.6gb=2"}, []string{"-requests", "1g.6gb", "twice"}},
		{"mix, placements unknown", []string{"mix", "-model", "thor-igpu", "-gpus", "1", "-requests", "1g.0gb=1"}, []string{"-model", "thor-igpu"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refuses(t, c.args, c.says)
		})
	}
}
