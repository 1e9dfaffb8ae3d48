package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/examples/internal/draw"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
)

type stateAnswer struct {
	Schema int        `json:"schema"`
	GPUs   []gpuState `json:"gpus"`
}

type gpuState struct {
	Index      int             `json:"index"`
	UUID       string          `json:"uuid"`
	Product    string          `json:"product"`
	Model      string          `json:"model"` // key of its table; empty: none
	MIGCapable bool            `json:"migCapable"`
	Mode       *modeInfo       `json:"mode,omitempty"`
	Instances  []instanceState `json:"instances"` // lowest start first
	Error      string          `json:"error,omitempty"`

	read device.State
}

type modeInfo struct {
	Current bool `json:"current"` // MIG is on
	Pending bool `json:"pending"` // it will be after the next reset
}

type instanceState struct {
	mig.Instance
	ID               int            `json:"id"`
	ComputeInstances []computeState `json:"computeInstances"` // lowest id first
}

type computeState struct {
	mig.ComputeInstance
	ID   int    `json:"id"`
	UUID string `json:"uuid"` // of the MIG device
}

// state shows how the GPUs are cut.
func state(ctx context.Context, inv *invocation, args []string) error {
	if err := inv.parseMachine(args, 0); err != nil {
		return err
	}
	return inv.with(ctx, func(_ *machine, gpus []*gpu) error {
		answer := stateAnswer{Schema: schema, GPUs: []gpuState{}}
		unread := false
		for _, g := range gpus {
			s := readState(ctx, g)
			unread = unread || s.Error != ""
			answer.GPUs = append(answer.GPUs, s)
		}
		return inv.Answer(!unread, answer, func() string { return stateText(answer.GPUs) })
	})
}

// readState reads a GPU; what keeps it from that is part of the answer.
func readState(ctx context.Context, g *gpu) gpuState {
	s := gpuState{
		Index: g.index, UUID: g.uuid, Product: g.product, Model: g.model(), MIGCapable: g.dev != nil,
		Instances: []instanceState{},
	}
	err := g.err
	if err == nil && g.dev != nil {
		s.read, err = g.dev.State(ctx)
	}
	if err != nil {
		s.Error = command.OneLine(err.Error())
		return s
	}
	if g.dev == nil {
		return s
	}
	s.Mode = &modeInfo{s.read.Mode.Current, s.read.Mode.Pending}
	for _, in := range s.read.Instances {
		is := instanceState{Instance: in.Instance, ID: in.ID, ComputeInstances: []computeState{}}
		for _, c := range in.Compute {
			is.ComputeInstances = append(is.ComputeInstances, computeState{
				mig.ComputeInstance{Profile: c.Profile, Start: c.Start, Size: c.Size, Index: c.Index}, c.ID, c.UUID,
			})
		}
		s.Instances = append(s.Instances, is)
	}
	return s
}

// stateText shows the GPUs, a picture of those that can be cut, and the instances.
func stateText(gpus []gpuState) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "GPU\tMODEL\tMIG\tUUID\tPRODUCT")
	var rows []draw.Row
	count := 0
	for _, s := range gpus {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", s.Index, cmp.Or(s.Model, "-"), s.modeText(), cmp.Or(s.UUID, "-"), cmp.Or(s.Product, "-"))
		if s.Mode != nil {
			rows = append(rows, draw.Row{Name: fmt.Sprintf("GPU %d", s.Index), Layout: s.read.Layout})
		}
		count += len(s.Instances)
	}
	t.Flush()
	for _, s := range gpus {
		if s.Error != "" {
			fmt.Fprintf(&b, "\nGPU %d could not be read: %s\n", s.Index, s.Error)
		}
	}
	if len(rows) > 0 {
		b.WriteString("\n" + draw.Rows(rows...))
	}
	if count == 0 {
		return b.String()
	}
	b.WriteString("\n")
	fmt.Fprintln(t, "GPU\tGI\tINSTANCE\tCI\tCOMPUTE\tMIG DEVICE")
	for _, s := range gpus {
		for _, in := range s.Instances {
			if len(in.ComputeInstances) == 0 {
				fmt.Fprintf(t, "%d\t%d\t%s\t-\tnone: nothing can run there\t\n", s.Index, in.ID, in.Instance)
			}
			for _, c := range in.ComputeInstances {
				fmt.Fprintf(t, "%d\t%d\t%s\t%d\t%s\t%s\n", s.Index, in.ID, in.Instance, c.ID, c.ComputeInstance, c.UUID)
			}
		}
	}
	t.Flush()
	return b.String()
}

func (s gpuState) modeText() string {
	switch {
	case s.Error != "":
		return "unknown"
	case s.Mode == nil:
		return "not capable"
	case s.Mode.Current != s.Mode.Pending:
		return onOff(s.Mode.Current) + " (" + onOff(s.Mode.Pending) + " after a reset)"
	default:
		return onOff(s.Mode.Current)
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
