package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gpushare/gpushare/nvmlfake"
)

type fakeAnswer struct {
	Schema  int    `json:"schema"`
	Command string `json:"command"`
	File    string `json:"file"`
	Machine string `json:"machine"` // for people
}

// initialise writes a machine to a new file.
func initialise(_ context.Context, inv *invocation, args []string) error {
	to := inv.flags.String("to", "", "")
	models := inv.flags.String("models", "", "")
	on := inv.flags.Bool("mig", true, "")
	seed := inv.flags.Uint64("seed", 0, "")
	if err := inv.parse(args, 0, "to"); err != nil {
		return err
	}
	which, err := inv.exactlyOne("fake", "models")
	if err != nil {
		return err
	}
	if err := inv.noMachineFlags(); err != nil {
		return err
	}
	var f *fakeMachine
	if which == "fake" {
		if inv.given("mig") || inv.given("seed") {
			return errors.New("-mig and -seed are for -models")
		}
		if f, err = openFake(inv.fake); err != nil {
			return fmt.Errorf("-fake: %w", err)
		}
	} else {
		config := nvmlfake.Config{Seed: *seed}
		for model := range strings.SplitSeq(*models, ",") {
			config.GPUs = append(config.GPUs, nvmlfake.GPU{Model: model, MIG: *on})
		}
		server, err := nvmlfake.New(config)
		if err != nil {
			return fmt.Errorf("-models: %w", err)
		}
		f = &fakeMachine{server: server}
	}
	text, err := f.snapshot()
	if err != nil {
		return err
	}
	if err := createFile(*to, text); err != nil {
		return fmt.Errorf("-to: %w", err)
	}
	f.path = *to
	return inv.told("init", f)
}

// noMachineFlags refuses the flags that say nothing where a machine is made.
func (inv *invocation) noMachineFlags() error {
	if inv.nvml || inv.given("gpu") {
		return errors.New("-nvml and -gpu are not for this command")
	}
	return nil
}

// told prints what a command on a fake machine has made of it.
func (inv *invocation) told(command string, f *fakeMachine) error {
	_, text, _ := strings.Cut(f.server.String(), "\n") // without the count of the library's users
	return inv.print(fakeAnswer{Schema: schema, Command: command, File: f.path, Machine: text}, func() string {
		return f.path + "\n" + strings.TrimSuffix(text, "\n") + "\n"
	})
}

// onFile runs a command on a fake machine that is kept in a file.
func (inv *invocation) onFile(command string, args []string, required []string, f func(*nvmlfake.Server) error) error {
	if err := inv.parse(args, 0, append([]string{"fake"}, required...)...); err != nil {
		return err
	}
	if inv.nvml {
		return errors.New("-nvml: this command is for a fake machine")
	}
	m, err := openFake(inv.fake)
	if err != nil {
		return fmt.Errorf("-fake: %w", err)
	}
	if m.path == "" {
		return fmt.Errorf("-fake: the preset %s keeps nothing; give a file, see init", inv.fake)
	}
	if err := f(m.server); err != nil {
		return err
	}
	if err := m.save(); err != nil {
		return err
	}
	return inv.told(command, m)
}

// index returns the index of -gpu.
func (inv *invocation) index(s *nvmlfake.Server) (int, error) {
	snap := s.Snapshot()
	for i, g := range snap.GPUs {
		if inv.gpus == fmt.Sprint(i) || strings.EqualFold(inv.gpus, g.UUID) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("-gpu: %q is neither an index nor a UUID of the %d GPUs", inv.gpus, len(snap.GPUs))
}

// reset resets a GPU.
func reset(_ context.Context, inv *invocation, args []string) error {
	return inv.onFile("reset", args, []string{"gpu"}, func(s *nvmlfake.Server) error {
		index, err := inv.index(s)
		if err != nil {
			return err
		}
		err = s.Reset(index)
		if errors.Is(err, nvmlfake.ErrHeld) {
			return &noError{"busy", err}
		}
		return err
	})
}

// reboot restarts the machine.
func reboot(_ context.Context, inv *invocation, args []string) error {
	return inv.onFile("reboot", args, nil, func(s *nvmlfake.Server) error {
		if inv.given("gpu") {
			return errors.New("-gpu: the whole machine is rebooted")
		}
		s.Reboot()
		return nil
	})
}

// hold lets a process run in a MIG device.
func hold(_ context.Context, inv *invocation, args []string) error {
	gi := inv.flags.Int("gi", 0, "")
	ci := inv.flags.Int("ci", 0, "")
	h := nvmlfake.Holder{}
	inv.flags.IntVar(&h.PID, "pid", 4242, "")
	inv.flags.StringVar(&h.Name, "name", "train", "")
	inv.flags.IntVar(&h.MemoryMiB, "mib", 0, "")
	return inv.onFile("hold", args, []string{"gpu", "gi"}, func(s *nvmlfake.Server) error {
		index, err := inv.index(s)
		if err == nil {
			if _, err = s.HoldCompute(index, *gi, *ci, h); err != nil {
				err = fmt.Errorf("-gi, -ci, -pid, -name, -mib: %w", err)
			}
		}
		return err
	})
}

// kill ends a process.
func kill(_ context.Context, inv *invocation, args []string) error {
	pid := inv.flags.Int("pid", 0, "")
	return inv.onFile("kill", args, []string{"pid"}, func(s *nvmlfake.Server) error {
		if s.Kill(*pid) == 0 {
			return fmt.Errorf("-pid: process %d holds nothing", *pid)
		}
		return nil
	})
}
