package timeslice_test

import (
	"fmt"
	"time"

	"github.com/gpushare/gpushare/timeslice"
)

// Two tenants of a GPU in slices of 2 ms: a notebook that wants a burst now and
// then, and training that never ends.
func ExampleSimulate() {
	s := timeslice.Sim{
		Discipline: timeslice.RoundRobin,
		Slice:      int64(2 * time.Millisecond),
		Switch:     int64(40 * time.Microsecond),
		Horizon:    int64(10 * time.Second),
		Clients: []timeslice.Client{
			{Name: "notebook", Arrivals: timeslice.Periodic{Every: int64(100 * time.Millisecond), Work: int64(10 * time.Millisecond)}},
			{Name: "training", Arrivals: timeslice.AlwaysBusy{}},
		},
	}
	report, err := timeslice.Simulate(s, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range report.Clients {
		fmt.Printf("%s: share %s, slowdown %s, longest wait %s\n",
			c.Name, c.Share(), c.Slowdown(), time.Duration(c.Waits.Max()))
	}
	fmt.Println("efficiency", report.Efficiency())
	// Output:
	// notebook: share 0.100, slowdown 1.950, longest wait 2.08ms
	// training: share 0.896, slowdown 1.116, longest wait 2.08ms
	// efficiency 0.996
}

// Who runs when, one line a turn.
func ExampleRuns() {
	s := timeslice.Sim{
		Discipline: timeslice.FixedShare, Slots: 3, Slice: 10, Switch: 1, Horizon: 50,
		Clients: []timeslice.Client{
			{Name: "a", Arrivals: timeslice.AlwaysBusy{}},
			{Name: "b", Arrivals: timeslice.Trace{{At: 0, Work: 4}}},
		},
	}
	runs, err := timeslice.Runs(s)
	if err != nil {
		fmt.Println(err)
		return
	}
	for r := range runs {
		who := "empty place"
		if r.Client != timeslice.Nobody {
			who = s.Clients[r.Client].Name
		}
		fmt.Println(r.Start, r.End, r.Kind, who)
	}
	// Output:
	// 0 1 switching a
	// 1 11 working a
	// 11 12 switching b
	// 12 16 working b
	// 16 22 idle b
	// 22 33 idle empty place
	// 33 34 switching a
	// 34 44 working a
	// 44 45 switching b
	// 45 50 idle b
}

// What an equal, a fixed and a best-effort scheduler make of the same demands, in
// milli-GPU: two of four places are taken.
func ExampleShares() {
	claims := []timeslice.Claim{{Demand: 200}, {Demand: 1000}}
	for _, d := range []timeslice.Discipline{timeslice.BestEffort, timeslice.EqualShare, timeslice.FixedShare} {
		shares, err := timeslice.Shares(d, 1000, 4, claims)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(d, shares)
	}
	// Output:
	// best-effort [200 800]
	// equal-share [200 500]
	// fixed-share [200 250]
}

// Five tasks of 1.427 s took 8.62 s when they shared a GPU, not 5 times 1.427. The
// cost of a switch that explains it is derived, for an assumed slice of 1.024 ms.
func ExampleSwitchFromSlowdown() {
	const slice, alone, together = 1024 * time.Microsecond, 1427 * time.Millisecond, 8620 * time.Millisecond
	cost, err := timeslice.SwitchFromSlowdown(5, int64(slice), int64(alone), int64(together))
	if err != nil {
		fmt.Println(err)
		return
	}
	turns := timeslice.Turns{Clients: 5, Slice: int64(slice), Switch: cost}
	fmt.Println("switch", time.Duration(cost))
	fmt.Println("slowdown", turns.Slowdown(), "efficiency", turns.Efficiency())
	fmt.Println("longest wait", time.Duration(turns.WorstWait()))
	// Output:
	// switch 213.124µs
	// slowdown 6.040 efficiency 0.827
	// longest wait 5.16162ms
}

// A registry value that the vendor's guide and the driver's header read differently.
func ExamplePVMRL_Decode() {
	reading := timeslice.PVMRL(0x00180011).Decode()
	fmt.Println("header:", reading.Scheduler)
	fmt.Println("guide: ", reading.Guide)
	meant, err := timeslice.EncodePVMRL(*reading.Guide)
	fmt.Printf("write %#08x for that %v\n", uint32(meant), err)
	// Output:
	// header: fixed-share arr=on frequency=384Hz
	// guide:  fixed-share arr=off slice=24ms
	// write 0x00180013 for that <nil>
}

func ExampleVGPUScheduler_Validate() {
	s := timeslice.VGPUScheduler{Policy: timeslice.VGPUFixedShare, Frequency: 1200}
	fmt.Println(s.Validate(timeslice.DocumentedVGPUCapabilities()))
	s.Frequency = 0
	fmt.Println(s.Effective(4), time.Duration(s.SliceLength(4)))
	// Output:
	// the vGPU scheduler of the device does not offer this: frequency 1200 Hz outside 63 to 960
	// fixed-share arr=on frequency=480Hz factor=33 2.083333ms
}
