package placement

// Contradiction is a recorded assignment that cannot be true.
type Contradiction struct {
	Node       string
	Assignment Assignment
	Err        error
}

// String names the task, the node and the reason.
func (c Contradiction) String() string { return c.Err.Error() }

// Recorded is an assignment with the name of its node, as a scheduler finds it
// recorded after a restart.
type Recorded struct {
	Node       string
	Assignment Assignment
}

// Rebuild returns the view of a node with recorded assignments. Those with a
// known GPU are entered first, in the order given, then all those placed anywhere
// together. An assignment that contradicts the ones before it (two tasks on one
// slice, an unknown GPU, a share out of range) is reported and left out; the
// others stand.
//
// That the tasks placed anywhere find no room together is a contradiction only
// where it is proven; then it is those that find none beside the ones given before
// them. Where the search for their spots gives up, after a fraction of a second,
// they are all kept, since they are known to run: the node is then not Settled
// and offers no share of any GPU until so many have left that spots are found.
// That takes a node with dozens of such tasks and hardly anything left.
func Rebuild(spec NodeSpec, recorded []Assignment) (*Node, []Contradiction, error) {
	return rebuild(spec, recorded, rebuildSteps)
}

// rebuild is Rebuild with a bound for settle.
func rebuild(spec NodeSpec, recorded []Assignment, steps int) (*Node, []Contradiction, error) {
	all := make([]Recorded, len(recorded))
	for i, a := range recorded {
		all[i] = Recorded{spec.Name, a}
	}
	c, wrong, err := rebuildCluster([]NodeSpec{spec}, all, steps)
	if err != nil {
		return nil, nil, err
	}
	return c.nodes[0], wrong, nil
}

// RebuildCluster returns the cluster with recorded assignments; see Rebuild. An
// unknown node and a task that is recorded on a second node are contradictions
// too. The error is that of NewCluster.
func RebuildCluster(specs []NodeSpec, recorded []Recorded) (*Cluster, []Contradiction, error) {
	return rebuildCluster(specs, recorded, rebuildSteps)
}

// rebuildCluster is RebuildCluster with a bound for settle.
func rebuildCluster(specs []NodeSpec, recorded []Recorded, steps int) (*Cluster, []Contradiction, error) {
	c, err := NewCluster(specs)
	if err != nil {
		return nil, nil, err
	}
	errs := make([]error, len(recorded))
	for i, r := range recorded {
		if !r.Assignment.Spot.Anywhere {
			errs[i] = c.Place(r.Node, r.Assignment)
		}
	}
	together := make([][]int, len(specs)) // by node
	var later []int                       // records of tasks of which another may turn out wrong
	for i, r := range recorded {
		if !r.Assignment.Spot.Anywhere {
			continue
		}
		node, found := c.byName[r.Node]
		if _, there := c.at[r.Assignment.Task.ID]; there || !found {
			later = append(later, i)
			continue
		}
		together[node] = append(together[node], i)
		c.at[r.Assignment.Task.ID] = node
	}
	enter := func(node int, list []int) {
		tasks := make([]Assignment, len(list))
		for k, i := range list {
			tasks[k] = recorded[i].Assignment
			c.at[tasks[k].Task.ID] = node
		}
		n, refused := c.nodes[node].enter(tasks, steps)
		c.nodes[node] = n
		for k, err := range refused {
			if err != nil {
				errs[list[k]] = n.taskError(&tasks[k].Task, err)
				delete(c.at, tasks[k].Task.ID)
			}
		}
	}
	for node, list := range together {
		enter(node, list)
	}
	for _, i := range later {
		r := &recorded[i]
		node, err := c.placeable(r.Node, &r.Assignment.Task)
		if errs[i] = err; err == nil {
			enter(node, []int{i})
		}
	}
	var wrong []Contradiction
	for _, anywhere := range []bool{false, true} {
		for i, r := range recorded {
			if errs[i] != nil && r.Assignment.Spot.Anywhere == anywhere {
				wrong = append(wrong, Contradiction{r.Node, r.Assignment, errs[i]})
			}
		}
	}
	return c, wrong, nil
}

// enter returns the view with more tasks placed anywhere, and the error of each
// that is left out.
func (n *Node) enter(tasks []Assignment, steps int) (*Node, []error) {
	errs := make([]error, len(tasks))
	next := n
	for i, a := range tasks {
		if m, _, err := next.book(a); err != nil {
			errs[i] = err
		} else {
			next = m
		}
	}
	if next == n {
		return n, errs
	}
	once := steps
	if answer := next.settle(&once); answer != noRoom {
		if answer == gaveUp {
			next.withhold()
		}
		return next, errs
	}
	// They do not fit together: judge each beside those before it.
	next = n
	for i, a := range tasks {
		m, k, err := next.book(a)
		if err == nil {
			if answer := m.settle(&steps); answer != settled {
				err = m.keep(next, k)
				if err != nil && answer == gaveUp {
					m.withhold()
					err = nil
				}
			}
		}
		if errs[i] = err; err == nil {
			next = m
		}
	}
	return next, errs
}
