package trial

import (
	"errors"
	"fmt"
	"time"

	"github.com/gpushare/gpushare/timeslice/governor"
)

// ErrInput says that a trial cannot be run as described.
var ErrInput = errors.New("bad input")

// An Engine is how a GPU divides itself among its clients.
type Engine uint8

const (
	// FIFO runs launches to their end in the order in which they came, whoever
	// sent them.
	FIFO Engine = iota
	// TimeSliced goes round the clients that have work, a slice each, and
	// stops a launch at the end of the slice.
	TimeSliced
)

// String names the engine.
func (e Engine) String() string {
	switch e {
	case FIFO:
		return "fifo"
	case TimeSliced:
		return "time-sliced"
	}
	return fmt.Sprintf("engine %d", uint8(e))
}

// A GPU is what a trial runs on. Zero fields mean the defaults. No time here or in
// a [Client] is above 1000 hours.
type GPU struct {
	Engine Engine
	// Slice is the turn of a client when TimeSliced. Default 1024 µs.
	Slice time.Duration
	// Switch is lost whenever another client than the last one runs. Default 0.
	Switch time.Duration
	// Sample is the period of the Used and Loss observations. Default 100 ms.
	Sample time.Duration
	// Seed decides all that is random.
	Seed uint64
	// OnRun, if set, hears of every stretch that a client runs without a stop,
	// in order of time.
	OnRun func(client int, from, to time.Duration)
}

// A Client sends requests, each a train of kernel launches in order.
type Client struct {
	Name string
	// Kernels are the GPU times of the launches of one request.
	Kernels []time.Duration
	// Gap is the mean time between requests, which come as a Poisson process.
	// Zero: there is always one more.
	Gap time.Duration
	// Jitter spreads each launch evenly by so many thousandths up and down.
	Jitter int
	// Depth is how many launches may be on the GPU at a time, at most 4096.
	// Default 8.
	Depth int
	// Start and Stop bound the time in which requests are sent. Stop zero
	// means the end of the trial.
	Start, Stop time.Duration
	// Protected makes it the tenant that Loss and Pressure are about.
	Protected bool
	// Governor is asked before each launch; nil grants all.
	Governor governor.Governor
	// Declared is the cost that is declared, in thousandths of the true one.
	// Zero declares the true cost; negative declares none.
	Declared int
	// Elapsed makes Done report the time from a launch's turn in its own
	// client to its end, which is all that a shim on a shared GPU may see.
	Elapsed bool
	// Hidden makes every so many-th launch go without asking. Zero: none.
	Hidden int
}

func (g *GPU) withDefaults() error {
	if g.Slice == 0 {
		g.Slice = 1024 * time.Microsecond
	}
	if g.Sample == 0 {
		g.Sample = 100 * time.Millisecond
	}
	if g.Engine > TimeSliced {
		return fmt.Errorf("trial: %v: %w", g.Engine, ErrInput)
	}
	return within("GPU", []span{{"Slice", g.Slice}, {"Switch", g.Switch}, {"Sample", g.Sample}})
}

func (c *Client) withDefaults(i int) error {
	if c.Depth == 0 {
		c.Depth = 8
	}
	who := fmt.Sprintf("client %d %q", i, c.Name)
	if len(c.Kernels) == 0 {
		return fmt.Errorf("trial: %s has no kernels: %w", who, ErrInput)
	}
	for k, d := range c.Kernels {
		if d < 1 || d > governor.MaxCost {
			return fmt.Errorf("trial: %s: kernel %d of %v is not within 1ns to %v: %w", who, k, d, governor.MaxCost, ErrInput)
		}
	}
	for _, n := range []struct {
		name      string
		value, hi int
	}{{"Jitter", c.Jitter, 999}, {"Depth", c.Depth, 4096}, {"Declared", max(c.Declared, 0), 1_000_000}, {"Hidden", c.Hidden, 1_000_000}} {
		if n.value < 0 || n.value > n.hi {
			return fmt.Errorf("trial: %s: %s %d is not within 0 to %d: %w", who, n.name, n.value, n.hi, ErrInput)
		}
	}
	return within(who, []span{{"Gap", c.Gap}, {"Start", c.Start}, {"Stop", c.Stop}})
}

// longest bounds all times, so that none of them overflows.
const longest = 1000 * time.Hour

type span struct {
	name string
	d    time.Duration
}

func within(who string, spans []span) error {
	for _, s := range spans {
		if s.d < 0 || s.d > longest {
			return fmt.Errorf("trial: %s: %s %v is not within 0 to %v: %w", who, s.name, s.d, longest, ErrInput)
		}
	}
	return nil
}
