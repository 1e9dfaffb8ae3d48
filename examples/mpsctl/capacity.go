package main

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mps"
)

// splitFlags are the flags that say what is shared, and among whom.
type splitFlags struct {
	model, profile, sms, memory string
	clients, n                  string
	even, bySMs                 bool
	budget                      string
}

// splits defines them.
func (inv *invocation) splits() *splitFlags {
	f := &splitFlags{}
	inv.Flags.StringVar(&f.model, "model", "", "")
	inv.Flags.StringVar(&f.profile, "profile", "", "")
	inv.Flags.StringVar(&f.sms, "sms", "", "")
	inv.Flags.StringVar(&f.memory, "memory", "", "")
	inv.Flags.StringVar(&f.clients, "clients", "", "")
	inv.Flags.StringVar(&f.n, "n", "", "")
	inv.Flags.BoolVar(&f.even, "even", false, "")
	inv.Flags.BoolVar(&f.bySMs, "by-sms", false, "")
	inv.Flags.StringVar(&f.budget, "budget", "", "")
	return f
}

// shared is the device that is shared.
type shared struct {
	mps.Capacity

	instance, device int // compute slices of the MIG instance and of its GPU; 0: no MIG
}

// capacity is what there is to share: what the tables say of the model, or of a
// profile of it, unless the flags say otherwise.
func (f *splitFlags) capacity(inv *invocation) (shared, error) {
	var c shared
	if !inv.Given("model") && !inv.Given("sms") {
		return c, errors.New("one of -model and -sms is missing (-h explains)")
	}
	if inv.Given("profile") && !inv.Given("model") {
		return c, errors.New("-profile: a profile is of a -model")
	}
	if inv.Given("model") {
		m, err := mig.Lookup(f.model)
		if err != nil {
			return c, fmt.Errorf("-model: %w", err)
		}
		spec := m.Spec()
		c.Device, c.SMs, c.MemoryMiB = spec.Key, spec.SMs, int64(spec.MemoryMiB)
		if inv.Given("profile") {
			p, err := m.Profile(f.profile)
			if err != nil {
				return c, fmt.Errorf("-profile: %w", err)
			}
			c.Device += " " + p.Name
			c.SMs, c.MemoryMiB = p.SMs, int64(p.MemoryMiB)
			c.instance, c.device = p.ComputeSlices, spec.ComputeSlices
		}
	}
	var err error
	if inv.Given("sms") {
		if c.SMs, err = number(f.sms, 1, math.MaxInt32); err != nil {
			return c, fmt.Errorf("-sms: %w", err)
		}
	}
	if inv.Given("memory") {
		amount, err := number(f.memory, 1, math.MaxInt32)
		if err != nil {
			return c, fmt.Errorf("-memory: %w MiB", err)
		}
		c.MemoryMiB = int64(amount)
	}
	name := c.Device
	if name == "" {
		name = "a device without -model"
	}
	switch {
	case c.SMs == 0:
		return c, fmt.Errorf("-sms is missing: nobody has published how many multiprocessors %s has", name)
	case c.MemoryMiB == 0 && inv.Given("model"):
		return c, fmt.Errorf("-memory MIB is missing: what the driver reports for %s is not published (nvidia-smi tells it)", name)
	case c.MemoryMiB == 0:
		return c, fmt.Errorf("-memory MIB is missing: it is not known for %s", name)
	}
	return c, nil
}

// weights are those of the clients.
func (f *splitFlags) weights(inv *invocation) ([]int, error) {
	which, err := inv.ExactlyOne("clients", "n")
	if err != nil {
		return nil, err
	}
	if which == "clients" {
		list, err := numbers(f.clients, 1, math.MaxInt32)
		if err != nil {
			return nil, fmt.Errorf("-clients: %w", err)
		}
		return list, nil
	}
	n, err := number(f.n, 1, 128)
	if err != nil {
		return nil, fmt.Errorf("-n: %w", err)
	}
	list := make([]int, n)
	for i := range list {
		list[i] = 1
	}
	return list, nil
}

// split divides the device.
func (f *splitFlags) split(inv *invocation) (shared, []int, mps.Split, error) {
	c, err := f.capacity(inv)
	if err != nil {
		return c, nil, mps.Split{}, err
	}
	weights, err := f.weights(inv)
	if err != nil {
		return c, nil, mps.Split{}, err
	}
	if f.even {
		if inv.Given("budget") || f.bySMs {
			return c, nil, mps.Split{}, errors.New("-even excludes -budget and -by-sms: it is what the device plugin does")
		}
		for i, w := range weights {
			if w != weights[0] {
				return c, nil, mps.Split{}, fmt.Errorf("-clients: entry %d is %d and entry 1 is %d, but -even gives to all alike", i+1, w, weights[0])
			}
		}
		s, err := mps.SplitEven(c.Capacity, len(weights))
		return c, weights, s, input("-clients, -n", err)
	}
	o := mps.SplitOptions{BySMs: f.bySMs}
	if inv.Given("budget") {
		if o.Budget, err = number(f.budget, 1, 12800); err != nil {
			return c, nil, mps.Split{}, fmt.Errorf("-budget: %w", err)
		}
	}
	s, err := mps.SplitWeighted(c.Capacity, weights, o)
	return c, weights, s, input("-clients, -n, -sms", err)
}

// input names the flags that an error of the library is about.
func input(flags string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", strings.TrimSpace(flags), err)
}
