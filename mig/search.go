package mig

// search tries the wanted instances, largest first, at every free start. Equal
// profiles are tried in ascending order of starts only, since they can be
// swapped. Since starts come in ascending order, the first of equally good
// answers is the one with the lowest. Limits other than position have been
// checked before.
type search struct {
	x     *index
	n     int             // instances wanted
	items [MaxUnits]uint8 // their table positions
	alike [MaxUnits]uint8 // how many of the same profile follow, itself counted

	best  int // free pairs of the best answer; the next must leave more
	trial [MaxUnits]uint8
	found [MaxUnits]uint8 // starts of the best answer, by item
}

// want lists the instances of the counts, which are within the memory of a GPU.
func (s *search) want(counts []int32) {
	for _, i := range s.x.order {
		for n := counts[i]; n > 0; n-- {
			s.items[s.n], s.alike[s.n] = i, uint8(n)
			s.n++
		}
	}
}

func (s *search) place(used Mask, k, from int) {
	pairs := int(s.x.pairs[used])
	if pairs <= s.best {
		return // more instances never leave more
	}
	if k == s.n {
		s.best, s.found = pairs, s.trial
		return
	}
	r := &s.x.rows[s.items[k]]
	alike := int(s.alike[k])
	free := windows(used, r.size) & (r.starts >> from << from)
	for ; free.Len() >= alike; free &= free - 1 {
		start := free.Lowest()
		s.trial[k] = uint8(start)
		next := 0
		if alike > 1 {
			next = start + 1
		}
		s.place(used|span(start, r.size), k+1, next)
	}
}

// result returns the layout with the best answer added.
func (s *search) result(l Layout) Layout {
	for k, i := range s.items[:s.n] {
		l = l.put(s.x, int(i), int(s.found[k]))
	}
	return l
}
