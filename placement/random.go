package placement

import "github.com/gpushare/gpushare/fragmentation"

// Random spreads tasks uniformly over the nodes that fit, and on a node
// fractions and MIG instances over the GPUs that fit; whole GPUs are the first
// ones of least device memory, and on a cut GPU the start is the one that the
// driver would choose. The choice is a hash of seed, task ID and node name, so it
// is the same every time and does not depend on the order of calls.
func Random(seed uint64) Policy { return random{seed} }

type random struct{ seed uint64 }

// PerTask reports that the choice depends on the task's ID.
func (random) PerTask() bool { return true }

func (p random) Choose(n *Node, t *Task) Choice {
	if r := n.Fits(t); r.Kind != None {
		return Choice{Refusal: r}
	}
	h := hash(hash(mixBits(p.seed), t.ID), n.spec.Name)
	spot := Spot{GPUs: wholeGPUs(&n.state, &t.Shape)}
	if t.Shape.Profile != "" || t.Shape.GPUs == 1 && t.Shape.Milli < fragmentation.Whole {
		best, at := uint64(0), -1
		for i := range n.state.GPUs {
			if !takes(&n.state.GPUs[i], &t.Shape) {
				continue
			}
			if x := mixBits(h + uint64(i) + 1); at < 0 || x > best {
				best, at = x, i
			}
		}
		spot = driverSpot(&n.state, &t.Shape, at)
	}
	return Choice{Spot: spot, Score: int64(h >> 1)}
}

// hash adds a string to a hash.
func hash(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return mixBits(h)
}

// mixBits is a bijection that spreads every bit over all others.
func mixBits(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
