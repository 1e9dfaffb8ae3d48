package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// The exit statuses.
const (
	exitDone = command.Done
	exitNo   = command.No
	exitBad  = command.Bad
)

// TestMain is the fake program when the test binary is started under its name.
func TestMain(m *testing.M) {
	if mpsfake.Invoked(os.Args[0]) {
		// os.Exit of a binary with the race detector waits for a second.
		syscall.Exit(mpsfake.Main(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// call runs the program and returns what it printed.
func call(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return callUntil(t.Context(), args...)
}

func callUntil(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	var out, err strings.Builder
	status = run(ctx, args, strings.NewReader(""), &out, &err)
	return status, out.String(), err.String()
}

// decode reads one JSON object that has the fields of T and no others.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&v), text)
	require.False(t, dec.More(), "one object")
	return v
}

// answer runs the program, which must end with a status and JSON, and decodes that.
func answer[T any](t *testing.T, status int, args ...string) T {
	t.Helper()
	got, out, errs := call(t, append(args, "-json")...)
	require.Equal(t, status, got, "%v\n%s%s", args, out, errs)
	require.Empty(t, errs)
	return decode[T](t, out)
}

// done runs the program, which must succeed.
func done(t *testing.T, args ...string) string {
	t.Helper()
	status, out, errs := call(t, args...)
	require.Equal(t, exitDone, status, "%v\n%s%s", args, out, errs)
	require.Empty(t, errs)
	return out
}

func TestUsage(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t)
	assert.Equal(t, exitBad, status)
	assert.Empty(t, out)
	assert.Equal(t, usage, errs)
	for _, args := range [][]string{
		{"-h"},
		{"--help"},
		{"help"},
		{"status", "-h"},
		{"limits", "-h"},
		{"limits", "set", "-percent", "3", "-h"},
		{"partition", "--help"},
		{"share", "-help"},
	} {
		status, out, errs = call(t, args...)
		assert.Equal(t, exitDone, status, args)
		assert.Equal(t, usage, out, args)
		assert.Empty(t, errs, args)
	}
	for _, c := range commands() {
		assert.Contains(t, usage, "\n  "+c.name, "every command is explained")
	}
	for line := range strings.Lines(usage) {
		assert.LessOrEqual(t, len(line), 90, line)
	}
}

// TestBadInput: exit status 2, nothing on standard output, and one line of error that
// names the value and where it stands.
func TestBadInput(t *testing.T) {
	t.Parallel()
	const gpu = "GPU-3f5b7c91-26d8-4e0a-9b14-c8d7a6e5f201"
	const migUUID = "MIG-3f5b7c91-26d8-4e0a-9b14-c8d7a6e5f201"
	long := "/" + strings.Repeat("p", 107)
	h100 := func(command string, more ...string) []string {
		return append([]string{command, "-model", "h100-80gb-sxm5"}, more...)
	}
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"unknown command", []string{"state"}, []string{`"state"`, "status, servers"}},
		{"unknown flag", []string{"status", "-gpu", "0"}, []string{"mpsctl status", "-gpu"}},
		{"trailing argument", []string{"status", "-fake", "0"}, []string{`"0"`}},
		{"protocol 1", []string{"status", "-protocol", "1"}, []string{"-protocol", "1"}},
		{"no time", []string{"status", "-timeout", "0s"}, []string{"-timeout", "0s"}},
		{"two daemons", []string{"status", "-fake", "-pipe", "/run/x"}, []string{"-fake", "-pipe"}},
		{"replies of a real daemon", []string{"status", "-replies", "wordy"}, []string{"-replies", "-fake"}},
		{"no such replies", []string{"status", "-fake", "-replies", "loud"}, []string{"-replies", `"loud"`, "silent"}},
		{"empty pipe", []string{"status", "-pipe", ""}, []string{"-pipe"}},
		{"79 pipe too long", []string{"status", "-pipe", long}, []string{"-pipe", "107"}},
		{"relative pipe", []string{"status", "-pipe", "run"}, []string{"-pipe", `"run"`}},
		{"no program", []string{"status", "-pipe", "/nowhere/pipe", "-program", "/nowhere/control"}, []string{"-program", "/nowhere/control"}},
		{"client list of no pid", []string{"clients", "-fake", "-server", "uid_1000"}, []string{"-server", `"uid_1000"`}},
		{"client list of no name", []string{"clients", "-fake", "-protocol", "3", "-server", "UID"}, []string{`"UID"`}},
		{"limits what", []string{"limits"}, []string{"get, set"}},
		{"limits of no kind", []string{"limits", "list"}, []string{`"list"`, "get, set"}},
		{"limits of no pid", []string{"limits", "get", "-fake", "-server", "-1"}, []string{"-server", `"-1"`}},
		{"limits of no device", []string{"limits", "get", "-fake", "-device", "0,x y"}, []string{"-device", `"x y"`}},
		{"limits of a device, protocol 3", []string{"limits", "get", "-fake", "-protocol", "3", "-device", "0"}, []string{"-device"}},
		{"set nothing", []string{"limits", "set", "-fake"}, []string{"-percent, -memory or -priority"}},
		{"set no percent", []string{"limits", "set", "-fake", "-percent", "0"}, []string{"-percent", `"0"`}},
		{"set too many percent", []string{"limits", "set", "-fake", "-percent", "101"}, []string{"-percent", `"101"`}},
		{"set NaN", []string{"limits", "set", "-fake", "-percent", "NaN"}, []string{"-percent", `"NaN"`}},
		{"set no priority", []string{"limits", "set", "-fake", "-priority", "2"}, []string{"-priority", `"2"`}},
		{"set priority of a server", []string{"limits", "set", "-fake", "-server", "7002", "-priority", "1"}, []string{"-priority"}},
		{"71 MB", []string{"limits", "set", "-fake", "-memory", "0=512MB"}, []string{"-memory", "entry 1", "512MB"}},
		{"72 no ordinal", []string{"limits", "set", "-fake", "-memory", "4G"}, []string{"-memory", "4G"}},
		{"72 no unit", []string{"limits", "set", "-fake", "-memory", "0=4G,1=1024"}, []string{"-memory", "entry 2", "1024"}},
		{"namespace of protocol 2", []string{"limits", "set", "-fake", "-namespace", "a", "-percent", "3"}, []string{"-namespace"}},
		{"server of protocol 3", []string{"limits", "set", "-fake", "-protocol", "3", "-percent", "3"}, []string{"-server"}},
		{"device of protocol 3", []string{"limits", "set", "-fake", "-protocol", "3", "-server", "a", "-memory", "0=4G"}, []string{"-memory", "0=4G"}},
		{"half a percent of protocol 3", []string{"limits", "set", "-fake", "-protocol", "3", "-server", "a", "-percent", "0.5"}, []string{"0.5"}},
		{"partition what", []string{"partition", "-fake"}, []string{`"-fake"`, "list, add, remove"}},
		{"partitions of a device, protocol 2", []string{"partition", "list", "-fake", "-device", gpu}, []string{"-device"}},
		{"add no chunks", []string{"partition", "add", "-fake", "-device", gpu, "-chunks", "0"}, []string{"-chunks", `"0"`}},
		{"add nowhere", []string{"partition", "add", "-fake", "-chunks", "1"}, []string{"-device is missing"}},
		{"add on no UUID", []string{"partition", "add", "-fake", "-device", "0", "-chunks", "1"}, []string{`"0"`}},
		{"add with a name, protocol 2", []string{"partition", "add", "-fake", "-device", gpu, "-chunks", "1", "-name", "a"}, []string{"-name"}},
		{"add without name, protocol 3", []string{"partition", "add", "-fake", "-protocol", "3", "-server", "a", "-device", gpu, "-chunks", "1"}, []string{"-name is missing"}},
		{"remove nothing", []string{"partition", "remove", "-fake"}, []string{"-id", "-name"}},
		{"remove no id", []string{"partition", "remove", "-fake", "-id", gpu}, []string{"-id"}},
		{"remove by name, protocol 2", []string{"partition", "remove", "-fake", "-name", "a"}, []string{"-name"}},
		{"terminate nobody", []string{"terminate", "-fake"}, []string{"-client is missing"}},
		{"terminate no pid", []string{"terminate", "-fake", "-client", "501,x"}, []string{"-client", "entry 2", `"x"`}},
		{"terminate on no server", []string{"terminate", "-fake", "-client", "501", "-server", "0"}, []string{"-server", `"0"`}},
		{"terminate on a server, protocol 3", []string{"terminate", "-fake", "-protocol", "3", "-client", "501", "-server", "a"}, []string{"-server"}},
		{"watch never", []string{"watch", "-fake", "-every", "0s"}, []string{"-every", "0s"}},
		{"watch for less than nothing", []string{"watch", "-fake", "-for", "-1s"}, []string{"-for", "-1s"}},
		{"share nothing", []string{"share", "-clients", "1"}, []string{"-model", "-sms"}},
		{"share of no model", []string{"share", "-model", "h100", "-clients", "1"}, []string{"-model", `"h100"`}},
		{"share of no profile", h100("share", "-profile", "3g.20gb", "-n", "2"), []string{"-profile", `"3g.20gb"`}},
		{"share of a profile of nothing", []string{"share", "-sms", "10", "-profile", "1g.5gb", "-n", "2"}, []string{"-profile", "-model"}},
		{"share unknown memory", []string{"share", "-model", "h200-141gb", "-n", "2"}, []string{"-memory", "h200-141gb", "not published"}},
		{"share unknown SMs", []string{"share", "-model", "thor-igpu", "-n", "2"}, []string{"-sms", "thor-igpu"}},
		{"share no memory", []string{"share", "-sms", "40", "-n", "2"}, []string{"-memory"}},
		{"share negative memory", h100("share", "-memory", "-1", "-n", "2"), []string{"-memory", `"-1"`}},
		{"share among nobody", h100("share"), []string{"-clients, -n"}},
		{"share among two kinds", h100("share", "-n", "2", "-clients", "1,1"), []string{"-clients", "-n", "exclude"}},
		{"share of no weight", h100("share", "-clients", "3,0"), []string{"-clients", "entry 2", `"0"`}},
		{"share of half a weight", h100("share", "-clients", "1.5"), []string{"-clients", `"1.5"`}},
		{"share of an empty weight", h100("share", "-clients", "1,"), []string{"-clients", "entry 2"}},
		{"share of too many", h100("share", "-n", "129"), []string{"-n", `"129"`}},
		{"share of no TPC each", h100("share", "-n", "67"), []string{"-n", "67"}},
		{"share even of no SM", h100("share", "-n", "100", "-even"), []string{"no SMs"}},
		{"share even of unequal", h100("share", "-clients", "3,2,1", "-even"), []string{"-even", "entry 2"}},
		{"share even of a budget", h100("share", "-n", "2", "-even", "-budget", "50"), []string{"-even", "-budget"}},
		{"share of no budget", h100("share", "-n", "2", "-budget", "0"), []string{"-budget", `"0"`}},
		{"plan of no device", h100("plan", "-n", "2"), []string{"-uuid is missing"}},
		{"plan of half a UUID", h100("plan", "-n", "2", "-uuid", "GPU-3f"), []string{"GPU-3f"}},
		{"plan of too many", h100("plan", "-n", "50", "-by-sms", "-uuid", gpu), []string{"50 clients", "48"}},
		{"plan of no instance", h100("plan", "-n", "2", "-uuid", migUUID), []string{"-uuid", "-profile"}},
		{"plan of no GPU", h100("plan", "-n", "2", "-profile", "3g.40gb", "-uuid", gpu), []string{"-uuid", "-profile"}},
		{"plan with a long path", h100("plan", "-n", "2", "-uuid", gpu, "-pipe", long), []string{"107"}},
		{"plan with no shared memory", h100("plan", "-n", "2", "-uuid", gpu, "-shm", "shm"), []string{`"shm"`}},
		{"plan for no clients", h100("plan", "-n", "2", "-uuid", gpu, "-max-clients", "0"), []string{"-max-clients", `"0"`}},
		{"plan without connections", h100("plan", "-n", "2", "-uuid", gpu, "-max-connections", "33"), []string{"-max-connections", `"33"`}},
		{"fake nowhere", []string{"fake"}, []string{"-dir is missing"}},
		{"fake in a file", []string{"fake", "-dir", "main.go"}, []string{"-dir", "main.go"}},
		{"fake static, protocol 3", []string{"fake", "-dir", "main.go", "-static", "-protocol", "3"}, []string{"-static"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			status, out, errs := call(t, c.args...)
			assert.Equal(t, exitBad, status, "%s%s", out, errs)
			assert.Empty(t, out)
			assert.True(t, strings.HasPrefix(errs, "mpsctl"), errs)
			assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
			for _, s := range c.says {
				assert.Contains(t, errs, s)
			}
		})
	}
}

// failing is a standard output that is closed.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestOutputThatFails(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"status", "-fake"},
		{"limits", "set", "-fake", "-percent", "30", "-json"},
		{"terminate", "-fake", "-client", "9"},
		{"watch", "-fake", "-every", "20ms"},
		{"watch", "-fake", "-every", "20ms", "-json"},
		{"share", "-model", "h100-80gb-sxm5", "-n", "2"},
	} {
		var errs bytes.Buffer
		assert.Equal(t, exitBad, run(t.Context(), args, strings.NewReader(""), failing{}, &errs), args)
		assert.Contains(t, errs.String(), "broken pipe", args)
	}
}

func needsProcess(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("a fake daemon in a process of its own takes Linux")
	}
}
