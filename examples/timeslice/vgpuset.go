//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/timeslice"
	"github.com/gpushare/gpushare/timeslice/device"
)

type setAnswer struct {
	Schema int `json:"schema"`
	placeAnswer
	Asked  setting      `json:"asked"`
	Done   bool         `json:"done"`
	Reason *reason      `json:"reason,omitempty"` // why not
	State  *stateAnswer `json:"state"`            // now; null where it is not known
}

type reason struct {
	Kind   string `json:"kind"`
	Detail string `json:"detail"`
}

// vgpuSet sets a scheduler.
func vgpuSet(ctx context.Context, inv *invocation, args []string) error {
	f := inv.vgpuFlags()
	var ask settingFlags
	ask.define(inv)
	if err := inv.parse(args, 0, "policy"); err != nil {
		return err
	}
	to, err := ask.setting()
	if err != nil {
		return err
	}
	return f.with(ctx, inv, func(m *vgpuMachine, places []*vgpuPlace) error {
		p, err := one(places)
		if err != nil {
			return err
		}
		answer := setAnswer{Schema: schema, placeAnswer: p.answer, Asked: settingOf(to)}
		state, err := device.State{}, p.err
		if err == nil {
			state, err = p.scheduler.Set(ctx, f.chosen, to)
		}
		if errors.Is(err, timeslice.ErrInput) {
			return err
		}
		answer.Done, answer.State = err == nil, stateOf(state)
		if err != nil {
			answer.refused(err)
		}
		if m.fake != nil {
			if err := m.fake.save(); err != nil {
				return fmt.Errorf("-fake: %w", err)
			}
		}
		return inv.Answer(answer.Done, answer, func() string { return answer.text() + m.keeping() })
	})
}

// refused notes why nothing was set, or not what was asked for.
func (a *setAnswer) refused(err error) {
	a.State = nil
	var op *device.OpError
	if errors.As(err, &op) && op.Now != nil {
		a.State = stateOf(*op.Now)
	}
	a.Reason = &reason{"failed", command.OneLine(err.Error())}
	for _, kind := range []struct {
		err  error
		name string
	}{
		{timeslice.ErrVGPUScheduler, "not-offered"},
		{device.ErrMIG, "mig"},
		{device.ErrNotSettable, "in-use"},
		{device.ErrUnverified, "unverified"},
		{device.ErrIndeterminate, "indeterminate"},
		{device.ErrNoPermission, "no-permission"},
		{device.ErrRebootRequired, "reboot-required"},
		{device.ErrLost, "lost"},
		{device.ErrNotSupported, "not-supported"},
	} {
		if errors.Is(err, kind.err) {
			a.Reason.Kind = kind.name
			return
		}
	}
}

func (a *setAnswer) text() string {
	where := fmt.Sprintf("GPU %d", a.GPU)
	if a.GPUInstance != nil {
		where += fmt.Sprintf(" GI %d", *a.GPUInstance)
	}
	if a.Done {
		return fmt.Sprintf("%s: set to %s; it reads %s\n", where, a.Asked, a.State.text)
	}
	text := fmt.Sprintf("%s: not set to %s\nreason: %s: %s\n", where, a.Asked, a.Reason.Kind, a.Reason.Detail)
	if a.State != nil {
		text += fmt.Sprintf("it reads %s\n", a.State.text)
	}
	return text
}

// keeping says so where nothing is kept.
func (m *vgpuMachine) keeping() string {
	if m.fake != nil && m.fake.path == "" {
		return "this machine is kept nowhere; -fake FILE keeps its state, see init\n"
	}
	return ""
}
