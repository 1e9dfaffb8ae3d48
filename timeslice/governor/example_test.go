package governor_test

import (
	"fmt"
	"time"

	"github.com/gpushare/gpushare/timeslice/governor"
	"github.com/gpushare/gpushare/timeslice/governor/trial"
)

// What a shim does around a launch. Here the clock is a variable; a shim takes the
// time since it was loaded and sleeps.
func ExampleGovernor() {
	g, err := governor.NewFeedback(governor.FeedbackConfig{Limit: governor.Limit{Share: 250}})
	if err != nil {
		fmt.Println(err)
		return
	}
	costs, err := governor.NewEstimates(1024)
	if err != nil {
		fmt.Println(err)
		return
	}
	const kernel = 0x7f00 // function handle and launch size, hashed
	costs.Learn(kernel, 20*time.Millisecond)

	now := time.Duration(0)
	for range 4 {
		cost := costs.Cost(kernel)
		for wait := g.Ask(now, cost); wait > 0; wait = g.Ask(now, cost) {
			now += wait // governor.Forever: wait for a Done or an Observe instead
		}
		fmt.Println("launch at", now)
		now += 20 * time.Millisecond // it runs
		g.Done(now, cost, 20*time.Millisecond)
		costs.Learn(kernel, 20*time.Millisecond)
	}
	// Output:
	// launch at 0s
	// launch at 60ms
	// launch at 140ms
	// launch at 220ms
}

// A client that uses the GPU behind the shim's back pays for it at the next sample.
func ExampleFeedback() {
	g, err := governor.NewFeedback(governor.FeedbackConfig{Limit: governor.Limit{Share: 500}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("credit", g.State().Credit)
	g.Observe(100*time.Millisecond, governor.Used, int64(80*time.Millisecond))
	fmt.Println("credit", g.State().Credit)
	fmt.Println("wait", g.Ask(100*time.Millisecond, 10*time.Millisecond))
	// Output:
	// credit 50ms
	// credit -30ms
	// wait 80ms
}

func ExampleCoRun() {
	g, err := governor.NewCoRun(governor.CoRunConfig{Limit: governor.Limit{Share: 1000}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("at rest:", g.Ask(0, time.Millisecond) == 0)
	g.Observe(time.Millisecond, governor.Pressure, 3)
	fmt.Println("at work:", g.Ask(time.Millisecond, time.Millisecond) == 0)
	g.Observe(5*time.Millisecond, governor.Pressure, 0)
	fmt.Println("at rest:", g.Ask(5*time.Millisecond, time.Millisecond) == 0)
	// Output:
	// at rest: true
	// at work: false
	// at rest: true
}

// Poisson requests of 5 ms at 30 % load beside a batch job without end, on a
// time-sliced GPU, under each rule.
func Example_compare() {
	const ms = time.Millisecond
	half := governor.Limit{Share: 500}
	feedback, err1 := governor.NewFeedback(governor.FeedbackConfig{Limit: half})
	quota, err2 := governor.NewQuota(governor.QuotaConfig{Limit: half})
	aimd, err3 := governor.NewAIMD(governor.AIMDConfig{Limit: governor.Limit{Share: 1000}})
	corun, err4 := governor.NewCoRun(governor.CoRunConfig{Limit: governor.Limit{Share: 1000}})
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("rule      p50 ms  p99 ms  batch ‰")
	for _, rule := range []struct {
		name string
		g    governor.Governor
	}{{"none", nil}, {"feedback", feedback}, {"quota", quota}, {"aimd", aimd}, {"corun", corun}} {
		r, err := trial.Run(
			trial.GPU{Engine: trial.TimeSliced, Switch: 40 * time.Microsecond, Seed: 1},
			[]trial.Client{
				{Kernels: []time.Duration{ms, ms, ms, ms, ms}, Gap: 50 * ms / 3, Protected: true},
				{Kernels: []time.Duration{2 * ms}, Governor: rule.g},
			},
			5*time.Minute)
		if err != nil {
			fmt.Println(err)
			return
		}
		critical, batch := r.Clients[0], r.Clients[1]
		fmt.Printf("%-8s  %6.1f  %6.1f  %7d\n", rule.name,
			float64(critical.Latency(500))/1e6, float64(critical.Latency(990))/1e6, batch.Share(r))
	}
	// Output:
	// rule      p50 ms  p99 ms  batch ‰
	// none        15.1    60.2      671
	// feedback    14.2    59.5      500
	// quota       10.4    50.2      496
	// aimd         5.0    14.8       26
	// corun        6.5    15.2      690
}
