//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/timeslice"
	"github.com/gpushare/gpushare/timeslice/device"
)

type logAnswer struct {
	Schema int `json:"schema"`
	placeAnswer
	Error    string          `json:"error,omitempty"` // why it could not be read
	State    *stateAnswer    `json:"state"`           // null where it could not be
	Gap      bool            `json:"gap"`             // turns may be missing among those shown
	RunLists []runListAnswer `json:"runLists"`
	Turns    []turnAnswer    `json:"turns"`
}

// runListAnswer sums up the turns of one vGPU.
type runListAnswer struct {
	RunList    uint32 `json:"runList"`
	Turns      int64  `json:"turns"`
	RanNs      int64  `json:"ranNs"`
	ShareMilli int64  `json:"shareMilli"` // of the time that all ran
	LongestNs  int64  `json:"longestNs"`
}

type turnAnswer struct {
	AtNs         int64  `json:"atNs"` // when it ended, by the driver's clock
	RunList      uint32 `json:"runList"`
	RanNs        int64  `json:"ranNs"`
	TargetNs     int64  `json:"targetNs"`
	RanTotalNs   int64  `json:"ranTotalNs"`
	PreemptionNs int64  `json:"preemptionNs"`
	Weight       uint32 `json:"weight"`
}

// mostFollow bounds what is kept in memory.
const mostFollow = 10 * time.Minute

// vgpuLog reads the log of a scheduler.
func vgpuLog(ctx context.Context, inv *invocation, args []string) error {
	f := inv.vgpuFlags()
	ran, follow := span(100_000_000), span(0)
	inv.Flags.Var(&ran, "ran", "")
	inv.Flags.Var(&follow, "follow", "")
	last := inv.Flags.Int("last", 20, "")
	if err := inv.parse(args, 0); err != nil {
		return err
	}
	if err := follow.within(0, int64(mostFollow)); err != nil {
		return fmt.Errorf("-follow: %w", err)
	}
	if err := ran.within(0, int64(time.Minute)); err != nil {
		return fmt.Errorf("-ran: %w", err)
	}
	if *last < 0 {
		return fmt.Errorf("-last: %d is negative", *last)
	}
	if inv.Given("ran") && f.nvml {
		return errors.New("-ran is for a fake machine")
	}
	return f.with(ctx, inv, func(m *vgpuMachine, places []*vgpuPlace) error {
		p, err := one(places)
		if err != nil {
			return err
		}
		answer := &logAnswer{Schema: schema, placeAnswer: p.answer, RunLists: []runListAnswer{}, Turns: []turnAnswer{}}
		if err = p.err; err == nil && m.fake != nil {
			err = p.work(ctx, m.fake.server, f.chosen, int64(ran))
		}
		if err == nil {
			err = p.read(ctx, f.chosen, time.Duration(follow), answer)
		}
		if err != nil {
			answer.Error = command.OneLine(err.Error())
		}
		return inv.Answer(err == nil, answer, func() string { return answer.text(*last) })
	})
}

// read fills in the log, and what comes in the time after.
func (p *vgpuPlace) read(ctx context.Context, e timeslice.VGPUEngine, follow time.Duration, answer *logAnswer) error {
	if follow == 0 {
		log, err := p.scheduler.Log(ctx, e)
		if err == nil {
			answer.add(device.Batch{State: log.State, Entries: log.Entries})
		}
		return err
	}
	limited, cancel := context.WithTimeout(ctx, follow)
	defer cancel()
	err := p.scheduler.Follow(limited, e, 0, func(b device.Batch) error {
		answer.add(b)
		return nil
	})
	if limited.Err() != nil && ctx.Err() == nil && answer.State != nil {
		return nil // the time is over
	}
	return err
}

func (a *logAnswer) add(b device.Batch) {
	a.State, a.Gap = stateOf(b.State), a.Gap || b.Gap
	total := int64(0)
	for _, e := range b.Entries {
		a.Turns = append(a.Turns, turnAnswer{e.At, e.RunList, e.Ran, e.Target, e.RanTotal, e.Preemption, e.Weight})
		r := a.runList(e.RunList)
		r.Turns++
		r.RanNs += e.Ran
		r.LongestNs = max(r.LongestNs, e.Ran)
	}
	for _, r := range a.RunLists {
		total += r.RanNs
	}
	for i := range a.RunLists {
		a.RunLists[i].ShareMilli = part(a.RunLists[i].RanNs, total)
	}
}

// runList returns the sum of a run list, in the order of their first turns.
func (a *logAnswer) runList(id uint32) *runListAnswer {
	for i := range a.RunLists {
		if a.RunLists[i].RunList == id {
			return &a.RunLists[i]
		}
	}
	a.RunLists = append(a.RunLists, runListAnswer{RunList: id})
	return &a.RunLists[len(a.RunLists)-1]
}

func (a *logAnswer) text(last int) string {
	var b strings.Builder
	if a.Error != "" {
		fmt.Fprintf(&b, "not read: %s\n", a.Error)
	}
	if a.State != nil {
		fmt.Fprintf(&b, "%s: %s\n", a.State.text, count(len(a.Turns), "turn"))
	}
	if a.Gap {
		b.WriteString("some may be missing\n")
	}
	if len(a.Turns) == 0 {
		return b.String()
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nRUN LIST\tTURNS\tRAN\tSHARE\tLONGEST")
	for _, r := range a.RunLists {
		fmt.Fprintf(t, "%d\t%d\t%s\t%s\t%s\n", r.RunList, r.Turns, short(r.RanNs), percent(r.ShareMilli), short(r.LongestNs))
	}
	if shown := a.Turns[max(len(a.Turns)-last, 0):]; len(shown) > 0 {
		fmt.Fprintln(t, "\nENDED\tRUN LIST\tRAN\tTARGET\tPREEMPTIONS")
		for _, e := range shown {
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\n", span(e.AtNs), e.RunList, short(e.RanNs), short(e.TargetNs), short(e.PreemptionNs))
		}
	}
	t.Flush()
	return b.String()
}

// fakeSwitch is what a switch costs on a fake machine.
const fakeSwitch = 40_000

// work lets the vGPUs of a fake machine, always busy, run by the scheduler that is
// set, and writes their turns into its log.
func (p *vgpuPlace) work(ctx context.Context, server *nvmlfake.Server, e timeslice.VGPUEngine, ran int64) error {
	state, err := p.scheduler.State(ctx, e)
	if err != nil || ran == 0 {
		return err
	}
	g := server.Snapshot().GPUs[p.answer.GPU]
	holders := g.Holders
	for _, in := range g.Instances {
		if p.answer.GPUInstance != nil && *in.ID == *p.answer.GPUInstance {
			holders = in.Holders
		}
	}
	s := timeslice.Sim{Horizon: ran, Slice: state.Slice, Switch: fakeSwitch, Factor: int64(state.Factor)}
	if s.Slice == 0 {
		s.Slice = timeslice.DefaultVGPUSlice(1)
	}
	s.Discipline, _ = state.Policy.Discipline()
	for _, h := range holders {
		if h.VGPU {
			s.Clients = append(s.Clients, timeslice.Client{Name: h.Name, Arrivals: timeslice.AlwaysBusy{}})
		}
	}
	totals, switches := make([]int64, len(s.Clients)), make([]int64, len(s.Clients))
	var entries []nvml.VgpuSchedulerLogEntry_v2
	_, err = timeslice.Simulate(s, func(r timeslice.Run) bool {
		switch r.Kind {
		case timeslice.Switching:
			switches[r.Client] += r.End - r.Start
		case timeslice.Working:
			if r.End == ran {
				break // it has not ended
			}
			totals[r.Client] += r.End - r.Start
			if len(entries) == device.LogCapacity {
				entries = append(entries[:0], entries[1:]...)
			}
			entries = append(entries, nvml.VgpuSchedulerLogEntry_v2{
				Timestamp: uint64(r.End), TimeRun: uint64(r.End - r.Start), TimeRunTotal: uint64(totals[r.Client]), SwRunlistId: uint32(r.Client + 1),
				TargetTimeSlice: uint64(s.Slice), CumulativePreemptionTime: uint64(switches[r.Client]), Weight: 1,
			})
		case timeslice.Idle:
		}
		return ctx.Err() == nil
	})
	if err != nil {
		return err
	}
	if p.answer.GPUInstance != nil {
		return server.LogVGPUIn(p.answer.GPU, *p.answer.GPUInstance, int(e), entries...)
	}
	return server.LogVGPU(p.answer.GPU, int(e), entries...)
}
