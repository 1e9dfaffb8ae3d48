package placement

import (
	"fmt"
	"slices"
)

// Put adds a node at the end of the order or, if there is one of that name,
// replaces it in its place, with the assignments that are recorded for it; see
// Rebuild for the contradictions. A node whose spec has the generation of the
// one that is there, other than 0, is left as it is, whatever is recorded: the
// caller says by a new generation that something has changed.
//
// A task that another node already holds is a contradiction and stays there. The
// error is that of NewNode; nothing is changed then.
func (c *Cluster) Put(spec NodeSpec, recorded []Assignment) ([]Contradiction, error) {
	i, known := c.byName[spec.Name]
	if known && spec.Generation != 0 && spec.Generation == c.nodes[i].spec.Generation {
		return nil, nil
	}
	var wrong []Contradiction
	var mine []Assignment
	for _, a := range recorded {
		if at := c.Locate(a.Task.ID); at != nil && at.Name() != spec.Name {
			err := fmt.Errorf("placement: task %q on node %q: on node %q: %w", a.Task.ID, spec.Name, at.Name(), ErrDuplicate)
			wrong = append(wrong, Contradiction{spec.Name, a, err})
			continue
		}
		mine = append(mine, a)
	}
	n, more, err := Rebuild(spec, mine)
	if err != nil {
		return nil, err
	}
	if c.byName == nil {
		c.byName, c.at = map[string]int{}, map[string]int{}
	}
	if !known {
		i = len(c.nodes)
		c.byName[spec.Name] = i
		c.nodes = append(c.nodes, n)
	} else {
		for a := range c.nodes[i].Assignments() {
			delete(c.at, a.Task.ID)
		}
		c.nodes[i] = n
	}
	for a := range n.Assignments() {
		c.at[a.Task.ID] = i
	}
	return append(wrong, more...), nil
}

// Remove takes a node out of the cluster, with the tasks on it, and reports
// whether it was there. The order of the others stays.
func (c *Cluster) Remove(name string) bool {
	i, known := c.byName[name]
	if !known {
		return false
	}
	c.nodes = slices.Delete(c.nodes, i, i+1)
	clear(c.byName)
	clear(c.at)
	for i, n := range c.nodes {
		c.byName[n.Name()] = i
		for a := range n.Assignments() {
			c.at[a.Task.ID] = i
		}
	}
	return true
}
