package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// replySets names how the fake words what is not published, in the order of
// mpsfake.Placeholders.
var replySets = []string{"quiet", "wordy", "failing", "silent"}

// The two GPUs of the fake: one with clients, one without.
const (
	firstGPU  = "GPU-3f5b7c91-26d8-4e0a-9b14-c8d7a6e5f201"
	secondGPU = "GPU-8a1d2e3f-4b5c-6d7e-8f90-a1b2c3d4e5f6"
)

// script is what a stage is set up with.
type script struct {
	config mpsfake.Config
	dir    string // for the program and its directories; "": a temporary one, removed at the end
	memory bool   // a daemon in this process, where none can be in a process of its own
}

// fakeConfig is the daemon of -fake.
func (inv *invocation) fakeConfig(static bool) script {
	return script{config: mpsfake.Config{
		GPUs: []mpsfake.GPU{
			{UUID: firstGPU, Name: "NVIDIA H100 80GB HBM3", SMs: 132, MemoryMiB: 81559, ChunkSMs: 8, Chunks: 15},
			{UUID: secondGPU, Name: "NVIDIA A100-SXM4-40GB", SMs: 108, MemoryMiB: 40960, ChunkSMs: 4},
		},
		Protocol:           max(inv.protocol, 2),
		Placeholders:       mpsfake.Placeholders(slices.Index(replySets, inv.replies)), //nolint:gosec // one of four
		StaticPartitioning: static && inv.protocol != 3,
		PID:                7001,
	}}
}

// stage is a fake daemon and what plays its clients.
type stage struct {
	runner      mps.Runner
	identity    mps.IdentityFunc
	directories mps.Directories
	program     string // "" if there is none
	static      bool
	actors      actors
	end         []func() error // from the last to the first
}

// actors are the hooks of a fake daemon, be it in this process or in one of its own.
type actors interface {
	Connect(c mpsfake.Client) (mpsfake.Attachment, error)
	Disconnect(pid int) error
	Fault(server int, devices ...int) error
}

// startStage starts a fake daemon: over a process boundary where the system has what
// that takes, otherwise in memory.
func startStage(ctx context.Context, s script) (*stage, error) {
	st := &stage{static: s.config.StaticPartitioning}
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "mpsctl")
		if err != nil {
			return nil, err
		}
		s.dir = dir
		st.end = append(st.end, func() error { return os.RemoveAll(dir) })
	}
	st.directories = mps.Directories{Pipe: filepath.Join(s.dir, "pipe"), Log: filepath.Join(s.dir, "log")}
	err := errors.ErrUnsupported
	if !s.memory {
		err = st.startProcess(ctx, s)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		err = st.startInMemory(s)
	}
	if err != nil {
		st.close()
		return nil, err
	}
	return st, nil
}

func (st *stage) startProcess(ctx context.Context, s script) error {
	program, err := st.link(s.dir)
	if err != nil {
		return err
	}
	st.end = append(st.end, func() error { return os.Remove(program) })
	if err := st.directories.Check(); err != nil {
		return err
	}
	p, err := mpsfake.Start(ctx, mpsfake.Options{
		Program: program, Pipe: st.directories.Pipe, Log: st.directories.Log,
		Setup: mpsfake.Setup{Config: s.config},
	})
	if err != nil {
		return err
	}
	st.end = append(st.end, p.Stop)
	st.program, st.actors = program, p
	st.runner = &mps.Exec{Path: program, Directories: st.directories}
	st.identity = mps.PIDFile(st.directories.Pipe)
	return nil
}

// link makes the program. A link that a fake daemon left which was killed is replaced.
func (st *stage) link(dir string) (string, error) {
	program, err := mpsfake.Link(dir)
	if errors.Is(err, fs.ErrExist) {
		if id, err := mps.PIDFile(st.directories.Pipe)(); err == nil {
			return "", fmt.Errorf("daemon %d runs in %s already", id.PID, dir)
		}
		if _, err := os.Readlink(program); err != nil {
			return "", fmt.Errorf("%s is in the way: no link that a fake daemon left", program)
		}
		if err := os.Remove(program); err != nil {
			return "", err
		}
		program, err = mpsfake.Link(dir)
	}
	if err != nil {
		return "", errors.Join(errors.ErrUnsupported, err) // a system without links
	}
	return program, nil
}

func (st *stage) startInMemory(s script) error {
	s.config.PipeDirectory = st.directories.Pipe
	d, err := mpsfake.New(s.config)
	if err != nil {
		return err
	}
	st.runner = &logged{daemon: d, dir: st.directories.Log, written: map[string]int{}}
	st.actors, st.identity = d, d.PIDFile
	return nil
}

func (st *stage) close() {
	for _, f := range slices.Backward(st.end) {
		_ = f() // what is left of a fake does no harm
	}
	st.end = nil
}

// populate starts the two clients. Under static partitioning each is in a partition of
// its own, and a third one is free.
func (st *stage) populate(ctx context.Context, c *mps.Client) error {
	envs := []map[string]string{{"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "0"}}
	if st.static {
		for i, chunks := range []int{4, 4, 7} {
			gpu := firstGPU
			if i >= len(envs) {
				gpu = secondGPU
			}
			p, err := c.AddPartition(ctx, gpu, chunks)
			if err != nil {
				return fmt.Errorf("-fake: %w", err)
			}
			if i < len(envs) {
				envs[i]["CUDA_MPS_SM_PARTITION"] = p.String()
			}
		}
	}
	for i, env := range envs {
		_, err := st.actors.Connect(mpsfake.Client{PID: 501 + i, UID: 1000, Command: []string{"./train", "./infer"}[i], Env: env})
		if err != nil {
			return fmt.Errorf("-fake: %w", err)
		}
	}
	return nil
}

// logged is a fake in memory that also writes its logs to files.
type logged struct {
	daemon  *mpsfake.Daemon
	dir     string
	written map[string]int
	turn    sync.Mutex
}

func (l *logged) Run(ctx context.Context, c mps.Call) (mps.Output, error) {
	out, err := l.daemon.Run(ctx, c)
	l.turn.Lock()
	defer l.turn.Unlock()
	for _, name := range l.daemon.LogFiles() {
		text := l.daemon.LogFrom(name, l.written[name])
		if text == "" {
			continue
		}
		if werr := appendTo(filepath.Join(l.dir, filepath.FromSlash(name)), text); werr != nil {
			return out, errors.Join(err, werr)
		}
		l.written[name] += len(text)
	}
	return out, err
}

func appendTo(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// usable is how the fake is reached by hand.
func (st *stage) usable() string {
	return strings.Join([]string{"-pipe", st.directories.Pipe, "-log", st.directories.Log, "-program", st.program}, " ")
}
