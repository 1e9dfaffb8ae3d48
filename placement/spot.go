package placement

import (
	"iter"
	"math/bits"
	"strconv"
	"strings"

	"github.com/gpushare/gpushare/fragmentation"
)

// Task is something to place. It is comparable; tasks that differ in their ID
// alone are interchangeable.
type Task struct {
	ID    string // unique in a cluster
	Shape fragmentation.Shape
}

// GPUSet is a set of device indexes of one node, 0 to 63: bit i is GPU i.
type GPUSet uint64

// GPUs returns the set of the given indexes; indexes outside 0..63 are ignored.
func GPUs(indexes ...int) GPUSet {
	var s GPUSet
	for _, i := range indexes {
		if i >= 0 && i < fragmentation.MostGPUs {
			s |= 1 << i
		}
	}
	return s
}

// Has reports whether GPU i is in the set.
func (s GPUSet) Has(i int) bool { return i >= 0 && i < fragmentation.MostGPUs && s&(1<<i) != 0 }

// Len returns the number of GPUs in the set.
func (s GPUSet) Len() int { return bits.OnesCount64(uint64(s)) }

// First returns the lowest index in the set, or -1 if it is empty.
func (s GPUSet) First() int {
	if s == 0 {
		return -1
	}
	return bits.TrailingZeros64(uint64(s))
}

// All iterates over the indexes in ascending order.
func (s GPUSet) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(s.First()) {
				return
			}
		}
	}
}

// String lists the indexes, joined by dashes: "0-3"; empty for none.
func (s GPUSet) String() string {
	var parts []string
	for i := range s.All() {
		parts = append(parts, strconv.Itoa(i))
	}
	return strings.Join(parts, "-")
}

// Spot is a place on a node.
type Spot struct {
	GPUs  GPUSet // none for a task without GPU
	Start int    // first memory slice of a MIG instance, else 0
	// Anywhere says that the GPU is not known to the scheduler, as where a
	// kubelet picks the device: GPUs and Start are then not looked at, and the
	// node keeps room for the task somewhere, on a spot of its choice. Fits and
	// the policies count that spot as taken; With moves the task where that makes
	// room, and so may take what Fits refuses.
	Anywhere bool
}

// Assignment is a task at a spot.
type Assignment struct {
	Task Task
	Spot Spot
}

// Choice is the answer of a policy for one node: where the task would go and
// what the node scores, or why it does not fit. The Spot and Score of a refusal
// mean nothing.
type Choice struct {
	Spot    Spot
	Score   int64 // fixed point, larger is better; comparable within one policy and task
	Refusal Refusal
}

// OK reports whether the task fits.
func (c Choice) OK() bool { return c.Refusal.Kind == None }

// Policy chooses a spot on a node. Choose is pure and safe for concurrent use:
// the same node view and task give the same choice. It may look at all of the
// task but its ID; a policy that looks at the ID also has a method PerTask() bool
// that returns true.
type Policy interface {
	Choose(n *Node, t *Task) Choice
}
