package timeslice_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/timeslice"
)

// fakeSMI keeps a level as a driver does, and what it was asked.
type fakeSMI struct {
	level     string
	format    string // of the listing, with the level's name
	refuse    string // printed instead of setting, with exit status 0 as some versions do
	exit      int
	err       error
	asked     []string
	toStderr  bool
	wrongArgs []string
}

func (f *fakeSMI) run(_ context.Context, name string, args ...string) (stdout, stderr []byte, exit int, err error) {
	f.asked = append(f.asked, name+" "+strings.Join(args, " "))
	if f.err != nil {
		return nil, nil, -1, f.err
	}
	text := ""
	switch {
	case f.refuse != "" || f.exit != 0:
		text = f.refuse
	case len(args) == 4 && args[0] == "compute-policy" && args[1] == "-i" && args[3] == "-l":
		text = strings.ReplaceAll(f.format, "LEVEL", f.level)
	case len(args) == 5 && args[0] == "compute-policy" && args[1] == "-i" && args[3] == "--set-timeslice":
		f.level = map[string]string{"0": "Default", "1": "Short", "2": "Medium", "3": "Long"}[args[4]]
		text = "Timeslice set\nAll done.\n"
	case len(args) == 4 && args[0] == "-i" && args[2] == "-c" && args[3] == "DEFAULT":
		text = "All done.\n"
	default:
		f.wrongArgs = append(f.wrongArgs, strings.Join(args, " "))
	}
	if f.toStderr {
		return nil, []byte(text), f.exit, nil
	}
	return []byte(text), nil, f.exit, nil
}

const table = "+-----------------+\n| GPU  Policy     Value  |\n|  0   Timeslice  LEVEL  |\n+-----------------+\n"

func TestSMIRoundTrip(t *testing.T) {
	t.Parallel()
	fake := &fakeSMI{level: "Default", format: table}
	s := timeslice.SMI{Run: fake.run, Program: "/opt/nvidia-smi"}
	for _, l := range timeslice.Levels() {
		require.NoError(t, s.SetLevel(t.Context(), "GPU-1", l))
		got, err := s.Level(t.Context(), "GPU-1")
		require.NoError(t, err)
		assert.Equal(t, timeslice.Listing{Level: l, Known: true, Text: strings.TrimSpace(strings.ReplaceAll(table, "LEVEL", l.String()))}, got)
	}
	require.NoError(t, s.SetDefaultMode(t.Context(), "00000000:65:00.0"))
	assert.Empty(t, fake.wrongArgs)
	assert.Equal(t, []string{
		"/opt/nvidia-smi compute-policy -i GPU-1 --set-timeslice 0",
		"/opt/nvidia-smi compute-policy -i GPU-1 -l",
		"/opt/nvidia-smi compute-policy -i GPU-1 --set-timeslice 1",
	}, fake.asked[:3])
	assert.Equal(t, "/opt/nvidia-smi -i 00000000:65:00.0 -c DEFAULT", fake.asked[8])
}

func TestSMIProbeChangesNothing(t *testing.T) {
	t.Parallel()
	fake := &fakeSMI{level: "Medium", format: table}
	s := timeslice.SMI{Run: fake.run}
	require.NoError(t, s.Probe(t.Context(), "0"))
	assert.Equal(t, "Medium", fake.level)
	assert.Equal(t, []string{"nvidia-smi compute-policy -i 0 -l", "nvidia-smi compute-policy -i 0 --set-timeslice 2"}, fake.asked)

	fake = &fakeSMI{level: "Medium", format: "policies: many"}
	s = timeslice.SMI{Run: fake.run}
	require.ErrorIs(t, s.Probe(t.Context(), "0"), timeslice.ErrUnknownLevel)
	assert.Len(t, fake.asked, 1, "it sets none that it does not know")
}

// What a version prints is not published: several forms are read, and a text that
// could mean two levels means none.
func TestSMIListings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Timeslice : Long":                              "Long",
		"    Time-slice config          : SHORT":        "Short",
		"| 0 | TIMESLICE | MEDIUM |\n| 0 | OTHER | x |": "Medium",
		"timeslice = 0":                                 "Default",
		"Time slice: 3 |":                               "Long",
		"":                                              "",
		"Timeslice":                                     "",
		"Timeslice: 7":                                  "",
		"Timeslice: 12":                                 "",
		"Compute mode: Default":                         "",
		"timeslice (0=DEFAULT, 1=SHORT, 2=MEDIUM)":      "",
		"GPU 0 timeslice: Short\nGPU 1 timeslice: Long": "",
		"Timeslice: Longer":                             "",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			fake := &fakeSMI{format: text, toStderr: true}
			got, err := timeslice.SMI{Run: fake.run}.Level(t.Context(), "0")
			require.NoError(t, err)
			assert.Equal(t, strings.TrimSpace(text), got.Text, "the text is kept")
			assert.Equal(t, want != "", got.Known)
			if got.Known {
				assert.Equal(t, want, got.Level.String())
			}
		})
	}
}

func TestSMIRefusals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		exit int
		is   error
	}{
		{"Setting timeslice is not supported for GPU 0000:01:00.0", 0, timeslice.ErrNotSupported},
		{"Not Supported", 3, timeslice.ErrNotSupported},
		{"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.", 1, timeslice.ErrNotSupported},
		{"Unable to set: Insufficient Permissions", 4, timeslice.ErrNoPermission},
		{"No devices were found", 6, timeslice.ErrNoDevice},
		{"something new", 12, nil},
		{"", 255, nil},
	} {
		t.Run(test.text, func(t *testing.T) {
			t.Parallel()
			fake := &fakeSMI{refuse: test.text, exit: test.exit}
			s := timeslice.SMI{Run: fake.run}
			for name, err := range map[string]error{
				"set":   s.SetLevel(t.Context(), "0", timeslice.LevelShort),
				"probe": s.Probe(t.Context(), "0"),
				"mode":  s.SetDefaultMode(t.Context(), "0"),
			} {
				var refused *timeslice.SMIError
				require.ErrorAs(t, err, &refused, name)
				assert.Equal(t, test.text, refused.Output)
				assert.Equal(t, test.exit, refused.Exit)
				assert.Contains(t, err.Error(), fmt.Sprintf("exit status %d", test.exit))
				for _, sentinel := range []error{timeslice.ErrNotSupported, timeslice.ErrNoPermission, timeslice.ErrNoDevice, timeslice.ErrInput} {
					assert.Equal(t, errors.Is(test.is, sentinel), errors.Is(err, sentinel), "%s: %v", name, sentinel)
				}
			}
			listing, err := s.Level(t.Context(), "0")
			require.Error(t, err)
			assert.Equal(t, timeslice.Listing{Text: test.text}, listing)
		})
	}
}

func TestSMIAsksNobody(t *testing.T) {
	t.Parallel()
	fake := &fakeSMI{}
	s := timeslice.SMI{Run: fake.run}
	require.ErrorIs(t, s.SetLevel(t.Context(), "MIG-1", timeslice.LevelShort), timeslice.ErrNotSupported)
	for _, gpu := range []string{"", "-q", "0,1", "0 1", "GPU-1\n", "all;", "--help"} {
		require.ErrorIs(t, s.SetLevel(t.Context(), gpu, timeslice.LevelShort), timeslice.ErrInput, gpu)
		require.ErrorIs(t, s.Probe(t.Context(), gpu), timeslice.ErrInput, gpu)
	}
	require.ErrorIs(t, s.SetLevel(t.Context(), "0", 4), timeslice.ErrInput)
	require.ErrorIs(t, timeslice.SMI{}.SetLevel(t.Context(), "0", 0), timeslice.ErrInput, "no runner")
	assert.Empty(t, fake.asked)

	broken := errors.New("no such program")
	s.Run = (&fakeSMI{err: broken}).run
	require.ErrorIs(t, s.SetLevel(t.Context(), "0", 0), broken)
	_, err := s.Level(t.Context(), "0")
	require.ErrorIs(t, err, broken)
}

func TestSMIErrorIsShort(t *testing.T) {
	t.Parallel()
	err := &timeslice.SMIError{Args: []string{"compute-policy"}, Exit: 1, Output: strings.Repeat("ä", 5000)}
	assert.Less(t, len(err.Error()), 600)
}

// TestExecChild is the program that the tests of Exec start.
func TestExecChild(t *testing.T) { //nolint:paralleltest // it is a program of its own
	switch os.Getenv("TIMESLICE_CHILD") {
	case "":
		t.Skip("the child of another test")
	case "fails":
		fmt.Print("out")
		fmt.Fprint(os.Stderr, "err")
		os.Exit(7)
	case "hangs":
		time.Sleep(time.Minute)
	case "chatters":
		for range 40 {
			fmt.Print(strings.Repeat("x", timeslice.MostOutput/20))
		}
		os.Exit(0)
	case "leaves":
		fmt.Print("done")
		left := exec.CommandContext(context.Background(), "sleep", "20") // it outlives this process
		left.Stdout = os.Stdout
		if err := left.Start(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
}

func TestExec(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("starts the child by way of env")
	}
	child := func(ctx context.Context, limit time.Duration, what string) (stdout, stderr []byte, exit int, err error) {
		return timeslice.Exec(limit)(ctx, "env", "TIMESLICE_CHILD="+what, os.Args[0], "-test.run=^TestExecChild$")
	}
	stdout, stderr, exit, err := child(t.Context(), time.Minute, "fails")
	require.NoError(t, err, "that it failed is in the exit status")
	assert.Equal(t, "out", string(stdout))
	assert.Equal(t, "err", string(stderr))
	assert.Equal(t, 7, exit)

	stdout, _, exit, err = child(t.Context(), 0, "chatters")
	require.NoError(t, err)
	assert.Zero(t, exit)
	assert.Len(t, stdout, timeslice.MostOutput)

	stdout, _, exit, err = child(t.Context(), time.Minute, "leaves")
	require.NoError(t, err, "what it left behind holds the output open")
	assert.Zero(t, exit)
	assert.Equal(t, "done", string(stdout))

	begin := time.Now()
	_, _, _, err = child(t.Context(), 300*time.Millisecond, "hangs")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Less(t, time.Since(begin), 30*time.Second)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, _, err = child(ctx, time.Minute, "hangs")
	require.ErrorIs(t, err, context.Canceled)

	_, _, exit, err = timeslice.Exec(time.Minute)(t.Context(), "/nowhere/nvidia-smi")
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Equal(t, -1, exit)
}

// A process that nothing kills is left alone some time after its limit, not before.
func TestExecOfWhatCannotBeKilled(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lives time.Duration
		ended bool
	}{{5 * time.Second, true}, {12 * time.Second, true}, {time.Hour, false}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			begin, done := time.Now(), make(chan error, 1)
			defer time.AfterFunc(test.lives, func() { done <- os.ErrClosed }).Stop()
			ended, err := timeslice.Await(ctx, done)
			assert.Equal(t, test.ended, ended)
			if ended {
				require.ErrorIs(t, err, os.ErrClosed)
			}
			assert.Equal(t, min(test.lives, 13*time.Second), time.Since(begin))
		})
	}
}
