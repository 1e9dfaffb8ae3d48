package placement

import "github.com/gpushare/gpushare/fragmentation"

// Largest holds the amounts that count as one in scores that weigh CPU against
// GPU: usually those of the largest node, see Cluster.Largest. A dimension that is
// not positive does not count.
type Largest struct {
	CPU int64 // milli-vCPU
	GPU int64 // milli-GPU
}

// micro is the fixed point of the plain scores.
const micro = 1_000_000

// share returns amount/of in fixed point.
func share(amount, of int64) int64 {
	if of <= 0 {
		return 0
	}
	return amount * micro / of
}

// FirstFit scores all nodes alike, so the first in order is taken, and on it
// the first GPU and the lowest start; for several GPUs those of least device
// memory, as in all policies.
func FirstFit() Policy { return firstFit{} }

type firstFit struct{}

func (firstFit) Choose(n *Node, t *Task) Choice {
	if r := n.Fits(t); r.Kind != None {
		return Choice{Refusal: r}
	}
	c := cursor{state: &n.state, shape: &t.Shape}
	spot, _ := c.next()
	return Choice{Spot: spot}
}

// BestFit prefers the node with the least left after placing, CPU and GPU
// weighed alike, and on it the GPU with the least left that fits. For a MIG
// instance a GPU's free memory slices count as milli-GPU, and the start is the
// one that the driver would choose; so it is in the other plain policies.
func BestFit(largest Largest) Policy { return fit{largest, tightest} }

// WorstFit prefers the node with the most left after placing, and on it the GPU
// with the most left.
func WorstFit(largest Largest) Policy { return fit{largest, loosest} }

type fit struct {
	largest Largest
	want    preference
}

func (p fit) Choose(n *Node, t *Task) Choice {
	if r := n.Fits(t); r.Kind != None {
		return Choice{Refusal: r}
	}
	spot := plainSpot(&n.state, &t.Shape, p.want)
	left := share(n.state.CPU-t.Shape.CPU, p.largest.CPU) +
		share(n.state.Left()-demand(&n.state, &t.Shape, spot), p.largest.GPU)
	if p.want == tightest {
		left = -left
	}
	return Choice{Spot: spot, Score: left}
}

// DotProduct scores how well what is left and what the task takes align in CPU
// and GPU, and prefers the smaller product, that is, nodes with little left of
// what the task takes much of. That is the sign of the published comparison,
// the opposite of the Tetris heuristic it cites.
func DotProduct(largest Largest) Policy { return dotProduct{largest} }

type dotProduct struct{ largest Largest }

func (p dotProduct) Choose(n *Node, t *Task) Choice {
	if r := n.Fits(t); r.Kind != None {
		return Choice{Refusal: r}
	}
	spot := plainSpot(&n.state, &t.Shape, tightest)
	cpu := share(n.state.CPU, p.largest.CPU) * share(t.Shape.CPU, p.largest.CPU)
	gpu := share(n.state.Left(), p.largest.GPU) * share(demand(&n.state, &t.Shape, spot), p.largest.GPU)
	return Choice{Spot: spot, Score: -(cpu + gpu) / micro}
}

// Packing prefers, in this order, GPUs that are already shared (the fuller the
// better), then idle GPUs of a node in use (the fewer the better), then an idle
// node; tasks without GPU go to the first node that fits.
func Packing() Policy { return packing{} }

type packing struct{}

// The tiers of Packing, in thousandths of a point.
const (
	packShared = 100_000 // less what is left on the GPU used, 10 for a milli-GPU
	packIdle   = 50_000  // less 250 for each idle GPU used: more than 33,000
	packEmpty  = 33_000  // less 500 for each GPU of an idle node
)

func (packing) Choose(n *Node, t *Task) Choice {
	if r := n.Fits(t); r.Kind != None {
		return Choice{Refusal: r}
	}
	spot := plainSpot(&n.state, &t.Shape, tightest)
	if t.Shape.GPUs == 0 {
		return Choice{Spot: spot}
	}
	idle := int64(0)
	for i := range n.state.GPUs {
		if isIdle(&n.state.GPUs[i]) {
			idle++
		}
	}
	if idle == int64(len(n.state.GPUs)) {
		return Choice{Spot: spot, Score: packEmpty - 500*idle}
	}
	left, idleUsed := int64(0), int64(0)
	for i := range spot.GPUs.All() {
		left += n.state.GPUs[i].Left()
		if isIdle(&n.state.GPUs[i]) {
			idleUsed++
		}
	}
	if idleUsed > 0 {
		return Choice{Spot: spot, Score: packIdle - 250*idleUsed}
	}
	return Choice{Spot: spot, Score: packShared - 10*left}
}

func isIdle(g *fragmentation.GPU) bool { return g.Left() == fragmentation.Whole }

// Clustering brings tasks of one kind together: fractions with fractions,
// k-GPU tasks with k-GPU tasks, MIG instances with those of their profile. A
// node scores 75 points if it holds the task's kind alone, 50 if it holds the
// kind and others, 25 if it holds no GPU task, and up to 25 points more the
// less GPU it has left. Tasks without GPU go to the first node that fits.
func Clustering(largest Largest) Policy { return clustering{largest} }

type clustering struct{ largest Largest }

func (p clustering) Choose(n *Node, t *Task) Choice {
	if r := n.Fits(t); r.Kind != None {
		return Choice{Refusal: r}
	}
	spot := plainSpot(&n.state, &t.Shape, tightest)
	if t.Shape.GPUs == 0 {
		return Choice{Spot: spot}
	}
	same, others := false, false
	for _, g := range n.groups {
		if g.group == groupOf(&t.Shape) {
			same = true
		} else {
			others = true
		}
	}
	score := 25 * share(p.largest.GPU-n.state.Left(), p.largest.GPU)
	switch {
	case same && !others:
		score += 75 * micro
	case same:
		score += 50 * micro
	case !others:
		score += 25 * micro
	}
	return Choice{Spot: spot, Score: score}
}

// group is a kind of task in the sense of Clustering.
type group struct {
	gpus    int    // 0: a fraction or a MIG instance
	profile string // of a MIG instance
}

func groupOf(s *fragmentation.Shape) group {
	if s.Milli == fragmentation.Whole {
		return group{gpus: s.GPUs}
	}
	return group{profile: s.Profile}
}

// groupCount is how many GPU tasks of a group are on a node.
type groupCount struct {
	group
	count int
}

// countGroup returns the groups with one task of the shape more or less.
func countGroup(groups []groupCount, s *fragmentation.Shape, change int) []groupCount {
	if s.GPUs == 0 {
		return groups
	}
	var next []groupCount
	g, found := groupOf(s), false
	for _, c := range groups {
		if c.group == g {
			found = true
			c.count += change
		}
		if c.count > 0 {
			next = append(next, c)
		}
	}
	if !found && change > 0 {
		next = append(next, groupCount{g, change})
	}
	return next
}
