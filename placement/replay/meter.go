package replay

import (
	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// meter measures a cluster. A figure of a node view is a pure function of it,
// so only nodes that changed since the last reading are looked at again.
type meter struct {
	cluster *placement.Cluster
	value   fragmentation.Value // nil: no fragmentation
	seen    []*placement.Node   // the views of the last reading
	figures []figures           // of those
	sum     figures
	state   fragmentation.State // scratch
	// The cluster's fragment is milli + part/scale milli-GPU: a sum in the
	// value's own units might not fit into 64 bits.
	scale int64
}

// figures are what is measured of a node, or the sum over nodes.
type figures struct {
	left  int64 // milli-GPU
	cpu   int64 // milli-vCPU left
	idle  int   // GPUs without a task
	gpus  int
	milli int64 // fragment, whole milli-GPU
	part  int64 // fragment, the rest in units of the value
}

func (f *figures) add(g figures, sign int64) {
	f.left += sign * g.left
	f.cpu += sign * g.cpu
	f.idle += int(sign) * g.idle
	f.gpus += int(sign) * g.gpus
	f.milli += sign * g.milli
	f.part += sign * g.part
}

func newMeter(c *placement.Cluster, v fragmentation.Value) *meter {
	m := &meter{
		cluster: c, value: v, scale: 1,
		seen: make([]*placement.Node, c.Len()), figures: make([]figures, c.Len()),
	}
	if v != nil {
		m.scale = v.Scale()
	}
	return m
}

// read brings the sum up to date.
func (m *meter) read() *figures {
	i := 0
	for n := range m.cluster.Nodes() {
		if m.seen[i] != n {
			f := m.node(n)
			m.sum.add(m.figures[i], -1)
			m.sum.add(f, 1)
			// One part less and one more, each below one milli-GPU.
			if m.sum.part < 0 {
				m.sum.milli, m.sum.part = m.sum.milli-1, m.sum.part+m.scale
			} else if m.sum.part >= m.scale {
				m.sum.milli, m.sum.part = m.sum.milli+1, m.sum.part-m.scale
			}
			m.seen[i], m.figures[i] = n, f
		}
		i++
	}
	return &m.sum
}

// fragment returns the fragment of the last reading.
func (m *meter) fragment() float64 {
	return float64(m.sum.milli) + float64(m.sum.part)/float64(m.scale)
}

func (m *meter) node(n *placement.Node) figures {
	n.CopyState(&m.state)
	f := figures{left: m.state.Left(), cpu: m.state.CPU, gpus: len(m.state.GPUs)}
	for _, g := range m.state.GPUs {
		if g.Left() == fragmentation.Whole {
			f.idle++
		}
	}
	if m.value != nil {
		fragment := fragmentation.Fragment(m.value, &m.state)
		f.milli, f.part = fragment/m.scale, fragment%m.scale
	}
	return f
}
