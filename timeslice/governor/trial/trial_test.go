package trial_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice/governor"
	"github.com/gpushare/gpushare/timeslice/governor/trial"
)

const ms = time.Millisecond

func run(t require.TestingT, g trial.GPU, length time.Duration, clients ...trial.Client) trial.Report {
	r, err := trial.Run(g, clients, length)
	require.NoError(t, err)
	return r
}

func TestAlone(t *testing.T) {
	t.Parallel()
	for _, e := range []trial.Engine{trial.FIFO, trial.TimeSliced} {
		r := run(t, trial.GPU{Engine: e, Switch: ms}, time.Second, trial.Client{Name: "one", Kernels: []time.Duration{3 * ms, 7 * ms}})
		assert.Equal(t, time.Second, r.Clients[0].GPUTime, "%v: nothing is lost alone", e)
		assert.Equal(t, 200, r.Clients[0].Launches)
		assert.Equal(t, 100, r.Clients[0].Requests)
		assert.Equal(t, 1000, r.Clients[0].Share(r))
		assert.Zero(t, r.Switching)
	}
}

// Two backlogs with slices of 2 ms and a switch of 500 µs: 4 of 5 parts are work.
func TestSlicesAndSwitches(t *testing.T) {
	t.Parallel()
	g := trial.GPU{Engine: trial.TimeSliced, Slice: 2 * ms, Switch: ms / 2}
	long, short := trial.Client{Kernels: []time.Duration{time.Second}}, trial.Client{Kernels: []time.Duration{ms / 4}}
	r := run(t, g, 10*time.Second, long, short)
	assert.InDelta(t, 4000, r.Clients[0].GPUTime.Milliseconds(), 2)
	assert.InDelta(t, 4000, r.Clients[1].GPUTime.Milliseconds(), 2)
	assert.InDelta(t, 2000, r.Switching.Milliseconds(), 2)

	// First come, first served, the long one takes nearly all.
	g.Engine, g.Switch = trial.FIFO, 0
	r = run(t, g, 10*time.Second, long, short)
	assert.Equal(t, 10*time.Second-2*ms, r.Clients[0].GPUTime, "eight short ones behind eight long ones")
	assert.Equal(t, 2*ms, r.Clients[1].GPUTime)
}

// The Poisson process at 30 % load and fixed service is M/D/1: the mean wait is
// load × service / (2 × (1 - load)).
func TestQueueingTheory(t *testing.T) {
	t.Parallel()
	const length = 2000 * time.Second
	r := run(t, trial.GPU{Seed: 5}, length, trial.Client{Kernels: []time.Duration{5 * ms}, Gap: 50 * ms / 3})
	c := r.Clients[0]
	assert.InEpsilon(t, 120_000, c.Requests, 0.01)
	sum := 0.0
	for q := 1; q <= 1000; q++ { // the mean, from the quantiles
		sum += c.Latency(q).Seconds() / 1000
	}
	assert.InEpsilon(t, 0.005+0.3*0.005/(2*0.7), sum, 0.02)
	assert.Equal(t, 5*ms, c.Latency(0))
	assert.Equal(t, 5*ms, c.Latency(500), "more than half find the GPU free")
}

func TestRefused(t *testing.T) {
	t.Parallel()
	one := trial.Client{Kernels: []time.Duration{1}}
	for name, f := range map[string]func() (trial.Report, error){
		"no clients": func() (trial.Report, error) { return trial.Run(trial.GPU{}, nil, 1) },
		"no time":    func() (trial.Report, error) { return trial.Run(trial.GPU{}, []trial.Client{one}, 0) },
		"engine":     func() (trial.Report, error) { return trial.Run(trial.GPU{Engine: 9}, []trial.Client{one}, 1) },
		"switch":     func() (trial.Report, error) { return trial.Run(trial.GPU{Switch: -1}, []trial.Client{one}, 1) },
		"kernels":    func() (trial.Report, error) { return trial.Run(trial.GPU{}, []trial.Client{{}}, 1) },
		"kernel": func() (trial.Report, error) {
			return trial.Run(trial.GPU{}, []trial.Client{{Kernels: []time.Duration{0}}}, 1)
		},
		"jitter": func() (trial.Report, error) {
			return trial.Run(trial.GPU{}, []trial.Client{{Kernels: one.Kernels, Jitter: 1000}}, 1)
		},
	} {
		_, err := f()
		assert.ErrorIs(t, err, trial.ErrInput, name)
	}
}

// auditor is a governor that checks what the shim of the trial promises.
type auditor struct {
	governor.Governor
	t        require.TestingT
	now      time.Duration
	inflight int
	used     time.Duration
	granted  int
}

func (a *auditor) tick(now time.Duration) {
	require.GreaterOrEqual(a.t, now, a.now, "time does not fall")
	a.now = now
}

func (a *auditor) Ask(now, cost time.Duration) time.Duration {
	a.tick(now)
	wait := a.Governor.Ask(now, cost)
	if wait == 0 {
		a.inflight++
		a.granted++
	}
	return wait
}

func (a *auditor) Done(now, cost, used time.Duration) {
	a.tick(now)
	a.inflight--
	require.GreaterOrEqual(a.t, a.inflight, 0)
	require.Positive(a.t, used)
	a.used += used
	a.Governor.Done(now, cost, used)
}

func (a *auditor) Observe(now time.Duration, s governor.Signal, value int64) {
	a.tick(now)
	require.GreaterOrEqual(a.t, value, int64(0))
	if s == governor.Loss {
		require.LessOrEqual(a.t, value, int64(1000))
	}
	a.Governor.Observe(now, s, value)
}

// Time is conserved, one client runs at a time, in order; the engine never rests
// while an ungoverned client has work; the same seed gives the same report.
func TestConservation(t *testing.T) {
	t.Parallel()
	span := func(from, to time.Duration) *rapid.Generator[time.Duration] {
		return rapid.Map(rapid.Int64Range(int64(from), int64(to)), func(n int64) time.Duration { return time.Duration(n) })
	}
	rapid.Check(t, func(t *rapid.T) {
		var (
			last   time.Duration
			stands = make([]time.Duration, 6)
			audits []*auditor
		)
		g := trial.GPU{
			Engine: rapid.SampledFrom([]trial.Engine{trial.FIFO, trial.TimeSliced}).Draw(t, "engine"),
			Slice:  span(100*time.Microsecond, 5*ms).Draw(t, "slice"),
			Switch: rapid.SampledFrom([]time.Duration{0, 40 * time.Microsecond}).Draw(t, "switch"),
			Sample: span(ms, 50*ms).Draw(t, "sample"),
			Seed:   rapid.Uint64().Draw(t, "seed"),
		}
		n := rapid.IntRange(1, 5).Draw(t, "clients")
		clients := make([]trial.Client, n)
		for i := range clients {
			clients[i] = trial.Client{
				Kernels:   rapid.SliceOfN(span(50*time.Microsecond, 4*ms), 1, 4).Draw(t, "kernels"),
				Gap:       rapid.SampledFrom([]time.Duration{0, 5 * ms, 20 * ms}).Draw(t, "gap"),
				Jitter:    rapid.IntRange(0, 900).Draw(t, "jitter"),
				Depth:     rapid.IntRange(0, 5).Draw(t, "depth"),
				Protected: rapid.Bool().Draw(t, "protected"),
				Elapsed:   rapid.Bool().Draw(t, "elapsed"),
				Declared:  rapid.SampledFrom([]int{-1, 0, 500, 2000}).Draw(t, "declared"),
				Hidden:    rapid.SampledFrom([]int{0, 0, 3}).Draw(t, "hidden"),
			}
		}
		const length = 200 * ms
		do := func(audit bool) trial.Report {
			audits = audits[:0]
			with := append([]trial.Client(nil), clients...)
			for i := range with {
				f, err := governor.NewFeedback(governor.FeedbackConfig{Limit: governor.Limit{Share: 200 * (i + 1)}, Refund: 300})
				require.NoError(t, err)
				if with[i].Governor = f; audit {
					a := &auditor{Governor: f, t: t}
					audits = append(audits, a)
					with[i].Governor = a
				}
			}
			return run(t, g, length, with...)
		}
		g.OnRun = func(client int, from, to time.Duration) {
			require.GreaterOrEqual(t, from, last, "two at a time")
			require.Greater(t, to, from)
			last = to
			stands[client] += to - from
		}
		r := do(true)
		total := r.Switching
		for i, c := range r.Clients {
			require.Equal(t, stands[i], c.GPUTime)
			require.Equal(t, audits[i].granted, c.Asked-c.Refused)
			total += c.GPUTime
		}
		require.LessOrEqual(t, total, length)

		g.OnRun = nil
		require.Equal(t, r, do(false), "the same seed, the same report")

		busy := trial.Client{Kernels: []time.Duration{ms}}
		full := run(t, g, length, append(append([]trial.Client(nil), clients...), busy)...)
		sum := full.Switching
		for _, c := range full.Clients {
			sum += c.GPUTime
		}
		require.Equal(t, length, sum, "never idle while someone has work")
	})
}

// recorder keeps what it is told about use.
type recorder struct {
	governor.Open
	used []int64
}

func (r *recorder) Observe(_ time.Duration, s governor.Signal, value int64) {
	if s == governor.Used {
		r.used = append(r.used, value)
	}
}

// A sample counts what a launch has used so far, and a neighbour's time not.
func TestUsedSamples(t *testing.T) {
	t.Parallel()
	var a, b recorder
	run(t, trial.GPU{Engine: trial.TimeSliced, Slice: 30 * ms}, time.Second,
		trial.Client{Kernels: []time.Duration{700 * ms}, Governor: &a, Stop: 1, Depth: 1},
		trial.Client{Kernels: []time.Duration{25 * ms}, Governor: &b, Start: 350 * ms, Stop: 360 * ms, Depth: 2})
	m := int64(ms)
	assert.Equal(t, []int64{100 * m, 100 * m, 100 * m, 70 * m, 80 * m, 100 * m, 100 * m, 50 * m, 0}, a.used)
	assert.Equal(t, []int64{0, 0, 0, 30 * m, 20 * m, 0, 0, 0, 0}, b.used)
}

// Arrivals do not depend on how the client is governed.
func TestSameArrivals(t *testing.T) {
	t.Parallel()
	counts := map[int]bool{}
	for _, share := range []int{400, 1000} {
		f, err := governor.NewFeedback(governor.FeedbackConfig{Limit: governor.Limit{Share: share}})
		require.NoError(t, err)
		r := run(t, trial.GPU{Seed: 3}, 100*time.Second,
			trial.Client{Kernels: []time.Duration{ms}, Gap: 10 * ms, Jitter: 200, Governor: f, Stop: 90 * time.Second})
		counts[r.Clients[0].Requests] = true
	}
	assert.Len(t, counts, 1)
}

func BenchmarkRun(b *testing.B) {
	b.ReportAllocs()
	clients := []trial.Client{
		{Kernels: []time.Duration{ms, ms, ms}, Gap: 10 * ms, Protected: true},
		{Kernels: []time.Duration{2 * ms}},
	}
	launches := 0
	for b.Loop() {
		r := run(b, trial.GPU{Engine: trial.TimeSliced, Switch: 40 * time.Microsecond}, 10*time.Second, clients...)
		launches += r.Clients[0].Launches + r.Clients[1].Launches
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(launches), "ns/launch")
}
