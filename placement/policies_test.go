package placement_test

import (
	"cmp"
	"fmt"
	"math/big"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// namedPolicy is a policy of the suite with the plain form of its rule.
type namedPolicy struct {
	name    string
	policy  placement.Policy
	perTask bool
	// better says whether the policy prefers spot a to spot b, which comes
	// before it in the order of GPUs and starts. nil: the suite does not say.
	better func(n *placement.Node, job *placement.Task, a, b placement.Spot) bool
	// points is the score of a spot; nil: the suite does not say.
	points func(n *placement.Node, job *placement.Task, spot placement.Spot) int64
}

// String names the policy in failed tests.
func (p namedPolicy) String() string { return p.name }

func (p namedPolicy) score(n *placement.Node, job *placement.Task, spot placement.Spot) (int64, bool) {
	if p.points == nil || n.Fits(job).Kind != placement.None {
		return 0, false
	}
	return p.points(n, job, spot), true
}

// preferred returns the best of the spots that are free. Of several GPUs all
// policies take those of least device memory.
func (p namedPolicy) preferred(n *placement.Node, job *placement.Task, free []placement.Spot) placement.Spot {
	better := p.better
	if job.Shape.GPUs > 1 {
		better = smaller
	}
	best := free[0]
	for _, spot := range free[1:] {
		if better(n, job, spot, best) {
			best = spot
		}
	}
	return best
}

// suiteLargest is the scale of the plain policies.
var suiteLargest = placement.Largest{CPU: 64000, GPU: 4000}

// policies returns every policy of the package, the values with both orders.
func policies(t require.TestingT) []namedPolicy {
	first := func(*placement.Node, *placement.Task, placement.Spot, placement.Spot) bool { return false }
	list := []namedPolicy{
		{name: "random", policy: placement.Random(42), perTask: true},
		{name: "first fit", policy: placement.FirstFit(), better: first, points: func(*placement.Node, *placement.Task, placement.Spot) int64 { return 0 }},
		{name: "best fit", policy: placement.BestFit(suiteLargest), better: tighter, points: bestFitPoints},
		{name: "worst fit", policy: placement.WorstFit(suiteLargest), better: looser, points: func(n *placement.Node, job *placement.Task, spot placement.Spot) int64 {
			return -bestFitPoints(n, job, spot)
		}},
		{name: "dot product", policy: placement.DotProduct(suiteLargest), better: tighter, points: dotProductPoints},
		{name: "packing", policy: placement.Packing(), better: tighter, points: packingPoints},
		{name: "clustering", policy: placement.Clustering(suiteLargest), better: tighter, points: clusteringPoints},
	}
	fgd, err := fragmentation.NewFGD(plainMix())
	require.NoError(t, err)
	migFGD, err := fragmentation.NewMIGFGD(migMix())
	require.NoError(t, err)
	sum, err := fragmentation.Sum(fgd, migFGD)
	require.NoError(t, err)
	for _, v := range []struct {
		name  string
		value fragmentation.Value
	}{{"FGD", fgd}, {"MIG-FGD", migFGD}, {"sum", sum}} {
		for _, o := range []struct {
			name  string
			step  int64
			order placement.Order
		}{{"node order", 1, placement.NodeOrder}, {"smallest first", 40, placement.SmallestFirst}} {
			p, err := placement.ByValue(v.value, o.step, o.order)
			require.NoError(t, err)
			points := func(n *placement.Node, job *placement.Task, spot placement.Spot) int64 {
				return valuePoints(v.value, o.step, o.order, n, job, spot)
			}
			list = append(list, namedPolicy{
				name: v.name + ", " + o.name, policy: p, points: points,
				better: func(n *placement.Node, job *placement.Task, a, b placement.Spot) bool {
					return points(n, job, a) > points(n, job, b)
				},
			})
		}
	}
	instances, others := list[len(list)-3], list[1] // MIG-FGD and first fit
	list = append(list,
		namedPolicy{name: "used first", policy: usedFirst(t, sum, 1, placement.SmallestFirst)},
		namedPolicy{name: "index", policy: byIndex(t, twoIndexes()["a100-40gb"], twoIndexes()["a30-24gb"])},
	)
	return append(list, namedPolicy{
		name: "split MIG", policy: placement.SplitMIG(instances.policy, others.policy),
		points: func(n *placement.Node, job *placement.Task, spot placement.Spot) int64 {
			if job.Shape.Profile != "" {
				return instances.points(n, job, spot)
			}
			return others.points(n, job, spot)
		},
		better: func(n *placement.Node, job *placement.Task, a, b placement.Spot) bool {
			if job.Shape.Profile != "" {
				return instances.better(n, job, a, b)
			}
			return others.better(n, job, a, b)
		},
	})
}

// after returns what is left of a node with a task at a free spot.
func after(n *placement.Node, job *placement.Task, spot placement.Spot) fragmentation.State {
	s := n.State()
	s.CPU -= job.Shape.CPU
	s.Memory -= job.Shape.Memory
	for i := range s.GPUs {
		g := &s.GPUs[i]
		switch {
		case !spot.GPUs.Has(i):
		case job.Shape.Profile != "":
			p, _ := g.Layout.Model().Profile(job.Shape.Profile)
			g.Layout, _ = g.Layout.With(p, spot.Start)
		case job.Shape.Milli == fragmentation.Whole:
			g.Milli, g.Memory = 0, 0
		default:
			g.Milli -= job.Shape.Milli
			g.Memory -= job.Shape.DeviceMemory
		}
	}
	return s
}

// valuePoints is the score of a spot by a value, from two fresh states.
func valuePoints(v fragmentation.Value, step int64, order placement.Order, n *placement.Node, job *placement.Task, spot placement.Spot) int64 {
	before, then := n.State(), after(n, job, spot)
	steps := new(big.Int).Div( // rounds down for a positive divisor
		big.NewInt(-fragmentation.Strands(v, &before, &then)),
		big.NewInt(step*v.Scale()),
	)
	return steps.Int64()*(1<<24) + order(n, job, spot)
}

// smaller prefers GPUs of less device memory.
func smaller(n *placement.Node, _ *placement.Task, a, b placement.Spot) bool {
	return deviceMemory(n, a) < deviceMemory(n, b)
}

func deviceMemory(n *placement.Node, spot placement.Spot) int64 {
	sum := int64(0)
	for i := range spot.GPUs.All() {
		sum += n.Spec().GPUs[i].Memory
	}
	return sum
}

// tighter is the rule of the plain policies: the GPU with the least left, and
// on a cut GPU the start that leaves most free pairs; looser is the opposite for
// the GPU.
func tighter(n *placement.Node, job *placement.Task, a, b placement.Spot) bool {
	return compareSpots(n, job, a, b, -1) > 0
}

func looser(n *placement.Node, job *placement.Task, a, b placement.Spot) bool {
	return compareSpots(n, job, a, b, 1) > 0
}

func compareSpots(n *placement.Node, job *placement.Task, a, b placement.Spot, sign int64) int {
	if job.Shape.GPUs != 1 {
		return 0
	}
	if job.Shape.Milli == fragmentation.Whole {
		return cmp.Compare(deviceMemory(n, b), deviceMemory(n, a))
	}
	s, i, j := n.State(), a.GPUs.First(), b.GPUs.First()
	if i != j {
		return cmp.Compare(sign*s.GPUs[i].Left(), sign*s.GPUs[j].Left())
	}
	x, y := after(n, job, a), after(n, job, b)
	return cmp.Compare(x.GPUs[i].Layout.FreePairs(), y.GPUs[i].Layout.FreePairs())
}

// micro is an amount in millionths of another.
func micro(amount, of int64) int64 { return amount * 1_000_000 / of }

func bestFitPoints(n *placement.Node, job *placement.Task, spot placement.Spot) int64 {
	s := after(n, job, spot)
	return -micro(s.CPU, suiteLargest.CPU) - micro(s.Left(), suiteLargest.GPU)
}

func dotProductPoints(n *placement.Node, job *placement.Task, spot placement.Spot) int64 {
	before, then := n.State(), after(n, job, spot)
	cpu := micro(before.CPU, suiteLargest.CPU) * micro(job.Shape.CPU, suiteLargest.CPU)
	gpu := micro(before.Left(), suiteLargest.GPU) * micro(before.Left()-then.Left(), suiteLargest.GPU)
	return -(cpu + gpu) / 1_000_000
}

func packingPoints(n *placement.Node, job *placement.Task, spot placement.Spot) int64 {
	if job.Shape.GPUs == 0 {
		return 0
	}
	s := n.State()
	idle, idleUsed := 0, 0
	for i, g := range s.GPUs {
		if g.Left() == fragmentation.Whole {
			idle++
			if spot.GPUs.Has(i) {
				idleUsed++
			}
		}
	}
	switch {
	case idle == len(s.GPUs):
		return 33_000 - 500*int64(idle)
	case idleUsed > 0:
		return 50_000 - 250*int64(idleUsed)
	default:
		return 100_000 - 10*s.GPUs[spot.GPUs.First()].Left()
	}
}

func clusteringPoints(n *placement.Node, job *placement.Task, _ placement.Spot) int64 {
	if job.Shape.GPUs == 0 {
		return 0
	}
	kind := func(s fragmentation.Shape) string {
		if s.Milli == fragmentation.Whole {
			return fmt.Sprintf("%d whole", s.GPUs)
		}
		return "share " + s.Profile
	}
	same, others := 0, 0
	for a := range n.Assignments() {
		switch {
		case a.Task.Shape.GPUs == 0:
		case kind(a.Task.Shape) == kind(job.Shape):
			same++
		default:
			others++
		}
	}
	s := n.State()
	points := 25 * micro(suiteLargest.GPU-s.Left(), suiteLargest.GPU)
	switch {
	case same > 0 && others == 0:
		points += 75_000_000
	case same > 0:
		points += 50_000_000
	case others == 0:
		points += 25_000_000
	}
	return points
}

func plainMix() fragmentation.Mix {
	return fragmentation.Mix{
		{Shape: fraction(500), Count: 5},
		{Shape: fragmentation.Shape{CPU: 4000, GPUs: 1, Milli: 400, DeviceMemory: 4096}, Count: 3},
		{Shape: whole(1), Count: 4},
		{Shape: whole(2), Count: 1},
		{Shape: fragmentation.Shape{CPU: 4000}, Count: 2},
	}
}

func migMix() fragmentation.Mix {
	return fragmentation.Mix{
		{Shape: instance("1g.5gb"), Count: 6},
		{Shape: instance("1g.10gb"), Count: 4},
		{Shape: instance("2g.12gb"), Count: 2},
		{Shape: instance("3g.40gb"), Count: 3},
		{Shape: instance("7g.40gb"), Count: 1},
	}
}
