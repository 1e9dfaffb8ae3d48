package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/placement"
)

// carriedOut says what came of the books on devices.
type carriedOut struct {
	Policy      string   `json:"policy"`
	Seed        int64    `json:"seed"`
	GPUs        int      `json:"gpus"`      // in MIG mode
	Instances   int      `json:"instances"` // created and read back
	Differences []string `json:"differences,omitempty"`

	nodes []drawnNode
}

// drawnNode is what was read back from the GPUs of a node.
type drawnNode struct {
	name    string
	layouts []mig.Layout
}

// carryOut creates, on simulated GPUs, every MIG instance that stands in the
// books, at the very start that the policy chose, then reads the GPUs and
// compares them with the books. An error means that it could not be done at
// all; that devices and books disagree is an answer.
func carryOut(ctx context.Context, c *placement.Cluster) (*carriedOut, error) {
	out := &carriedOut{}
	for n := range inNameOrder(c) {
		if !slices.ContainsFunc(n.State().GPUs, isCut) {
			continue
		}
		m, err := openMachine(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name(), err)
		}
		refused, err := m.create(ctx)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name(), err)
		}
		layouts, different, err := m.compare(ctx)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name(), err)
		}
		for _, l := range layouts {
			out.Instances += l.Len()
		}
		out.GPUs += len(layouts)
		out.nodes = append(out.nodes, drawnNode{n.Name(), layouts})
		out.Differences = append(append(out.Differences, refused...), different...)
		if err := m.close(); err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name(), err)
		}
	}
	return out, nil
}

// machine is a node with its GPUs.
type machine struct {
	node    *placement.Node
	server  *nvmlfake.Server
	library nvml.Interface
	devices map[int]*device.GPU // by index in the node, those in MIG mode
}

// openMachine starts a machine with the GPUs of the node that are in MIG mode,
// without instances.
func openMachine(ctx context.Context, n *placement.Node) (*machine, error) {
	m := &machine{node: n, devices: map[int]*device.GPU{}}
	var config nvmlfake.Config
	var indexes []int
	for i, g := range n.Spec().GPUs {
		if g.MIG != nil {
			config.GPUs = append(config.GPUs, nvmlfake.GPU{Model: g.MIG.Key(), MIG: true})
			indexes = append(indexes, i)
		}
	}
	var err error
	if m.server, err = nvmlfake.New(config); err != nil {
		return nil, err
	}
	m.library = m.server.NVML()
	if ret := m.library.Init(); ret != nvml.SUCCESS {
		return nil, fmt.Errorf("initialise NVML: %w", ret)
	}
	for at, i := range indexes {
		handle, ret := m.library.DeviceGetHandleByIndex(at)
		if ret != nvml.SUCCESS {
			return nil, fmt.Errorf("GPU %d: %w", i, ret)
		}
		if m.devices[i], err = device.Open(ctx, handle); err != nil {
			return nil, fmt.Errorf("GPU %d: %w", i, err)
		}
	}
	return m, nil
}

// create creates what stands in the books, in the order of task IDs, and
// returns what the devices refused.
func (m *machine) create(ctx context.Context) (refused []string, err error) {
	for a := range m.node.Assignments() {
		if a.Task.Shape.Profile == "" {
			continue
		}
		gpu := a.Spot.GPUs.First()
		_, err := m.devices[gpu].Create(ctx, mig.Instance{Profile: a.Task.Shape.Profile, Start: a.Spot.Start})
		switch {
		case ctx.Err() != nil:
			return nil, err
		case errors.Is(err, mig.ErrConflict), errors.Is(err, device.ErrNoRoom):
			refused = append(refused, fmt.Sprintf("node %s GPU %d: %s refused: %v", m.node.Name(), gpu, a.Task.ID, err))
		case err != nil:
			return nil, fmt.Errorf("GPU %d: %s: %w", gpu, a.Task.ID, err)
		}
	}
	return refused, nil
}

// compare reads the GPUs and returns their layouts, by index, and every
// difference from the books.
func (m *machine) compare(ctx context.Context) (layouts []mig.Layout, differences []string, err error) {
	for i, g := range m.node.State().GPUs {
		if !g.Cut() {
			continue
		}
		state, err := m.devices[i].State(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("GPU %d: %w", i, err)
		}
		layouts = append(layouts, state.Layout)
		if state.Layout != g.Layout {
			differences = append(differences,
				fmt.Sprintf("node %s GPU %d: the books say %s, the GPU holds %s", m.node.Name(), i, g.Layout, state.Layout))
		}
	}
	return layouts, differences, nil
}

// close ends the machine.
func (m *machine) close() error {
	if ret := m.library.Shutdown(); ret != nvml.SUCCESS {
		return fmt.Errorf("shut down NVML: %w", ret)
	}
	return m.server.Audit()
}

// inNameOrder iterates over the nodes by name: their order in the cluster is
// drawn anew for every seed.
func inNameOrder(c *placement.Cluster) iter.Seq[*placement.Node] {
	return slices.Values(slices.SortedFunc(c.Nodes(), func(a, b *placement.Node) int { return cmp.Compare(a.Name(), b.Name()) }))
}

func isCut(g fragmentation.GPU) bool { return g.Cut() }
