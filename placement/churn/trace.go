package churn

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// Group is a number of equal GPUs.
type Group struct {
	Model *mig.Model
	GPUs  int
}

// Config says what arrives at which fleet. Times are in mean lifetimes.
type Config struct {
	// Fleet lists the GPUs; ties between them go to the first.
	Fleet []Group
	// Mix is what arrives: requests for MIG instances of plain profiles. CPU and
	// main memory play no part, nor does the model that a node is labelled with.
	Mix fragmentation.Mix
	// Then, if any, are the mixes that follow, each for Phase lifetimes, and the
	// first again after the last: drift. A phase is at least a thousandth long.
	Then  []fragmentation.Mix
	Phase float64
	// Load is what is offered over what the fleet has, the larger of compute and
	// memory slices. A request counts by its smallest share of any model that
	// offers it. From 1e-6 to 100.
	Load float64
	// Heavy lifetimes are log-normal with sigma 1.5; else they are exponential.
	Heavy bool
	// WarmUp is not measured. Fragmentation needs some 6 lifetimes to settle on
	// 64 GPUs, and 25 on 512. It is at most 50 million arrivals long.
	WarmUp   float64
	Arrivals int // measured, at most 50 million
	Seed     uint64
}

const (
	mostGPUs     = 1 << 20
	mostArrivals = 50_000_000
	leastLoad    = 1e-6 // these two keep the number of a phase within 64 bits
	leastPhase   = 1e-3
)

// Trace is a list of arrivals, the same for every rule that is tried on it. It is
// immutable and safe for concurrent use.
type Trace struct {
	fleet    []*rack
	gpus     int
	requests []request
	arrivals []arrival
	first    int // the first that is measured
}

// request is a kind of request.
type request struct {
	shape  fragmentation.Shape
	slices int // compute slices
}

type arrival struct {
	at, lifetime float64
	request      int32
}

// NewTrace draws the arrivals of a Config. The error names the field that is out
// of range and wraps ErrBadConfig, or is that of the mix or the model.
func NewTrace(cfg Config) (*Trace, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	t := &Trace{}
	for _, g := range cfg.Fleet {
		r, err := newRack(g)
		if err != nil {
			return nil, err
		}
		t.fleet = append(t.fleet, r)
		t.gpus += g.GPUs
	}
	mixes := append([]fragmentation.Mix{cfg.Mix}, cfg.Then...)
	phases := make([]phase, len(mixes))
	for i, mix := range mixes {
		if err := t.phase(&phases[i], mix, cfg.Load); err != nil {
			return nil, err
		}
		if before := cfg.WarmUp * phases[i].rate; before > mostArrivals {
			return nil, fmt.Errorf("churn: %.0f arrivals in a warm-up of %v lifetimes: more than %d: %w", before, cfg.WarmUp, mostArrivals, ErrBadConfig)
		}
	}
	t.draw(&cfg, phases)
	return t, nil
}

func (c *Config) validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("churn: %s: %w", fmt.Sprintf(format, args...), ErrBadConfig)
	}
	total := 0
	for i, g := range c.Fleet {
		if g.GPUs < 1 || g.GPUs > mostGPUs-total {
			return bad("group %d: %d GPUs: not from 1 to %d in all", i, g.GPUs, mostGPUs)
		}
		total += g.GPUs
	}
	switch {
	case total == 0:
		return bad("no GPUs")
	case !(c.Load >= leastLoad && c.Load <= 100): // NaN too
		return bad("load %v: not from %v to 100", c.Load, leastLoad)
	case !(c.WarmUp >= 0 && c.WarmUp <= 1e6):
		return bad("warm-up of %v lifetimes: not from 0 to 1000000", c.WarmUp)
	case c.Arrivals < 1 || c.Arrivals > mostArrivals:
		return bad("%d arrivals: not from 1 to %d", c.Arrivals, mostArrivals)
	case len(c.Then) > 0 && !(c.Phase >= leastPhase && c.Phase <= 1e6):
		return bad("phase of %v lifetimes: not from %v to 1000000", c.Phase, leastPhase)
	}
	return nil
}

// phase is what arrives while a mix holds.
type phase struct {
	rate     float64   // arrivals per mean lifetime
	requests []int32   // into Trace.requests
	upTo     []float64 // cumulated shares
}

func (t *Trace) phase(ph *phase, mix fragmentation.Mix, load float64) error {
	if err := mix.Validate(); err != nil {
		return fmt.Errorf("churn: %w", err)
	}
	total, sum, compute, memory := float64(mix.Total()), 0.0, 0.0, 0.0
	for i := range mix {
		e := &mix[i]
		c, m, slices, err := t.share(&e.Shape)
		if err != nil {
			return fmt.Errorf("churn: mix entry %d: %w", i, err)
		}
		w := float64(e.Count) / total
		compute, memory, sum = compute+w*c, memory+w*m, sum+w
		ph.requests = append(ph.requests, t.request(e.Shape, slices))
		ph.upTo = append(ph.upTo, sum)
	}
	ph.upTo[len(ph.upTo)-1] = 1
	ph.rate = load * float64(t.gpus) / max(compute, memory)
	return nil
}

// share returns the smallest share of the compute and of the memory slices of a
// GPU that a request takes.
func (t *Trace) share(s *fragmentation.Shape) (compute, memory float64, slices int, err error) {
	compute, memory = math.Inf(1), math.Inf(1)
	for _, r := range t.fleet {
		m := r.states.Model()
		p, ok := m.Offers(s.Profile)
		if !ok {
			continue
		}
		if p.Attrs != 0 {
			return 0, 0, 0, fmt.Errorf("profile %s: the limits of variants are not simulated: %w", s.Profile, ErrBadConfig)
		}
		compute = min(compute, float64(p.ComputeSlices)/float64(m.ComputeSlices()))
		memory = min(memory, float64(p.Size)/float64(m.MemorySlices()))
		slices = p.ComputeSlices
	}
	if slices == 0 {
		return 0, 0, 0, fmt.Errorf("profile %q: no model of the fleet offers it: %w", s.Profile, mig.ErrUnknownProfile)
	}
	return compute, memory, slices, nil
}

func (t *Trace) request(s fragmentation.Shape, slices int) int32 {
	s.CPU, s.Memory, s.Models = 0, 0, ""
	for i := range t.requests {
		if t.requests[i].shape == s {
			return int32(i)
		}
	}
	t.requests = append(t.requests, request{s, slices})
	return int32(len(t.requests) - 1)
}

// draw fills the arrivals.
func (t *Trace) draw(cfg *Config, phases []phase) {
	rng := rand.New(rand.NewPCG(cfg.Seed, 0x6d69672d6368726e))
	for now, measured := 0.0, 0; measured < cfg.Arrivals; {
		ph := &phases[0]
		if len(phases) > 1 {
			ph = &phases[int(now/cfg.Phase)%len(phases)]
		}
		now += exponential(rng) / ph.rate
		u := rng.Float64()
		k := 0
		for u >= ph.upTo[k] {
			k++
		}
		a := arrival{at: now, request: ph.requests[k]}
		if cfg.Heavy {
			a.lifetime = math.Exp(heavy*normal(rng) - heavy*heavy/2)
		} else {
			a.lifetime = exponential(rng)
		}
		if now < cfg.WarmUp {
			t.first++
		} else {
			measured++
		}
		t.arrivals = append(t.arrivals, a)
	}
}

// heavy is the sigma of the logarithm of heavy lifetimes.
const heavy = 1.5

func exponential(rng *rand.Rand) float64 { return -math.Log(1 - rng.Float64()) }

func normal(rng *rand.Rand) float64 {
	return math.Sqrt(2*exponential(rng)) * math.Cos(2*math.Pi*rng.Float64())
}

// Arrival is a request as it arrives.
type Arrival struct {
	At, Lifetime float64 // in mean lifetimes
	Shape        fragmentation.Shape
	Measured     bool // the warm-up is over
}

// Arrivals iterates over the arrivals by time.
func (t *Trace) Arrivals() iter.Seq[Arrival] {
	return func(yield func(Arrival) bool) {
		for i := range t.arrivals {
			a := &t.arrivals[i]
			if !yield(Arrival{a.at, a.lifetime, t.requests[a.request].shape, i >= t.first}) {
				return
			}
		}
	}
}

// GPUs returns the number of GPUs of the fleet.
func (t *Trace) GPUs() int { return t.gpus }

// String says what the trace holds.
func (t *Trace) String() string {
	names := make([]string, 0, len(t.fleet))
	for _, r := range t.fleet {
		names = append(names, fmt.Sprintf("%d %s", r.gpus, r.states.Model()))
	}
	return fmt.Sprintf("%s: %d arrivals, %d of them measured", strings.Join(names, ", "), len(t.arrivals), len(t.arrivals)-t.first)
}
