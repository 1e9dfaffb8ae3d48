package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSmallest(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t, "smallest", "-json", "-model", "a100-40gb", "-memory", "8000")
	assert.Equal(t, exitDone, status)
	assert.Empty(t, errs)
	assert.JSONEq(t, `{"schema":1,"model":"a100-40gb","feasible":true,"profile":{"name":"1g.10gb","giProfileId":15,
		"computeSlices":1,"memoryMiB":9856,"sms":14,"maxInstances":4,"starts":[0,2,4,6],"size":2,"confidence":"exact","placementConfidence":"exact"}}`, out)

	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"more than the name says is there", []string{"a100-40gb", "-memory", "20000"}, "7g.40gb"},
		{"multiprocessors count", []string{"a100-40gb", "-memory", "4000", "-sms", "28"}, "2g.10gb"},
		{"media engines", []string{"a30-24gb", "-memory", "0", "-attrs", "+me"}, "1g.6gb+me"},
	} {
		got := answer[smallestAnswer](t, append([]string{"smallest", "-model"}, c.args...)...)
		assert.Equal(t, c.want, got.Profile.Name, c.name)
	}

	_, out, _ = call(t, "smallest", "-model", "a30-24gb", "-memory", "10000", "-sms", "20")
	assert.Equal(t, `a30-24gb: 2g.12gb covers 10000 MiB, 20 SMs

memory           11968 MiB
multiprocessors  28
memory slices    2 of 4
compute slices   2 of 4
`, out)
}

func TestSmallestRefuses(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t, "smallest", "-json", "-model", "a30-24gb", "-memory", "30000")
	assert.Equal(t, exitNo, status)
	assert.Empty(t, errs)
	assert.JSONEq(t, `{"schema":1,"model":"a30-24gb","feasible":false,
		"reason":{"kind":"need","detail":"no profile has so much"},"unknown":[]}`, out)
	status, out, _ = call(t, "smallest", "-model", "b200-180gb", "-memory", "80000")
	assert.Equal(t, exitNo, status)
	assert.Contains(t, out, "b200-180gb: no profile is known to cover 80000 MiB\nreason: unknown: ")
	assert.Contains(t, out, "3g.90gb")
}

func TestSmallestBadInput(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"need without memory", []string{"smallest", "-model", "a30-24gb"}, []string{"-memory is missing"}},
		{"need of words", []string{"smallest", "-model", "a30-24gb", "-memory", "6GB"}, []string{"-memory", `"6GB"`}},
		{"negative need", []string{"smallest", "-model", "a30-24gb", "-memory", "1", "-sms", "-1"}, []string{"-sms", `"-1"`}},
		{"attribute that is none", []string{"smallest", "-model", "a30-24gb", "-memory", "1", "-attrs", "me"}, []string{"-attrs", `"me"`}},
		{"figure for an attribute", []string{"smallest", "-model", "a30-24gb", "-memory", "1", "-attrs", "0"}, []string{"-attrs", `"0"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refuses(t, c.args, c.says)
		})
	}
}
