package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig/device"
)

// stage is a machine before a change that has several steps.
type stage struct {
	name   string
	models string
	before map[string]string // -want, by -gpu
	change []string
	after  []string
}

func stages(t *testing.T) []stage {
	t.Helper()
	return []stage{
		{
			"instances of two GPUs", "a100-40gb,a100-40gb",
			map[string]string{"0": "3g.20gb=1,1g.5gb=2", "1": "1c.3g.20gb=2"},
			[]string{"apply", "-gpu", "0,1", "-want", "4g.20gb=1,1c.2g.10gb=2"},
			[]string{"4g.20gb@0 2g.10gb@4/1c.2g.10gb@0/1c.2g.10gb@1", "4g.20gb@0 2g.10gb@4/1c.2g.10gb@0/1c.2g.10gb@1"},
		},
		{
			"MIG off", "a100-40gb,h100-80gb-sxm5",
			map[string]string{"0": "3g.20gb=2", "1": "1g.10gb=2"},
			[]string{"apply", "-f", write(t, config), "-label", "off"},
			[]string{"off", "off"},
		},
	}
}

// begin makes the machine of a stage.
func (s stage) begin(t *testing.T) (file string, before []string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "m.json")
	done(t, "init", "-model", s.models, "-to", file)
	for gpu, want := range s.before {
		done(t, "apply", "-fake", file, "-gpu", gpu, "-want", want)
	}
	return file, gpuStates(t, file)
}

// TestCrash crashes after every step of a change, and then resumes or undoes it.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, s := range stages(t) {
		for _, way := range []string{"resume", "undo"} {
			t.Run(s.name+"/"+way, func(t *testing.T) {
				t.Parallel()
				for k := 1; ; k++ {
					file, before := s.begin(t)
					status, out, errs := call(t, append(s.change, "-fake", file, "-crash-after", fmt.Sprint(k))...)
					require.Empty(t, errs)
					if status == exitDone {
						require.Greater(t, k, 4, "it has so many steps")
						require.Equal(t, s.after, gpuStates(t, file))
						return
					}
					require.Equal(t, exitNo, status, out)
					require.Contains(t, out, fmt.Sprintf("ended after %d steps, as a crash would", k))

					crashed := tree(t, filepath.Dir(file))
					no := answer[noAnswer](t, exitNo, "apply", "-fake", file, "-gpu", "0", "-want", "1c.7g."+map[string]string{"a": "40gb", "h": "80gb"}[s.models[:1]]+"=3")
					require.Equal(t, "unfinished", no.Reason.Kind)
					_, out, _ = call(t, "apply", "-fake", file, "-gpu", "0", "-want", "none")
					require.True(t, strings.HasPrefix(out, "apply: no\nreason: unfinished: "), out)
					require.Equal(t, crashed, tree(t, filepath.Dir(file)), "nothing else is done over it")

					answer[recordAnswer](t, exitDone, way, "-fake", file)
					want := s.after
					if way == "undo" {
						want = before
					}
					require.Equal(t, want, gpuStates(t, file), "after a crash at step %d", k)
					done(t, "apply", "-fake", file, "-gpu", "0", "-want", "none")
				}
			})
		}
	}
}

// TestCrashOnTheWayBack: undo can crash too, and be undone or resumed.
func TestCrashOnTheWayBack(t *testing.T) {
	t.Parallel()
	s := stages(t)[0]
	file, before := s.begin(t)
	done(t, append(s.change, "-fake", file)...)
	status, _, _ := call(t, "undo", "-fake", file, "-crash-after", "3")
	require.Equal(t, exitNo, status)
	done(t, "undo", "-fake", file)
	assert.Equal(t, before, gpuStates(t, file))
	status, _, _ = call(t, "resume", "-fake", file, "-crash-after", "2")
	require.Equal(t, exitNo, status)
	done(t, "resume", "-fake", file)
	assert.Equal(t, s.after, gpuStates(t, file))
}

// TestTornJournal: a record that was cut off, even its first line, is no obstacle.
func TestTornJournal(t *testing.T) {
	t.Parallel()
	for _, keep := range []int{0, 10} {
		s := stages(t)[0]
		file, before := s.begin(t)
		status, _, _ := call(t, append(s.change, "-fake", file, "-crash-after", "1")...)
		require.Equal(t, exitNo, status)
		b, err := readBook(file + ".journal")
		require.NoError(t, err)
		// GPU 1 had not begun: as if it had crashed while writing its first line.
		path := filepath.Join(b.dir, b.GPUs[1].Journal)
		require.NoError(t, os.WriteFile(path, []byte(`{"schema":1,"gpu":"GPU-"`)[:keep], 0o600))
		path = filepath.Join(b.dir, b.GPUs[0].Journal)
		require.NoError(t, os.WriteFile(path, []byte(read(t, path)+`{"phase":"beg`), 0o600))
		done(t, "resume", "-fake", file)
		require.Equal(t, s.after, gpuStates(t, file))
		done(t, "undo", "-fake", file)
		require.Equal(t, before, gpuStates(t, file))
	}
}

func TestBadRecord(t *testing.T) {
	t.Parallel()
	s := stages(t)[0]
	file, _ := s.begin(t)
	done(t, append(s.change, "-fake", file)...)
	dir := file + ".journal"
	good := read(t, filepath.Join(dir, bookName))
	for _, c := range []struct{ name, from, to, says string }{
		{"schema", `"schema": 1,
  "serial"`, `"schema": 2,
  "serial"`, "schema 2, not 1"},
		{"unknown field", `"serial"`, `"series"`, "series"},
		{"journal elsewhere", `"journal": "`, `"journal": "../`, "gpus[0]"},
		{"no UUID", `"uuid": "GPU-`, `"uuid": "", "journal": "GPU-`, "gpus[0]"},
		{"plan of another schema", `"plan": {
        "schema": 1`, `"plan": {
        "schema": 7`, "7"},
		{"text after it", "\n}\n", "\n}\n{}", "follows"},
	} {
		require.Contains(t, good, c.from, c.name)
		require.NoError(t, os.WriteFile(filepath.Join(dir, bookName), []byte(strings.Replace(good, c.from, c.to, 1)), 0o600))
		before := tree(t, filepath.Dir(file))
		for _, args := range [][]string{{"undo"}, {"resume"}, {"apply", "-gpu", "0", "-want", "none"}} {
			status, out, errs := call(t, append(args, "-fake", file)...)
			assert.Equal(t, exitBad, status, "%s: %s", c.name, out)
			assert.Contains(t, errs, "-journal", c.name)
			assert.Contains(t, errs, c.says, c.name)
		}
		assert.Equal(t, before, tree(t, filepath.Dir(file)), c.name)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, bookName), []byte(good), 0o600))
	other := newMachine(t, "a100-40gb")
	answer := answer[recordAnswer](t, exitNo, "undo", "-fake", other, "-journal", dir)
	assert.Contains(t, answer.GPUs[0].Error, "neither an index nor a UUID", "a record of another machine")
	assert.Equal(t, []string{"empty"}, gpuStates(t, other))
}

// TestForeignInstance: undo does not touch what somebody else has made meanwhile.
func TestForeignInstance(t *testing.T) {
	t.Parallel()
	file := newMachine(t, "a100-40gb")
	elsewhere := filepath.Join(t.TempDir(), "journal")
	done(t, "apply", "-fake", file, "-want", "3g.20gb=1")
	done(t, "apply", "-fake", file, "-want", "3g.20gb=1,1g.5gb=1", "-journal", elsewhere)
	got := answer[recordAnswer](t, exitNo, "undo", "-fake", file)
	assert.False(t, got.Done)
	assert.Contains(t, got.GPUs[0].Error, device.ErrChanged.Error())
	assert.Equal(t, []string{"1g.5gb@0 3g.20gb@4"}, gpuStates(t, file))
	done(t, "undo", "-fake", file, "-journal", elsewhere)
	done(t, "undo", "-fake", file)
	assert.Equal(t, []string{"empty"}, gpuStates(t, file))
}

// TestRestore: a layout with divided instances stands again after a reboot, on
// the same boards by UUID and on others by index.
func TestRestore(t *testing.T) {
	t.Parallel()
	file := newMachine(t, "a100-40gb", "h100-80gb-sxm5", "a30-24gb")
	done(t, "apply", "-fake", file, "-gpu", "0", "-want", "1c.3g.20gb=2,2g.10gb=1,1g.5gb+me=1")
	done(t, "apply", "-fake", file, "-gpu", "1", "-want", "1g.10gb=3,3g.40gb=1")
	before := gpuStates(t, file)
	layout := write(t, done(t, "export", "-fake", file, "-json"))
	assert.Contains(t, done(t, "restore", "-fake", file, layout), "GPU 2: nothing to do\n")

	done(t, "reboot", "-fake", file)
	rebooted := gpuStates(t, file)
	assert.Equal(t, []string{"empty", "off", "empty"}, rebooted)
	dry := answer[changeAnswer](t, exitDone, "restore", layout, "-fake", file, "-dry-run")
	assert.Equal(t, "restore", dry.Command)
	assert.Equal(t, rebooted, gpuStates(t, file))
	got := answer[changeAnswer](t, exitDone, "restore", "-fake", file, layout)
	assert.True(t, got.Done)
	assert.Equal(t, before, gpuStates(t, file))
	done(t, "undo", "-fake", file)
	assert.Equal(t, rebooted, gpuStates(t, file))

	done(t, "apply", "-fake", file, "-gpu", "0", "-want", "1c.3g.20gb=2,2g.10gb=1,1g.5gb+me=1")
	counted := write(t, done(t, "export", "-fake", file))
	done(t, "reboot", "-fake", file)
	done(t, "restore", "-fake", file, counted)
	done(t, "assert", "-fake", file, "-f", counted, "-strict")
	done(t, "reboot", "-fake", file)

	twin := newMachine(t, "a100-40gb", "h100-80gb-sxm5", "a30-24gb")
	var machine map[string]any
	require.NoError(t, json.Unmarshal([]byte(read(t, twin)), &machine))
	for _, g := range machine["gpus"].([]any) {
		delete(g.(map[string]any), "uuid")
	}
	machine["seed"] = 9
	edited, err := json.Marshal(machine)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(twin, edited, 0o600))
	status, _, errs := call(t, "restore", "-fake", twin, layout)
	assert.Equal(t, exitBad, status)
	assert.Contains(t, errs, "-by-index")
	done(t, "restore", "-fake", twin, layout, "-by-index", "-gpu", "1")
	assert.Equal(t, []string{"empty", before[1], "empty"}, gpuStates(t, twin))
	done(t, "restore", "-fake", twin, layout, "-by-index")
	assert.Equal(t, before, gpuStates(t, twin))
}

// TestRestoreBusy: what is in use and not in the file stays, and restore says no.
func TestRestoreBusy(t *testing.T) {
	t.Parallel()
	file := newMachine(t, "a30-24gb")
	layout := write(t, done(t, "export", "-fake", file, "-json"))
	done(t, "apply", "-fake", file, "-want", "4g.24gb=1")
	done(t, "hold", "-fake", file, "-gpu", "0", "-gi", "0")
	before := tree(t, filepath.Dir(file))
	got := answer[changeAnswer](t, exitNo, "restore", "-fake", file, layout)
	assert.Equal(t, "busy", got.GPUs[0].Reason.Kind)
	assert.Equal(t, before, tree(t, filepath.Dir(file)))
	done(t, "kill", "-fake", file, "-pid", "4242")
	done(t, "restore", "-fake", file, layout)
	assert.Equal(t, []string{"empty"}, gpuStates(t, file))
}
