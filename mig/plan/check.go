package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/gpushare/gpushare/mig"
)

// Fingerprint returns a text that two states share when the same stands there:
// model, GPU, and for every instance its profile, start, compute instances and MIG
// UUIDs; without a GPU, as in a plan made ahead, UUIDs do not count. Nor do the order
// of instances, Busy and LossSeconds. It is the same in every process and starts with
// the version of its rule.
func Fingerprint(s State) string {
	if t, _, err := s.tidy(); err == nil {
		return t.fingerprint()
	}
	return s.fingerprint() // of something that is no layout, as it was given
}

func (s State) fingerprint() string {
	var room [512]byte
	b := room[:0]
	text := func(separator byte, s string) { b = strconv.AppendQuote(append(b, separator), s) }
	number := func(n int) { b = strconv.AppendInt(append(b, ' '), int64(n), 10) }
	if s.Model != nil {
		b = append(b, s.Model.Key()...)
	}
	text(' ', s.GPU)
	for _, in := range byStart(s.Instances) {
		text('\n', in.Profile)
		number(in.Start)
		for i, c := range in.Compute {
			if s.Model != nil {
				if row, found := rowOf(s.Model, in.Profile, c); found && row.Index == mig.NotKnown {
					c.Index = row.Index // a plan made ahead has no other
				}
			}
			text(' ', c.Profile)
			number(c.Index)
			number(c.Start)
			if s.GPU != "" && i < len(in.UUIDs) {
				text(' ', in.UUIDs[i])
			}
		}
	}
	sum := sha256.Sum256(b)
	return "mig1-" + hex.EncodeToString(sum[:12])
}

// Check says whether the plan can be carried out on what stands there now: it is
// for this model, GPU and state, every prefix of its steps is legal, no busy
// instance is destroyed, and it ends at its goal.
//
// A plan without GPU, made ahead, is for every GPU that stands the same; MIG UUIDs
// are then left out of the comparison.
//
// The error wraps ErrStale, ErrBusy (naming the victims that are in use) or
// ErrBadPlan, or is that of package mig about the state.
func (p Plan) Check(from State) error {
	t, have, err := from.tidy()
	if err != nil {
		return err
	}
	if p.Schema != Schema {
		return fmt.Errorf("plan: schema %d, not %d: %w", p.Schema, Schema, ErrBadPlan)
	}
	if p.Model != t.Model.Key() {
		return fmt.Errorf("plan: made for model %q, not %q: %w", p.Model, t.Model.Key(), ErrStale)
	}
	if p.GPU != "" && p.GPU != t.GPU {
		return fmt.Errorf("plan: made for GPU %q, not %q: %w", p.GPU, t.GPU, ErrStale)
	}
	known := t
	if p.GPU == "" {
		known.GPU = ""
	}
	if now := known.fingerprint(); p.Fingerprint != now {
		return fmt.Errorf("plan: made for state %q, but %q stands there (%s): %w", p.Fingerprint, now, have, ErrStale)
	}
	end, err := p.After(t, len(p.Steps))
	if err != nil {
		return err
	}
	var busy []Instance
	for _, s := range p.Steps {
		if old, found := t.at(s.Start); s.Op == Destroy && found && old.Busy {
			busy = append(busy, old)
		}
	}
	if len(busy) > 0 {
		return fmt.Errorf("plan: destroys %s: %w", list(t.Model, busy), ErrBusy)
	}
	return p.checkEnd(t, end)
}

// checkEnd compares the end with the goal, and what was never touched with Kept.
func (p Plan) checkEnd(t, end State) error {
	if !sameInstances(t.Model, end.Instances, p.Goal) {
		return fmt.Errorf("plan: ends at %s, but its goal is %s: %w", list(t.Model, end.Instances), list(t.Model, byStart(p.Goal)), ErrBadPlan)
	}
	var kept []Instance
	for _, in := range t.Instances {
		if !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Op == Destroy && s.Start == in.Start }) {
			kept = append(kept, in)
		}
	}
	if !sameInstances(t.Model, kept, p.Kept) {
		return fmt.Errorf("plan: keeps %s, but says %s: %w", list(t.Model, kept), list(t.Model, byStart(p.Kept)), ErrBadPlan)
	}
	return nil
}

// After returns what stands there after so many steps. Created instances have no
// UUIDs and are not busy. The error wraps ErrBadPlan and names the step that is
// not possible, or is that of package mig about the state. Whether the plan is for
// this state at all is what Check says.
func (p Plan) After(from State, steps int) (State, error) {
	t, l, err := from.tidy()
	if err != nil {
		return State{}, err
	}
	if steps < 0 || steps > len(p.Steps) {
		return State{}, fmt.Errorf("plan: state after step %d of %d: %w", steps, len(p.Steps), ErrBadPlan)
	}
	for i, s := range p.Steps[:steps] {
		if l, err = t.apply(l, s); err != nil {
			return State{}, fmt.Errorf("plan: step %d of %d, %s: %w: %w", i+1, len(p.Steps), s, ErrBadPlan, err)
		}
	}
	t.Instances = byStart(t.Instances)
	return t, nil
}

// apply changes a tidy state by one step.
func (s *State) apply(l mig.Layout, step Step) (mig.Layout, error) {
	switch step.Op {
	case Destroy:
		old, found := s.at(step.Start)
		if !found {
			return l, fmt.Errorf("%w", mig.ErrNoInstance)
		}
		if !sameInstances(s.Model, []Instance{old}, []Instance{step.Instance}) {
			return l, fmt.Errorf("%s stands there: %w", old.describe(s.Model), mig.ErrConflict)
		}
		if step.Size != 0 && step.Size != old.Size {
			return l, fmt.Errorf("size %d, not %d: %w", step.Size, old.Size, mig.ErrBadInstance)
		}
		s.Instances = slices.DeleteFunc(slices.Clone(s.Instances), func(in Instance) bool { return in.Start == step.Start })
		return l.Without(step.Start)
	case Create:
		profile, err := s.Model.Profile(step.Profile)
		if err != nil {
			return l, err
		}
		if step.Size != 0 && step.Size != profile.Size {
			return l, fmt.Errorf("size %d, not %d: %w", step.Size, profile.Size, mig.ErrBadInstance)
		}
		if l, err = l.With(profile, step.Start); err != nil {
			return l, err
		}
		in := step.standing()
		in.Profile, in.Size = profile.Name, profile.Size
		if in.Compute, err = checkCompute(s.Model, in); err != nil {
			return l, err
		}
		s.Instances = append(slices.Clone(s.Instances), in)
		return l, nil
	default:
		return l, fmt.Errorf("operation %q", step.Op)
	}
}

// at returns the instance that begins at a start.
func (s State) at(start int) (Instance, bool) {
	for _, in := range s.Instances {
		if in.Start == start {
			return in, true
		}
	}
	return Instance{}, false
}

// sameInstances compares what stands there: profiles, starts and compute
// instances, in any order.
func sameInstances(m *mig.Model, a, b []Instance) bool {
	return slices.EqualFunc(byStart(a), byStart(b), func(x, y Instance) bool {
		xc, _ := tidyCompute(m, x)
		yc, _ := tidyCompute(m, y)
		return x.Profile == y.Profile && x.Start == y.Start && sameCompute(m, x.Profile, xc, yc)
	})
}

// String returns the form "create 3g.20gb@4".
func (s Step) String() string { return string(s.Op) + " " + s.Instance.String() }
