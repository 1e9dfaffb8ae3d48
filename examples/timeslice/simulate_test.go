package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice"
)

func TestSimulateText(t *testing.T) {
	t.Parallel()
	out := done(t, "simulate", "-clients", "train=busy,note=periodic:every=20ms:work=1ms", "-for", "100ms", "-width", "72", "-policy", "roundrobin,equal")
	assert.Equal(t, `roundrobin: slices of 2ms, switches of 40µs, for 100ms

       0s          8.16ms      16.32ms     24.48ms     32.64ms     40.8ms
train |███·▒██████████████████████████·▒██████████████████████████░▒███████████|
note  |··/█▒                        ··█▓                         ·█▓           |
GPU   |████████████████████████████████████████████████████████████████████████|

CLIENT  SHARE   SLOWDOWN  WAIT P50  P95     P99     MAX     BOUND   JOBS  TOOK P50  P99     STRETCH
train   94.6 %  1.05      0s        1.08ms  1.08ms  1.08ms  2.08ms  0     -         -       -
note    5.0 %   2.00      1.13ms    2.04ms  2.04ms  2.04ms  2.08ms  5     2.13ms    3.04ms  2.00

equal: slices of 2ms, switches of 40µs, for 100ms

       0s          8.16ms      16.32ms     24.48ms     32.64ms     40.8ms
train |███···███···███···███···███···███···███···███···███···███···███···███···|
note  |···█▓    /     /     /     / ▓···█     /     /     /     /░█···▒     /  |
GPU   |████▓!███!!!███!!!███!!!███!!▓████!!███!!!███!!!███!!!███!!████!!!███!!!|

CLIENT  SHARE   SLOWDOWN  WAIT P50  P95     P99     MAX     BOUND   JOBS  TOOK P50  P99     STRETCH
train   50.0 %  2.00      2.08ms    2.08ms  2.08ms  2.08ms  2.08ms  0     -         -       -
note    5.0 %   2.24      0s        2.08ms  2.08ms  2.08ms  2.08ms  5     3.08ms    3.08ms  2.24

POLICY      WORKS   SWITCHES  IDLE    WASTED  EFFICIENCY
roundrobin  99.6 %  0.4 %     0.0 %   0.0 %   99.6 %
equal       55.0 %  2.0 %     43.0 %  43.0 %  96.4 %

█ ▓ ▒ ░ runs: nearly all of the column, most, some, little   / switches   · has work and waits   ! idles meanwhile
`, out)
}

// TestMeasured is five processes of 1.427 s that took 8.62 to 8.78 s together: the
// switch that is derived from the first figure, for an assumed slice, explains it.
func TestMeasured(t *testing.T) {
	t.Parallel()
	a := answer[simulateAnswer](t, exitDone, "simulate", "-clients", "5*busy", "-slice", "1024us", "-switch", "213124ns", "-for", "1m")
	for _, c := range a.Policies[0].Clients {
		assert.InDelta(t, 6040, *c.SlowdownMilli, 2)
	}
	assert.EqualValues(t, 827, *a.Policies[0].EfficiencyMilli)
}

func TestSimulateAllPolicies(t *testing.T) {
	t.Parallel()
	clients := "2*train=busy,web=poisson:load=0.2:work=5ms:fraction=500,late=trace:jobs=0s+3ms/1ms+2ms:start=30ms:stop=34ms"
	a := answer[simulateAnswer](t, exitDone, "simulate", "-clients", clients, "-policy", "all", "-slots", "6", "-seed", "7")
	assert.Equal(t, schema, a.Schema)
	require.Len(t, a.Policies, len(timeslice.Disciplines()))
	for i, p := range a.Policies {
		assert.Equal(t, policyNames[i], p.Policy)
		assert.Equal(t, p.ForNs, p.WorkingNs+p.SwitchingNs+p.IdleNs, p.Policy)
		assert.LessOrEqual(t, p.WastedNs, p.IdleNs)
		if timeslice.Discipline(i).WorkConserving() {
			assert.Zero(t, p.WastedNs, p.Policy)
		}
		sum := int64(0)
		for _, c := range p.Clients {
			sum += c.ServedNs
			require.NotNil(t, c.WaitBoundNs)
			assert.LessOrEqual(t, c.Waits.MaxNs, *c.WaitBoundNs, "%s %s", p.Policy, c.Name)
			assert.LessOrEqual(t, c.Waits.P50Ns, c.Waits.P99Ns)
		}
		assert.Equal(t, p.WorkingNs, sum, p.Policy)
		now := p.Window.FromNs
		for _, r := range p.Window.Runs {
			require.Equal(t, now, r.FromNs, p.Policy)
			now = r.ToNs
		}
		assert.Equal(t, p.Window.ToNs, now)
	}
	assert.Equal(t, []string{"train1", "train2", "web", "late"}, []string{
		a.Policies[0].Clients[0].Name, a.Policies[0].Clients[1].Name, a.Policies[0].Clients[2].Name, a.Policies[0].Clients[3].Name,
	})
	assert.EqualValues(t, 4_000_000, a.Policies[0].Clients[3].PresentNs)
}

// TestScenarioFile: what -json writes is read again, the flags go before it.
func TestScenarioFile(t *testing.T) {
	t.Parallel()
	args := []string{"-clients", "web=poisson:rate=33.5:work=5ms:vary,3*busy:fraction=200:extra=1ms:overrun=10us", "-policy", "fair,turn", "-for", "200ms", "-seed", "3"}
	_, first, _ := call(t, append([]string{"simulate", "-json"}, args...)...)
	status, again, errs := callWith(t, first, "simulate", "-json", "-f", "-")
	require.Equal(t, exitDone, status, errs)
	assert.Equal(t, first, again)

	scenario, err := json.Marshal(decode[simulateAnswer](t, first).Scenario)
	require.NoError(t, err)
	a := answer[simulateAnswer](t, exitDone, "simulate", "-f", write(t, string(scenario)), "-policy", "equal-share", "-slice", "1ms")
	assert.Equal(t, []string{"equal"}, a.Scenario.Policies)
	assert.EqualValues(t, 1_000_000, a.Scenario.Slice)
	assert.EqualValues(t, 3, a.Scenario.Seed)
	assert.Equal(t, decode[simulateAnswer](t, first).Scenario.Clients, a.Scenario.Clients)

	small := answer[simulateAnswer](t, exitDone, "simulate", "-f", write(t, `{"schema": 1, "clients": [{"name": "a", "kind": "busy"}]}`))
	assert.Equal(t, newScenario().Slice, small.Scenario.Slice, "what is left out is as without a file")
}

func TestSimulatePlot(t *testing.T) {
	t.Parallel()
	prefix := filepath.Join(t.TempDir(), "gantt")
	out := done(t, "simulate", "-clients", "train=busy,web=poisson:rate=100:work=2ms", "-policy", "roundrobin,fixed", "-slots", "3", "-plot", prefix)
	assert.True(t, strings.HasSuffix(out, "\npicture: "+prefix+".png, "+prefix+".svg\n"), out)
	svg := pictures(t, prefix)
	for _, text := range []string{">train<", ">web<", ">roundrobin, slices of 2ms, switches of 40µs<", ">fixed, slices", ">20ms<", "has work and waits"} {
		assert.Contains(t, svg, text)
	}
}

func TestManyClients(t *testing.T) {
	t.Parallel()
	out := done(t, "simulate", "-clients", "50*busy", "-for", "100ms", "-policy", "fixed")
	assert.Contains(t, out, "\nbusy40 |")
	assert.NotContains(t, out, "\nbusy41 |")
	assert.Contains(t, out, "\nand 10 more clients\n")
	assert.Contains(t, out, "\nbusy50  ")
}

func TestSimulateBadInput(t *testing.T) {
	t.Parallel()
	file := func(text string) []string { return []string{"-f", write(t, text)} }
	clients := func(text string, more ...string) []string { return append([]string{"-clients", text}, more...) }
	for _, c := range []struct {
		name string
		args []string
		says []string
	}{
		{"nothing", nil, []string{"-f, -clients is missing"}},
		{"both", clients("busy", "-f", "x"), []string{"-f and -clients exclude each other"}},
		{"no clients", clients(""), []string{"-clients", "item 1", `kind ""`}},
		{"comma at the end", clients("busy,"), []string{"item 2", `kind ""`}},
		{"unknown kind", clients("busy,lazy"), []string{"item 2", `"lazy"`, "busy, periodic, poisson, trace"}},
		{"part of a kind", clients("period:every=1ms:work=1ms"), []string{`"period"`}},
		{"no count", clients("0*busy"), []string{`"0" is no number of clients`}},
		{"count is no number", clients("x*busy"), []string{`"x" is no number of clients`}},
		{"too many", clients("4096*busy,busy"), []string{"item 2", "more than 4096"}},
		{"huge count", clients("9999999999*busy"), []string{"more than 4096"}},
		{"empty name", clients("=busy"), []string{"client 1", `name ""`}},
		{"long name", clients("abcdefghijklmnopqrstuvwxyz=busy"), []string{"1 to 24 characters"}},
		{"name with control characters", clients("a\x1b[2J=busy"), []string{`'\x1b'`}},
		{"name that is no text", clients("0\x96=busy"), []string{"client 1", `"0\x96" is no UTF-8`}},
		{"name twice", clients("a=busy,a=busy"), []string{"client 2", `"a" stands there twice`}},
		{"name twice by number", clients("busy2=busy,2*busy"), []string{`"busy2" stands there twice`}},
		{"unknown option", clients("busy:evry=1ms"), []string{`"evry=1ms"`, "is not known"}},
		{"empty option", clients("busy:"), []string{`"": is not known`}},
		{"option twice", clients("busy:start=1ms:start=2ms"), []string{"stands there twice"}},
		{"no time", clients("busy:start=5"), []string{`"5" is no time such as 2ms`}},
		{"negative start", clients("busy:start=-1ms"), []string{"start -1000000"}},
		{"stop before start", clients("busy:start=2ms:stop=1ms"), []string{"stops at"}},
		{"option of another kind", clients("busy:every=1ms"), []string{"every is not for busy clients"}},
		{"vary of periodic", clients("periodic:every=1ms:work=1ms:vary"), []string{"vary is not for periodic"}},
		{"vary with a value", clients("poisson:every=1ms:work=1ms:vary=1"), []string{"takes no value"}},
		{"no work", clients("poisson:every=1ms"), []string{"needs work"}},
		{"no every", clients("periodic:work=1ms"), []string{"needs every"}},
		{"two rates", clients("poisson:every=1ms:rate=5:work=1ms"), []string{"only one of every, rate and load"}},
		{"rate of 0", clients("poisson:rate=0:work=1ms"), []string{`"0" is no number above 0`}},
		{"rate is not finite", clients("poisson:rate=NaN:work=1ms"), []string{`"NaN"`}},
		{"too high a rate", clients("poisson:rate=9999999999999:work=1ms"), []string{"more than one job a ns"}},
		{"load without work", clients("poisson:load=0.5"), []string{"load needs work"}},
		{"load with endless work", clients("poisson:load=0.5:work=9999999h"), []string{"work"}},
		{"no jobs", clients("trace"), []string{"needs jobs"}},
		{"malformed job", clients("trace:jobs=1ms"), []string{`"1ms"`, "AT+WORK"}},
		{"jobs out of order", clients("trace:jobs=2ms+1ms/1ms+1ms"), []string{"job 1 of the trace"}},
		{"fraction is no number", clients("busy:fraction=0.5"), []string{`"0.5"`, "thousandths"}},
		{"too large a fraction", clients("busy:fraction=1001"), []string{"fraction 1001"}},
		{"fractions above 1", clients("2*busy:fraction=501", "-policy", "fair"), []string{"policy fair", "1002"}},
		{"unknown policy", clients("busy", "-policy", "equal,fare"), []string{`"fare"`, "roundrobin, besteffort, equal, fixed, strict, fair, turn"}},
		{"policy twice", clients("busy", "-policy", "equal,equal-share"), []string{"equal stands there twice"}},
		{"no policy", clients("busy", "-policy", ""), []string{`policy ""`}},
		{"slice of 0", clients("busy", "-slice", "0s"), []string{"slice: 0s"}},
		{"negative switch", clients("busy", "-switch", "-1ns"), []string{"switch: -1ns"}},
		{"no time to simulate", clients("busy", "-for", "0s"), []string{"for: 0s"}},
		{"too long", clients("busy", "-for", "1000h"), []string{"for: 1000h0m0s", "277h46m40s"}},
		{"slice is no time", clients("busy", "-slice", "2"), []string{`"2"`, "-slice", "no time"}},
		{"too few slots", clients("3*busy", "-policy", "fixed", "-slots", "2"), []string{"2 slots for 3 clients"}},
		{"negative slots", clients("busy", "-slots", "-1"), []string{"-1 slots"}},
		{"negative factor", clients("busy", "-factor", "-1"), []string{"factor -1"}},
		{"from beyond the end", clients("busy", "-from", "1s"), []string{"-from: 1s"}},
		{"no window", clients("busy", "-window", "0s"), []string{"-window: 0s"}},
		{"too many runs", clients("2*busy", "-slice", "1us", "-switch", "0s", "-window", "1s"), []string{"-window", "100000 runs"}},
		{"narrow", clients("busy", "-width", "5"), []string{"-width: 5"}},
		{"no such file", []string{"-f", "none.json"}, []string{"-f", "none.json"}},
		{"not JSON", file("clients"), []string{"-f: line 1"}},
		{"JSON that ends", file("{\n\"schema\": 1,\n"), []string{"-f: line 3"}},
		{"no schema", file(`{"clients": []}`), []string{`"schema": 1`}},
		{"unknown field", file(`{"schema": 1, "slise": "2ms"}`), []string{`"slise"`}},
		{"number for a time", file("{\"schema\": 1,\n\"slice\": 2}"), []string{"-f: "}},
		{"two values", file(`{"schema": 1} {}`), []string{"-f: line 1"}},
		{"no clients in the file", file(`{"schema": 1}`), []string{"no clients"}},
		{"client without kind", file(`{"schema": 1, "clients": [{"name": "a"}]}`), []string{`clients[0] "a"`, `kind ""`}},
		{"client without name", file(`{"schema": 1, "clients": [{"kind": "busy"}]}`), []string{"client 1", `name ""`}},
		{"policies that are none", file(`{"schema": 1, "policies": [], "clients": [{"name": "a", "kind": "busy"}]}`), []string{"no policies"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			refuses(t, append([]string{"simulate"}, c.args...), c.says)
		})
	}
}

// genSim draws clients of all kinds under any discipline.
func genSim(t *rapid.T) timeslice.Sim {
	ns := func(label string, least, most int64) int64 { return rapid.Int64Range(least, most).Draw(t, label) }
	s := timeslice.Sim{
		Discipline: rapid.SampledFrom(timeslice.Disciplines()).Draw(t, "discipline"),
		Horizon:    ns("horizon", 1, 3000), Slice: ns("slice", 1, 60), Switch: ns("switch", 0, 15),
		Factor: ns("factor", 0, 4), Linger: ns("linger", 0, 20), Seed: rapid.Uint64().Draw(t, "seed"),
	}
	for range rapid.IntRange(1, 5).Draw(t, "clients") {
		c := timeslice.Client{Fraction: ns("fraction", 0, 200), Overrun: ns("overrun", 0, 9), ExtraSwitch: ns("extra", 0, 9)}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			c.Arrivals = timeslice.AlwaysBusy{}
		case 1:
			c.Arrivals = timeslice.Periodic{First: ns("first", 0, 200), Every: ns("every", 1, 300), Work: ns("work", 1, 100)}
		case 2:
			c.Arrivals = timeslice.Poisson{Every: ns("every", 1, 300), Work: ns("work", 1, 100), Vary: rapid.Bool().Draw(t, "vary")}
		default:
			c.Arrivals = timeslice.Trace{{At: ns("at", 0, 500), Work: ns("work", 1, 300)}}
		}
		if rapid.Bool().Draw(t, "leaves") {
			c.Start = ns("start", 0, 500)
			c.Stop = c.Start + ns("stay", 1, 2000)
		}
		s.Clients = append(s.Clients, c)
	}
	return s
}

// windowOf runs a simulation and keeps what is in a window.
func windowOf(t require.TestingT, s timeslice.Sim, from, to int64) (ganttPanel, timeslice.Report) {
	g := ganttPanel{window: window{from: from, to: to}, sim: s}
	served := make([]int64, len(s.Clients))
	report, err := timeslice.Simulate(s, func(r timeslice.Run) bool {
		if r.Kind == timeslice.Working {
			served[r.Client] += max(0, min(r.End, from)-r.Start)
		}
		if in, ok := g.part(r); ok {
			g.runs = append(g.runs, in)
		}
		return true
	})
	require.NoError(t, err)
	for i := range s.Clients {
		g.waits = append(g.waits, g.waiting(s, i, served[i]))
	}
	return g, report
}

// TestWaiting: over a whole simulation, a client waits for the time that it has
// work and does not run; the GPU is wasted as the simulator counts it; and any
// window shows what the whole shows there.
func TestWaiting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := genSim(t)
		whole, report := windowOf(t, s, 0, s.Horizon)
		length := func(list []between, from, to int64) int64 {
			sum := int64(0)
			for _, b := range list {
				sum += max(0, min(b.to, to)-max(b.from, from))
			}
			return sum
		}
		for i, c := range report.Clients {
			require.Equal(t, c.Ready-c.Served, length(whole.waits[i], 0, s.Horizon), "client %d", i)
		}
		require.Equal(t, report.Wasted, length(whole.wasted(), 0, s.Horizon))

		from := rapid.Int64Range(0, s.Horizon-1).Draw(t, "from")
		to := rapid.Int64Range(from+1, s.Horizon).Draw(t, "to")
		part, _ := windowOf(t, s, from, to)
		for i := range s.Clients {
			require.Equal(t, length(whole.waits[i], from, to), length(part.waits[i], from, to), "client %d from %d to %d", i, from, to)
		}
	})
}

// TestCells: the columns of a chart add up to what they show, however many there are.
func TestCells(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := genSim(t)
		from := rapid.Int64Range(0, s.Horizon-1).Draw(t, "from")
		g, _ := windowOf(t, s, from, rapid.Int64Range(from+1, s.Horizon).Draw(t, "to"))
		width := rapid.IntRange(20, 130).Draw(t, "width")
		require.Equal(t, g.from, g.edge(0, width))
		require.Equal(t, g.to, g.edge(width, width))
		rows, gpu := g.cells(width)
		want, got := make([]cell, len(rows)+1), make([]cell, len(rows)+1)
		for _, r := range g.runs {
			for _, to := range []int{r.Client, len(rows)} {
				switch r.Kind {
				case timeslice.Working:
					want[to].works += r.End - r.Start
				case timeslice.Switching:
					want[to].switches += r.End - r.Start
				case timeslice.Idle:
				}
			}
		}
		for i, list := range g.waits {
			for _, w := range list {
				want[i].waits += w.to - w.from
			}
		}
		for _, w := range g.wasted() {
			want[len(rows)].wastes += w.to - w.from
		}
		for i, row := range append(rows, gpu) {
			for k, c := range row {
				got[i].works += c.works
				got[i].switches += c.switches
				got[i].waits += c.waits
				got[i].wastes += c.wastes
				require.LessOrEqual(t, c.works+c.switches, g.edge(k+1, width)-g.edge(k, width))
			}
		}
		require.Equal(t, want, got)
		for line := range strings.Lines(g.text(width)) {
			require.LessOrEqual(t, len([]rune(line)), width+maxName+4)
		}
	})
}

// FuzzClients: no text does harm, and what is read can be written to a file and
// read again.
func FuzzClients(f *testing.F) {
	for _, text := range []string{"busy", "3*a=busy:fraction=200", "poisson:rate=.5:work=1ms:vary,periodic:load=2:work=3us", "trace:jobs=0s+1ns/2h+3m", "*=:", "1*1*busy"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, "*") > 2 {
			t.Skip("too many clients")
		}
		clients, err := parseClients(text)
		if err != nil {
			return
		}
		s := newScenario()
		s.Clients = clients
		if s.For = 1000; s.check() != nil {
			return
		}
		data, err := json.Marshal(s)
		require.NoError(t, err)
		again, err := readScenario(data)
		require.NoError(t, err)
		require.NoError(t, again.check())
		require.Equal(t, s, again)
	})
}
