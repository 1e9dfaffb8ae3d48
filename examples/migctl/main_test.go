package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/examples/internal/command"
)

// The exit statuses.
const (
	exitDone = command.Done
	exitNo   = command.No
	exitBad  = command.Bad
)

// call runs the program and returns what it printed.
func call(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return callWith(t, "", args...)
}

// callWith is call with a standard input.
func callWith(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	status = run(t.Context(), args, strings.NewReader(stdin), &out, &err)
	return status, out.String(), err.String()
}

// answer runs the program, which must end with a status and JSON, and decodes
// that.
func answer[T any](t *testing.T, status int, args ...string) T {
	t.Helper()
	got, out, errs := call(t, append(args, "-json")...)
	require.Equal(t, status, got, "%s%s", out, errs)
	require.Empty(t, errs)
	var v T
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&v), out)
	require.False(t, dec.More(), "one object")
	return v
}

// done runs the program, which must succeed.
func done(t *testing.T, args ...string) string {
	t.Helper()
	status, out, errs := call(t, args...)
	require.Equal(t, exitDone, status, "%s%s", out, errs)
	require.Empty(t, errs)
	return out
}

// newMachine writes a fake machine of some models to a file.
func newMachine(t *testing.T, models ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "m.json")
	done(t, "init", "-model", strings.Join(models, ","), "-to", file)
	return file
}

// write puts a text into a file of its own.
func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "input")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// tree returns the files below a directory with what stands in them.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files[path] = read(t, path)
		}
		return err
	}))
	return files
}

// gpuStates returns, by GPU, what the state command says: "1g.5gb@0 3g.20gb@4".
func gpuStates(t *testing.T, file string) []string {
	t.Helper()
	var list []string
	for _, g := range answer[stateAnswer](t, exitDone, "state", "-fake", file).GPUs {
		text := "off"
		if g.Mode.Current {
			text = "empty"
		}
		for i, in := range g.Instances {
			if i == 0 {
				text = in.String()
			} else {
				text += " " + in.String()
			}
			whole := len(in.ComputeInstances) == 1 && in.ComputeInstances[0].Profile == in.Profile
			for _, c := range in.ComputeInstances {
				if !whole {
					text += "/" + c.String()
				}
			}
		}
		list = append(list, text)
	}
	return list
}

func TestUsage(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t)
	assert.Equal(t, exitBad, status)
	assert.Empty(t, out)
	assert.Equal(t, usage, errs)
	for _, args := range [][]string{{"-h"}, {"--help"}, {"help"}, {"apply", "-h"}, {"state", "-fake", "x", "-help"}} {
		status, out, errs = call(t, args...)
		assert.Equal(t, exitDone, status, args)
		assert.Equal(t, usage, out, args)
		assert.Empty(t, errs, args)
	}
	for _, c := range commands() {
		assert.Contains(t, usage, "\n  "+c.name, "every command is explained")
	}
}

// config has labels for two A100 40GB.
const config = `version: v1
mig-configs:
  "off":
    - devices: all
      mig-enabled: false
  mixed:
    - devices: all
      mig-enabled: true
      mig-devices: {3g.20gb: 1, 1g.5gb: 3}
  first:
    - devices: [0]
      mig-enabled: true
      mig-devices: {7g.40gb: 1}
  too-much:
    - devices: [1]
      mig-enabled: true
      mig-devices: {1g.10gb: 4, 1g.5gb: 3}
  twice:
    - devices: all
      mig-enabled: true
      mig-devices: {}
    - devices: [1]
      mig-enabled: false
  nobody:
    - devices: [7]
      mig-enabled: true
      mig-devices: {}
`

// TestBadInput: exit status 2, nothing on standard output, one line of error that
// names the value and where it stands, and no file has changed.
func TestBadInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	m, a100x2 := filepath.Join(dir, "m.json"), "a100-40gb,a100-40gb"
	done(t, "init", "-model", a100x2, "-to", m)
	yaml := file("c.yaml", config)
	on := func(command string, more ...string) []string { return append([]string{command, "-fake", m}, more...) }
	uuid := answer[stateAnswer](t, exitDone, "state", "-fake", m).GPUs[0].UUID
	layout := func(text string) string {
		return file("l"+strings.Map(func(r rune) rune {
			if r < 'a' || r > 'z' {
				return -1
			}
			return r
		}, text)+".json", text)
	}
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"unknown command", []string{"states"}, []string{`"states"`, "state, blockers, assert"}},
		{"unknown flag", on("state", "-gpus", "0"), []string{"migctl state", "-gpus"}},
		{"no machine", []string{"state"}, []string{"-fake, -nvml"}},
		{"two machines", on("state", "-nvml"), []string{"-fake", "-nvml", "exclude"}},
		{"no such machine", []string{"state", "-fake", "dgx-1"}, []string{"-fake", `"dgx-1" is neither a file nor one of dgx-a100`}},
		{"a directory", []string{"state", "-fake", dir}, []string{"-fake", dir}},
		{"no JSON", []string{"state", "-fake", yaml}, []string{"-fake", yaml, "line 1"}},
		{"unknown field", []string{"state", "-fake", file("f.json", `{"schema":1,"gpus":[],"gpu":1}`)}, []string{"-fake", "gpu"}},
		{"another schema", []string{"state", "-fake", file("s.json", `{"schema":2,"gpus":[]}`)}, []string{"-fake", "2"}},
		{"no such model", []string{"state", "-fake", file("n.json", `{"schema":1,"gpus":[{"model":"a100"}]}`)}, []string{"gpus[0]", `"a100"`}},
		{"impossible machine", []string{"state", "-fake", file("i.json", `{"schema":1,"gpus":[{"model":"a30-24gb","mig":true,"instances":[{"profile":"4g.24gb","start":1}]}]}`)}, []string{"instances[0]", "4g.24gb"}},
		{"no such GPU", on("state", "-gpu", "2"), []string{"-gpu", `"2"`, "2 GPUs"}},
		{"negative GPU", on("state", "-gpu", "-1"), []string{"-gpu", `"-1"`}},
		{"no such UUID", on("state", "-gpu", "GPU-x"), []string{"-gpu", `"GPU-x"`}},
		{"GPU twice", on("state", "-gpu", "0,"+uuid), []string{"-gpu", uuid, "twice"}},
		{"no GPU", on("state", "-gpu", ""), []string{"-gpu", `""`}},
		{"trailing argument", on("state", "0"), []string{"migctl state", `"0"`}},
		{"assert without file", on("assert"), []string{"-f is missing"}},
		{"assert no such file", on("assert", "-f", dir+"/x"), []string{"-f", dir + "/x"}},
		{"assert no mig-parted file", on("assert", "-f", m), []string{"-f"}},
		{"assert with many problems", on("assert", "-f", file("p.yaml", "version: v2\nmig-configs: {a: [{devices: some}]}\n")), []string{"-f", "version", "devices"}},
		{"assert which label", on("assert", "-f", yaml), []string{"-label", "mixed"}},
		{"assert no such label", on("assert", "-f", yaml, "-label", "x"), []string{"-label", `"x"`, "mixed"}},
		{"assert GPU matched twice", on("assert", "-f", yaml, "-label", "twice"), []string{"GPU 1", "entry 1", "entry 2"}},
		{"assert GPU matched never", on("assert", "-f", yaml, "-label", "nobody"), []string{`"nobody"`}},
		{"apply nothing", on("apply", "-gpu", "0"), []string{"-f, -want, -plan"}},
		{"apply two things", on("apply", "-gpu", "0", "-f", yaml, "-want", "1g.5gb=1"), []string{"-f", "-want", "exclude"}},
		{"apply label of no file", on("apply", "-gpu", "0", "-want", "1g.5gb=1", "-label", "a"), []string{"-label", "-f"}},
		{"apply which GPU", on("apply", "-want", "1g.5gb=1"), []string{"-gpu is missing", "2 GPUs"}},
		{"apply a label of another model", on("apply", "-f", file("b200.yaml", "version: v1\nmig-configs:\n  a:\n    - {devices: all, mig-enabled: true, mig-devices: {1g.23gb: 7}}\n")), []string{"-f", "line 4", "GPU 0", `"1g.23gb"`}},
		{"apply unknown profile", on("apply", "-gpu", "0", "-want", "1g.6gb=1"), []string{"-want", "GPU 0", `"1g.6gb"`}},
		{"apply malformed", on("apply", "-gpu", "0", "-want", "1g.5gb"), []string{"-want", `"1g.5gb"`}},
		{"apply negative", on("apply", "-gpu", "0", "-want", "1g.5gb=-1"), []string{"-want", `"-1"`}},
		{"apply no such label", on("apply", "-f", yaml, "-label", "x"), []string{"-label", `"x"`}},
		{"apply label of other GPUs", on("apply", "-f", yaml, "-label", "first", "-gpu", "1"), []string{"-gpu", `"first"`}},
		{"apply no plan", on("apply", "-gpu", "0", "-plan", yaml), []string{"-plan"}},
		{"apply plan of another schema", on("apply", "-gpu", "0", "-plan", file("p.json", `{"schema":9}`)), []string{"-plan", "9"}},
		{"negative timeout", on("apply", "-gpu", "0", "-want", "none", "-timeout", "-1s"), []string{"-timeout", "-1s"}},
		{"negative wait", on("apply", "-gpu", "0", "-want", "none", "-wait", "-1s"), []string{"-wait", "-1s"}},
		{"negative crash", on("apply", "-gpu", "0", "-want", "none", "-crash-after", "-1"), []string{"-crash-after", "-1"}},
		{"crash of a real machine", []string{"apply", "-nvml", "-want", "none", "-crash-after", "1"}, []string{"-crash-after"}},
		{"reset of a fake machine", on("apply", "-gpu", "0", "-want", "none", "-reset"), []string{"-reset", "-nvml"}},
		{"lock that is no lock", on("apply", "-gpu", "0", "-want", "1g.5gb=1", "-lock", yaml), []string{"-lock", yaml}},
		{"empty journal", on("apply", "-gpu", "0", "-want", "1g.5gb=1", "-journal", ""), []string{"-journal", `""`}},
		{"journal is a file", on("apply", "-gpu", "0", "-want", "1g.5gb=1", "-journal", yaml), []string{"-journal", yaml}},
		{"restore nothing", on("restore"), []string{"FILE is missing"}},
		{"restore two files", on("restore", m, yaml), []string{yaml}},
		{"restore no such file", on("restore", dir+"/x"), []string{dir + "/x"}},
		{"restore which label", on("restore", yaml), []string{yaml, "mixed"}},
		{"restore neither form", on("restore", file("t", "mig: on\n")), []string{dir + "/t", "not what export writes"}},
		{"restore a machine", on("restore", m), []string{m, "unknown field"}},
		{"restore two values", on("restore", layout(`{"schema":1,"gpus":[{"model":"a","uuid":"x"}]} {}`)), []string{"follows"}},
		{"restore another schema", on("restore", layout(`{"schema":3,"gpus":[]}`)), []string{"schema 3"}},
		{"restore no GPUs", on("restore", layout(`{"schema":1}`)), []string{"gpus"}},
		{"restore without model", on("restore", layout(`{"schema":1,"gpus":[{"index":0}]}`)), []string{"gpus[0].model"}},
		{"restore index twice", on("restore", layout(`{"schema":1,"gpus":[{"model":"a"},{"model":"b"}]}`)), []string{"gpus[1]", "twice"}},
		{"restore instances with MIG off", on("restore", layout(`{"schema":1,"gpus":[{"model":"a","instances":[{"profile":"1g.5gb"}]}]}`)), []string{"gpus[0].instances", "mig is false"}},
		{"restore on another board", on("restore", layout(`{"schema":1,"gpus":[{"model":"a100-40gb","uuid":"GPU-1","mig":true}]}`)), []string{"gpus[0]", `"GPU-1"`, "-by-index"}},
		{"restore on another model", on("restore", "-by-index", layout(`{"schema":1,"gpus":[{"model":"a30-24gb","mig":true}]}`)), []string{"gpus[0]", "a30-24gb", "a100-40gb"}},
		{"restore beyond the GPUs", on("restore", "-by-index", layout(`{"schema":1,"gpus":[{"index":5,"model":"a100-40gb"}]}`)), []string{"gpus[0]", `"5"`}},
		{"restore for nobody", on("restore", "-gpu", "1", "-by-index", layout(`{"schema":1,"gpus":[{"model":"a100-40gb"}]}`)), []string{"-gpu"}},
		{"restore what overlaps", on("restore", "-by-index", layout(`{"schema":1,"gpus":[{"model":"a100-40gb","mig":true,"instances":[{"profile":"3g.20gb","start":4},{"profile":"1g.5gb","start":5}]}]}`)), []string{"gpus[0]", "3g.20gb@4", "1g.5gb@5"}},
		{"restore at an illegal start", on("restore", "-by-index", layout(`{"schema":1,"gpus":[{"model":"a100-40gb","mig":true,"instances":[{"profile":"3g.20gb","start":2}]}]}`)), []string{"gpus[0]", "3g.20gb", "2"}},
		{"undo nothing", on("undo"), []string{"-journal", m + ".journal"}},
		{"undo of a preset", []string{"undo", "-fake", "dgx-a100"}, []string{"-fake", "preset"}},
		{"undo of one GPU", on("undo", "-gpu", "0"), []string{"-gpu"}},
		{"resume nothing", on("resume", "-journal", dir), []string{"-journal", dir}},
		{"init without file", []string{"init", "-fake", "dgx-a100"}, []string{"-to is missing"}},
		{"init over a file", []string{"init", "-fake", "dgx-a100", "-to", m}, []string{"-to", m}},
		{"init of two", []string{"init", "-fake", "dgx-a100", "-model", "a30-24gb", "-to", dir + "/new"}, []string{"-fake", "-model"}},
		{"init of no model", []string{"init", "-model", "a30-24gb,a31", "-to", dir + "/new"}, []string{"-model", `"a31"`}},
		{"init of unknown geometry", []string{"init", "-model", "thor-igpu", "-to", dir + "/new"}, []string{"-model", "thor-igpu"}},
		{"init on one GPU", []string{"init", "-fake", "dgx-a100", "-gpu", "0", "-to", dir + "/new"}, []string{"-gpu"}},
		{"init of a preset with MIG off", []string{"init", "-fake", "dgx-a100", "-mig=false", "-to", dir + "/new"}, []string{"-mig", "-model"}},
		{"reboot of a preset", []string{"reboot", "-fake", "dgx-a100"}, []string{"-fake", "dgx-a100"}},
		{"hold of no GPU", on("hold", "-gi", "0"), []string{"-gpu is missing"}},
		{"hold of another GPU", on("hold", "-gpu", "4", "-gi", "0"), []string{"-gpu", `"4"`}},
		{"reboot of a real machine", []string{"reboot", "-fake", m, "-nvml"}, []string{"-nvml"}},
		{"reboot of a GPU", on("reboot", "-gpu", "0"), []string{"-gpu"}},
		{"hold nothing", on("hold", "-gpu", "0", "-gi", "9"), []string{"-gi", "9"}},
		{"kill nobody", on("kill", "-pid", "1"), []string{"-pid", "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, args := range [][]string{c.args, append([]string{c.args[0], "-json"}, c.args[1:]...)} {
				status, out, errs := call(t, args...)
				assert.Equal(t, exitBad, status, "%s%s", out, errs)
				assert.Empty(t, out)
				assert.True(t, strings.HasPrefix(errs, "migctl"), errs)
				assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
				for _, s := range c.says {
					assert.Contains(t, errs, s)
				}
			}
		})
	}
	before := tree(t, dir)
	t.Cleanup(func() { // after the rows, which run in parallel
		after := tree(t, dir)
		for path, text := range before {
			assert.Equal(t, text, after[path], path)
		}
		assert.NotContains(t, after, dir+"/new")
	})
}

// failing is a standard output that is closed.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestOutputThatFails(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"state", "-fake", "dgx-a100"},
		{"state", "-fake", "dgx-a100", "-json"},
		{"verify", "-fake", "dgx-a100"},
		{"export", "-fake", "dgx-a100"},
		{"export", "-fake", "dgx-a100", "-json"},
		{"apply", "-fake", "dgx-a100", "-gpu", "0", "-want", "7g.80gb=2", "-json"},
	} {
		var errs bytes.Buffer
		assert.Equal(t, exitBad, run(t.Context(), args, strings.NewReader(""), failing{}, &errs), args)
		assert.NotEmpty(t, errs.String(), args)
	}
}

// TestNoDriver needs a machine without one, which is what tests run on.
func TestNoDriver(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t, "state", "-nvml")
	if status == exitDone {
		t.Skip("there is a driver here")
	}
	assert.Equal(t, exitBad, status)
	assert.Empty(t, out)
	assert.Contains(t, errs, "-nvml: no driver that answers")
	assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
}
