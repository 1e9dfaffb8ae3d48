package device_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	dayHours = flag.Int("day.hours", 12, "hours of arrivals in each run of the whole loop")
	daySeeds = flag.Int("day.seeds", 1, "runs of the whole loop for each policy")
)

// The whole loop: a placement.Engine decides where requests for MIG instances go
// that come and leave; plans carry it out on fake GPUs, as transactions with a
// journal, while calls fail, GPUs get lost, processes crash and others use the
// same GPUs; refused requests and gains in value move tasks. After every step the
// books and the devices agree.
func TestDay(t *testing.T) {
	t.Parallel()
	hours := *dayHours
	if raceEnabled || testing.Short() {
		hours = (hours + 3) / 4
	}
	sums := make(map[string]*dayCounts)
	t.Run("runs", func(t *testing.T) {
		for _, policy := range dayPolicies {
			sum := &dayCounts{}
			sums[policy] = sum
			t.Run(policy, func(t *testing.T) {
				t.Parallel()
				for seed := range *daySeeds {
					t.Logf("seed %d", seed)
					bubble(t, func(t *testing.T) { // waits cost nothing
						sum.add(newDay(t, policy, uint64(seed)).run(t, hours))
					})
				}
			})
		}
	})
	var all dayCounts
	for _, policy := range dayPolicies {
		t.Logf("%s: %v", policy, sums[policy])
		all.add(*sums[policy])
	}
	if hours < 12 || *daySeeds < 1 || t.Failed() {
		return
	}
	for _, m := range mishaps {
		assert.Positive(t, all.Met[m.name], "never met: %s", m.name)
	}
	for what, n := range map[string]int{
		"refused": all.Refused, "rescued": all.Rescued, "improved": all.Improved, "resumed": all.Resumed, "undone": all.Undone,
		"retried": all.Retried, "restarted": all.Restarted, "rebuilt": all.Rebuilt, "others": all.Others, "stayed": all.Stayed,
	} {
		assert.Positive(t, n, "never: %s", what)
	}
}

// A day of one seed is the same every time: decisions, faults and what became of
// them.
func TestDayIsRepeatable(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		first := newDay(t, "used first", 77).run(t, 1)
		require.Equal(t, first, newDay(t, "used first", 77).run(t, 1))
	})
}

// dayCounts says what a day has held.
type dayCounts struct {
	Steps, Checks                                        int
	Arrived, Placed, Refused, Failed, Departed, Homeless int // tasks
	Retried                                              int // placements tried again after a fault
	Stayed                                               int // departures that could not be carried out at once
	Rescued, Improved, Abandoned, Moves                  int // repairs, those that were given up, tasks moved
	Plans, Resumed, Undone, Resets, Rebuilt              int
	Restarted                                            int // tasks that had to start anew on another MIG device
	Evicted, Remnants, Others                            int
	Met                                                  map[string]int // mishaps
	Ended                                                map[string]int // transactions by outcome
	Slept                                                time.Duration  // on the clock of the GPUs
}

func (c *dayCounts) add(o dayCounts) {
	for _, p := range []struct{ to, from *int }{
		{&c.Steps, &o.Steps},
		{&c.Checks, &o.Checks},
		{&c.Arrived, &o.Arrived},
		{&c.Placed, &o.Placed},
		{&c.Refused, &o.Refused},
		{&c.Failed, &o.Failed},
		{&c.Departed, &o.Departed},
		{&c.Homeless, &o.Homeless},
		{&c.Retried, &o.Retried},
		{&c.Stayed, &o.Stayed},
		{&c.Rescued, &o.Rescued},
		{&c.Improved, &o.Improved},
		{&c.Abandoned, &o.Abandoned},
		{&c.Moves, &o.Moves},
		{&c.Plans, &o.Plans},
		{&c.Resumed, &o.Resumed},
		{&c.Undone, &o.Undone},
		{&c.Resets, &o.Resets},
		{&c.Rebuilt, &o.Rebuilt},
		{&c.Restarted, &o.Restarted},
		{&c.Evicted, &o.Evicted},
		{&c.Remnants, &o.Remnants},
		{&c.Others, &o.Others},
	} {
		*p.to += *p.from
	}
	c.Slept += o.Slept
	for _, p := range []struct {
		to   *map[string]int
		from map[string]int
	}{{&c.Met, o.Met}, {&c.Ended, o.Ended}} {
		if *p.to == nil {
			*p.to = map[string]int{}
		}
		for k, n := range p.from {
			(*p.to)[k] += n
		}
	}
}

func (c *dayCounts) String() string {
	return fmt.Sprintf(`%d steps, %d GPUs checked
  tasks: %d arrived, %d placed, %d refused, %d failed, %d departed, %d homeless; %d placements tried again, %d departures put off
  repairs: %d rescues, %d improvements, %d abandoned, %d moves
  plans: %d carried out %v, %d resumed, %d undone, %d resets, %d times the books rebuilt
  aftermath: %d tasks started anew, %d evicted, %d remnants removed, %d of others booked; %v waited
  met: %v`, c.Steps, c.Checks, c.Arrived, c.Placed, c.Refused, c.Failed, c.Departed, c.Homeless, c.Retried, c.Stayed,
		c.Rescued, c.Improved, c.Abandoned, c.Moves, c.Plans, c.Ended, c.Resumed, c.Undone, c.Resets, c.Rebuilt,
		c.Restarted, c.Evicted, c.Remnants, c.Others, c.Slept, c.Met)
}
