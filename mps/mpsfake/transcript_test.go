//go:build linux

package mpsfake_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// transcript keeps what a client and a daemon said to each other: every run of the
// program, and what the client's method made of it.
type transcript struct {
	t     *testing.T
	hide  *strings.Replacer // of the directories
	under mps.Runner

	mu   sync.Mutex
	text strings.Builder
	said map[string]bool // commands that were sent, by their words
}

// newTranscript starts a daemon, whose PIDs are the same in every run, and gives a
// client that writes down all it does.
func newTranscript(t *testing.T, o mpsfake.Options) (*transcript, *mpsfake.Process, *mps.Client) {
	t.Helper()
	o.Setup.Config.PID = 7001
	o.Setup.Config.GPUs = []mpsfake.GPU{
		{UUID: "GPU-3f5b7c91-26d8-4e0a-9b14-c8d7a6e5f201", Name: "NVIDIA H100 80GB HBM3", SMs: 132, MemoryMiB: 81559, ChunkSMs: 8, Chunks: 15},
		{UUID: "GPU-8a1d2e3f-4b5c-6d7e-8f90-a1b2c3d4e5f6", Name: "NVIDIA A100-SXM4-40GB", SMs: 108, MemoryMiB: 40960, ChunkSMs: 4, Chunks: 27},
	}
	p, x := start(t, o)
	s := &transcript{
		t: t, under: x, hide: strings.NewReplacer(p.Pipe, "<pipe>", p.Log, "<log>"), said: map[string]bool{},
	}
	return s, p, mps.New(s, mps.Options{Timeout: patience, Identity: mps.PIDFile(p.Pipe)})
}

// Run implements mps.Runner.
func (s *transcript) Run(ctx context.Context, c mps.Call) (mps.Output, error) {
	out, err := s.under.Run(ctx, c)
	command := strings.TrimSuffix(c.Input, "\n")
	if len(c.Args) > 0 {
		command = mps.Program + " " + strings.Join(c.Args, " ")
		s.said[strings.Join(c.Args[:min(2, len(c.Args))], " ")] = true
	} else {
		word, rest, _ := strings.Cut(command, " ")
		if word == "sm_partition" {
			verb, _, _ := strings.Cut(rest, " ")
			word += " " + verb
		}
		s.said[word] = true
	}
	s.printf("$ %s\n", command)
	s.lines("  ", out.Stdout)
	s.lines("2>", out.Stderr)
	if err != nil {
		s.printf("  no end: %v\n", err)
	} else if out.Exit != 0 {
		s.printf("  exit status %d\n", out.Exit)
	}
	return out, err
}

func (s *transcript) lines(mark, text string) {
	for line := range strings.Lines(text) {
		s.printf("%s%s", mark, line)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		s.printf("(no newline)\n")
	}
}

func (s *transcript) printf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.text, format, args...)
}

// title begins a part.
func (s *transcript) title(text string) { s.printf("\n# %s\n", text) }

// result writes down what a method made of the runs.
func (s *transcript) result(v any, err error) {
	var op *mps.OpError
	switch stringer, ok := v.(fmt.Stringer); {
	case errors.As(err, &op):
		s.printf("! %s\n", op.Kind)
	case err != nil:
		s.printf("! %v\n", err)
	case ok:
		s.printf("= %v\n", stringer)
	case v == nil:
		s.printf("= done\n")
	default:
		text, err := json.Marshal(v)
		require.NoError(s.t, err)
		s.printf("= %s\n", text)
	}
}

// did is result for a method that has none.
func (s *transcript) did(err error) { s.result(nil, err) }

// connect is a client that connects, and how it stands then.
func (s *transcript) connect(p *mpsfake.Process, c mpsfake.Client) {
	s.t.Helper()
	a, err := p.Connect(c)
	require.NoError(s.t, err)
	s.stands("connects", c.PID, a)
}

func (s *transcript) stands(what string, pid int, a mpsfake.Attachment) {
	s.printf("* client %d %s: %v", pid, what, a.State)
	if a.Code != 0 {
		s.printf(", CUDA error %d", a.Code)
	}
	if a.Server != 0 {
		s.printf(", server %d", a.Server)
	}
	for _, share := range a.Shares {
		s.printf(", device %d: %d SMs", share.Ordinal, share.SMs)
		if share.LimitMiB != 0 {
			s.printf(" and %d MiB", share.LimitMiB)
		}
	}
	s.printf("\n")
}

// look is how a client stands now.
func (s *transcript) look(p *mpsfake.Process, pid int) {
	s.t.Helper()
	a, known, err := p.Client(pid)
	require.NoError(s.t, err)
	require.True(s.t, known)
	s.stands("stands", pid, a)
}

// event is something that happens to the daemon.
func (s *transcript) event(what string, err error) {
	s.t.Helper()
	require.NoError(s.t, err)
	s.printf("* %s\n", what)
}

var stamp = regexp.MustCompile(`(?m)^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} `)

// logs writes down the log files, without their times.
func (s *transcript) logs(p *mpsfake.Process) {
	s.t.Helper()
	err := filepath.WalkDir(p.Log, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		s.title(strings.TrimPrefix(path, p.Log+"/"))
		s.lines("", stamp.ReplaceAllString(string(text), "[<time> "))
		return err
	})
	require.NoError(s.t, err)
}

// compare is the end: the text against the file, and the commands against the list.
func (s *transcript) compare(name string, commands []string) {
	s.t.Helper()
	for _, c := range commands {
		require.True(s.t, s.said[c], "%s was not sent", c)
	}
	got := strings.TrimLeft(s.hide.Replace(s.text.String()), "\n")
	path := filepath.Join("testdata", "transcript-"+name+".txt")
	if *update {
		require.NoError(s.t, os.MkdirAll("testdata", 0o755))
		require.NoError(s.t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(s.t, err)
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i, line := range gotLines {
		require.Less(s.t, i, len(wantLines), "%s ends before %q; -update rewrites it", path, line)
		require.Equal(s.t, wantLines[i], line, "%s, line %d; -update rewrites it", path, i+1)
	}
	require.Len(s.t, gotLines, len(wantLines), "%s goes on", path)
}
