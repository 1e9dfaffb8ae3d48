package placement

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// NodeSpec is the capacity of a node as plain data.
type NodeSpec struct {
	Name   string
	CPU    int64  // milli-vCPU
	Memory int64  // MiB of main memory
	Model  string // GPU model that tasks may ask for; empty: none
	GPUs   []GPUSpec
	// Generation is the caller's version of the node, see Cluster.Put; 0: none.
	Generation int64
}

// GPUSpec is one GPU of a node.
type GPUSpec struct {
	Memory int64 // MiB of device memory; 0: not stated, then no task may state a need
	// MIG is the model by whose table the GPU is cut, as mig.Lookup finds it.
	// nil: the GPU is not in MIG mode and takes fractions and whole-GPU tasks.
	MIG *mig.Model
}

// Node is an immutable view of a node: its capacity, the tasks on it and what
// is left. It holds no lock and no lazily filled cache, and is safe for any
// number of concurrent readers. Two views of a node share what did not change.
type Node struct {
	spec   *NodeSpec
	empty  *Node               // the view without tasks
	known  fragmentation.State // with all tasks, but without the GPU share of those placed anywhere
	state  fragmentation.State // with all tasks, those placed anywhere on a spot of the node's choice
	tasks  []placed            // by task ID
	groups []groupCount        // of the tasks that use a GPU
}

// placed is an assignment with the spot that it takes in the state.
type placed struct {
	Assignment
	spot Spot
}

// mostAmount bounds what a node may have of anything, so that scores stay within
// 64 bits.
const mostAmount = 1 << 40

// NewNode returns the view of an empty node. The error names the field that is
// out of range and wraps ErrBadNode.
func NewNode(spec NodeSpec) (*Node, error) {
	bad := func(format string, args ...any) (*Node, error) {
		return nil, fmt.Errorf("placement: node %q: %s: %w", spec.Name, fmt.Sprintf(format, args...), ErrBadNode)
	}
	switch {
	case spec.Name == "":
		return bad("no name")
	case spec.CPU < 0 || spec.CPU > mostAmount:
		return bad("CPU %d is not from 0 to %d", spec.CPU, int64(mostAmount))
	case spec.Memory < 0 || spec.Memory > mostAmount:
		return bad("memory %d is not from 0 to %d", spec.Memory, int64(mostAmount))
	case len(spec.GPUs) > fragmentation.MostGPUs:
		return bad("%d GPUs are more than %d", len(spec.GPUs), fragmentation.MostGPUs)
	}
	spec.GPUs = slices.Clone(spec.GPUs)
	state := fragmentation.State{CPU: spec.CPU, Memory: spec.Memory, Model: spec.Model}
	for i, g := range spec.GPUs {
		if g.Memory < 0 || g.Memory > mostAmount {
			return bad("GPU %d: device memory %d is not from 0 to %d", i, g.Memory, int64(mostAmount))
		}
		gpu := fragmentation.GPU{Milli: fragmentation.Whole, Memory: g.Memory}
		if g.MIG != nil {
			if g.MIG.MemorySlices() == 0 {
				return nil, fmt.Errorf("placement: node %q: GPU %d: %s: %w: %w", spec.Name, i, g.MIG, mig.ErrUnknownGeometry, ErrBadNode)
			}
			gpu = fragmentation.GPU{Layout: g.MIG.Empty()}
		}
		state.GPUs = append(state.GPUs, gpu)
	}
	n := &Node{spec: &spec, known: state, state: state}
	n.empty = n
	return n, nil
}

// Name returns the node's name.
func (n *Node) Name() string { return n.spec.Name }

// Spec returns a copy of the node's capacity.
func (n *Node) Spec() NodeSpec {
	s := *n.spec
	s.GPUs = slices.Clone(s.GPUs)
	return s
}

// Len returns the number of tasks on the node.
func (n *Node) Len() int { return len(n.tasks) }

// GPUs returns the number of GPUs of the node.
func (n *Node) GPUs() int { return len(n.state.GPUs) }

// State returns a copy of what is left.
func (n *Node) State() fragmentation.State {
	var s fragmentation.State
	n.state.CopyTo(&s)
	return s
}

// CopyState makes dst what is left, reusing the memory of dst: State for hot
// paths.
func (n *Node) CopyState(dst *fragmentation.State) { n.state.CopyTo(dst) }

// Capacity returns a copy of the state of the empty node.
func (n *Node) Capacity() fragmentation.State { return n.empty.State() }

// Assignments iterates over the tasks on the node, by ID.
func (n *Node) Assignments() iter.Seq[Assignment] {
	return func(yield func(Assignment) bool) {
		for i := range n.tasks {
			if !yield(n.tasks[i].Assignment) {
				return
			}
		}
	}
}

// Assignment returns the assignment of a task and whether it is on the node.
func (n *Node) Assignment(taskID string) (Assignment, bool) {
	i, found := n.find(taskID)
	if !found {
		return Assignment{}, false
	}
	return n.tasks[i].Assignment, true
}

func (n *Node) find(taskID string) (int, bool) {
	return slices.BinarySearchFunc(n.tasks, taskID, func(p placed, id string) int { return cmp.Compare(p.Task.ID, id) })
}

// With returns the view with one more task. The error wraps ErrBadTask,
// ErrDuplicate, ErrBadSpot, ErrRefused (a *RefusedError) or, for the start of a
// MIG instance, the error of mig.Layout.With; the view is unchanged.
//
// Tasks placed anywhere stand on spots of the node's choice, which are chosen
// anew with every task that comes or goes and depend on the tasks alone. They
// make way for a task at a spot; it is refused where they cannot.
func (n *Node) With(a Assignment) (*Node, error) {
	next, err := n.with(a, settleSteps)
	if err != nil {
		return nil, fmt.Errorf("placement: task %q on node %q: %w", a.Task.ID, n.spec.Name, err)
	}
	return next, nil
}

// with is With with a bound for settle.
func (n *Node) with(a Assignment, steps int) (*Node, error) {
	if a.Task.ID == "" {
		return nil, fmt.Errorf("no ID: %w", ErrBadTask)
	}
	if err := a.Task.Shape.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadTask, err)
	}
	i, found := n.find(a.Task.ID)
	if found {
		return nil, fmt.Errorf("task: %w", ErrDuplicate)
	}
	if a.Spot.Anywhere && a.Task.Shape.GPUs == 0 {
		a.Spot = Spot{} // there is no GPU to be unknown
	}
	next := *n
	next.tasks = slices.Insert(slices.Clip(n.tasks), i, placed{a, a.Spot})
	next.groups = countGroup(n.groups, &a.Task.Shape, 1)
	next.known = fragmentation.State{}
	n.known.CopyTo(&next.known)
	if a.Spot.Anywhere {
		if kind := nodeRefusal(&next.known, &a.Task.Shape); kind != None {
			return nil, &RefusedError{Kind: kind, GPU: -1}
		}
		next.known.CPU -= a.Task.Shape.CPU
		next.known.Memory -= a.Task.Shape.Memory
	} else if err := take(&next.known, &a.Task.Shape, a.Spot); err != nil {
		return nil, err
	}
	if next.settle(steps) {
		return &next, nil
	}
	return &next, next.keep(n, i)
}

// Without returns the view without a task: the exact inverse of With. It is
// idempotent: without the task on the node it returns the view itself.
func (n *Node) Without(taskID string) *Node { return n.without(taskID, settleSteps) }

// without is Without with a bound for settle.
func (n *Node) without(taskID string, steps int) *Node {
	i, found := n.find(taskID)
	if !found {
		return n
	}
	p := n.tasks[i]
	next := *n
	next.tasks = slices.Delete(slices.Clone(n.tasks), i, i+1)
	next.groups = countGroup(n.groups, &p.Task.Shape, -1)
	next.known = fragmentation.State{}
	n.known.CopyTo(&next.known)
	if p.Spot.Anywhere {
		next.known.CPU += p.Task.Shape.CPU
		next.known.Memory += p.Task.Shape.Memory
	} else {
		give(&next.known, &p.Task.Shape, p.spot, n.empty.state.GPUs)
	}
	if !next.settle(steps) { // the spots of before will do
		next.state = fragmentation.State{}
		n.state.CopyTo(&next.state)
		give(&next.state, &p.Task.Shape, p.spot, n.empty.state.GPUs)
	}
	return &next
}

// Contradiction is a recorded assignment that cannot be true.
type Contradiction struct {
	Node       string
	Assignment Assignment
	Err        error
}

// String names the task, the node and the reason.
func (c Contradiction) String() string { return c.Err.Error() }

// Rebuild returns the view of a node with recorded assignments. Those with a
// known GPU are entered first, in the order given, then those placed anywhere.
// An assignment that contradicts the ones before it (two tasks on one slice, an
// unknown GPU, a share out of range) is reported and left out; the others
// stand.
func Rebuild(spec NodeSpec, recorded []Assignment) (*Node, []Contradiction, error) {
	n, err := NewNode(spec)
	if err != nil {
		return nil, nil, err
	}
	var wrong []Contradiction
	for _, floating := range []bool{false, true} {
		for _, a := range recorded {
			if a.Spot.Anywhere != floating {
				continue
			}
			next, err := n.With(a)
			if err != nil {
				wrong = append(wrong, Contradiction{spec.Name, a, err})
				continue
			}
			n = next
		}
	}
	return n, wrong, nil
}
