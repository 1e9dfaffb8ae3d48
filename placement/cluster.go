package placement

import (
	"fmt"
	"iter"

	"github.com/gpushare/gpushare/fragmentation"
)

// Cluster is an ordered list of nodes and the books of what is placed on them.
// It has one writer at a time and is not safe for concurrent use while one
// writes; the node views that it hands out are, and stay as they were. The zero
// Cluster has no nodes and is ready for Put.
type Cluster struct {
	nodes  []*Node
	byName map[string]int
	at     map[string]int // node by task ID
}

// NewCluster returns a cluster of empty nodes. Their order is the order in which
// ties are broken. The error is that of NewNode, or wraps ErrDuplicate for a
// name that stands there twice.
func NewCluster(specs []NodeSpec) (*Cluster, error) {
	c := &Cluster{byName: map[string]int{}, at: map[string]int{}}
	for _, spec := range specs {
		n, err := NewNode(spec)
		if err != nil {
			return nil, err
		}
		if err := c.add(n); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Cluster) add(n *Node) error {
	if _, found := c.byName[n.Name()]; found {
		return fmt.Errorf("placement: node %q: %w", n.Name(), ErrDuplicate)
	}
	c.byName[n.Name()] = len(c.nodes)
	c.nodes = append(c.nodes, n)
	return nil
}

// Len returns the number of nodes.
func (c *Cluster) Len() int { return len(c.nodes) }

// Nodes iterates over the node views in order.
func (c *Cluster) Nodes() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for _, n := range c.nodes {
			if !yield(n) {
				return
			}
		}
	}
}

// Node returns the view of the node with that name, nil if there is none.
func (c *Cluster) Node(name string) *Node {
	i, found := c.byName[name]
	if !found {
		return nil
	}
	return c.nodes[i]
}

// Locate returns the view of the node that a task is on, nil if it is nowhere.
func (c *Cluster) Locate(taskID string) *Node {
	i, found := c.at[taskID]
	if !found {
		return nil
	}
	return c.nodes[i]
}

// Place enters an assignment. The error is that of Node.With, or wraps
// ErrUnknownNode or, for a task that is on any node already, ErrDuplicate;
// nothing is changed then.
func (c *Cluster) Place(node string, a Assignment) error {
	i, err := c.placeable(node, &a.Task)
	if err != nil {
		return err
	}
	n, err := c.nodes[i].With(a)
	if err != nil {
		return err
	}
	c.nodes[i] = n
	c.at[a.Task.ID] = i
	return nil
}

// placeable returns the index of a node, if a task may be placed there as far as
// names go.
func (c *Cluster) placeable(node string, t *Task) (int, error) {
	i, found := c.byName[node]
	if !found {
		return 0, fmt.Errorf("placement: task %q on node %q: %w", t.ID, node, ErrUnknownNode)
	}
	if at := c.Locate(t.ID); at != nil {
		return 0, fmt.Errorf("placement: task %q on node %q: on node %q: %w", t.ID, node, at.Name(), ErrDuplicate)
	}
	return i, nil
}

// Release takes a task off its node and reports whether it was on one. It is
// idempotent and safe for a task that was never placed.
func (c *Cluster) Release(taskID string) bool {
	i, found := c.at[taskID]
	if !found {
		return false
	}
	c.nodes[i] = c.nodes[i].Without(taskID)
	delete(c.at, taskID)
	return true
}

// Largest returns the amounts of the largest node, for the plain policies.
func (c *Cluster) Largest() Largest {
	var s Largest
	for _, n := range c.nodes {
		s.CPU = max(s.CPU, n.spec.CPU)
		s.GPU = max(s.GPU, fragmentation.Whole*int64(len(n.spec.GPUs)))
	}
	return s
}

// Choose returns the node with the largest score and the spot on it; the first
// in order on a tie. With no node that fits it returns nil and the refusal that
// came closest to fitting. It asks the policy about every node: see Engine for
// a long run of tasks.
func (c *Cluster) Choose(p Policy, t *Task) (*Node, Choice) {
	return pick(c.nodes, func(_ int, n *Node) Choice { return p.Choose(n, t) })
}

// pick returns the best choice over the nodes.
func pick(nodes []*Node, choose func(i int, n *Node) Choice) (*Node, Choice) {
	var best Choice
	at := -1
	var refused Refusal
	for i, n := range nodes {
		c := choose(i, n)
		switch {
		case !c.OK():
			if at < 0 {
				refused = closer(refused, c.Refusal)
			}
		case at < 0 || c.Score > best.Score:
			at, best = i, c
		}
	}
	if at < 0 {
		if len(nodes) == 0 {
			refused = Refusal{Kind: NoGPU}
		}
		return nil, Choice{Refusal: refused}
	}
	return nodes[at], best
}

// closer returns the refusal that came closer to fitting; evicting helps if it
// helps on any node.
func closer(a, b Refusal) Refusal {
	return Refusal{Kind: max(a.Kind, b.Kind), Evictable: a.Evictable || b.Evictable}
}
