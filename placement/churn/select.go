package churn

import (
	"fmt"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
)

// Selection is the answer of Select.
type Selection struct {
	Best       Candidate
	Candidates []Candidate // all, in the order in which they were tried
}

// Candidate is a rule that was tried, and what became of the requests.
type Candidate struct {
	Name   string // for people: "V(1.5, 1)", "MIG-FGD", "best fit"
	Policy placement.Policy
	// Index is that of a rule by value index, nil for the others.
	Index *fragmentation.Index
	// Loss is the rejected requests over those of first fit, plus the rejected
	// compute slices over those of first fit: 2 for first fit itself.
	Loss             float64
	Requests, Slices Count
}

const (
	selectGPUs     = 64
	selectTraces   = 3
	selectArrivals = 20_000
	selectWarmUp   = 6
)

// Select tries value indexes of several gammas and alphas, MIGFGD and best fit on
// a fleet of 64 GPUs of a model at load 1 under a mix, and returns the rule that
// rejects least, by requests and by compute slices together. The choice holds for
// other sizes, loads and lifetimes too, but not for another mix: where that may
// change, take fragmentation.DefaultIndex and a placement.IndexLearner.
//
// The seed is that of the simulated arrivals. The error is that of NewTrace. It
// takes up to a second.
func Select(m *mig.Model, mix fragmentation.Mix, seed uint64) (Selection, error) {
	traces := make([]*Trace, selectTraces)
	for i := range traces {
		var err error
		traces[i], err = NewTrace(Config{
			Fleet: []Group{{m, selectGPUs}}, Mix: mix, Load: 1,
			WarmUp: selectWarmUp, Arrivals: selectArrivals, Seed: seed + uint64(i),
		})
		if err != nil {
			return Selection{}, err
		}
	}
	candidates, err := candidates(traces[0].fleet[0].states, mix)
	if err != nil {
		return Selection{}, err
	}
	base := Candidate{Policy: placement.FirstFit()}
	if err := base.try(traces); err != nil {
		return Selection{}, err
	}
	s := Selection{Candidates: candidates}
	for i := range candidates {
		c := &candidates[i]
		if err := c.try(traces); err != nil {
			return Selection{}, err
		}
		// One more on both sides: nothing may have been rejected.
		c.Loss = float64(c.Requests.Rejected+1)/float64(base.Requests.Rejected+1) +
			float64(c.Slices.Rejected+1)/float64(base.Slices.Rejected+1)
		if i == 0 || c.Loss < s.Best.Loss {
			s.Best = *c
		}
	}
	return s, nil
}

func (c *Candidate) try(traces []*Trace) error {
	for _, t := range traces {
		r, err := t.Run(c.Policy)
		if err != nil {
			return err
		}
		c.Requests.add(r.Requests)
		c.Slices.add(r.Slices)
	}
	return nil
}

func (c *Count) add(o Count) {
	c.Offered += o.Offered
	c.Rejected += o.Rejected
}

// candidates returns the rules to try.
func candidates(states *fragmentation.States, mix fragmentation.Mix) ([]Candidate, error) {
	var all []Candidate
	for _, gamma := range []float64{1, 1.25, 1.5, 2} {
		for _, alpha := range []float64{0.5, 1, 4} {
			x, err := fragmentation.NewIndex(states, mix, fragmentation.IndexParams{Gamma: gamma, Alpha: alpha})
			if err != nil {
				return nil, fmt.Errorf("churn: %w", err)
			}
			p, err := placement.ByIndex(x)
			if err != nil {
				return nil, fmt.Errorf("churn: %w", err)
			}
			all = append(all, Candidate{Name: fmt.Sprintf("V(%v, %v)", gamma, alpha), Policy: p, Index: x})
		}
	}
	value, err := fragmentation.NewMIGFGD(mix)
	if err != nil {
		return nil, fmt.Errorf("churn: %w", err)
	}
	p, err := placement.ByValue(value, 1, placement.SmallestFirst)
	if err != nil {
		return nil, fmt.Errorf("churn: %w", err)
	}
	return append(all,
		Candidate{Name: "MIG-FGD", Policy: p},
		Candidate{Name: "best fit", Policy: placement.BestFit(placement.Largest{GPU: fragmentation.Whole})},
	), nil
}
