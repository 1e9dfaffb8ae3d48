package placement

import "github.com/gpushare/gpushare/fragmentation"

// Chooser is Cluster.Choose with a memory: it keeps what a policy answered for a
// shape on a node, and asks again only where the node has changed. The answers
// are the same. It costs memory for every pair of shape and node that it has
// seen, is for one user at a time, and follows one cluster.
type Chooser struct {
	cluster *Cluster
	policy  Policy
	memory  map[fragmentation.Shape][]answer // nil for a policy that looks at the task's ID
}

// answer is what the policy said of a node view.
type answer struct {
	node   *Node
	choice Choice
}

// NewChooser returns a Chooser for a cluster and a policy.
func NewChooser(c *Cluster, p Policy) *Chooser {
	h := &Chooser{cluster: c, policy: p}
	if !perTask(p) {
		h.memory = map[fragmentation.Shape][]answer{}
	}
	return h
}

// Choose returns what Cluster.Choose returns.
func (h *Chooser) Choose(t *Task) (*Node, Choice) {
	if h.memory == nil {
		return h.cluster.Choose(h.policy, t)
	}
	answers, found := h.memory[t.Shape]
	if !found || len(answers) != len(h.cluster.nodes) {
		answers = make([]answer, len(h.cluster.nodes))
		h.memory[t.Shape] = answers
	}
	return pick(h.cluster.nodes, func(i int, n *Node) Choice {
		// Views are immutable: the same view gives the same answer.
		if answers[i].node != n {
			answers[i] = answer{n, h.policy.Choose(n, t)}
		}
		return answers[i].choice
	})
}
