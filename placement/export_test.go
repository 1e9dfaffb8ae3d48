package placement

// Tireless and Tired are the bounds of the search for spots: as in use, and one
// that is always reached.
const (
	Tireless = settleSteps
	Tired    = -1 << 30
)

// WithBound is Node.With with another bound for the search.
func WithBound(n *Node, a Assignment, steps int) (*Node, error) { return n.with(a, steps) }

// WithoutBound is Node.Without with another bound for the search.
func WithoutBound(n *Node, taskID string, steps int) *Node { return n.without(taskID, steps) }

// RebuildBound is Rebuild with another bound for the search.
func RebuildBound(spec NodeSpec, recorded []Assignment, steps int) (*Node, []Contradiction, error) {
	return rebuild(spec, recorded, steps)
}
