package device

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// Plan returns what was read as package plan takes it, with the UUIDs of the MIG
// devices, and nobody busy: see GPU.PlanState. While MIG mode is off it has no
// model, as the Layout has none.
func (s State) Plan() plan.State {
	p := plan.State{GPU: s.GPU, Model: s.Layout.Model(), Instances: []plan.Instance{}}
	for _, in := range s.Instances {
		p.Instances = append(p.Instances, in.plan())
	}
	return p
}

func (i Instance) plan() plan.Instance {
	p := plan.Instance{Instance: i.Instance, Compute: []mig.ComputeInstance{}}
	for _, c := range i.Compute {
		p.Compute = append(p.Compute, mig.ComputeInstance{Profile: c.Profile, Start: c.Start, Size: c.Size, Index: c.Index})
		p.UUIDs = append(p.UUIDs, c.UUID)
	}
	return p
}

// PlanState reads the GPU for a plan: State and Blockers in one, where an
// instance is busy while a process that NVML lists runs on it. It has the model
// also while MIG mode is off. The errors are those of State and Blockers; a device
// that cannot list processes has none that are busy.
func (g *GPU) PlanState(ctx context.Context) (plan.State, error) {
	return do(ctx, g, g.step("read state"), func(ctx context.Context) (plan.State, error) {
		st, _, err := g.read(ctx)
		if err != nil {
			return plan.State{}, err
		}
		p, _, err := g.planState(ctx, st)
		return p, err
	}, nil)
}

// planState adds to what was read who is busy.
func (g *GPU) planState(ctx context.Context, st State) (plan.State, []Blocker, error) {
	p := st.Plan()
	p.Model = g.model
	if len(st.Instances) == 0 {
		return p, nil, nil
	}
	blockers, err := g.blockers(ctx)
	if err != nil && !errors.Is(err, ErrNotSupported) {
		return plan.State{}, nil, err
	}
	for i, in := range st.Instances {
		p.Instances[i].Busy = len(holders(blockers, in.ID)) > 0
	}
	return p, blockers, nil
}

// holders returns the processes that run on a GPU instance.
func holders(all []Blocker, gi int) []Blocker {
	var found []Blocker
	for _, b := range all {
		if b.GPUInstance == gi {
			found = append(found, b)
		}
	}
	return found
}

// cutAndToStay returns an error unless MIG mode is on and to stay so.
func (g *GPU) cutAndToStay(m Mode) error {
	if m.Current && m.Pending {
		return nil
	}
	how := "until the GPU is reset"
	if spec := g.model.Spec(); spec.ModeNeedsResetKnown && !spec.ModeNeedsReset {
		how = "although this architecture needs no reset for it"
	}
	switch {
	case m.Current:
		return fmt.Errorf("%w soon: the change is pending %s, and all instances will be gone with it", ErrDisabled, how)
	case m.Pending:
		return fmt.Errorf("%w: a change to on is pending %s", ErrDisabled, how)
	default:
		return ErrDisabled
	}
}
