package placement

import (
	"errors"
	"fmt"

	"github.com/gpushare/gpushare/fragmentation"
)

// Conditions of repair.
var (
	ErrBadRepair = errors.New("bad repair") // a rule that says nothing
	ErrBadMove   = errors.New("bad move")   // it does not start where the task is, or loses it
	ErrNoBudget  = errors.New("more moves than were earned")
)

// Repair says how tasks may be moved to mend what earlier choices, made without
// knowing what would come, have spoiled. A move is paid for by admissions.
type Repair struct {
	// Every is how many admissions pay for one move: 100 lets 1 % of the
	// admissions be moved. At least 1.
	Every int
	// Moves is the most tasks that one repair moves; 0: 2.
	Moves int
	// Looks bounds a search: it tries so many candidates; 0: 48.
	Looks int
	// Least is the milli-GPU that a repair must admit for each move, a MIG instance
	// by its memory slices: a budget that is spent on small tasks is not there for
	// large ones. 0: any task will do, also one without GPU.
	Least int64
	// Worth is what a state is worth, in any unit: of the ways to admit a task that
	// a search finds, the one that leaves most is taken. Nil: the first is taken, and
	// nothing moves in the background. Values of GPUs that were computed on scales of
	// their own must be made comparable first.
	Worth func(*fragmentation.State) int64
	// Keep wants that moves and admission together leave no less worth than there
	// was, so that the budget goes where moves free more than the task takes.
	Keep bool
	// Gain is what a move in the background must gain at least, in units of Worth;
	// 0: anything. The bar rises above it where better moves than the budget pays for
	// keep coming, and falls again where they do not.
	Gain int64
	// Pinned says which tasks are never moved; nil: none. It must be pure. Tasks
	// placed anywhere are never moved either: nobody knows where they are.
	Pinned func(*Task) bool
}

const (
	usualMoves = 2
	usualLooks = 48
	mostMoves  = 64
)

// Repairer looks for moves by a Repair, with a policy that says where a moved
// task goes. It only looks: Apply carries out. So the budget is never exceeded,
// and what is not applied changes nothing. It follows one cluster and is for one
// user at a time. It costs memory for every pair of kind of task and node that
// it has seen, as a Chooser does.
//
// A search looks at every node once and then at no more than Looks candidates,
// each of which asks the policy where up to Moves tasks would go.
type Repairer struct {
	cluster  *Cluster
	apply    func([]Move) error // of the cluster, or of the engine that owns it
	policy   Policy
	rule     Repair
	memory   map[Task][]answer // by task without ID; nil for a policy that looks at the ID
	lists    []summary         // what may be moved, by node
	known    findings
	admitted int
	moved    int
	bar      int64 // what a move in the background must gain; 0: not known yet
	scratch  fragmentation.State
	cursor   int // the node at which the next search in the background begins
}

// NewRepairer returns a Repairer. The error names the field of the rule that is
// out of range and wraps ErrBadRepair.
func NewRepairer(c *Cluster, p Policy, rule Repair) (*Repairer, error) {
	bad := func(field string, value any, what string) (*Repairer, error) {
		return nil, fmt.Errorf("placement: repair: %s %v: %s: %w", field, value, what, ErrBadRepair)
	}
	if rule.Moves == 0 {
		rule.Moves = usualMoves
	}
	if rule.Looks == 0 {
		rule.Looks = usualLooks
	}
	switch {
	case c == nil || p == nil:
		return nil, fmt.Errorf("placement: repair: no cluster or no policy: %w", ErrBadRepair)
	case rule.Every < 1:
		return bad("every", rule.Every, "less than 1 admission for a move")
	case rule.Moves < 0 || rule.Moves > mostMoves:
		return bad("moves", rule.Moves, fmt.Sprintf("not from 0 to %d", mostMoves))
	case rule.Looks < 0:
		return bad("looks", rule.Looks, "is negative")
	case rule.Least < 0:
		return bad("least", rule.Least, "is negative")
	case rule.Gain < 0:
		return bad("gain", rule.Gain, "is negative")
	}
	r := &Repairer{cluster: c, apply: c.Apply, rule: rule}
	r.Use(p)
	return r, nil
}

// Use lets another policy say where tasks go, such as one that has learned more.
func (r *Repairer) Use(p Policy) {
	r.policy, r.memory, r.known = p, nil, findings{}
	if !perTask(p) {
		r.memory = map[Task][]answer{}
	}
}

// Admitted counts one more admission. Call it for every task that is placed.
func (r *Repairer) Admitted() { r.admitted++ }

// Spare returns how many moves are paid for and not yet made.
func (r *Repairer) Spare() int { return r.admitted/r.rule.Every - r.moved }

// Apply carries out moves on the cluster and takes them off the budget. The error
// is that of Cluster.Apply or wraps ErrNoBudget; nothing is changed then.
func (r *Repairer) Apply(moves []Move) error {
	n := Moved(moves)
	if n > r.Spare() {
		return fmt.Errorf("placement: %d moves where %d are paid for: %w", n, r.Spare(), ErrNoBudget)
	}
	if err := r.apply(moves); err != nil {
		return err
	}
	r.moved += n
	return nil
}

// movable reports whether a task may be moved.
func (r *Repairer) movable(p *placed) bool {
	return !p.Spot.Anywhere && (r.rule.Pinned == nil || !r.rule.Pinned(&p.Task))
}
