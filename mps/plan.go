package mps

import (
	"fmt"
	"path"
	"strings"
)

// PlanOptions are what a Plan is made from.
type PlanOptions struct {
	// UUID of the GPU or MIG instance, whole: GPU-… or MIG-….
	UUID  string
	Split Split // of that device

	// Limit is what decides how many clients the device takes. For a MIG instance it
	// should name the instance's size.
	Limit ClientLimitQuery

	// Directories of this device's own daemon, on the host. Two daemons cannot share
	// a pipe directory.
	Directories Directories

	// ClientPipe is where clients see the pipe directory; empty: at the path that it
	// has on the host.
	ClientPipe string

	// SharedMemory is the host directory that the daemon and its clients use as
	// /dev/shm; empty: /dev/shm itself.
	SharedMemory string
}

// Plan is what a container runtime has to set up so that clients share one device: a
// control daemon of its own with limits, and an environment and mounts for each client.
type Plan struct {
	Device string `json:"device"` // UUID
	MIG    bool   `json:"mig"`

	// The daemon: what to start it with, and what to set before the first client and
	// read back. The limits are the largest of the shares; each client lowers its own.
	Daemon         PlanProcess   `json:"daemon"`
	DefaultPercent int           `json:"defaultPercent"`
	DefaultLimits  []DeviceLimit `json:"defaultLimits"` // empty if the memory is not known

	Clients []PlanClient `json:"clients"` // in the order of the split

	Warnings []string `json:"warnings"` // what the plan cannot promise
}

// PlanProcess is what one process needs around it.
type PlanProcess struct {
	Env    []string `json:"env"` // KEY=VALUE
	Mounts []Mount  `json:"mounts"`
}

// PlanClient is one client of the plan. The limits hold for each process: see
// ReachableMiB.
type PlanClient struct {
	Share
	PlanProcess
}

// Mount is a directory of the host that a container sees, writable.
type Mount struct {
	Source string `json:"source"` // on the host
	Target string `json:"target"` // in the container
}

const sharedMemoryPath = "/dev/shm"

// NewPlan plans one daemon for one device, with protocol 2. One for each device keeps
// a fault on one from making the others refuse clients; for a MIG instance it is the
// only way.
//
// Limits are given by ordinal, which is always 0 since the daemon shows one device, and
// clients leave CUDA_VISIBLE_DEVICES unset. With protocol 3 the percentage of a
// namespace replaces a client's own, so that unequal shares need a namespace each; that
// is not planned here.
//
// The error wraps ErrInput: a split that is none, more clients than the device takes,
// paths that cannot work.
func NewPlan(o PlanOptions) (Plan, error) {
	kind, rest, _ := strings.Cut(o.UUID, "-")
	byUUID, err := checkDevice(o.UUID)
	if err != nil || !byUUID || len(rest) < 32 {
		return Plan{}, fmt.Errorf("%w: device %.80q: want a whole UUID, GPU-… or MIG-…", ErrInput, o.UUID)
	}
	p := Plan{Device: o.UUID, MIG: kind == "MIG", DefaultLimits: []DeviceLimit{}, Warnings: []string{}}
	if err := o.Split.check(); err != nil {
		return Plan{}, err
	}
	if err := p.limit(o); err != nil {
		return Plan{}, err
	}
	clientPipe, shm := o.ClientPipe, o.SharedMemory
	if clientPipe == "" {
		clientPipe = o.Directories.Pipe
	}
	if shm == "" {
		shm = sharedMemoryPath
	}
	if !path.IsAbs(shm) {
		return Plan{}, fmt.Errorf("%w: shared memory directory %q is not an absolute path", ErrInput, shm)
	}
	if err := o.Directories.Check(); err != nil {
		return Plan{}, err
	}

	p.Daemon.Env = append(o.Directories.Env(), visibleVariable+"="+o.UUID)
	p.Daemon.Mounts = []Mount{{o.Directories.Pipe, o.Directories.Pipe}, {shm, sharedMemoryPath}}
	if o.Directories.Log != "" {
		p.Daemon.Mounts = append(p.Daemon.Mounts, Mount{o.Directories.Log, o.Directories.Log})
	}
	most := int64(0)
	for i, share := range o.Split.Clients {
		env := ClientEnv{PipeDirectory: clientPipe, Percent: float64(share.Percent), MaxConnections: o.Limit.MaxConnections}
		if share.MemoryMiB > 0 {
			env.PinnedLimits = []DeviceLimit{{"0", share.MemoryMiB}}
		}
		c := PlanClient{Share: share}
		if c.Env, err = env.Env(); err != nil {
			return Plan{}, fmt.Errorf("client %d: %w", i, err)
		}
		c.Mounts = []Mount{{o.Directories.Pipe, clientPipe}, {shm, sharedMemoryPath}}
		p.Clients = append(p.Clients, c)
		p.DefaultPercent, most = max(p.DefaultPercent, share.Percent), max(most, share.MemoryMiB)
	}
	if most > 0 {
		p.DefaultLimits = []DeviceLimit{{"0", most}}
	} else {
		p.Warnings = append(p.Warnings, "the memory of the device is not known: a client can take all of it")
	}
	return p, nil
}

// limit counts the clients.
func (p *Plan) limit(o PlanOptions) error {
	sized := o.Limit.InstanceSize != 0
	if sized && !p.MIG {
		return fmt.Errorf("%w: an instance size for %s, which is no MIG instance", ErrInput, p.Device)
	}
	l, err := MaxClients(o.Limit)
	if err != nil {
		return err
	}
	if err := l.Check(len(o.Split.Clients)); err != nil {
		return err
	}
	if l.Certainty != Documented {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%d clients, %s: %s", l.Contexts, l.Certainty, l.Reason))
	}
	if p.MIG {
		if o.Limit.ComputeMajor < 8 {
			return fmt.Errorf("%w: MIG on compute capability %d.x", ErrInput, o.Limit.ComputeMajor)
		}
		if !sized {
			p.Warnings = append(p.Warnings, "an instance takes fewer clients than a GPU, and its size is not given")
		}
		p.Warnings = append(p.Warnings, "NVIDIA's device plugin for Kubernetes refuses MPS on MIG instances")
	}
	return nil
}

// check refuses a split that no function here returns.
func (s Split) check() error {
	if len(s.Clients) == 0 || len(s.Clients) > maxShares {
		return fmt.Errorf("%w: a split among %d clients", ErrInput, len(s.Clients))
	}
	left := s.MemoryMiB
	for i, c := range s.Clients {
		left -= max(c.MemoryMiB, 0)
		switch {
		case c.SMs < 1:
			return fmt.Errorf("%w: client %d: %d %%", ErrNoSMs, i, c.Percent)
		case c.Percent < 1 || c.Percent > 100 || c.SMs > s.SMs || c.MemoryMiB < 0:
			return fmt.Errorf("%w: client %d: %d %%, %d of %d SMs, %d MiB", ErrInput, i, c.Percent, c.SMs, s.SMs, c.MemoryMiB)
		case left < 0:
			return fmt.Errorf("%w: client %d: %d MiB, and no longer so much is left of %d", ErrInput, i, c.MemoryMiB, s.MemoryMiB)
		}
	}
	return nil
}
