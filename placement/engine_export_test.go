package placement

// SetMostTrees bounds the trees that an engine remembers until its memory is new.
func SetMostTrees(e *Engine, most int64) { e.view.Load().memory.mostTrees = most }

// Trees counts the trees that an engine remembers, by its own account and one by
// one. Nobody may be choosing.
func Trees(e *Engine) (booked, there int) {
	m := e.view.Load().memory
	for i := range m.kinds {
		for j := range m.kinds[i] {
			k := m.kinds[i][j].Load()
			if k == nil {
				continue
			}
			for s := range k.seats {
				if k.seats[s].tree != nil {
					there++
				}
			}
		}
	}
	return int(m.trees.Load()), there
}

// Kinds counts the kinds of task that an engine remembers.
func Kinds(e *Engine) int {
	n := 0
	m := e.view.Load().memory
	for i := range m.kinds {
		for j := range m.kinds[i] {
			if m.kinds[i][j].Load() != nil {
				n++
			}
		}
	}
	return n
}

// MostKinds bounds the kinds of task that an engine remembers.
const MostKinds = kindSets * kindWays

// Changes counts the pieces of the list of changes that a view keeps.
func Changes(v *View) int {
	n := 0
	for c := v.tail; c != nil; c = c.next.Load() {
		n++
	}
	return n
}
