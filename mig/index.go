package mig

import (
	"cmp"
	"slices"
)

// index is a model's table arranged for the questions, which are asked far more
// often than a table is made.
type index struct {
	rows  []row
	order []uint8 // table positions, largest first: by memory slices, then as listed

	// names is a hash table of table positions plus one; 0 is a free place. Its
	// length is a power of two.
	names []uint8

	// pairs is FreePairs by used memory slices.
	pairs []uint16
}

// row is what placement needs of a profile.
type row struct {
	name    string
	starts  Mask
	size    int
	compute int
	most    int // MaxInstances

	// limited says that something other than overlap can keep an instance out: the
	// limit of instances, or an instance of a profile in clash.
	limited bool
	clash   [4]uint64 // table positions whose instances cannot stand beside it

	disjoint bool // no two of its starts overlap
}

// maxProfiles is the most that a table may have: positions plus one are kept in
// a byte, and a set of them in the words of row.clash.
const maxProfiles = 250

// index returns the model's index. Two callers may both make the first one; they
// are equal.
func (m *Model) index() *index {
	if x := m.cache.Load(); x != nil {
		return x
	}
	x := newIndex(&m.spec)
	m.cache.Store(x)
	return x
}

func newIndex(s *Spec) *index {
	x := &index{rows: make([]row, len(s.Profiles))}
	for i := range s.Profiles {
		p := &s.Profiles[i]
		r := &x.rows[i]
		*r = row{name: p.Name, starts: p.Starts, size: p.Size, compute: p.ComputeSlices, most: p.MaxInstances}
		for j := range s.Profiles {
			if j != i && !s.compatible(p, &s.Profiles[j]) {
				r.clash[j>>6] |= 1 << (j & 63)
				r.limited = true
			}
		}
		room := capacity(p.Starts, p.Size)
		r.limited = r.limited || p.MaxInstances < room
		r.disjoint = room == p.Starts.Len()
		x.order = append(x.order, uint8(i))
	}
	slices.SortStableFunc(x.order, func(a, b uint8) int { return cmp.Compare(x.rows[b].size, x.rows[a].size) })
	x.hashNames()
	x.countPairs(s)
	return x
}

// compatible reports whether instances of two different profiles may stand on
// one GPU, overlap aside.
func (s *Spec) compatible(p, q *Profile) bool {
	if !p.Attrs.compatible(q.Attrs) {
		return false
	}
	if !s.MediaAlone || p.ComputeSlices != q.ComputeSlices || p.Size != q.Size {
		return true
	}
	return p.Attrs|q.Attrs != MediaExtensions
}

// capacity returns how many placements of that size fit at most when the given
// starts are free. Taking the lowest first is best, since all are of one size.
func capacity(starts Mask, size int) int {
	n := 0
	for ; starts != 0; starts &^= span(starts.Lowest(), size) {
		n++
	}
	return n
}

// shortestName is the least that hash may read. No profile name is shorter.
const shortestName = 4

// hash spreads the names of a table: they differ in the slices, in the memory or
// in the attributes.
func hash(name string) uint {
	return uint(len(name)) + 5*uint(name[0]) + 3*uint(name[3]) + 7*uint(name[len(name)-3])
}

func (x *index) hashNames() {
	places := 64
	for places < 4*len(x.rows) {
		places *= 2
	}
	x.names = make([]uint8, places)
	for i := range x.rows {
		h := hash(x.rows[i].name)
		for x.names[h%uint(places)] != 0 {
			h++
		}
		x.names[h%uint(places)] = uint8(i + 1)
	}
}

// position returns the table position of a profile, or -1.
func (x *index) position(name string) int {
	if len(name) < shortestName {
		return -1
	}
	last := uint(len(x.names) - 1)
	for h := hash(name); ; h++ {
		n := x.names[h&last]
		if n == 0 {
			return -1
		}
		if x.rows[n-1].name == name {
			return int(n - 1)
		}
	}
}

// countPairs fills pairs. Profiles of one size and the same starts count
// together.
func (x *index) countPairs(s *Spec) {
	type shape struct {
		size   int
		starts Mask
	}
	var shapes []shape
	counts := map[shape]int{}
	for i := range s.Profiles {
		p := &s.Profiles[i]
		if p.Attrs != 0 || !p.HasGeometry() {
			continue
		}
		k := shape{p.Size, p.Starts}
		if counts[k] == 0 {
			shapes = append(shapes, k)
		}
		counts[k]++
	}
	x.pairs = make([]uint16, 1<<s.MemorySlices)
	for used := range x.pairs {
		for _, k := range shapes {
			x.pairs[used] += uint16(counts[k] * (windows(Mask(used), k.size) & k.starts).Len())
		}
	}
}
