package placement

import (
	"iter"
	"sync/atomic"
)

// Engine is a Cluster that decides at fleet speed. It decides as Cluster.Choose
// does, to the bit, but a decision for a kind of task (a Task without its ID)
// that was seen before costs what has changed since, and not a look at every
// node:
//
//	writer:   Place, Release, Put, Remove --> changed nodes --> next View
//	readers:  View.Choose --> tree of answers for the kind of task,
//	                          brought up to the changes since it was last asked
//
// The first task of a kind is a walk over all nodes. So is every task for a
// policy that looks at task IDs, such as Random, and a task of a kind that sixteen
// other goroutines decide about at the same moment. Requests for MIG instances are
// decided from lists of GPUs by what is on them where the policy decides GPU by
// GPU (ByIndex, FirstFit, and UsedFirst and ByValue with MIGFGD), as long as CPU
// and main memory are not what most nodes lack; then not even a first walk is
// needed.
//
// An Engine has one writer at a time. View and Choose may be called by any
// number of goroutines at any time, also while one writes: they take no lock, do
// not wait for one another, and do not allocate once the kinds are known. What a
// decision remembers belongs to the engine, so node views stay immutable.
//
// Memory is bounded: some 32 bytes for each node and kind that is remembered (and
// once more for each goroutine that asks about the kind at the same time), 256 MiB
// in all and 2048 kinds; those asked for longest ago are forgotten first. While a
// fleet grows it may be two and a half times that, until there are twice as many
// nodes and the memory starts anew. Lists of GPUs take at most 16 MiB for each
// goroutine that decides about MIG instances at the same time. What a value says
// is kept for at most eight states a node (4,096 on a small fleet, 2^18 on a
// large one) at 128 bytes, and for expected fill for three times as many ranges of
// states in the same bytes. A View that is held keeps the nodes of its time.
//
// Obtain one from NewEngine: the zero Engine has no cluster.
type Engine struct {
	cluster *Cluster
	slots   map[string]int // by node name
	policy  Policy
	view    atomic.Pointer[View]
}

// NewEngine returns the engine that decides about a cluster with a policy. From
// then on the cluster belongs to the engine: it must not be changed but through
// it. The policy answers as Policy says: the same for the same view and kind of
// task.
func NewEngine(c *Cluster, p Policy) *Engine {
	e := &Engine{cluster: c, policy: p}
	e.reset()
	return e
}

// reset starts with no memory and the cluster as it is.
func (e *Engine) reset() {
	n := e.cluster.Len()
	e.slots = make(map[string]int, n)
	v := &View{memory: newMemory(e.policy, n), tail: &changes{}}
	v.memory.oldest = v.tail
	list := make([]*posted, 0, n)
	for i, node := range e.cluster.nodes {
		e.slots[node.Name()] = i
		list = append(list, v.memory.stand(node))
	}
	v.nodes, v.size, v.live = newNodeList(list), n, n
	e.view.Store(v)
}

// publish makes the next view, in which the node of that name is as the cluster
// has it.
func (e *Engine) publish(name string) {
	v := e.view.Load()
	node := e.cluster.Node(name)
	slot, known := e.slots[name]
	next := *v
	switch {
	case node == nil && !known:
		return
	case node == nil:
		delete(e.slots, name)
		next.live--
	case !known:
		slot = next.size
		e.slots[name] = slot
		next.size++
		next.live++
	}
	if v.memory.outgrown(next.size, next.live) {
		e.reset()
		return
	}
	var s, before *posted
	if node != nil {
		s = v.memory.stand(node)
	}
	if known {
		before = v.nodes.at(slot)
	}
	next.nodes = v.nodes.with(slot, s)
	next.tail = v.tail.add(next.version, slotChange{int32(slot), cutAnew(before, s)})
	next.version++
	v.memory.oldest = v.memory.oldest.cut(next.version, int64(v.memory.room))
	e.view.Store(&next)
}

// Place is Cluster.Place.
func (e *Engine) Place(node string, a Assignment) error {
	if err := e.cluster.Place(node, a); err != nil {
		return err
	}
	e.publish(node)
	return nil
}

// Release is Cluster.Release.
func (e *Engine) Release(taskID string) bool {
	at := e.cluster.Locate(taskID)
	if !e.cluster.Release(taskID) {
		return false
	}
	e.publish(at.Name())
	return true
}

// Put is Cluster.Put.
func (e *Engine) Put(spec NodeSpec, recorded []Assignment) ([]Contradiction, error) {
	before := e.cluster.Node(spec.Name)
	wrong, err := e.cluster.Put(spec, recorded)
	if err == nil && e.cluster.Node(spec.Name) != before {
		e.publish(spec.Name)
	}
	return wrong, err
}

// Remove is Cluster.Remove.
func (e *Engine) Remove(name string) bool {
	if !e.cluster.Remove(name) {
		return false
	}
	e.publish(name)
	return true
}

// SetPolicy makes the engine decide with another policy from the next View on,
// as where the mix that it is made for has been learned anew. What was remembered
// is forgotten. It is for the writer.
func (e *Engine) SetPolicy(p Policy) {
	e.policy = p
	e.reset()
}

// View returns the latest state of the cluster. It is safe for concurrent use.
func (e *Engine) View() *View { return e.view.Load() }

// Choose is View().Choose. It is safe for concurrent use.
func (e *Engine) Choose(t *Task) (*Node, Choice) { return e.view.Load().Choose(t) }

// Len is Cluster.Len. Like Nodes, Node, Locate and Largest it is for the writer;
// readers have a View.
func (e *Engine) Len() int { return e.cluster.Len() }

// Nodes is Cluster.Nodes.
func (e *Engine) Nodes() iter.Seq[*Node] { return e.cluster.Nodes() }

// Node is Cluster.Node.
func (e *Engine) Node(name string) *Node { return e.cluster.Node(name) }

// Locate is Cluster.Locate.
func (e *Engine) Locate(taskID string) *Node { return e.cluster.Locate(taskID) }

// Largest is Cluster.Largest.
func (e *Engine) Largest() Largest { return e.cluster.Largest() }
