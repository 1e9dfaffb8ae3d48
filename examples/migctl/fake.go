package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/files"
	"github.com/gpushare/gpushare/nvmlfake"
)

type fakeAnswer struct {
	Schema  int    `json:"schema"`
	Command string `json:"command"`
	File    string `json:"file"`
}

// initialise writes a machine to a new file.
func initialise(_ context.Context, inv *invocation, args []string) error {
	to := inv.Flags.String("to", "", "")
	models := inv.Flags.String("model", "", "")
	on := inv.Flags.Bool("mig", true, "")
	if err := inv.parse(args, 0, "to"); err != nil {
		return err
	}
	which, err := inv.ExactlyOne("fake", "model")
	if err != nil {
		return err
	}
	if inv.nvml || inv.Given("gpu") {
		return errors.New("-nvml and -gpu are not for this command")
	}
	var f *fakeMachine
	if which == "fake" {
		if inv.Given("mig") {
			return errors.New("-mig is for -model")
		}
		if f, err = openFake(inv.fake); err != nil {
			return fmt.Errorf("-fake: %w", err)
		}
	} else {
		config := nvmlfake.Config{}
		for model := range strings.SplitSeq(*models, ",") {
			config.GPUs = append(config.GPUs, nvmlfake.GPU{Model: model, MIG: *on})
		}
		server, err := nvmlfake.New(config)
		if err != nil {
			return fmt.Errorf("-model: %w", err)
		}
		f = &fakeMachine{server: server}
	}
	text, err := f.snapshot()
	if err != nil {
		return err
	}
	if err := files.Create(*to, text); err != nil {
		return fmt.Errorf("-to: %w", err)
	}
	return inv.wrote("init", *to)
}

// wrote says which file a command on a fake machine has written.
func (inv *invocation) wrote(command, file string) error {
	return inv.Print(fakeAnswer{Schema: schema, Command: command, File: file}, func() string {
		return fmt.Sprintf("%s: written to %s\n", command, file)
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
	return inv.wrote(command, m.path)
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

// reboot restarts the machine.
func reboot(_ context.Context, inv *invocation, args []string) error {
	return inv.onFile("reboot", args, nil, func(s *nvmlfake.Server) error {
		if inv.Given("gpu") {
			return errors.New("-gpu: the whole machine is rebooted")
		}
		s.Reboot()
		return nil
	})
}

// hold lets a process run in a MIG device.
func hold(_ context.Context, inv *invocation, args []string) error {
	gi := inv.Flags.Int("gi", 0, "")
	ci := inv.Flags.Int("ci", 0, "")
	h := nvmlfake.Holder{}
	inv.Flags.IntVar(&h.PID, "pid", 4242, "")
	inv.Flags.StringVar(&h.Name, "name", "train", "")
	inv.Flags.IntVar(&h.MemoryMiB, "mib", 0, "")
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
	pid := inv.Flags.Int("pid", 0, "")
	return inv.onFile("kill", args, []string{"pid"}, func(s *nvmlfake.Server) error {
		if s.Kill(*pid) == 0 {
			return fmt.Errorf("-pid: process %d holds nothing", *pid)
		}
		return nil
	})
}
