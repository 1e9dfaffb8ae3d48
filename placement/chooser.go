package placement

// Chooser is Cluster.Choose with a memory: it keeps what a policy answered for a
// kind of task (a Task without its ID) on a node, and asks again only where the
// node has changed. The answers are the same. It costs memory for every pair of
// kind and node that it has seen, is for one user at a time, and follows one
// cluster that somebody else writes. An Engine, which writes its cluster itself, is
// faster.
type Chooser struct {
	cluster *Cluster
	policy  Policy
	memory  map[Task][]answer // by task without ID; nil for a policy that looks at the task's ID
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
		h.memory = map[Task][]answer{}
	}
	return h
}

// Choose returns what Cluster.Choose returns.
func (h *Chooser) Choose(t *Task) (*Node, Choice) {
	if h.memory == nil {
		return h.cluster.Choose(h.policy, t)
	}
	kind := *t
	kind.ID = ""
	answers, found := h.memory[kind]
	if !found || len(answers) != len(h.cluster.nodes) {
		answers = make([]answer, len(h.cluster.nodes))
		h.memory[kind] = answers
	}
	return pick(h.cluster.nodes, func(i int, n *Node) Choice {
		// Views are immutable: the same view gives the same answer.
		if answers[i].node != n {
			answers[i] = answer{n, h.policy.Choose(n, t)}
		}
		return answers[i].choice
	})
}
