package device

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// Outcome says in one word how a transaction ended. It follows from a last
// reading of the GPU, not from what calls have returned.
type Outcome string

// The outcomes.
const (
	Unchanged     Outcome = "unchanged"     // all is as it was, UUIDs included
	Done          Outcome = "done"          // the goal stands
	RolledBack    Outcome = "rolledBack"    // the former layout stands, with new UUIDs where the report says so
	Left          Outcome = "left"          // neither: After says what stands, and Resume or Undo carries on
	Indeterminate Outcome = "indeterminate" // a call into the driver has not returned: see Report.Wait
)

// Report says what a transaction has done to a GPU and what stands there now. It
// is plain data with a JSON form.
type Report struct {
	GPU     string  `json:"gpu"` // UUID
	Model   string  `json:"model"`
	Outcome Outcome `json:"outcome"`

	// Before and After are what stood there when the transaction began and what
	// stands there now, lowest start first, without who is busy. After is nil (JSON
	// null) where the GPU could not be read at the end.
	Before []plan.Instance `json:"before"`
	After  []plan.Instance `json:"after"`

	Done   []plan.Step `json:"done"`             // steps carried out, in order
	Failed *plan.Step  `json:"failed,omitempty"` // the step that was not
	Back   []plan.Step `json:"back,omitempty"`   // steps of the roll back that were carried out

	Renewed []Renewal `json:"renewed,omitempty"` // instances that stand as before with other UUIDs
	Error   string    `json:"error,omitempty"`   // the text of the error that came with it

	err     error
	pending *task[Report]
}

// Renewal is an instance that was destroyed and created again: whoever knows it
// by the UUID of its MIG devices has to learn the new one.
type Renewal struct {
	mig.Instance
	Old []string `json:"old"`
	New []string `json:"new"`
}

// String returns the outcome and what stands.
func (r Report) String() string {
	text := string(r.Outcome)
	if r.After == nil {
		return text
	}
	for i, in := range r.After {
		sep := " "
		if i == 0 {
			sep = ": "
		}
		text += sep + placed(in).String()
	}
	return text
}

// Wait returns the final report and error of a transaction whose report is
// Indeterminate, once it has ended: the call into the driver has returned, and
// what was half done has been rolled back. Any other report is final, and
// returned at once. Should the context end first, it returns the report as it is
// and an error that wraps the context's.
func (r Report) Wait(ctx context.Context) (Report, error) {
	if r.pending == nil {
		if r.err == nil && r.Error != "" { // it comes from JSON
			r.err = errors.New(r.Error)
		}
		return r, r.err
	}
	select {
	case <-r.pending.ended:
		if err := r.pending.err; errors.Is(err, errAborted) { // and there is no other report
			r.Outcome, r.pending = Left, nil
			r.err = fmt.Errorf("mig/device: %s: %w", r.GPU, err)
			r.Error = r.err.Error()
			return r, r.err
		}
		return r.pending.value, r.pending.err
	case <-ctx.Done():
		return r, fmt.Errorf("mig/device: %s: wait for the end of a transaction: %w: %w", r.GPU, ErrIndeterminate, ended(ctx))
	}
}

// planned returns what was read as a list of a report: never nil.
func (s State) planned() []plan.Instance { return s.Plan().Instances }

// sameLayout reports whether two readings hold the same GPU instances with the
// same compute instances, UUIDs aside.
func sameLayout(a, b []plan.Instance) bool {
	return slices.EqualFunc(byStart(a), byStart(b), func(x, y plan.Instance) bool {
		return placed(x) == placed(y) && within(x.Compute, y.Compute) && len(x.Compute) == len(y.Compute)
	})
}

// sameInstances is sameLayout with the UUIDs.
func sameInstances(a, b []plan.Instance) bool {
	return sameLayout(a, b) && slices.EqualFunc(byStart(a), byStart(b), func(x, y plan.Instance) bool {
		return slices.Equal(slices.Sorted(slices.Values(x.UUIDs)), slices.Sorted(slices.Values(y.UUIDs)))
	})
}

// within reports whether each of some compute instances is among others.
func within(some, all []mig.ComputeInstance) bool { return len(missing(some, all)) == 0 }

// missing returns those of some compute instances that are not among others.
func missing(some, others []mig.ComputeInstance) []mig.ComputeInstance {
	rest := slices.Clone(others)
	var lacking []mig.ComputeInstance
	for _, c := range some {
		i := slices.IndexFunc(rest, func(o mig.ComputeInstance) bool {
			same := o.Index == c.Index || o.Index == mig.NotKnown || c.Index == mig.NotKnown // as in a plan for a table without them
			return same && o.Start == c.Start && o.Profile == c.Profile
		})
		if i < 0 {
			lacking = append(lacking, c)
			continue
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return lacking
}

func byStart(all []plan.Instance) []plan.Instance {
	return slices.SortedStableFunc(slices.Values(all), func(a, b plan.Instance) int { return a.Start - b.Start })
}

// placed is what makes two instances the same place: profile and start.
func placed(in plan.Instance) mig.Instance {
	return mig.Instance{Profile: in.Profile, Start: in.Start}
}

// at returns the instance of a profile at a start.
func at(all []plan.Instance, place mig.Instance) (plan.Instance, bool) {
	i := slices.IndexFunc(all, func(in plan.Instance) bool { return placed(in) == place })
	if i < 0 {
		return plan.Instance{}, false
	}
	return all[i], true
}

// renewed lists the instances that stand as before with other UUIDs.
func renewed(before, after []plan.Instance) []Renewal {
	var all []Renewal
	for _, was := range before {
		now, there := at(after, placed(was))
		if there && !sameInstances([]plan.Instance{was}, []plan.Instance{now}) {
			all = append(all, Renewal{Instance: was.Instance, Old: was.UUIDs, New: now.UUIDs})
		}
	}
	return all
}
