package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
	"github.com/gpushare/gpushare/placement/replay"
	"github.com/gpushare/gpushare/placement/replay/openb"
)

// publishedTraces are the task lists with published results.
var publishedTraces = [...]string{
	"cpu050", "cpu100", "cpu200", "cpu250", "default", "gpushare100", "gpushare40", "gpushare60", "gpushare80",
	"gpuspec10", "gpuspec20", "gpuspec25", "gpuspec33", "multigpu20", "multigpu30", "multigpu40", "multigpu50",
}

// sharePolicies are the policies for fractions and whole GPUs, the one that the
// others are compared with first.
var sharePolicies = [...]string{
	publishedName, "bestfit", "capped", "fill", "fill-learned", publishedName + repairSuffix, "fill" + repairSuffix,
}

// Expected fill with other random sequences than its own: fill-seed1 to fill-seed9.
// They are run when asked for.
const (
	seedPrefix = "fill-seed"
	mostFill   = 9
)

// knownSharePolicies are all.
func knownSharePolicies() []string {
	all := slices.Clone(sharePolicies[:])
	for seed := range mostFill {
		all = append(all, seedPrefix+strconv.Itoa(seed+1))
	}
	return all
}

// repairSuffix says that the policy may move one task for a hundred admissions.
const repairSuffix = "+repair"

// What repair is allowed and asked to do for shares.
const (
	repairEvery = 100
	repairLeast = 200 // milli-GPU admitted for a move
	repairLooks = 200
)

// fillStep is how coarse expected fill looks, in milli-GPU; see package
// placement.
const fillStep = 160

// laboratory runs cells. It keeps what several of them need and is safe for
// concurrent use.
type laboratory struct {
	openb string // directory
	files cache[string, openbTrace]
	rules cache[rulesOf, ruleSet]
}

func newLaboratory(openb string) *laboratory { return &laboratory{openb: openb} }

// measure runs a cell.
func (l *laboratory) measure(ctx context.Context, c cell) (map[string]float64, error) {
	if c.Kind == shareCells {
		return l.shares(ctx, c)
	}
	return l.instances(ctx, c)
}

// openbTrace is a fleet and a list of tasks.
type openbTrace struct {
	nodes []placement.NodeSpec
	tasks []placement.Task
}

func (l *laboratory) read(name string) (openbTrace, error) {
	return l.files.get(name, func() (openbTrace, error) {
		var t openbTrace
		var err error
		file := filepath.Join(l.openb, "openb_node_list_gpu_node.csv")
		if t.nodes, err = read(file, "-openb", openb.ReadNodes); err != nil {
			return t, err
		}
		file = filepath.Join(l.openb, "openb_pod_list_"+name+".csv")
		if _, err := os.Stat(file); err != nil {
			file += ".gz"
		}
		t.tasks, err = read(file, "-openb", openb.ReadTasks)
		return t, err
	})
}

// shares runs the published protocol.
func (l *laboratory) shares(ctx context.Context, c cell) (map[string]float64, error) {
	name, variant, _ := strings.Cut(c.Trace, ":")
	t, err := l.read(name)
	if err != nil {
		return nil, err
	}
	if t, err = t.vary(variant, c.Seed); err != nil {
		return nil, err
	}
	e, err := openb.NewExperiment(t.nodes, t.tasks, openb.Ratio, c.Seed)
	if err != nil {
		return nil, err
	}
	base, repaired := strings.CutSuffix(c.Policy, repairSuffix)
	cfg := e.Config(nil)
	if err := sharePolicy(&cfg, base, t, e); err != nil {
		return nil, err
	}
	if repaired {
		// The value by which it moves: CPU counts in it, since that is what the nodes
		// lack that have GPUs left.
		worth, err := fragmentation.NewFGD(e.Mix)
		if err != nil {
			return nil, err
		}
		cfg.Repair = &placement.Repair{Every: repairEvery, Least: repairLeast, Looks: repairLooks, Worth: worth.Of, Keep: true}
	}
	r, err := replay.Run(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return shareFigures(r), nil
}

// sharePolicy sets the policy of a replay.
func sharePolicy(cfg *replay.Config, name string, t openbTrace, e *openb.Experiment) error {
	var p placement.Policy
	var err error
	switch name {
	case publishedName:
		p, err = e.Policy(openb.FGD)
	case "bestfit":
		p, err = e.Policy(openb.BestFit)
	case "fill-learned":
		cfg.Next, err = learnFill()
		p = placement.FirstFit() // until something has come
	default:
		var v fragmentation.Value
		mix, mixErr := openb.TargetMix(t.tasks, 100)
		if mixErr != nil {
			return mixErr
		}
		text, sequences := strings.CutPrefix(name, seedPrefix)
		switch {
		case name == "fill":
			v, err = fragmentation.NewFill(mix, fragmentation.FillOptions{})
		case name == "capped":
			v, err = fragmentation.NewCapped(e.Mix)
		case sequences:
			var seed uint64
			if seed, err = strconv.ParseUint(text, 10, 64); err == nil {
				v, err = fragmentation.NewFill(mix, fragmentation.FillOptions{Seed: seed})
			}
		default:
			return fmt.Errorf("no policy %q for shares", name)
		}
		if err == nil {
			p, err = placement.ByValue(v, fillStep, placement.NodeOrder)
		}
	}
	cfg.Policy = fixed(p)
	return err
}

// The mix is learned anew after so many tasks, twice as many, and so on, up to
// every so many.
const (
	firstLearned = 25
	everyLearned = 2000
)

// learnFill returns expected fill for the mix of the tasks that came so far.
func learnFill() (func(*placement.Task) placement.Policy, error) {
	learner, err := fragmentation.NewLearner(fragmentation.LearnerOptions{})
	if err != nil {
		return nil, err
	}
	due := int64(firstLearned)
	return func(t *placement.Task) placement.Policy {
		if err := learner.Observe(t.Shape); err != nil || learner.Tasks() < due {
			return nil
		}
		due += min(due, everyLearned)
		v, err := fragmentation.NewFill(learner.Mix(), fragmentation.FillOptions{})
		if err != nil {
			return nil // nothing that asks for a GPU has come yet
		}
		p, err := placement.ByValue(v, fillStep, placement.NodeOrder)
		if err != nil {
			return nil
		}
		return p
	}, nil
}

// shareFigures returns what a replay of shares was worth.
func shareFigures(r *replay.Result) map[string]float64 {
	full := r.Samples[min(100, len(r.Samples)-1)]
	capacity := int64(0)
	for n := range r.Cluster.Nodes() {
		capacity += n.Spec().CPU
	}
	left := 100 - r.Final.AllocatedPercent()
	return map[string]float64{
		at100:     100 - full.AllocatedPercent(),
		at130:     left,
		several:   accepted(float64(r.Accepted[replay.SeveralGPUs]), float64(r.Offered[replay.SeveralGPUs])),
		cpuOnly:   accepted(float64(r.Steady.OfferedCPU-r.Steady.RejectedCPU), float64(r.Steady.OfferedCPU)),
		lost:      left + 100*float64(r.Steady.RejectedCPU)/float64(max(capacity, 1)),
		movedTask: 100 * float64(r.Moves) / float64(max(r.Accepted.Total(), 1)),
	}
}

// accepted returns a share in %, and all of nothing.
func accepted(part, whole float64) float64 {
	if whole == 0 {
		return 100
	}
	return 100 * part / whole
}

// vary changes a trace: a rule that was tuned on it shows there whether it holds
// elsewhere.
func (t openbTrace) vary(variant string, seed int64) (openbTrace, error) {
	switch variant {
	case "":
	case "perturbed":
		t.tasks = perturbed(t.tasks, uint64(seed))
	case "eights": // as many GPUs as in the trace, all on nodes of eight
		t.nodes = uniformFleet(t.nodes, []placement.NodeSpec{{CPU: 96_000, Memory: 786_432, GPUs: make([]placement.GPUSpec, 8)}})
	case "small": // on nodes of two and four, with 8 vCPU for each
		t.nodes = uniformFleet(t.nodes, []placement.NodeSpec{
			{CPU: 16_000, Memory: 131_072, GPUs: make([]placement.GPUSpec, 2)},
			{CPU: 32_000, Memory: 262_144, GPUs: make([]placement.GPUSpec, 4)},
		})
	default:
		return t, fmt.Errorf("-traces: unknown change %q (known: perturbed, eights, small)", variant)
	}
	return t, nil
}

// uniformFleet returns nodes of the given kinds in turn, with the GPUs of a fleet
// in all.
func uniformFleet(like, kinds []placement.NodeSpec) []placement.NodeSpec {
	gpus := 0
	for _, n := range like {
		gpus += len(n.GPUs)
	}
	var nodes []placement.NodeSpec
	for gpus > 0 {
		n := kinds[len(nodes)%len(kinds)]
		n.Name = fmt.Sprintf("node-%04d", len(nodes))
		gpus -= len(n.GPUs)
		nodes = append(nodes, n)
	}
	return nodes
}

// perturbed scales the CPU and the GPU fraction of every shape by factors of
// their own from 0.8 to 1.25, rounded to 10; whole GPUs stay whole.
func perturbed(tasks []placement.Task, seed uint64) []placement.Task {
	rng := rand.New(rand.NewPCG(seed, 7))
	scale := func(x int64) int64 {
		factor := 0.8 * math.Pow(1.25/0.8, rng.Float64())
		return 10 * int64(math.Round(float64(x)*factor/10))
	}
	shapes := map[fragmentation.Shape]fragmentation.Shape{}
	out := make([]placement.Task, len(tasks))
	for i, task := range tasks {
		s, known := shapes[task.Shape]
		if !known {
			s = task.Shape
			s.CPU = scale(s.CPU)
			if s.GPUs == 1 && s.Milli < fragmentation.Whole {
				s.Milli = min(max(scale(s.Milli), 10), fragmentation.Whole-10)
			}
			shapes[task.Shape] = s
		}
		out[i] = placement.Task{ID: task.ID, Shape: s}
	}
	return out
}
