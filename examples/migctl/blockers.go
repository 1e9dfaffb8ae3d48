package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gpushare/gpushare/mig/device"
)

type blockersAnswer struct {
	Schema int           `json:"schema"`
	Held   bool          `json:"held"` // a process is listed
	GPUs   []gpuBlockers `json:"gpus"`
}

type gpuBlockers struct {
	Index     int              `json:"index"`
	UUID      string           `json:"uuid"`
	Listed    bool             `json:"listed"` // false: the device lists no processes
	Processes []device.Blocker `json:"processes"`
}

// unseen says what a list of processes does not show.
const unseen = `NVML lists processes with a compute or graphics context. A monitor with an open
handle, nvidia-persistenced or a kernel module can hold a GPU without being listed.
`

// blockers lists who holds the GPUs.
func blockers(ctx context.Context, inv *invocation, args []string) error {
	if err := inv.parseMachine(args, 0); err != nil {
		return err
	}
	return inv.with(ctx, func(_ *machine, gpus []*gpu) error {
		answer := blockersAnswer{Schema: schema, GPUs: []gpuBlockers{}}
		for _, g := range gpus {
			if g.err != nil {
				return g.err
			}
			b := gpuBlockers{Index: g.index, UUID: g.uuid, Processes: []device.Blocker{}}
			if g.dev != nil {
				list, err := g.dev.Blockers(ctx)
				if err != nil && !errors.Is(err, device.ErrNotSupported) {
					return fmt.Errorf("GPU %d: %w", g.index, err)
				}
				b.Listed = err == nil
				b.Processes = append(b.Processes, list...)
			}
			answer.Held = answer.Held || len(b.Processes) > 0
			answer.GPUs = append(answer.GPUs, b)
		}
		return inv.Answer(!answer.Held, answer, func() string {
			var b strings.Builder
			for _, g := range answer.GPUs {
				switch {
				case !g.Listed:
					fmt.Fprintf(&b, "GPU %d: its processes cannot be listed\n", g.Index)
				case len(g.Processes) == 0:
					fmt.Fprintf(&b, "GPU %d: no process is listed\n", g.Index)
				}
				for _, p := range g.Processes {
					fmt.Fprintf(&b, "GPU %d: %s\n", g.Index, p)
				}
			}
			return b.String() + "\n" + unseen
		})
	})
}
