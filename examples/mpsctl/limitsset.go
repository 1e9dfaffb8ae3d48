package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/mps"
)

type setAnswer struct {
	Schema   int           `json:"schema"`
	Protocol int           `json:"protocol"`
	Done     bool          `json:"done"` // all were set and, unless that was waived, read back
	Settings []settingInfo `json:"settings"`
}

type settingInfo struct {
	Setting  string  `json:"setting"` // "percent", "memory of 0", "priority"; "limits" with protocol 3
	Value    string  `json:"value"`
	Verified bool    `json:"verified"` // the daemon was asked afterwards and told this value
	Reply    string  `json:"reply"`    // to the command that set
	Read     string  `json:"read"`     // to the question afterwards, with protocol 2
	Warning  string  `json:"warning,omitempty"`
	Reason   *reason `json:"reason"` // why it was not set
}

// wanted are the limits to set.
type wanted struct {
	server, namespace string
	percent           string
	memory            string
	priority          string
	acceptUnread      bool
}

// step is one thing to set.
type step struct {
	setting, value string
	run            func(context.Context) (mps.Setting, error)
}

// limitsSet sets limits and reads each back.
func limitsSet(ctx context.Context, inv *invocation, args []string) error {
	inv.reaches()
	var w wanted
	inv.Flags.StringVar(&w.server, "server", "", "")
	inv.Flags.StringVar(&w.namespace, "namespace", "", "")
	inv.Flags.StringVar(&w.percent, "percent", "", "")
	inv.Flags.StringVar(&w.memory, "memory", "", "")
	inv.Flags.StringVar(&w.priority, "priority", "", "")
	inv.Flags.BoolVar(&w.acceptUnread, "accept-unread", false, "")
	if err := inv.parse(args); err != nil {
		return err
	}
	if !inv.Given("percent") && !inv.Given("memory") && !inv.Given("priority") {
		return errors.New("nothing to set: give -percent, -memory or -priority (-h explains)")
	}
	limits, err := w.limits(inv)
	if err != nil {
		return err
	}
	d, err := inv.open(ctx)
	if err != nil {
		return err
	}
	var steps []step
	if d.protocol == 3 {
		steps, err = w.stepsV3(inv, d, limits)
	} else {
		steps, err = w.steps(inv, d, limits)
	}
	if err != nil {
		return err
	}
	a := setAnswer{Schema: schema, Protocol: d.protocol, Done: true}
	for _, s := range steps {
		done, err := s.run(ctx)
		if ctx.Err() != nil || errors.Is(err, mps.ErrInput) || errors.Is(err, mps.ErrNoProgram) {
			return err
		}
		info := settingInfo{
			Setting: s.setting, Value: s.value, Verified: done.Verified, Warning: done.Warning,
			Reply: strings.TrimSpace(done.Reply), Read: strings.TrimSpace(done.Read),
		}
		switch {
		case err != nil:
			info.Reason = reasonOf(err)
		case !done.Verified && !w.acceptUnread:
			info.Reason = &reason{"not verified", "the daemon did not complain, and did not tell the value in a form that can be read (-accept-unread takes that)"}
		}
		a.Settings = append(a.Settings, info)
		if info.Reason != nil {
			a.Done = false
			break // the rest is not tried
		}
	}
	return inv.Answer(a.Done, a, func() string { return a.text(len(steps)) })
}

// limits reads the values.
func (w *wanted) limits(inv *invocation) (mps.V3Limits, error) {
	var l mps.V3Limits
	if inv.Given("percent") {
		p, err := strconv.ParseFloat(w.percent, 64)
		if err != nil || !(p > 0 && p <= 100) {
			return l, fmt.Errorf("-percent: %q is no number above 0 and at most 100", w.percent)
		}
		l.Percentage = p
	}
	if inv.Given("priority") {
		p, err := number(w.priority, 0, 1)
		if err != nil {
			return l, fmt.Errorf("-priority: %w", err)
		}
		l.Priority = &p
	}
	if inv.Given("memory") && !strings.Contains(w.memory, "=") {
		m, err := mps.ParseLimit(w.memory)
		if err != nil {
			return l, fmt.Errorf("-memory: %w", err)
		}
		l.MemoryMiB = m
	}
	return l, nil
}

// steps are those of protocol 2: of a server, or what servers start with.
func (w *wanted) steps(inv *invocation, d *daemon, l mps.V3Limits) ([]step, error) {
	if inv.Given("namespace") {
		return nil, errors.New("-namespace is for protocol 3, and the daemon speaks protocol 2")
	}
	pid := 0
	var err error
	if inv.Given("server") {
		if pid, err = inv.pidFlag("server", w.server); err != nil {
			return nil, err
		}
		if l.Priority != nil {
			return nil, errors.New("-priority: protocol 2 sets it for all servers, not for one")
		}
	}
	var steps []step
	if l.Percentage > 0 {
		steps = append(steps, step{"percent", w.percent, func(ctx context.Context) (mps.Setting, error) {
			if pid > 0 {
				return d.client.SetPercentage(ctx, pid, l.Percentage)
			}
			return d.client.SetDefaultPercentage(ctx, l.Percentage)
		}})
	}
	if inv.Given("memory") {
		list, err := mps.ParseDeviceLimits(w.memory)
		if err != nil {
			return nil, fmt.Errorf("-memory: %w", err)
		}
		for _, m := range list {
			steps = append(steps, step{"memory of " + m.Device, fmt.Sprintf("%d MiB", m.MiB), func(ctx context.Context) (mps.Setting, error) {
				if pid > 0 {
					return d.client.SetPinnedLimit(ctx, pid, m.Device, m.MiB)
				}
				return d.client.SetDefaultPinnedLimit(ctx, m.Device, m.MiB)
			}})
		}
	}
	if l.Priority != nil {
		steps = append(steps, step{"priority", w.priority, func(ctx context.Context) (mps.Setting, error) {
			return d.client.SetDefaultClientPriority(ctx, *l.Priority)
		}})
	}
	return steps, nil
}

// stepsV3 is the one step of protocol 3.
func (w *wanted) stepsV3(inv *invocation, d *daemon, l mps.V3Limits) ([]step, error) {
	if err := inv.Require("server"); err != nil {
		return nil, fmt.Errorf("%w: limits of protocol 3 belong to a server", err)
	}
	if inv.Given("memory") && l.MemoryMiB == 0 {
		return nil, fmt.Errorf("-memory: %q names a device: a limit of protocol 3 is for every device, such as 4G", w.memory)
	}
	var values []string
	for _, f := range []struct{ name, value string }{{"percent", w.percent}, {"memory", w.memory}, {"priority", w.priority}} {
		if f.value != "" {
			values = append(values, f.name+" "+f.value)
		}
	}
	return []step{{"limits", strings.Join(values, ", "), func(ctx context.Context) (mps.Setting, error) {
		var r mps.V3Reply
		var err error
		if w.namespace != "" {
			r, err = d.v3().SetNamespace(ctx, w.server, w.namespace, l)
		} else {
			r, err = d.v3().SetServer(ctx, w.server, mps.V3ServerSettings{Limits: l})
		}
		return mps.Setting{Verified: r.Verified, Reply: r.Raw}, err
	}}}, nil
}

func (a *setAnswer) text(asked int) string {
	var b strings.Builder
	for _, s := range a.Settings {
		word := "set, verified"
		switch {
		case s.Reason != nil:
			word = "no: " + s.Reason.Kind + ": " + command.OneLine(s.Reason.Detail)
		case !s.Verified:
			word = "set, not verified"
		}
		fmt.Fprintf(&b, "%s %s: %s\n", s.Setting, s.Value, word)
		if s.Warning != "" {
			fmt.Fprintf(&b, "warning: %s\n", s.Warning)
		}
	}
	if left := asked - len(a.Settings); left > 0 {
		fmt.Fprintf(&b, "%s not tried\n", count(left, "setting"))
	}
	return b.String()
}
