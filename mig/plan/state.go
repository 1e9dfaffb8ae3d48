package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/mig"
)

// StateOf returns the state of a GPU that stands like a layout, with one compute
// instance of full size in each GPU instance and nobody busy.
func StateOf(l mig.Layout) State {
	s := State{Model: l.Model(), Instances: []Instance{}}
	for in := range l.Instances() {
		compute, err := whole(s.Model, in.Profile)
		if err != nil {
			compute = []mig.ComputeInstance{}
		}
		s.Instances = append(s.Instances, Instance{Instance: in, Compute: compute})
	}
	return s
}

// Layout returns the GPU instances without what stands in them. The error is that
// of mig.Model.Layout, and wraps mig.ErrUnknownModel where there is no model.
func (s State) Layout() (mig.Layout, error) {
	if s.Model == nil {
		return mig.Layout{}, fmt.Errorf("plan: a state without model: %w", mig.ErrUnknownModel)
	}
	return s.Model.Layout(bare(s.Instances)...)
}

// String lists the instances, lowest start first, with their compute instances
// where they are not one of full size, and "!" after a busy one.
func (s State) String() string {
	var parts []string
	for _, in := range byStart(s.Instances) {
		part := in.describe(s.Model)
		if in.Busy {
			part += "!"
		}
		parts = append(parts, part)
	}
	if parts == nil {
		return "empty"
	}
	return strings.Join(parts, " ")
}

// describe writes an instance with its compute instances, unless it is one of full
// size.
func (in Instance) describe(m *mig.Model) string {
	if in.Compute == nil {
		return in.String()
	}
	compute := in.Compute
	if m != nil {
		if compute, _ = tidyCompute(m, in); isWhole(m, in.Profile, compute) {
			return in.String()
		}
	}
	var names []string
	for _, c := range compute {
		names = append(names, c.String())
	}
	return in.String() + "[" + strings.Join(names, " ") + "]"
}

// bare returns the GPU instances alone.
func bare(instances []Instance) []mig.Instance {
	list := make([]mig.Instance, len(instances))
	for i, in := range instances {
		list[i] = in.Instance
	}
	return list
}

// byStart returns the instances lowest start first, in a list of its own.
func byStart(instances []Instance) []Instance {
	sorted := append(make([]Instance, 0, len(instances)), instances...)
	slices.SortStableFunc(sorted, compareStarts)
	return sorted
}

func compareStarts(a, b Instance) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Profile, b.Profile))
}

// tidy checks a state and returns it in canonical form: canonical names, sizes
// filled in, instances and their compute instances by start, no nil lists. A
// compute instance that the table does not know stays as it is.
func (s State) tidy() (State, mig.Layout, error) {
	l, err := s.Layout()
	if err != nil {
		return State{}, mig.Layout{}, err
	}
	t := State{GPU: s.GPU, Model: s.Model, Instances: make([]Instance, 0, len(s.Instances))}
	for _, in := range s.Instances {
		if in.LossSeconds < 0 || in.LossSeconds > MaxLossSeconds {
			return State{}, mig.Layout{}, fmt.Errorf("plan: %s: %d seconds of work to lose, not 0 to %d: %w", in.Instance, in.LossSeconds, MaxLossSeconds, mig.ErrBadInstance)
		}
		in.Instance, _ = l.At(in.Start)
		compute, uuids := tidyCompute(s.Model, in)
		if len(in.UUIDs) > 0 && len(in.UUIDs) != len(compute) {
			return State{}, mig.Layout{}, fmt.Errorf("plan: %s: %d UUIDs for %d compute instances: %w", in.Instance, len(in.UUIDs), len(compute), mig.ErrBadInstance)
		}
		in.Compute, in.UUIDs = compute, uuids
		t.Instances = append(t.Instances, in)
	}
	slices.SortFunc(t.Instances, compareStarts)
	return t, l, nil
}
