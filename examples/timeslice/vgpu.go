//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/timeslice"
	"github.com/gpushare/gpushare/timeslice/device"
)

const vgpuUsage = `timeslice vgpu reads and sets the vGPU schedulers of a machine.

Usage: timeslice vgpu WHAT MACHINE [-gpu GPU] [-gi ID] [-engine E] [flags] [-json]

MACHINE is one of
  -nvml            this machine, through its driver
  -fake MODEL,...  a fresh fake vGPU host with such GPUs, kept nowhere
  -fake FILE       a fake machine that keeps its state in a file: see init; migctl
                   cuts it
GPU is an index or a UUID; ID that of a GPU instance; E graphics (where not given),
nvenc0 or nvenc1.

  get              the schedulers of all GPUs, or of the one; where MIG is on, of their
                   GPU instances
  capabilities     what they take
  set SETTING      set the one; no vGPU may run there meanwhile. SETTING is
      -policy P          besteffort, equal or fixed
      -slice TIME        with adaptive round robin off
      -frequency HZ      with it on; and -factor N, its averaging factor
      -arr on|off        on where not given, off with -slice
  log              the turns that have ended, at most the last 200 of them
      -follow TIME       read on for so long, and miss none
      -last N            of the turns, show the last N (20)
      -ran TIME          of a fake machine: let its vGPUs, always busy, run for so long
                         first (100ms), in slices of 2 ms where none is set; by
                         itself it schedules nothing

Fake machines:
  init -model MODEL,... [-mig] -to FILE    write one to a new file
  start -fake FILE -gpu GPU [-gi ID] -name NAME    a vGPU runs
  stop -fake FILE -name NAME               it ends

Exit status 1 means: a scheduler could not be read, or not set, with the reason.
`

// vgpu does one of these with a machine.
func vgpu(ctx context.Context, inv *invocation, args []string) error {
	all := []named{
		{"get", "", vgpuGet},
		{"capabilities", "", vgpuCapabilities},
		{"set", "", vgpuSet},
		{"log", "", vgpuLog},
		{"init", "", vgpuInit},
		{"start", "", vgpuStart},
		{"stop", "", vgpuStop},
	}
	if len(args) == 0 {
		return errors.New("what to do is missing (-h explains)")
	}
	var names []string
	for _, c := range all {
		if c.name == args[0] {
			return c.run(ctx, inv, args[1:])
		}
		names = append(names, c.name)
	}
	if strings.HasPrefix(args[0], "-") { // such as -h
		return errors.Join(inv.Flags.Parse(args[:1]), errors.New("what to do is missing before the flags (-h explains)"))
	}
	return fmt.Errorf("%q is none of %s", args[0], strings.Join(names, ", "))
}

type vgpuAnswer struct {
	Schema     int               `json:"schema"`
	Schedulers []schedulerAnswer `json:"schedulers"`
}

// placeAnswer says whose scheduler it is; null stands for that of the GPU.
type placeAnswer struct {
	GPU         int    `json:"gpu"`
	UUID        string `json:"uuid"`
	Product     string `json:"product"`
	GPUInstance *int   `json:"gpuInstance"`
}

type schedulerAnswer struct {
	placeAnswer
	State *stateAnswer `json:"state"` // null where it could not be read
	Error string       `json:"error,omitempty"`
}

// stateAnswer is what a scheduler is like. Factor and slice are 0 where the driver
// does not say them.
type stateAnswer struct {
	Engine  string `json:"engine"`
	Policy  string `json:"policy"`
	ARR     string `json:"arr"`
	Factor  uint32 `json:"factor"`
	SliceNs int64  `json:"sliceNs"`
	Active  bool   `json:"active"`

	text string
}

func stateOf(s device.State) *stateAnswer {
	return &stateAnswer{s.Engine.String(), s.Policy.String(), s.ARR.String(), s.Factor, s.Slice, s.Active(), s.String()}
}

// vgpuGet reads the schedulers.
func vgpuGet(ctx context.Context, inv *invocation, args []string) error {
	f := inv.vgpuFlags()
	if err := inv.parse(args, 0); err != nil {
		return err
	}
	return f.with(ctx, inv, func(_ *vgpuMachine, places []*vgpuPlace) error {
		answer := vgpuAnswer{Schema: schema, Schedulers: []schedulerAnswer{}}
		all := true
		for _, p := range places {
			row := schedulerAnswer{placeAnswer: p.answer}
			state, err := p.state(ctx, f.chosen)
			if err != nil {
				all, row.Error = false, command.OneLine(err.Error())
			} else {
				row.State = stateOf(state)
			}
			answer.Schedulers = append(answer.Schedulers, row)
		}
		return inv.Answer(all, answer, func() string {
			return vgpuTable(len(places), func(i int) (placeAnswer, string) {
				s := answer.Schedulers[i]
				if s.State == nil {
					return s.placeAnswer, s.Error
				}
				return s.placeAnswer, s.State.text
			})
		})
	})
}

type capabilitiesAnswer struct {
	Schema     int                     `json:"schema"`
	Schedulers []schedulerCapabilities `json:"schedulers"`
}

type schedulerCapabilities struct {
	placeAnswer
	Takes *capabilitySet `json:"takes"` // null where it could not be read
	Error string         `json:"error,omitempty"`
}

type capabilitySet struct {
	Policies     []string `json:"policies"`
	MinSliceNs   int64    `json:"minSliceNs"`
	MaxSliceNs   int64    `json:"maxSliceNs"`
	ARR          bool     `json:"arr"`
	MinFrequency uint32   `json:"minFrequency"` // Hz
	MaxFrequency uint32   `json:"maxFrequency"`
	MinFactor    uint32   `json:"minFactor"`
	MaxFactor    uint32   `json:"maxFactor"`
}

func capabilitiesOf(c timeslice.VGPUCapabilities) *capabilitySet {
	s := &capabilitySet{[]string{}, c.MinSlice, c.MaxSlice, c.ARR, c.MinFrequency, c.MaxFrequency, c.MinFactor, c.MaxFactor}
	for _, p := range c.Policies {
		s.Policies = append(s.Policies, p.String())
	}
	return s
}

func (c *capabilitySet) String() string {
	text := fmt.Sprintf("%s; slice %s to %s", strings.Join(c.Policies, ", "), span(c.MinSliceNs), span(c.MaxSliceNs))
	if c.ARR {
		text += fmt.Sprintf("; ARR: %d to %d Hz, factor %d to %d", c.MinFrequency, c.MaxFrequency, c.MinFactor, c.MaxFactor)
	}
	return text
}

// vgpuCapabilities reads what the schedulers take.
func vgpuCapabilities(ctx context.Context, inv *invocation, args []string) error {
	f := inv.vgpuFlags()
	if err := inv.parse(args, 0); err != nil {
		return err
	}
	return f.with(ctx, inv, func(_ *vgpuMachine, places []*vgpuPlace) error {
		answer := capabilitiesAnswer{Schema: schema, Schedulers: []schedulerCapabilities{}}
		all := true
		for _, p := range places {
			row := schedulerCapabilities{placeAnswer: p.answer}
			takes, err := p.capabilities(ctx)
			if err != nil {
				all, row.Error = false, command.OneLine(err.Error())
			} else {
				row.Takes = capabilitiesOf(takes)
			}
			answer.Schedulers = append(answer.Schedulers, row)
		}
		return inv.Answer(all, answer, func() string {
			return vgpuTable(len(places), func(i int) (placeAnswer, string) {
				s := answer.Schedulers[i]
				if s.Takes == nil {
					return s.placeAnswer, s.Error
				}
				return s.placeAnswer, s.Takes.String()
			})
		})
	})
}
