package fragmentation

import "math/bits"

// withoutMemory returns the mix with main memory left out of its shapes, equal
// shapes as one entry, in the order of MixOf.
func (m Mix) withoutMemory() Mix {
	counts := map[Shape]int64{}
	for _, e := range m {
		e.Shape.Memory = 0
		counts[e.Shape] += e.Count
	}
	one := make(Mix, 0, len(counts))
	for s, n := range counts {
		one = append(one, Entry{s, n})
	}
	one.sort()
	return one
}

// How the sequences are divided by where their first task of several GPUs is.
const (
	gangPlaces = 8       // at the start of a sequence, each a stratum of its own
	gangShare  = 32      // at least one sequence in so many for each of them
	certain    = 1 << 20 // the chance of all strata together, in the units of chances
)

// fillDraw draws the sequences of an expected fill.
//
// A task of several GPUs is rare in most mixes, and yet whether one comes before
// a node is broken up decides over the whole node. By chance alone, some of few
// sequences would begin with one or none, and values would be off by a hundred
// milli-GPU either way. So how many do is not left to chance: there are sequences
// with the first such task at each of the places at the start, and sequences
// without one there, and each weighs as much as its kind is likely over the
// number of its kind.
type fillDraw struct {
	random splitMix
	all    Mix
	single Mix   // the part on one GPU
	gangs  Mix   // the part on several GPUs
	first  []int // by sequence: the place of its first gang, or noGang
	weight []int64
	head   int // so many places have a stratum
}

// noGang is the place of the first gang where there is none at the start.
const noGang = mostLength

func newFillDraw(mix Mix, sequences, length int, seed uint64) *fillDraw {
	d := &fillDraw{random: splitMix(seed), all: mix}
	for _, e := range mix {
		if e.Shape.GPUs > 1 {
			d.gangs = append(d.gangs, e)
		} else {
			d.single = append(d.single, e)
		}
	}
	gangs, total := d.gangs.Total(), mix.Total()
	add := func(n, place int, chance int64) {
		for range n {
			d.first = append(d.first, place)
			d.weight = append(d.weight, chance/int64(n))
		}
	}
	chance, free := int64(certain), sequences
	for place := range min(gangPlaces, length) {
		here := chance * gangs / total
		n := max(sequences/gangShare, int((here*int64(sequences)+certain/2)/certain))
		if here == 0 || n == 0 || n >= free {
			break // the places from here on are left to chance
		}
		add(n, place, here)
		chance -= here
		free -= n
		d.head++
	}
	add(free, noGang, chance)
	common := int64(0)
	for _, w := range d.weight {
		common = gcd(common, w)
	}
	for k := range d.weight {
		d.weight[k] /= common
	}
	return d
}

// sequences returns the tasks by sequence and then by place.
func (d *fillDraw) sequences(length int) []Shape {
	drawn := make([]Shape, len(d.first)*length)
	draw := func(from Mix, place func(k int) int) {
		var tasks []int
		for k := range d.first {
			if at := place(k); at >= 0 {
				tasks = append(tasks, k*length+at)
			}
		}
		for i, point := range d.random.stratified(len(tasks), from.Total()) {
			drawn[tasks[i]] = from.at(point)
		}
	}
	draw(d.gangs, func(k int) int {
		if d.first[k] == noGang {
			return -1
		}
		return d.first[k]
	})
	for place := range length {
		before := func(k int) bool { return place < d.head && place < d.first[k] }
		draw(d.single, func(k int) int {
			if before(k) {
				return place
			}
			return -1
		})
		draw(d.all, func(k int) int {
			if before(k) || place == d.first[k] {
				return -1
			}
			return place
		})
	}
	return drawn
}

// at returns the shape of the task with that number, where the tasks of the first
// entry are numbered first.
func (m Mix) at(task int64) Shape {
	i := 0
	for ; task >= m[i].Count; i++ {
		task -= m[i].Count
	}
	return m[i].Shape
}

// splitMix is the generator SplitMix64: a counter in steps of the golden ratio,
// whose bits are mixed by two rounds of shift and multiplication. It is written
// here because the sequences are part of what an expected fill is: they must
// stay what they are.
type splitMix uint64

func (r *splitMix) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number from 0 to n-1: the upper half of the product with n.
func (r *splitMix) below(n int64) int64 {
	high, _ := bits.Mul64(r.next(), uint64(n))
	return int64(high)
}

// stratified returns n numbers from 0 to total-1, each from another of n equal
// parts of that range, in random order.
func (r *splitMix) stratified(n int, total int64) []int64 {
	points := make([]int64, n)
	for k := range points {
		points[k] = (int64(k)*total + r.below(total)) / int64(n)
	}
	for k := n - 1; k > 0; k-- {
		j := r.below(int64(k) + 1)
		points[k], points[j] = points[j], points[k]
	}
	return points
}
