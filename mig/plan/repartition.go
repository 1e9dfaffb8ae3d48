package plan

import (
	"fmt"
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// Repartition plans the way to a GPU on which exactly what is wanted stands, kept
// instances counted. What stands there and is wanted is left alone, all else
// goes. A demand may hold compute names, such as 1c.3g.20gb=4; a plain name wants
// a GPU instance with one compute instance of full size. An instance can be kept
// if it holds exactly such compute instances, at whatever starts.
//
// Of all plans it is the one that, in this order: destroys the fewest instances;
// loses the least work (LossSeconds times memory slices); creates the fewest;
// leaves the most free pairs (mig.Layout.FreePairs); has the lowest starts of what
// it creates, largest first; keeps the lowest starts. Busy instances stay.
//
// The search is exact. The error is a *Refusal where there is no way, and
// otherwise that of package mig about the state or the demand; it wraps
// mig.ErrUnknownGeometry where the model's placements are unknown. Where nobody has
// published the compute profiles of a GPU instance, one of full size has the Index
// mig.NotKnown: a device knows it.
func Repartition(from State, want mig.Demand) (Plan, error) {
	return planFor(from, want, true)
}

// Admit plans what a scheduler asks for: that a demand finds its instances on a
// GPU where busy ones stay. An idle instance that matches serves it as it stands;
// other idle ones stay too, unless they are in the way. The choice among plans,
// the compute names and the errors are those of Repartition.
func Admit(from State, add mig.Demand) (Plan, error) {
	return planFor(from, add, false)
}

// Restore plans the way to exactly the given instances, such as those that stood
// there before a reboot. Compute nil asks for one compute instance of full size;
// an empty list asks for a GPU instance without any. UUIDs, Busy and LossSeconds
// of a goal are ignored.
//
// The error is a *Refusal that names the busy instances that the goal does not
// hold, and otherwise that of package mig about the state or the goal.
func Restore(from State, goal []Instance) (Plan, error) {
	from, have, err := from.tidy()
	if err != nil {
		return Plan{}, err
	}
	target, err := from.Model.Layout(bare(goal)...)
	if err != nil {
		return Plan{}, fmt.Errorf("plan: goal: %w", err)
	}
	c := change{from: from, have: have}
	for _, in := range byStart(goal) {
		in.Instance, _ = target.At(in.Start)
		compute, err := checkCompute(from.Model, in)
		if err != nil {
			return Plan{}, fmt.Errorf("plan: goal: %w", err)
		}
		k := slices.IndexFunc(from.Instances, func(old Instance) bool {
			return old.Instance == in.Instance && sameCompute(from.Model, in.Profile, old.Compute, compute)
		})
		if k >= 0 {
			c.kept |= 1 << k
			continue
		}
		c.created = append(c.created, Instance{Instance: in.Instance, Compute: compute})
	}
	r := &Refusal{Want: target.String(), Have: have}
	for k, in := range from.Instances {
		if in.Busy && c.kept&(1<<k) == 0 {
			r.Busy = append(r.Busy, in)
		}
	}
	if len(r.Busy) > 0 {
		r.Detail = fmt.Sprintf("the goal does not hold %s", list(from.Model, r.Busy))
		return Plan{}, r
	}
	return c.plan(), nil
}

// change is a decision: what of the state is kept, and what is created.
type change struct {
	from    State // tidy
	have    mig.Layout
	kept    uint // bit k: from.Instances[k]
	created []Instance
}

// plan turns the decision into steps.
func (c change) plan() Plan {
	p := Plan{
		Schema: Schema, Model: c.from.Model.Key(), GPU: c.from.GPU, Fingerprint: c.from.fingerprint(),
		Kept: make([]Instance, 0, len(c.from.Instances)),
		Goal: make([]Instance, 0, len(c.from.Instances)+len(c.created)),
	}
	for k, in := range c.from.Instances {
		if c.kept&(1<<k) != 0 {
			p.Kept = append(p.Kept, in.clone())
			p.Goal = append(p.Goal, in.standing())
		}
	}
	for _, in := range c.created {
		p.Goal = append(p.Goal, in.standing())
	}
	slices.SortFunc(p.Goal, compareStarts)
	p.Steps = c.steps()
	return p
}

// standing returns the instance as a goal names it: without what only a device
// or a scheduler knows.
func (in Instance) standing() Instance {
	return Instance{Instance: in.Instance, Compute: slices.Clone(in.Compute)}
}

func (in Instance) clone() Instance {
	in.Compute, in.UUIDs = slices.Clone(in.Compute), slices.Clone(in.UUIDs)
	return in
}
