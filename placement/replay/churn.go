package replay

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/placement"
)

// Churn is tasks that come at random and leave again: a Poisson stream of shapes
// of a mix, with random lifetimes.
type Churn struct {
	Mix fragmentation.Mix
	// Gap is the mean time between two arrivals, see GapFor. Times the number of
	// tasks it is at most 1<<57, so that the last arrival and its lifetime stay within
	// 64 bits.
	Gap int64
	// Lifetime is the mean time that a task stays. A thousand times the unit or more
	// keeps rounding from showing.
	Lifetime int64
	// Sigma is 0 for exponential lifetimes. Else they are log-normal with this sigma
	// and the same mean: 1.5 is a heavy tail, with a standard deviation of 2.9 times
	// the mean. At most 3.
	Sigma float64
	Tasks int
}

const (
	mostChurn = 10_000_000 // tasks
	mostTicks = 1 << 40    // of the mean gap and lifetime
	mostSigma = 3
	mostSpan  = 1 << 57 // of the mean gaps together: a gap is never 40 times the mean
)

// Arrivals returns the tasks of a seed, by time of arrival, called "0", "1", ...
// Shapes, gaps and lifetimes come from streams of their own, so that another
// sigma leaves the arrivals as they were. The same seed gives the same tasks on
// every platform. The error names the field and wraps ErrBadConfig.
func (c Churn) Arrivals(seed uint64) ([]Task, error) {
	bad := func(format string, args ...any) ([]Task, error) {
		return nil, fmt.Errorf("replay: churn: %w: %w", fmt.Errorf(format, args...), ErrBadConfig)
	}
	switch {
	case c.Gap < 1 || c.Gap > mostTicks:
		return bad("mean gap %d: not from 1 to %d", c.Gap, int64(mostTicks))
	case c.Lifetime < 1 || c.Lifetime > mostTicks:
		return bad("mean lifetime %d: not from 1 to %d", c.Lifetime, int64(mostTicks))
	case !(c.Sigma >= 0 && c.Sigma <= mostSigma): // NaN too
		return bad("sigma %v: not from 0 to %d", c.Sigma, mostSigma)
	case c.Tasks < 1 || c.Tasks > mostChurn:
		return bad("%d tasks: not from 1 to %d", c.Tasks, mostChurn)
	}
	if c.Gap > mostSpan/int64(c.Tasks) {
		return bad("mean gap %d for %d tasks: more than %d in all", c.Gap, c.Tasks, int64(mostSpan))
	}
	if err := c.Mix.Validate(); err != nil {
		return bad("%w", err)
	}
	shapes, gaps, lives := rand.New(rand.NewPCG(seed, 1)), source{rand.NewPCG(seed, 2)}, source{rand.NewPCG(seed, 3)}
	total := c.Mix.Total()
	tasks := make([]Task, c.Tasks)
	now := int64(0)
	for i := range tasks {
		now += ticks(gaps.exponential(), c.Gap)
		life := lives.exponential()
		if c.Sigma > 0 {
			life = lives.logNormal(c.Sigma)
		}
		tasks[i] = Task{
			Task:     placement.Task{ID: strconv.Itoa(i), Shape: c.Mix[pick(c.Mix, shapes.Int64N(total))].Shape},
			Arrive:   now,
			Lifetime: max(1, ticks(life, c.Lifetime)), // 0 would be for ever
		}
	}
	return tasks, nil
}

// pick returns the entry in which a count lies.
func pick(mix fragmentation.Mix, at int64) int {
	for i, e := range mix {
		if at -= e.Count; at < 0 {
			return i
		}
	}
	return len(mix) - 1 // not reached: the counts add up to the total
}

// GapFor returns the mean gap at which a mix, with a mean lifetime, keeps a
// cluster busy to a load if nothing were ever rejected: 1 is full. What is scarcest
// counts: compute or memory slices of the GPUs in MIG mode, or milli-GPU of the
// others; a shape that models of the cluster serve with different amounts
// counts as on the first that offers it. The error wraps ErrBadConfig.
func GapFor(c *placement.Cluster, mix fragmentation.Mix, lifetime int64, load float64) (int64, error) {
	if err := mix.Validate(); err != nil {
		return 0, fmt.Errorf("replay: gap: %w: %w", err, ErrBadConfig)
	}
	if !(load > 0 && load <= 1000) || lifetime < 1 || lifetime > mostTicks { // NaN too
		return 0, fmt.Errorf("replay: gap: load %v and lifetime %d: not above 0, or too large: %w", load, lifetime, ErrBadConfig)
	}
	if c == nil {
		return 0, fmt.Errorf("replay: gap: no cluster: %w", ErrBadConfig)
	}
	// Asked for by a task on average, in shares of what the cluster has of it.
	milli, compute, memory := 0.0, 0.0, 0.0
	have := capacityOf(c)
	for _, e := range mix {
		share := float64(e.Count) / float64(mix.Total())
		if e.Shape.Profile == "" {
			if e.Shape.GPUs > 0 && have.milli == 0 {
				return 0, fmt.Errorf("replay: gap: all GPUs of the cluster are in MIG mode: none for %d milli-GPU: %w", e.Shape.Milli, ErrBadConfig)
			}
			milli += float64(share*float64(e.Shape.TotalMilli())) / float64(max(have.milli, 1))
			continue
		}
		p, ok := offered(c, e.Shape)
		if !ok {
			return 0, fmt.Errorf("replay: gap: no GPU of the cluster offers %s: %w", e.Shape.Profile, ErrBadConfig)
		}
		compute += float64(share*float64(p.ComputeSlices)) / float64(max(have.compute, 1))
		memory += float64(share*float64(p.Size)) / float64(max(have.memory, 1))
	}
	asked := max(milli, compute, memory)
	if asked == 0 {
		return 0, fmt.Errorf("replay: gap: no task of the mix asks for a GPU: %w", ErrBadConfig)
	}
	gap := float64(float64(lifetime)*asked) / load
	if gap > mostTicks {
		return 0, fmt.Errorf("replay: gap: load %v: a gap of %.0f is too long: %w", load, gap, ErrBadConfig)
	}
	return max(1, int64(gap+0.5)), nil
}

// capacity is what the GPUs of a cluster have in all.
type capacity struct {
	milli           int64 // of uncut GPUs
	compute, memory int   // slices of cut ones
}

func capacityOf(c *placement.Cluster) capacity {
	var have capacity
	for n := range c.Nodes() {
		for _, g := range n.Spec().GPUs {
			if g.MIG == nil {
				have.milli += fragmentation.Whole
				continue
			}
			have.compute += g.MIG.ComputeSlices()
			have.memory += g.MIG.MemorySlices()
		}
	}
	return have
}

// offered returns the profile that the first GPU has for a shape.
func offered(c *placement.Cluster, shape fragmentation.Shape) (mig.Profile, bool) {
	for n := range c.Nodes() {
		spec := n.Spec()
		if !shape.Models.Accept(spec.Model) {
			continue
		}
		for _, g := range spec.GPUs {
			if g.MIG == nil {
				continue
			}
			if p, ok := g.MIG.Offers(shape.Profile); ok {
				return p, true
			}
		}
	}
	return mig.Profile{}, false
}
