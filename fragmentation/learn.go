package fragmentation

import (
	"errors"
	"fmt"
)

// ErrBadLearner is wrapped by the error of NewLearner for options out of range.
var ErrBadLearner = errors.New("bad options of a learner")

const (
	defaultWindow = 2000
	defaultShapes = 256
	mostWindow    = 100_000
	mostShapes    = 4096
	// taskWeight is what a task adds to its shape; the counts of a mix are
	// weights, so that shapes that fade keep a share. With the largest window the
	// weights stay below the most that a mix may count.
	taskWeight = 50
	// fadeSteps is how many times in a window weights fade, by a factor of 1 -
	// 1/fadeSteps.
	fadeSteps = 20
)

// LearnerOptions says how long a Learner remembers. The zero value is the
// default.
type LearnerOptions struct {
	// Window is how many tasks back the memory reaches: after every twentieth part
	// of it weights fall to 19/20, so that of a task's weight a third is left a
	// window later. 20 to 100,000; 0: 2,000.
	Window int
	// Shapes bounds how many shapes are remembered; at most 4096; 0: 256. A new one
	// takes the place of the lightest, of these the one seen longest ago.
	Shapes int
}

// Learner learns a mix from the tasks that arrive, and forgets what is long past.
// It has integers only and no clock, so the same tasks in the same order give the
// same mix. It is not safe for concurrent use; the mixes that it returns are the
// caller's.
//
// A value of the mix is to be made anew now and then, not with every task:
// what a scheduler remembers of values is lost with each.
type Learner struct {
	fade  int // tasks from one fading to the next
	most  int
	known map[Shape]*learned
	tasks int64 // observed so far
}

type learned struct {
	weight int64
	last   int64 // number of the task that was last of the shape
}

// NewLearner returns a Learner that knows nothing yet. The error names an option
// out of range and wraps ErrBadLearner.
func NewLearner(options LearnerOptions) (*Learner, error) {
	if options.Window == 0 {
		options.Window = defaultWindow
	}
	if options.Shapes == 0 {
		options.Shapes = defaultShapes
	}
	if options.Window < fadeSteps || options.Window > mostWindow {
		return nil, fmt.Errorf("fragmentation: window of %d tasks: not from %d to %d: %w", options.Window, fadeSteps, mostWindow, ErrBadLearner)
	}
	if options.Shapes < 1 || options.Shapes > mostShapes {
		return nil, fmt.Errorf("fragmentation: %d shapes to remember: not from 1 to %d: %w", options.Shapes, mostShapes, ErrBadLearner)
	}
	return &Learner{fade: options.Window / fadeSteps, most: options.Shapes, known: map[Shape]*learned{}}, nil
}

// Observe counts a task that has arrived, whether or not it was placed. Main
// memory is left out of its shape. The error is that of Shape.Validate; nothing
// is changed then. The cost is constant, but for a new shape where as many as are
// remembered are known, and for one fading in so many tasks: these look at all.
func (l *Learner) Observe(s Shape) error {
	if err := s.Validate(); err != nil {
		return err
	}
	s.Memory = 0
	l.tasks++
	k := l.known[s]
	if k == nil {
		if len(l.known) == l.most {
			l.forgetLightest()
		}
		k = &learned{}
		l.known[s] = k
	}
	k.weight += taskWeight
	k.last = l.tasks
	if l.tasks%int64(l.fade) == 0 {
		l.fadeAll()
	}
	return nil
}

func (l *Learner) fadeAll() {
	for s, k := range l.known { // in any order: each by itself
		k.weight -= (k.weight + fadeSteps - 1) / fadeSteps
		if k.weight == 0 {
			delete(l.known, s)
		}
	}
}

func (l *Learner) forgetLightest() {
	var lightest Shape
	var weight, last int64
	for s, k := range l.known { // the last task is of one shape alone: no ties
		if last == 0 || k.weight < weight || k.weight == weight && k.last < last {
			lightest, weight, last = s, k.weight, k.last
		}
	}
	delete(l.known, lightest)
}

// Tasks returns how many tasks have been observed.
func (l *Learner) Tasks() int64 { return l.tasks }

// Mix returns the shapes that are remembered with their weights, in the order of
// MixOf: 50 for a task that has just arrived, less for one in the past. It is
// empty before the first task.
func (l *Learner) Mix() Mix {
	mix := make(Mix, 0, len(l.known))
	for s, k := range l.known {
		mix = append(mix, Entry{s, k.weight})
	}
	mix.sort()
	return mix
}
