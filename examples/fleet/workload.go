package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
)

// embedded is the fleet and the workload of a run without files; the file says
// where its figures come from.
//
//go:embed workload.json
var embedded []byte

// workload is a fleet and the mix of tasks that it serves.
type workload struct {
	nodes     []placement.NodeSpec
	cluster   *placement.Cluster // of the nodes, empty
	shares    fragmentation.Mix  // tasks for uncut GPUs, or without a GPU
	instances fragmentation.Mix  // requests for MIG instances
}

// workloadFile is the form of workload.json.
type workloadFile struct {
	About     []string    `json:"about"`
	Nodes     []nodeKind  `json:"nodes"`
	Shares    []taskShape `json:"shares"`
	Instances []taskShape `json:"instances"`
}

// nodeKind is a number of equal nodes.
type nodeKind struct {
	Name   string `json:"name"` // the nodes are called name-0, name-1, ...
	Count  int    `json:"count"`
	Model  string `json:"model"`
	GPUs   int    `json:"gpus"`
	MIG    string `json:"mig"` // model of the table by which the GPUs are cut; empty: uncut
	CPU    int64  `json:"cpu"`
	Memory int64  `json:"memory"`
}

// taskShape is a shape of the mix.
type taskShape struct {
	Count        int64                `json:"count"`
	CPU          int64                `json:"cpu"`
	Memory       int64                `json:"memory"`
	GPUs         int                  `json:"gpus"`
	Milli        int64                `json:"milli"`
	Models       fragmentation.Models `json:"models"`
	Profile      string               `json:"profile"`
	DeviceMemory int64                `json:"deviceMemory"`
}

// readWorkload reads the form of workload.json and checks it.
func readWorkload(data []byte) (*workload, error) {
	var f workloadFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, err
	}
	w := &workload{}
	for i, k := range f.Nodes {
		var model *mig.Model
		if k.MIG != "" {
			var err error
			if model, err = mig.Lookup(k.MIG); err != nil {
				return nil, fmt.Errorf("nodes %d: %w", i, err)
			}
		}
		for n := range k.Count {
			spec := placement.NodeSpec{Name: fmt.Sprintf("%s-%d", k.Name, n), CPU: k.CPU, Memory: k.Memory, Model: k.Model}
			for range k.GPUs {
				spec.GPUs = append(spec.GPUs, placement.GPUSpec{MIG: model})
			}
			w.nodes = append(w.nodes, spec)
		}
	}
	for _, s := range f.Shares {
		w.shares = append(w.shares, s.entry())
	}
	for _, s := range f.Instances {
		w.instances = append(w.instances, s.entry())
	}
	if err := w.shares.Validate(); err != nil {
		return nil, fmt.Errorf("shares: %w", err)
	}
	if err := w.instances.Validate(); err != nil {
		return nil, fmt.Errorf("instances: %w", err)
	}
	var err error
	w.cluster, err = placement.NewCluster(w.nodes)
	return w, err
}

func (s taskShape) entry() fragmentation.Entry {
	shape := fragmentation.Shape{
		CPU: s.CPU, Memory: s.Memory, GPUs: s.GPUs, Milli: s.Milli,
		Models: s.Models, Profile: s.Profile, DeviceMemory: s.DeviceMemory,
	}
	if s.Profile != "" {
		shape.GPUs = 1
	}
	return fragmentation.Entry{Shape: shape, Count: s.Count}
}

// pool is a part of the fleet with the tasks for it.
type pool struct {
	mix      fragmentation.Mix
	capacity int64 // milli-GPU
	arrived  int64 // milli-GPU asked for so far
}

// load returns what was asked for over what there is.
func (p *pool) load() float64 { return float64(p.arrived) / float64(p.capacity) }

// pools returns the uncut GPUs with the shares, and the cut ones of each list
// of models that requests for instances name.
func (w *workload) pools() []*pool {
	all := []*pool{{mix: w.shares}}
	byModels := map[fragmentation.Models]*pool{}
	for _, e := range w.instances {
		p, found := byModels[e.Shape.Models]
		if !found {
			p = &pool{}
			byModels[e.Shape.Models] = p
			all = append(all, p)
		}
		p.mix = append(p.mix, e)
	}
	for _, n := range w.nodes {
		for _, g := range n.GPUs {
			for i, p := range all {
				if i == 0 && g.MIG == nil || i > 0 && g.MIG != nil && p.mix[0].Shape.Models.Accept(n.Model) {
					p.capacity += fragmentation.Whole
				}
			}
		}
	}
	return all
}

// draw returns the nodes in an order of their own, so that policies that break
// ties by it are not judged by how a file is sorted, and tasks until every pool
// was asked for inflate times what it has. The next task is always for the pool
// that was asked for least of what it has.
func (w *workload) draw(seed int64, inflate float64) ([]placement.NodeSpec, []replay.Task) {
	rng := rand.New(rand.NewPCG(uint64(seed), 0))
	nodes := slices.Clone(w.nodes)
	rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	pools := w.pools()
	var tasks []replay.Task
	for {
		next := slices.MinFunc(pools, func(a, b *pool) int { return cmp.Compare(a.load(), b.load()) })
		if next.load() >= inflate {
			return nodes, tasks
		}
		shape := pickShape(rng, next.mix)
		next.arrived += replay.Asked(w.cluster, shape)
		tasks = append(tasks, replay.Task{Task: placement.Task{ID: fmt.Sprintf("task-%06d", len(tasks)), Shape: shape}})
	}
}

// pickShape returns a shape of the mix, each as often as its count says.
func pickShape(rng *rand.Rand, mix fragmentation.Mix) fragmentation.Shape {
	at := rng.Int64N(mix.Total())
	for _, e := range mix {
		if at -= e.Count; at < 0 {
			return e.Shape
		}
	}
	return mix[len(mix)-1].Shape // not reached: the counts add up to the total
}
