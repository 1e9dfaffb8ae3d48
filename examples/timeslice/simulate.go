package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/gpushare/gpushare/examples/internal/picture"
	"github.com/gpushare/gpushare/examples/internal/progress"
	"github.com/gpushare/gpushare/timeslice"
)

const simulateUsage = `timeslice simulate shows who runs when on one GPU, and what came of it.

Usage:
  timeslice simulate -clients CLIENT,... [flags]
  timeslice simulate -f FILE [flags]

CLIENT is [COUNT*][NAME=]KIND[:OPTION:...], such as 3*train=busy:fraction=200
  busy                   endless work
  periodic               work=TIME every so often, from first=TIME on (0s)
  poisson                work=TIME at random; vary: exponentially distributed
  trace                  jobs=AT+WORK/AT+WORK/...
periodic and poisson take every=TIME between jobs, rate=JOBS a second or load=PART
of the GPU. All take
  fraction=N             thousandths of the GPU, for strict and fair; clients
                         without have equal parts of what the others leave
  extra=TIME             longer switches to it: a large state
  overrun=TIME           longer turns: kernels that cannot be interrupted
  start=TIME stop=TIME   when it comes and goes

  -policy P,...      roundrobin (where not given), besteffort, equal, fixed, strict,
                     fair, turn; or all
  -slice TIME        the turn of a client (2ms)
  -switch TIME       lost when another client runs than the last one (40µs)
  -for TIME          simulated (1s)
  -slots N           places under fixed; as many as clients where not given
  -factor N          averaging factor of adaptive round robin, which pays overruns
                     back; 0: nothing is paid back
  -linger TIME       how long a client without work keeps its turn (0s)
  -seed N            of random arrivals (1)
  -f FILE            a scenario in JSON, as -json writes it; - is standard input;
                     flags go before what it says
  -from TIME         where the chart begins (0s)
  -window TIME       how much of the time it shows; 24 turns where not given
  -width N           columns of the chart (96)
  -plot PREFIX       draw it to PREFIX.png and PREFIX.svg
  -json              one JSON object, with the runs in the window

WAIT is the time from when a client is ready until it runs, BOUND what it cannot
exceed; SLOWDOWN is time with work by time of running, STRETCH how many times longer
jobs took than alone.
`

// chartFlags say what is drawn.
type chartFlags struct {
	from, window span
	width        int
	plot         string
}

// simulate runs the clients under each policy.
func simulate(ctx context.Context, inv *invocation, args []string) error {
	given := newScenario()
	var chart chartFlags
	fs := inv.Flags
	file := fs.String("f", "", "")
	clients := fs.String("clients", "", "")
	policies := fs.String("policy", "", "")
	fs.Var(&given.Slice, "slice", "")
	fs.Var(&given.Switch, "switch", "")
	fs.Var(&given.For, "for", "")
	fs.IntVar(&given.Slots, "slots", 0, "")
	fs.Int64Var(&given.Factor, "factor", 0, "")
	fs.Var(&given.Linger, "linger", "")
	fs.Uint64Var(&given.Seed, "seed", given.Seed, "")
	fs.Var(&chart.from, "from", "")
	fs.Var(&chart.window, "window", "")
	fs.IntVar(&chart.width, "width", 96, "")
	fs.StringVar(&chart.plot, "plot", "", "")
	if err := inv.parse(args, 0); err != nil {
		return err
	}
	if _, err := inv.ExactlyOne("f", "clients"); err != nil {
		return err
	}
	s := given
	if inv.Given("f") {
		text, err := inv.Read(*file)
		if err == nil {
			s, err = readScenario(text)
		}
		if err != nil {
			return fmt.Errorf("-f: %w", err)
		}
		inv.override(&s, &given)
	} else {
		var err error
		if s.Clients, err = parseClients(*clients); err != nil {
			return fmt.Errorf("-clients: %w", err)
		}
	}
	if inv.Given("policy") {
		s.Policies = parsePolicies(*policies)
	}
	if err := s.check(); err != nil {
		return err
	}
	if err := chart.check(inv, &s); err != nil {
		return err
	}
	return inv.simulate(ctx, s, chart)
}

// override puts the flags that are given in place of what a file says.
func (inv *invocation) override(s, given *scenario) {
	for name, set := range map[string]func(){
		"slice":  func() { s.Slice = given.Slice },
		"switch": func() { s.Switch = given.Switch },
		"for":    func() { s.For = given.For },
		"slots":  func() { s.Slots = given.Slots },
		"factor": func() { s.Factor = given.Factor },
		"linger": func() { s.Linger = given.Linger },
		"seed":   func() { s.Seed = given.Seed },
	} {
		if inv.Given(name) {
			set()
		}
	}
}

// turnsShown is how many turns the chart shows unless it is told.
const turnsShown = 24

func (c *chartFlags) check(inv *invocation, s *scenario) error {
	if c.from < 0 || c.from >= s.For {
		return fmt.Errorf("-from: %s is not within the %s that are simulated", c.from, s.For)
	}
	left := s.For - c.from
	if !inv.Given("window") {
		c.window = left
		if turn := s.Slice + s.Switch; turn < left/turnsShown {
			c.window = turnsShown * turn
		}
	}
	if c.window < 1 {
		return fmt.Errorf("-window: %s is not above 0", c.window)
	}
	c.window = min(c.window, left)
	if c.width < 20 || c.width > 500 {
		return fmt.Errorf("-width: %d columns are not from 20 to 500", c.width)
	}
	return picture.Ready(c.plot)
}

// simulate answers what has been checked.
func (inv *invocation) simulate(ctx context.Context, s scenario, chart chartFlags) error {
	answer := simulateAnswer{Schema: schema, Scenario: s}
	bar := progress.New(inv.stderr, "timeslice simulate", 1000*len(s.Policies))
	var drawn []ganttPanel
	var err error
	for _, name := range s.Policies {
		var p ganttPanel
		var result policyAnswer
		if result, p, err = outcome(ctx, &s, name, chart, bar); err != nil {
			break
		}
		answer.Policies = append(answer.Policies, result)
		drawn = append(drawn, p)
	}
	bar.Close()
	if err != nil {
		return err
	}
	if chart.plot != "" {
		if answer.Pictures, err = drawGantt(chart.plot, drawn); err != nil {
			return err
		}
	}
	return inv.Print(answer, func() string { return simulateText(&answer, drawn, chart.width) })
}

// mostRuns is how many runs a window may have.
const mostRuns = 100_000

var errManyRuns = fmt.Errorf("-window: there are more than %d runs in it; show a shorter one", mostRuns)

// outcome runs one policy and keeps what is drawn.
func outcome(ctx context.Context, s *scenario, name string, chart chartFlags, bar *progress.Progress) (policyAnswer, ganttPanel, error) {
	d, err := disciplineOf(name)
	if err != nil {
		return policyAnswer{}, ganttPanel{}, err
	}
	sim := s.sim(d)
	w := window{from: int64(chart.from), to: int64(chart.from + chart.window)}
	served := make([]int64, len(sim.Clients)) // before the window
	visited, shown, many := 0, int64(0), false
	report, err := timeslice.Simulate(sim, func(r timeslice.Run) bool {
		if visited++; visited%(1<<14) == 0 {
			done := 1000 * (r.End / 1000) / max(sim.Horizon/1000, 1)
			bar.Add(name, int(done-shown))
			shown = done
			if ctx.Err() != nil {
				return false
			}
		}
		if r.Kind == timeslice.Working {
			served[r.Client] += max(0, min(r.End, w.from)-r.Start)
		}
		if in, ok := w.part(r); ok {
			many = len(w.runs) == mostRuns
			w.runs = append(w.runs, in)
		}
		return !many
	})
	bar.Add(name, int(1000-shown))
	switch err = errors.Join(err, ctx.Err()); {
	case err != nil:
		return policyAnswer{}, ganttPanel{}, err
	case many:
		return policyAnswer{}, ganttPanel{}, errManyRuns
	}
	for i := range min(len(sim.Clients), mostRows) {
		w.waits = append(w.waits, w.waiting(sim, i, served[i]))
	}
	result := answerOf(name, sim, report, &w)
	return result, ganttPanel{window: w, policy: name, sim: sim}, nil
}
