package device

import (
	"slices"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// ledger says which instances on a GPU belong to a transaction: those that stood
// there when it began, and what it has made since. All others are somebody
// else's and never touched. It follows from the journal's records alone, so that
// a second run knows what the first did.
type ledger map[mig.Instance]*holding // by profile and start

// holding is what is known of the instance at a place.
type holding struct {
	uuids []string // of the MIG devices that are, or were, in it

	// making is what a creation was to put there that has begun and not ended:
	// what is in it may have UUIDs that nobody has read.
	making []mig.ComputeInstance
	begun  bool

	open bool // it may hold no compute instance, as after half a destruction

	// suspect marks a creation that has failed with nothing left that it knew of.
	// A later run takes an empty GPU instance there for its remnant; the same run
	// does not, since another process may be about to furnish it.
	suspect bool
}

// way is where a transaction is heading when it looks at what stands there.
type way int

const (
	live    way = iota // back, in the run itself
	wayOn              // a later run, to the goal
	wayBack            // a later run, to the former layout
)

func newLedger(before []plan.Instance) ledger {
	l := ledger{}
	for _, in := range before {
		l[placed(in)] = &holding{uuids: in.UUIDs, open: len(in.Compute) == 0}
	}
	return l
}

// note keeps the books.
func (l ledger) note(r Record) {
	if r.Step == nil {
		return
	}
	place := placed(r.Step.Instance)
	c := l[place]
	if c == nil {
		c = &holding{}
	}
	switch {
	case r.Step.Op == plan.Destroy && r.Phase == PhaseBegin:
		c.open = true
	case r.Step.Op == plan.Destroy && r.Phase == PhaseDone:
		delete(l, place)
		return
	case r.Step.Op == plan.Destroy: // failed: a UUID is never used again, so none is struck off
	case r.Phase == PhaseBegin:
		c.begun, c.making, c.open = true, r.Step.Compute, true
	case r.Phase == PhaseDone:
		c = &holding{uuids: r.Step.UUIDs, open: len(r.Step.Compute) == 0}
	default: // a creation that failed
		*c = holding{uuids: c.uuids, making: c.making, suspect: true}
		if r.Left != nil { // it stands, and whatever of the rest shows up in it was made here
			c.uuids = append(slices.Clone(c.uuids), r.Left.UUIDs...)
			c.open, c.begun = true, true
		}
	}
	l[place] = c
}

// prune strikes off the places where nothing stands: what shows up there later is
// somebody else's, until a creation begins there.
func (l ledger) prune(st State) {
	for place := range l {
		if in, there := st.At(place.Start); !there || in.Profile != place.Profile {
			delete(l, place)
		}
	}
}

// owns reports whether an instance that stands there belongs to the transaction.
func (l ledger) owns(in plan.Instance, w way) bool {
	c := l[placed(in)]
	if c == nil {
		return false
	}
	if len(in.Compute) == 0 {
		return c.open || c.suspect && w != live
	}
	known := true
	for _, uuid := range in.UUIDs {
		known = known && slices.Contains(c.uuids, uuid)
	}
	return known || c.begun && within(in.Compute, c.making)
}
