package replay

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// Task is a task with its times. Their unit is the caller's.
type Task struct {
	placement.Task
	Arrive   int64 // not negative
	Lifetime int64 // from the time it is placed; 0: it stays
}

// Config says what to replay.
type Config struct {
	// Nodes is the cluster; at least one node has a GPU. Ties between nodes go
	// to the first.
	Nodes []placement.NodeSpec
	// Tasks arrive by time, those of one time in the order given. A task that
	// finds no place is dropped.
	Tasks []Task
	// Policy returns the policy for the empty cluster, whose Largest some need. It
	// is called once for a run.
	Policy func(*placement.Cluster) placement.Policy
	// Next, if set, is asked before every arrival, with the task. A policy that is not
	// nil decides from there on: one that has learned from what came before. A new
	// one is asked about every node again.
	Next func(*placement.Task) placement.Policy
	// Value measures fragmentation; nil: it is not measured.
	Value fragmentation.Value
	// WarmUp is the time before which arrivals do not count in Metrics.Steady: a fleet
	// that starts empty refuses less at first, and a large one needs some twenty mean
	// lifetimes until it is as fragmented as it stays.
	WarmUp int64
	// Repair, if set, moves tasks: to admit one that is refused, and, if the rule has
	// a worth, after departures.
	Repair *placement.Repair
	// Percents is the largest whole percent of arrived share that is sampled,
	// at most 10000; 0: as many as arrive, at most 1000.
	Percents int
	// Observe, if set, is told of every event, in order. What it is given must
	// not be changed.
	Observe func(Event)
	// Progress, if set, is called about every hundredth of the tasks and at the
	// end.
	Progress func(done, total int)
	// Now, if set, is the clock for Result.Elapsed.
	Now func() time.Time
}

// Event is one thing that happened in a replay.
type Event struct {
	Time      int64
	Departure bool // the task left; else it arrived
	Task      *placement.Task
	// Node is the view after the event; nil if the task was refused.
	Node *placement.Node
	// Choice is what the policy answered for that node or, without one, the
	// refusal. It is not set for a departure, and has no score where repair made
	// the room.
	Choice placement.Choice
	// Moves is what repair moved: before a task was placed, or after one left.
	Moves []placement.Move
}

const (
	mostPercents    = 10_000
	defaultPercents = 1000
)

// check validates everything but the nodes, and returns the order of arrival.
func (c *Config) check() ([]int, error) {
	bad := func(format string, args ...any) ([]int, error) {
		return nil, fmt.Errorf("replay: %w: %w", fmt.Errorf(format, args...), ErrBadConfig)
	}
	switch {
	case len(c.Nodes) == 0:
		return bad("no nodes")
	case len(c.Tasks) == 0:
		return bad("no tasks")
	case c.Policy == nil:
		return bad("no policy")
	case c.Value != nil && (c.Value.Scale() < 1 || c.Value.Scale() > fragmentation.MostScale):
		return bad("value of scale %d: not from 1 to %d", c.Value.Scale(), int64(fragmentation.MostScale))
	case c.WarmUp < 0:
		return bad("warm-up %d is negative", c.WarmUp)
	case c.Percents < 0 || c.Percents > mostPercents:
		return bad("sampling up to %d percent: not from 0 to %d", c.Percents, mostPercents)
	}
	first := make(map[string]int, len(c.Tasks))
	order := make([]int, len(c.Tasks))
	for i := range c.Tasks {
		t := &c.Tasks[i]
		j, found := first[t.ID]
		switch {
		case t.ID == "":
			return bad("task %d: no ID: %w", i, placement.ErrBadTask)
		case found:
			return bad("task %d: ID %q is that of task %d: %w", i, t.ID, j, placement.ErrDuplicate)
		case t.Arrive < 0:
			return bad("task %d (%q): arrival at %d is negative: %w", i, t.ID, t.Arrive, placement.ErrBadTask)
		case t.Lifetime < 0:
			return bad("task %d (%q): lifetime %d is negative: %w", i, t.ID, t.Lifetime, placement.ErrBadTask)
		case t.Lifetime > math.MaxInt64-t.Arrive:
			return bad("task %d (%q): arrival at %d and lifetime %d are too large: %w", i, t.ID, t.Arrive, t.Lifetime, placement.ErrBadTask)
		}
		if err := t.Shape.Validate(); err != nil {
			return bad("task %d (%q): %w: %w", i, t.ID, err, placement.ErrBadTask)
		}
		first[t.ID], order[i] = i, i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.Tasks[a].Arrive, c.Tasks[b].Arrive) })
	return order, nil
}
