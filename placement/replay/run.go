package replay

import (
	"container/heap"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// Run replays. A bad Config gives an error that names the value and its place
// and wraps ErrBadConfig; a policy that answers with a spot that cannot be
// taken, an error that wraps that of placement.Cluster.Place. When the context
// ends, Run stops before the next decision with an error that wraps ctx.Err().
func Run(ctx context.Context, cfg Config) (*Result, error) {
	order, err := cfg.check()
	if err != nil {
		return nil, err
	}
	cluster, err := placement.NewCluster(cfg.Nodes)
	if err != nil {
		return nil, fmt.Errorf("replay: %w: %w", err, ErrBadConfig)
	}
	r := &run{
		cfg: &cfg, cluster: cluster, meter: newMeter(cluster, cfg.Value),
		asked: map[fragmentation.Shape]int64{}, failures: map[placement.Kind]int{},
	}
	sum := r.meter.read()
	if sum.gpus == 0 {
		return nil, fmt.Errorf("replay: none of %d nodes has a GPU: %w", cluster.Len(), ErrBadConfig)
	}
	policy := cfg.Policy(cluster)
	if policy == nil {
		return nil, fmt.Errorf("replay: no policy: %w", ErrBadConfig)
	}
	r.engine = placement.NewEngine(cluster, policy)
	if cfg.Repair != nil {
		if r.repair, err = r.engine.Repairer(*cfg.Repair); err != nil {
			return nil, fmt.Errorf("replay: %w: %w", err, ErrBadConfig)
		}
	}
	// The empty cluster: what is left is the capacity.
	r.now.Capacity = sum.left
	r.cpu = sum.cpu
	r.result.Cluster = cluster
	r.sample(0)
	if err := r.all(ctx, order); err != nil {
		return nil, err
	}
	return &r.result, nil
}

// run is a replay under way.
type run struct {
	cfg      *Config
	cluster  *placement.Cluster // changed by the engine alone
	engine   *placement.Engine
	repair   *placement.Repairer // nil: nothing is moved
	meter    *meter
	leaving  departures
	asked    map[fragmentation.Shape]int64
	failures map[placement.Kind]int
	cpu      int64  // milli-vCPU of the empty cluster
	now      Sample // its counts; the rest is measured when a sample is taken
	result   Result
}

func (r *run) all(ctx context.Context, order []int) error {
	if r.cfg.Now != nil {
		start := r.cfg.Now()
		defer func() { r.result.Elapsed = r.cfg.Now().Sub(start) }()
	}
	pace := max(1, len(order)/100)
	for sequence, task := range order {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("replay: stopped after %d of %d tasks: %w", sequence, len(order), err)
		}
		if err := r.depart(r.cfg.Tasks[task].Arrive); err != nil {
			return err
		}
		if err := r.arrive(sequence, task); err != nil {
			return err
		}
		if done := sequence + 1; r.cfg.Progress != nil && (done%pace == 0 || done == len(order)) {
			r.cfg.Progress(done, len(order))
		}
	}
	r.result.Final = r.measure()
	for _, kind := range slices.Sorted(maps.Keys(r.failures)) {
		r.result.Failures = append(r.result.Failures, Failure{kind, r.failures[kind]})
	}
	return nil
}

// depart lets the tasks go whose time has come.
func (r *run) depart(now int64) error {
	for d, ok := r.leaving.due(now); ok; d, ok = r.leaving.due(now) {
		t := &r.cfg.Tasks[d.task].Task
		node := r.cluster.Locate(t.ID)
		r.engine.Release(t.ID)
		var moves []placement.Move
		if r.repair != nil {
			moves = r.repair.Improve()
			if err := r.move(d.at, moves); err != nil {
				return err
			}
		}
		if r.cfg.Observe != nil {
			r.cfg.Observe(Event{Time: d.at, Departure: true, Task: t, Node: r.cluster.Node(node.Name()), Moves: moves})
		}
	}
	return nil
}

// move carries out what repair found.
func (r *run) move(now int64, moves []placement.Move) error {
	if len(moves) == 0 {
		return nil
	}
	if err := r.repair.Apply(moves); err != nil {
		return fmt.Errorf("replay: time %d: repair: %w", now, err)
	}
	moved := placement.Moved(moves)
	r.result.Moves += moved
	if now >= r.cfg.WarmUp {
		r.result.Steady.Moves += moved
	}
	return nil
}

// use lets another policy decide.
func (r *run) use(p placement.Policy) {
	r.engine.SetPolicy(p)
	if r.repair != nil {
		r.repair.Use(p)
	}
}

// arrive offers a task.
func (r *run) arrive(sequence, task int) error {
	t := &r.cfg.Tasks[task]
	if r.cfg.Next != nil {
		if p := r.cfg.Next(&t.Task); p != nil {
			r.use(p)
		}
	}
	node, choice := r.engine.Choose(&t.Task)
	var moves []placement.Move
	if node == nil && r.repair != nil {
		if rescue, ok := r.repair.Admit(&t.Task); ok {
			if err := r.move(t.Arrive, rescue.Moves); err != nil {
				return err
			}
			node, choice, moves = r.cluster.Node(rescue.Node), placement.Choice{Spot: rescue.Spot}, rescue.Moves
		}
	}
	group := GroupOf(t.Shape)
	if node == nil {
		r.failures[choice.Refusal.Kind]++
	} else {
		if err := r.engine.Place(node.Name(), placement.Assignment{Task: t.Task, Spot: choice.Spot}); err != nil {
			return fmt.Errorf("replay: task %d: the policy's choice: %w", task, err)
		}
		node = r.cluster.Node(node.Name())
		r.now.Placed++
		r.result.Accepted[group]++
		if r.repair != nil {
			r.repair.Admitted()
		}
		if t.Lifetime > 0 {
			heap.Push(&r.leaving, departure{t.Arrive + t.Lifetime, sequence, task})
		}
	}
	r.now.Tasks++
	r.now.Arrived += r.askedBy(t.Shape)
	r.result.Offered[group]++
	if t.Arrive >= r.cfg.WarmUp {
		r.result.Steady.add(t.Shape, r.askedBy(t.Shape), node != nil)
	}
	if r.cfg.Observe != nil {
		r.cfg.Observe(Event{Time: t.Arrive, Task: &t.Task, Node: node, Choice: choice, Moves: moves})
	}
	r.sample(100 * r.now.Arrived / r.now.Capacity)
	return nil
}

func (r *run) askedBy(shape fragmentation.Shape) int64 {
	milli, found := r.asked[shape]
	if !found {
		milli = Asked(r.cluster, shape)
		r.asked[shape] = milli
	}
	return milli
}

// sample takes the samples that are due up to a percent.
func (r *run) sample(percent int64) {
	most := int64(r.cfg.Percents)
	if most == 0 {
		most = defaultPercents
	}
	missing := min(percent, most) + 1 - int64(len(r.result.Samples))
	if missing <= 0 {
		return
	}
	s := r.measure()
	for range missing {
		r.result.Samples = append(r.result.Samples, s)
	}
}

// measure returns the sample of this moment.
func (r *run) measure() Sample {
	sum := r.meter.read()
	s := r.now
	s.Allocated = s.Capacity - sum.left
	s.CPU = r.cpu - sum.cpu
	s.GPUsInUse = sum.gpus - sum.idle
	s.Fragment = r.meter.fragment()
	return s
}
