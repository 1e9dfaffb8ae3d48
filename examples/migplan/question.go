package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// question holds the flags of the commands that plan a change.
type question struct {
	model, have, busy, loss *string
	goals                   map[string]*string // -want, -add and -goal
}

// goalFlags are the flags that say where a change leads to.
var goalFlags = [...]string{"want", "add", "goal"}

// ask defines the flags.
func ask(inv *command.Invocation) *question {
	text := func(name string) *string { return inv.Flags.String(name, "", "") }
	q := &question{model: text("model"), have: text("have"), busy: text("busy"), loss: text("loss"), goals: map[string]*string{}}
	for _, name := range goalFlags {
		q.goals[name] = text(name)
	}
	return q
}

// change is an answered question: the plan, or why there is none.
type change struct {
	before  mig.Layout
	state   plan.State
	asked   string // for people: "exactly 3g.20gb=1"
	plan    plan.Plan
	refusal *plan.Refusal
}

// answer reads what the flags ask, which must have been parsed, and plans it.
func (q *question) answer(inv *command.Invocation) (*change, error) {
	which, err := inv.ExactlyOne(goalFlags[:]...)
	if err != nil {
		return nil, err
	}
	m, err := lookup(*q.model)
	if err != nil {
		return nil, err
	}
	c := &change{}
	if c.before, err = parseLayout(m, *q.have); err != nil {
		return nil, fmt.Errorf("-have: %w", err)
	}
	c.state = plan.StateOf(c.before)
	if inv.Given("busy") {
		if err := markBusy(c.state, *q.busy); err != nil {
			return nil, fmt.Errorf("-busy: %w", err)
		}
	}
	if inv.Given("loss") {
		if err := setLosses(c.state, *q.loss); err != nil {
			return nil, fmt.Errorf("-loss: %w", err)
		}
	}
	err = c.solve(which, *q.goals[which])
	switch {
	case errors.As(err, &c.refusal):
		return c, nil
	case err != nil:
		return nil, fmt.Errorf("-%s: %w", which, err)
	}
	return c, nil
}

// solve asks the planner. The error may be a refusal.
func (c *change) solve(which, text string) (err error) {
	if which == "goal" {
		goal, err := parseLayout(c.state.Model, text)
		if err != nil {
			return err
		}
		c.asked = exactly(goal.Len(), goal)
		c.plan, err = plan.Restore(c.state, goalOf(goal))
		return err
	}
	demand, err := mig.ParseDemand(text)
	if err != nil {
		return err
	}
	if which == "add" {
		c.asked = "room for " + nameOf(demand)
		c.plan, err = plan.Admit(c.state, demand)
		return err
	}
	c.asked = exactly(demand.Total(), demand)
	c.plan, err = plan.Repartition(c.state, demand)
	return err
}

// exactly names what shall stand there, n instances.
func exactly(n int, what fmt.Stringer) string {
	if n == 0 {
		return "an empty GPU"
	}
	return "exactly " + what.String()
}

// goalOf asks for one compute instance of full size in each GPU instance.
func goalOf(l mig.Layout) []plan.Instance {
	var goal []plan.Instance
	for in := range l.Instances() {
		goal = append(goal, plan.Instance{Instance: in})
	}
	return goal
}

func nameOf(d mig.Demand) string {
	if d.Total() == 0 {
		return "nothing"
	}
	return d.String()
}

// markBusy reads "3g.20gb@4,0".
func markBusy(s plan.State, list string) error {
	for item := range strings.SplitSeq(list, ",") {
		k, err := standing(s, item)
		if err != nil {
			return err
		}
		if s.Instances[k].Busy {
			return fmt.Errorf("%s stands there twice", s.Instances[k].Instance)
		}
		s.Instances[k].Busy = true
	}
	return nil
}

// setLosses reads "3g.20gb@4=600,0=60".
func setLosses(s plan.State, list string) error {
	seen := map[int]bool{}
	for item := range strings.SplitSeq(list, ",") {
		place, figure, found := strings.Cut(item, "=")
		if !found {
			return fmt.Errorf("%q is not of the form START=SECONDS", item)
		}
		k, err := standing(s, place)
		if err != nil {
			return err
		}
		seconds, err := strconv.ParseInt(figure, 10, 64)
		if err != nil || seconds < 0 || seconds > plan.MaxLossSeconds {
			return fmt.Errorf("%s: %q is no number of seconds from 0 to %d", s.Instances[k].Instance, figure, plan.MaxLossSeconds)
		}
		if seen[k] {
			return fmt.Errorf("%s stands there twice", s.Instances[k].Instance)
		}
		seen[k] = true
		s.Instances[k].LossSeconds = seconds
	}
	return nil
}

// standing returns which instance of -have is meant by "3g.20gb@4" or "4".
func standing(s plan.State, item string) (int, error) {
	start, err := strconv.Atoi(item)
	name := ""
	if err != nil {
		in, err := mig.ParseInstance(item)
		if err != nil {
			return 0, err
		}
		p, err := s.Model.Profile(in.Profile)
		if err != nil {
			return 0, err
		}
		start, name = in.Start, p.Name
	}
	for k, in := range s.Instances {
		if in.Start == start && (name == "" || in.Profile == name) {
			return k, nil
		}
	}
	return 0, fmt.Errorf("%q is no instance of -have, where there is %s", item, s)
}
