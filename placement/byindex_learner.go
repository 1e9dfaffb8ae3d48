package placement

import (
	"errors"
	"fmt"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// IndexLearner learns the mix of MIG requests from those that arrive, and makes a
// new IndexPolicy of it from time to time. Old requests count less: all counts
// shrink by a twentieth every 256 arrivals, so that some 5,000 arrivals are
// remembered.
//
// It is for one user at a time. The policies that it hands out are immutable and
// may be used by any number of goroutines while it goes on.
type IndexLearner struct {
	params fragmentation.IndexParams
	every  int
	states []*fragmentation.States
	counts []learned
	seen   int // since the start
	due    int // when the next policy is made
	policy *IndexPolicy
}

// learned is how often a profile was asked for.
type learned struct {
	profile string
	weight  int64 // in parts of an arrival
}

const (
	arrivalWeight = 1024 // parts of an arrival
	decayEvery    = 256
	decayBy       = 20 // a twentieth
	firstTable    = 64
	mostEvery     = 1 << 20
)

// NewIndexLearner returns a learner for a fleet of the given models that has seen
// nothing: its policy expects all profiles alike. A new policy is made after 64
// arrivals, then after twice as many as before up to every so many (0: 1,024),
// which takes some 3 ms for each model of 8 memory slices. All of them open empty
// GPUs last (IndexPolicy.UsedFirst). That and the shares of what is expected
// whatever the mix, see fragmentation.DefaultIndex, bound the harm of a mix that
// changes faster than it is learned.
//
// The error is that of fragmentation.NewStates and NewIndex, or wraps ErrBadRule
// for no model, one that is listed twice, or a number of arrivals that is not from
// 0 to 1<<20.
func NewIndexLearner(models []*mig.Model, params fragmentation.IndexParams, every int) (*IndexLearner, error) {
	if every < 0 || every > mostEvery {
		return nil, fmt.Errorf("placement: a policy every %d arrivals: not from 0 to %d: %w", every, mostEvery, ErrBadRule)
	}
	if every == 0 {
		every = 1024
	}
	l := &IndexLearner{params: params, every: every, due: min(firstTable, every)}
	known := map[string]bool{}
	for _, m := range models {
		s, err := fragmentation.NewStates(m)
		if err != nil {
			return nil, fmt.Errorf("placement: %w", err)
		}
		l.states = append(l.states, s)
		for p := range m.Profiles() {
			if !known[p.Name] && s.Kind(p.Name) >= 0 {
				known[p.Name] = true
				l.counts = append(l.counts, learned{profile: p.Name})
			}
		}
	}
	// Of nothing learned the shares in the parameters are not used: ask for them here.
	for _, s := range l.states[:min(1, len(l.states))] {
		if _, err := fragmentation.NewIndex(s, nil, params); errors.Is(err, fragmentation.ErrBadIndex) {
			return nil, fmt.Errorf("placement: %w", err)
		}
	}
	var err error
	if l.policy, err = l.learn(); err != nil {
		return nil, err
	}
	return l, nil
}

// Policy returns the policy made last.
func (l *IndexLearner) Policy() *IndexPolicy { return l.policy }

// Observe counts a request that arrived, whether or not it is placed, and reports
// whether there is a new Policy. Other tasks, and profiles that no model of the
// fleet offers, do not count.
func (l *IndexLearner) Observe(t *Task) bool {
	i := l.find(t.Shape.Profile)
	if i < 0 {
		return false
	}
	l.counts[i].weight += arrivalWeight
	l.seen++
	if l.seen%decayEvery == 0 {
		for i := range l.counts {
			l.counts[i].weight -= l.counts[i].weight / decayBy
		}
	}
	if l.seen < l.due {
		return false
	}
	l.due += min(l.due, l.every)
	policy, err := l.learn()
	if err != nil {
		return false // cannot be: the parameters made a policy before
	}
	l.policy = policy
	return true
}

func (l *IndexLearner) find(profile string) int {
	if profile == "" {
		return -1
	}
	for i := range l.counts {
		if l.counts[i].profile == profile {
			return i
		}
	}
	return -1
}

// Mix returns what has been learned; the counts are parts of an arrival.
func (l *IndexLearner) Mix() fragmentation.Mix {
	var mix fragmentation.Mix
	for _, c := range l.counts {
		if c.weight > 0 {
			mix = append(mix, fragmentation.Entry{Shape: fragmentation.Shape{GPUs: 1, Profile: c.profile}, Count: c.weight})
		}
	}
	return mix
}

func (l *IndexLearner) learn() (*IndexPolicy, error) {
	mix := l.Mix()
	indexes := make([]*fragmentation.Index, len(l.states))
	for i, s := range l.states {
		params := l.params
		if !asksFor(mix, s) {
			params.Uniform, params.Whole = 1, 0 // nothing is known of this model
		}
		var err error
		if indexes[i], err = fragmentation.NewIndex(s, mix, params); err != nil {
			return nil, fmt.Errorf("placement: %w", err)
		}
	}
	p, err := ByIndex(indexes...)
	if err != nil {
		return nil, err
	}
	return p.UsedFirst(), nil
}

func asksFor(mix fragmentation.Mix, s *fragmentation.States) bool {
	for i := range mix {
		if s.Kind(mix[i].Shape.Profile) >= 0 {
			return true
		}
	}
	return false
}
