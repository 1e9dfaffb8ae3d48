package placement_test

import (
	"fmt"
	"slices"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/placement"
)

// Put adds a node or replaces one, with records of which some may be wrong.
func (m *machine) Put(t *rapid.T) {
	name := fmt.Sprintf("n%d", rapid.IntRange(0, 5).Draw(t, "name"))
	known := slices.IndexFunc(m.specs, func(s placement.NodeSpec) bool { return s.Name == name })
	spec := genSpec(t, name)
	if known >= 0 && rapid.Bool().Draw(t, "same capacity") {
		spec = m.specs[known]
	}
	spec.Generation = rapid.Int64Range(0, 2).Draw(t, "generation")
	records := m.genRecords(t, name, spec)
	before := m.cluster.Node(name)
	if before != nil {
		m.views = append(m.views, snap(before))
	}

	wrong, err := m.cluster.Put(spec, records)
	require.NoError(t, err)
	if known >= 0 && spec.Generation != 0 && spec.Generation == m.specs[known].Generation {
		assert.Same(t, before, m.cluster.Node(name), "the caller says that nothing has changed")
		assert.Empty(t, wrong)
		return
	}
	var held []placement.Assignment
	refused := map[placement.Assignment]int{}
	for _, floating := range []bool{false, true} {
		for _, a := range records {
			if a.Spot.Anywhere != floating {
				continue
			}
			taken := slices.ContainsFunc(held, func(b placement.Assignment) bool { return a.Task.ID == b.Task.ID }) ||
				slices.ContainsFunc(m.placed, func(r placement.Recorded) bool {
					return r.Node != name && r.Assignment.Task.ID == a.Task.ID
				})
			spots, anywhere := split(append(slices.Clip(held), a))
			if !taken && feasible(spec, spots, anywhere) {
				held = append(held, a)
			} else {
				refused[a]++
			}
		}
	}
	for _, w := range wrong {
		assert.Equal(t, name, w.Node)
		refused[w.Assignment]--
	}
	for a, times := range refused {
		assert.Zero(t, times, "%v: with %v on %v", a, held, spec)
	}
	m.placed = slices.DeleteFunc(m.placed, func(r placement.Recorded) bool { return r.Node == name })
	for _, a := range held {
		m.placed = append(m.placed, placement.Recorded{Node: name, Assignment: a})
	}
	if known < 0 {
		m.specs = append(m.specs, spec)
	} else {
		m.specs[known] = spec
	}
}

// genRecords draws what is said to be on a node: some of what is there, perhaps a
// task of another node, and a new one.
func (m *machine) genRecords(t *rapid.T, name string, spec placement.NodeSpec) []placement.Assignment {
	var records []placement.Assignment
	for _, a := range m.on(name) {
		if rapid.IntRange(0, 4).Draw(t, "recorded") > 0 {
			records = append(records, a)
		}
	}
	if len(m.placed) > 0 && rapid.IntRange(0, 3).Draw(t, "a task of any node") == 0 {
		records = append(records, rapid.SampledFrom(m.placed).Draw(t, "which").Assignment)
	}
	if rapid.Bool().Draw(t, "a new task") {
		shape := genShapeFor(t, spec)
		records = append(records, placement.Assignment{
			Task: task(fmt.Sprintf("t%02d", m.next), shape), Spot: genSpot(t, len(spec.GPUs), shape),
		})
		m.next++
	}
	if len(records) > 1 {
		records = rapid.Permutation(records).Draw(t, "order of records")
	}
	floating := 0
	return slices.DeleteFunc(records, func(a placement.Assignment) bool {
		if a.Spot.Anywhere {
			floating++
		}
		return floating > mostFloating && a.Spot.Anywhere
	})
}

// Remove takes a node out, with its tasks; the last one never.
func (m *machine) Remove(t *rapid.T) {
	name := fmt.Sprintf("n%d", rapid.IntRange(0, 5).Draw(t, "name"))
	i := slices.IndexFunc(m.specs, func(s placement.NodeSpec) bool { return s.Name == name })
	if len(m.specs) == 1 && i == 0 {
		return
	}
	assert.Equal(t, i >= 0, m.cluster.Remove(name))
	assert.Nil(t, m.cluster.Node(name))
	if i < 0 {
		return
	}
	gone := m.on(name)
	m.specs = slices.Delete(slices.Clone(m.specs), i, i+1)
	m.placed = slices.DeleteFunc(m.placed, func(r placement.Recorded) bool { return r.Node == name })
	for _, a := range gone {
		assert.Nil(t, m.cluster.Locate(a.Task.ID), "free to go elsewhere")
	}
}
