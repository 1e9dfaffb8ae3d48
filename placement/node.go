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
	// MIG is the model by whose table the GPU is cut, as mig.Lookup finds it;
	// nil: it is not in MIG mode and takes fractions and whole-GPU tasks. A
	// GPU in MIG mode is cut as tasks come: instances that exist already are entered as
	// assignments, see Rebuild. How much device memory an instance has is the
	// table's figure; where it has none, no task may state a need.
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
	// adrift says that no spots were found for the tasks placed anywhere, nor
	// that there are none. Then state offers no share of any GPU.
	adrift bool
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

// NumGPUs returns the number of GPUs of the node.
func (n *Node) NumGPUs() int { return len(n.state.GPUs) }

// GPU returns what is left on one GPU, and the zero GPU for an index that the
// node does not have. It does not allocate: State for an Order.
func (n *Node) GPU(i int) fragmentation.GPU {
	if i < 0 || i >= len(n.state.GPUs) {
		return fragmentation.GPU{}
	}
	return n.state.GPUs[i]
}

// State returns a copy of what is left. If the node is not Settled, that is
// nothing of any GPU.
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

// Settled reports whether the node knows spots for all its tasks. Only a node
// that was rebuilt with many tasks placed anywhere may not, where the search gave
// up; see Rebuild.
func (n *Node) Settled() bool { return !n.adrift }

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
