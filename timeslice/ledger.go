package timeslice

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Memory says how a [Ledger] counts. The zero value takes peaks as they are
// declared, and no more of them than a device has.
type Memory struct {
	// Context is what each process pays for its context on each device, in MiB:
	// hundreds of them, by GPU and driver. Measure it.
	Context int64

	// Reserved is what nobody can allocate on a device, in MiB.
	Reserved int64

	// Overcommit is how many thousandths of a device may be promised; 0 stands
	// for 1000, that is for no more than there is. Above it memory has to be
	// managed (paged), and peaks at one time make the device thrash or fail.
	Overcommit int64

	// Fair also refuses a tenant more than its replicas' part of what may be
	// promised: that by the number of replicas of the device, rounded down, once
	// for each replica that it holds.
	Fair bool
}

// Tenant is who holds replicas and uses memory of their devices.
type Tenant struct {
	Name     string
	Replicas []Replica // two of one device are one device, paid once

	// Peak is the most that all its processes on one device have allocated at a
	// time, contexts apart, in MiB. A mean is no use: the first allocation above
	// what is left fails, whoever makes it.
	Peak int64

	// Working is what they touch again and again, in MiB; 0 stands for Peak. It
	// matters where memory is managed.
	Working int64

	// Processes is how many have a context on each device; 0 stands for 1.
	Processes int
}

// Usage is what is promised of one device, in MiB.
type Usage struct {
	Device   string
	Capacity int64    // of the device, less what nobody can allocate
	Limit    int64    // what may be promised
	Promised int64    // peaks and contexts of the tenants
	Working  int64    // working sets and contexts
	Tenants  []string // by name
}

// Free is what may still be promised; never negative, also where tenants were
// recorded that use more than there is.
func (u Usage) Free() int64 { return max(u.Limit-u.Promised, 0) }

// Thrashes is true where the working sets do not fit: managed memory is moved back
// and forth at every turn, see [Paging].
func (u Usage) Thrashes() bool { return u.Working > u.Capacity }

// Reason says why a tenant was not admitted.
type Reason uint8

// The reasons.
const (
	NoRoom    Reason = iota // the peaks of all are above the limit
	AboveFair               // its peak is above the part of its replicas
)

// String is "no room" or "above its fair part".
func (r Reason) String() string {
	if r == AboveFair {
		return "above its fair part"
	}
	return "no room"
}

// MemoryError is the answer no, with the first device that is in the way; it
// wraps [ErrMemory].
type MemoryError struct {
	Tenant, Device string
	Reason         Reason
	Need, Allowed  int64 // MiB; Need is the larger
}

// Error names the tenant, the device and both numbers.
func (e *MemoryError) Error() string {
	return fmt.Sprintf("%v: tenant %q on %s: %s: needs %d MiB of %d", ErrMemory, e.Tenant, e.Device, e.Reason, e.Need, e.Allowed)
}

// Unwrap returns ErrMemory.
func (e *MemoryError) Unwrap() error { return ErrMemory }

// Bounds of what a ledger takes, so that no sum overflows.
const (
	maxMiB        = 1 << 40
	maxOvercommit = 1_000_000
	maxProcesses  = 1 << 20
	maxTenants    = 1 << 20
)

// Ledger is who was promised how much memory of which device. Nothing enforces
// it: a driver gives memory to whoever allocates first, and the error to whoever
// comes last. Admission by declared peaks keeps that from happening among tenants
// that tell the truth.
//
// It is not safe for concurrent use. Admission costs O(replicas * devices) of the
// tenant.
type Ledger struct {
	devices []Device
	at      index
	rules   Memory
	tenants map[string]held
	sums    []sum // by device
}

type sum struct{ promised, working int64 }

// held is what a tenant was booked with, so that it is given back exactly.
type held struct {
	on     []booking
	charge sum // on each of them
}

type booking struct{ device, replicas int }

// NewLedger returns an empty ledger. The devices are copied. The error wraps
// [ErrInput] for devices that are not valid, that is also a GPU beside an instance
// of it (its memory would be there twice), and for rules out of bounds.
func NewLedger(devices []Device, rules Memory) (*Ledger, error) {
	at, err := newIndex(devices)
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		if d.Memory > maxMiB || d.Replicas > MaxReplicas {
			return nil, fmt.Errorf("%w: device %s: %d MiB, %d replicas", ErrInput, d.UUID, d.Memory, d.Replicas)
		}
		if _, both := at[d.Parent]; both && d.Parent != "" {
			return nil, fmt.Errorf("%w: device %s stands beside %s, which it is part of", ErrInput, d.UUID, d.Parent)
		}
	}
	if rules.Overcommit == 0 {
		rules.Overcommit = 1000
	}
	if rules.Overcommit < 1 || rules.Overcommit > maxOvercommit {
		return nil, fmt.Errorf("%w: overcommit %d/1000, not in 1..%d", ErrInput, rules.Overcommit, maxOvercommit)
	}
	if rules.Context < 0 || rules.Context > maxMiB || rules.Reserved < 0 || rules.Reserved > maxMiB {
		return nil, fmt.Errorf("%w: context %d MiB, reserved %d MiB", ErrInput, rules.Context, rules.Reserved)
	}
	return &Ledger{
		devices: slices.Clone(devices), at: at, rules: rules,
		tenants: map[string]held{}, sums: make([]sum, len(devices)),
	}, nil
}

// Admit books a tenant on all its devices, or on none: the error is a
// *[MemoryError] if it does not fit, and wraps [ErrInput] for a tenant that is
// malformed or already there. Whether somebody else holds its replicas is not the
// ledger's business.
func (l *Ledger) Admit(t Tenant) error {
	h, err := l.check(t)
	if err != nil {
		return err
	}
	for _, b := range h.on {
		limit := l.limit(b.device)
		need := l.sums[b.device].promised + h.charge.promised
		if need > limit {
			return &MemoryError{Tenant: t.Name, Device: l.devices[b.device].UUID, Reason: NoRoom, Need: need, Allowed: limit}
		}
		fair := limit / int64(max(l.devices[b.device].Replicas, 1)) * int64(b.replicas)
		if l.rules.Fair && h.charge.promised > fair {
			return &MemoryError{
				Tenant: t.Name, Device: l.devices[b.device].UUID, Reason: AboveFair, Need: h.charge.promised, Allowed: fair,
			}
		}
	}
	l.book(t.Name, h)
	return nil
}

// Record books a tenant whether it fits or not: one that runs already, when the
// ledger is filled again after a restart. The error wraps [ErrInput] as of Admit.
func (l *Ledger) Record(t Tenant) error {
	h, err := l.check(t)
	if err != nil {
		return err
	}
	l.book(t.Name, h)
	return nil
}

// Release undoes the booking of a tenant exactly. It is false, and nothing
// happens, if there is no such tenant, so that it may be called twice.
func (l *Ledger) Release(name string) bool {
	h, there := l.tenants[name]
	if !there {
		return false
	}
	delete(l.tenants, name)
	for _, b := range h.on {
		l.sums[b.device].promised -= h.charge.promised
		l.sums[b.device].working -= h.charge.working
	}
	return true
}

// Usage is what is promised of each device, in the order of the devices. The
// caller owns it. It costs O(tenants * log tenants).
func (l *Ledger) Usage() []Usage {
	all := make([]Usage, len(l.devices))
	for i, d := range l.devices {
		all[i] = Usage{
			Device: d.UUID, Capacity: l.capacity(i), Limit: l.limit(i),
			Promised: l.sums[i].promised, Working: l.sums[i].working,
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.tenants)) {
		for _, b := range l.tenants[name].on {
			all[b.device].Tenants = append(all[b.device].Tenants, name)
		}
	}
	return all
}

func (l *Ledger) capacity(device int) int64 {
	return max(l.devices[device].Memory-l.rules.Reserved, 0)
}

// limit is capacity * overcommit, in MiB, rounded down.
func (l *Ledger) limit(device int) int64 { return l.capacity(device) * l.rules.Overcommit / 1000 }

func (l *Ledger) check(t Tenant) (held, error) {
	if _, there := l.tenants[t.Name]; there {
		return held{}, fmt.Errorf("%w: tenant %q is there already", ErrInput, t.Name)
	}
	processes := cmp.Or(t.Processes, 1)
	working := cmp.Or(t.Working, t.Peak)
	switch {
	case t.Name == "" || len(t.Replicas) == 0:
		return held{}, fmt.Errorf("%w: tenant %q with %d replicas", ErrInput, t.Name, len(t.Replicas))
	case t.Peak < 0 || t.Peak > maxMiB || working < 0 || working > t.Peak:
		return held{}, fmt.Errorf("%w: tenant %q: peak %d MiB, working set %d MiB", ErrInput, t.Name, t.Peak, t.Working)
	case processes < 1 || processes > maxProcesses || l.rules.Context > 0 && int64(processes) > maxMiB/l.rules.Context:
		return held{}, fmt.Errorf("%w: tenant %q: %d processes", ErrInput, t.Name, t.Processes)
	case len(l.tenants) >= maxTenants:
		return held{}, fmt.Errorf("%w: tenant %q: there are %d tenants", ErrInput, t.Name, len(l.tenants))
	}
	contexts := l.rules.Context * int64(processes)
	h := held{charge: sum{promised: t.Peak + contexts, working: working + contexts}}
	seen := make(map[Replica]bool, len(t.Replicas))
	for _, r := range t.Replicas {
		i, err := l.at.find(l.devices, r)
		if err != nil {
			return held{}, fmt.Errorf("%w: tenant %q", err, t.Name)
		}
		if seen[r] {
			return held{}, fmt.Errorf("%w: tenant %q: %s stands there twice", ErrInput, t.Name, r)
		}
		seen[r] = true
		if j := slices.IndexFunc(h.on, func(b booking) bool { return b.device == i }); j >= 0 {
			h.on[j].replicas++
		} else {
			h.on = append(h.on, booking{device: i, replicas: 1})
		}
	}
	return h, nil
}

func (l *Ledger) book(name string, h held) {
	l.tenants[name] = h
	for _, b := range h.on {
		l.sums[b.device].promised += h.charge.promised
		l.sums[b.device].working += h.charge.working
	}
}
