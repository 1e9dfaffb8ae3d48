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
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/examples/internal/picture"
	"github.com/gpushare/gpushare/timeslice"
	"github.com/gpushare/gpushare/timeslice/pluginconfig"
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
	return callWith(t, "", args...)
}

// callWith is call with something on the standard input.
func callWith(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	status = run(t.Context(), args, strings.NewReader(stdin), &out, &err)
	return status, out.String(), progressLine.ReplaceAllString(err.String(), "")
}

// progressLine is what a command says of itself that takes seconds, as any may do on a
// machine with much else to do.
var progressLine = regexp.MustCompile(`(?m)^timeslice \w+: \d+ % done, now .*\n`)

// done runs the program, which must succeed.
func done(t *testing.T, args ...string) string {
	t.Helper()
	status, out, errs := call(t, args...)
	require.Equal(t, exitDone, status, "%s%s", out, errs)
	require.Empty(t, errs)
	return out
}

// answer runs the program, which must end with a status and JSON, and decodes that.
func answer[T any](t *testing.T, status int, args ...string) T {
	t.Helper()
	got, out, errs := call(t, append(args, "-json")...)
	require.Equal(t, status, got, "%s%s", out, errs)
	require.Empty(t, errs)
	return decode[T](t, out)
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&v), text)
	require.False(t, dec.More(), "one object")
	return v
}

// write puts a text into a file of its own.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "input")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestUsage(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t)
	assert.Equal(t, exitBad, status)
	assert.Empty(t, out)
	assert.Equal(t, usage, errs)
	for _, args := range [][]string{{"-h"}, {"--help"}, {"help"}} {
		assert.Equal(t, usage, done(t, args...), args)
	}
	for _, c := range commands() {
		assert.Contains(t, usage, "\n  timeslice "+c.name+" ")
		assert.Equal(t, c.usage, done(t, c.name, "-h"), c.name)
		assert.True(t, strings.HasPrefix(c.usage, "timeslice "+c.name+" "), c.name)
		for line := range strings.Lines(c.usage) {
			assert.LessOrEqual(t, len([]rune(line)), 92, line)
		}
	}
}

// refuses checks that the program says, on one line, that the input is bad, and
// prints nothing else.
func refuses(t *testing.T, args, says []string) {
	t.Helper()
	for _, args := range [][]string{args, append(slices.Clip(args), "-json")} {
		status, out, errs := call(t, args...)
		assert.Equal(t, exitBad, status)
		assert.Empty(t, out)
		assert.True(t, strings.HasPrefix(errs, "timeslice"), errs)
		assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
		for _, s := range says {
			assert.Contains(t, errs, s)
		}
	}
}

func TestBadUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"unknown command", []string{"simulat"}, []string{`"simulat"`, "simulate, lint, advertise, governor, vgpu, registry;"}},
		{"unknown flag", []string{"simulate", "-client", "busy"}, []string{"timeslice simulate", "-client"}},
		{"flag without value", []string{"lint", "-f"}, nil},
		{"trailing argument", []string{"governor", "fifo"}, []string{"timeslice governor", `"fifo"`}},
		{"argument between flags", []string{"simulate", "-clients", "busy", "equal", "-for", "1s"}, []string{`"equal"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refuses(t, c.args, c.says)
		})
	}
}

// failing is a standard output that is closed.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestOutputThatFails(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"simulate", "-clients", "busy", "-for", "10ms"},
		{"simulate", "-clients", "busy", "-for", "10ms", "-json"},
		{"simulate", "-h"},
		{"lint", "-f", "-"},
		{"advertise", "-f", "-", "-inventory", "a30-24gb"},
		{"governor", "-rules", "none", "-for", "1s", "-seeds", "1"},
		{"registry", "1"},
	} {
		var errs strings.Builder
		assert.Equal(t, exitBad, run(t.Context(), args, strings.NewReader(""), failing{}, &errs), args)
		assert.Contains(t, errs.String(), "broken pipe", args)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"simulate", "-clients", "9*busy", "-for", "200h"},
		{"governor", "-for", "1h", "-seeds", "1000"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out, errs strings.Builder
		assert.Equal(t, exitInterrupted, run(ctx, args, strings.NewReader(""), &out, &errs))
		assert.Empty(t, out.String())
		assert.Equal(t, "timeslice: interrupted\n", errs.String())
	}
}

// pictures checks the files of a picture and returns the text of the SVG.
func pictures(t *testing.T, prefix string) string {
	t.Helper()
	data, err := os.ReadFile(prefix + ".png")
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(data))
	require.NoError(t, err)
	assert.Equal(t, 9*picture.DPI, img.Bounds().Dx())
	svg, err := os.ReadFile(prefix + ".svg")
	require.NoError(t, err)
	for dec := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if !assert.NoError(t, err) {
			break
		}
	}
	return string(svg)
}

func TestBadPlot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := write(t, "")
	for _, c := range []struct{ prefix, says string }{
		{dir + "/", "names a directory"},
		{dir + "/none/p", "no such file"},
		{file + "/p", "not a directory"},
		{"..", "names a directory"},
	} {
		refuses(t, []string{"simulate", "-clients", "busy", "-plot", c.prefix}, []string{"-plot", c.says})
		refuses(t, []string{"governor", "-plot", c.prefix}, []string{"-plot", c.says})
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for ns, want := range map[int64]string{
		0: "0s", 7: "7ns", 9_999: "9.999µs", 2_083_333: "2.083ms", 163_345: "163.3µs", 65_559_999: "65.56ms",
		1_000_000_000: "1s", 61_234_567_890: "1m1.23s", 3_600_000_000_000: "1h0m0s", 1_000_000_000_000_000: "277h46m40s",
	} {
		assert.Equal(t, want, short(ns))
	}
	for text, want := range map[string]int64{"1": 1000, "0.3": 300, "33.333": 33_333, ".5": 500, "2.": 2000, "0.001": 1} {
		got, err := decimal(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", ".", "0", "0.000", "-1", "1.2345", "1e3", "NaN", "1_0", "+1", "99999999999999999999"} {
		_, err := decimal(text)
		assert.Error(t, err, text)
	}
}

// FuzzFiles: no file does harm.
func FuzzFiles(f *testing.F) {
	for _, text := range []string{
		`{"schema": 1, "policies": ["fair"], "slice": "1ms", "for": "2s", "clients": [{"name": "a", "kind": "periodic", "every": "2ms", "work": "1ms", "fraction": 5}]}`,
		`{"schema": 1, "scenario": {"clients": [{"name": "a", "kind": "trace", "jobs": [{"at": "0s", "work": "1ns"}]}]}}`,
		`{"schema": 1, "inventory": {"gpus": [{"product": "x", "capability": "8.0", "mig": [{"profile": "1g.5gb"}]}]}}`,
		`{"schema": 1, "gpus": [{"uuid": "GPU-a"}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := readScenario(text); err == nil && s.check() == nil {
			s.For = min(s.For, 100)
			for _, name := range s.Policies {
				d, err := disciplineOf(name)
				require.NoError(t, err)
				_, err = timeslice.Simulate(s.sim(d), nil)
				require.NoError(t, err)
			}
		}
		if inv, err := readInventory(text); err == nil {
			_ = (&advertiseAnswer{Inventory: &inv}).fill(&pluginconfig.Config{}, "")
		}
	})
}
