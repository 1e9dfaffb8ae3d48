package mpsfake

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// ErrInput is wrapped by every error about what the caller gave.
var ErrInput = errors.New("mpsfake: bad input")

// Style is the form of replies that were documented in one form and seen in another.
type Style uint8

// The styles: partition add says "Partition <id> created" or the bare id, and the
// table of lspart has blanks or dashes where a cell does not apply.
const (
	Observed   Style = iota // as transcripts of real drivers have it
	Documented              // as NVIDIA's documentation shows it
)

// Placeholders chooses what is answered where nobody has published what the real
// daemon says. None of these texts is a fact about NVIDIA's program: a client has
// to do something sensible with every one of them.
type Placeholders uint8

// The choices. The exit status is 0 but for Failing.
const (
	Quiet   Placeholders = iota // nothing after a success, one short sentence after a refusal
	Wordy                       // sentences around every value and after every success
	Failing                     // refusals on standard error, with exit status 1
	Silent                      // nothing at all, not even after a refusal
)

// GPU is one device as the daemon sees it.
type GPU struct {
	UUID      string // unique, beginning with "GPU-" or "MIG-"
	Name      string
	SMs       int
	MemoryMiB int64
	ChunkSMs  int // SMs of a chunk of static partitioning; 0: 8
	Chunks    int // chunks that can be had; 0: as many as fit in SMs, which a real device may not reach
}

// Config is what a daemon starts from. The zero value with GPUs is a protocol 2
// daemon of root.
type Config struct {
	GPUs         []GPU // in the order of the driver; Env may hide some
	Protocol     int   // 2 or 3; 0: 2
	Style        Style
	Placeholders Placeholders

	StaticPartitioning bool // -S; protocol 2 only, needs Version 13010
	MultiUser          bool // one server of root for every user; needs UID 0
	UID                int  // who runs the daemon and its commands

	// Env is the daemon's environment. What counts: CUDA_VISIBLE_DEVICES,
	// CUDA_MPS_ACTIVE_THREAD_PERCENTAGE, CUDA_MPS_PINNED_DEVICE_MEM_LIMIT,
	// CUDA_MPS_CLIENT_PRIORITY.
	Env map[string]string

	ClientCap        int  // clients per device and server; 0: 48
	IgnoreUUIDLimits bool // memory limits set under a UUID are taken and then not applied
	InitPolls        int  // calls of Run during which a new server is INITIALIZING
	HoldInit         bool // a new server is INITIALIZING until ServerReady
	ExitPolls        int  // calls of Run during which what has ended still answers
	Stopped          bool // no daemon runs until Start or a call with -d

	PipeDirectory string // named in log lines and by protocol 3; "": NVIDIA's default
	PID           int    // of the first daemon; 0: 1000. Later processes count up from it
	Version       int    // CUDA version that is logged; 0: 13010. Below 13000 the log has the older form

	Rules []Rule

	// Clock stamps log lines. Nil: a clock that goes 1 ms a line from the start of
	// 2026, so that two runs leave the same text.
	Clock func() time.Time
}

// defaultVersion is the first that has static partitioning.
const defaultVersion = 13010

// filled is the configuration with its defaults, copied, or an error.
func (c Config) filled() (Config, error) {
	if len(c.GPUs) == 0 {
		return c, fmt.Errorf("%w: no GPU", ErrInput)
	}
	c.GPUs = append([]GPU(nil), c.GPUs...)
	seen := map[string]int{}
	for i := range c.GPUs {
		g := &c.GPUs[i]
		if err := g.fill(); err != nil {
			return c, fmt.Errorf("GPU %d: %w", i, err)
		}
		if j, twice := seen[g.UUID]; twice {
			return c, fmt.Errorf("%w: GPU %d has the UUID of GPU %d, %q", ErrInput, i, j, g.UUID)
		}
		seen[g.UUID] = i
	}
	fill(&c.Protocol, 2)
	fill(&c.ClientCap, 48)
	fill(&c.PID, 1000)
	fill(&c.Version, defaultVersion)
	if c.PipeDirectory == "" {
		c.PipeDirectory = defaultPipe(c.Protocol, c.UID)
	}
	switch {
	case c.Protocol != 2 && c.Protocol != 3:
		return c, fmt.Errorf("%w: protocol %d, want 2 or 3", ErrInput, c.Protocol)
	case c.Style > Documented:
		return c, fmt.Errorf("%w: style %d", ErrInput, c.Style)
	case c.Placeholders > Silent:
		return c, fmt.Errorf("%w: placeholders %d", ErrInput, c.Placeholders)
	case c.UID < 0 || c.PID < 1 || c.ClientCap < 1 || c.InitPolls < 0 || c.ExitPolls < 0 || c.Version < 0:
		return c, fmt.Errorf("%w: a negative number in the configuration", ErrInput)
	case c.MultiUser && c.UID != 0:
		return c, fmt.Errorf("%w: multi-user daemon of user %d, want root", ErrInput, c.UID)
	case c.StaticPartitioning && c.Protocol == 3:
		return c, fmt.Errorf("%w: protocol 3 has no flag for static partitioning", ErrInput)
	case c.StaticPartitioning && c.Version < defaultVersion:
		return c, fmt.Errorf("%w: static partitioning with version %d, want %d or more", ErrInput, c.Version, defaultVersion)
	}
	if c.Env = maps.Clone(c.Env); c.Env == nil {
		c.Env = map[string]string{}
	}
	c.Rules = append([]Rule(nil), c.Rules...)
	for i, r := range c.Rules {
		if err := r.check(); err != nil {
			return c, fmt.Errorf("rule %d: %w", i, err)
		}
	}
	return c, nil
}

func fill(p *int, value int) {
	if *p == 0 {
		*p = value
	}
}

func (g *GPU) fill() error {
	if !strings.HasPrefix(g.UUID, "GPU-") && !strings.HasPrefix(g.UUID, "MIG-") {
		return fmt.Errorf("%w: UUID %q, want GPU-… or MIG-…", ErrInput, g.UUID)
	}
	if len(g.UUID) < 6 || strings.ContainsAny(g.UUID, " \t\r\n/,\"") {
		return fmt.Errorf("%w: UUID %q", ErrInput, g.UUID)
	}
	if strings.ContainsAny(g.Name, "\r\n") {
		return fmt.Errorf("%w: name %q", ErrInput, g.Name)
	}
	fill(&g.ChunkSMs, 8)
	if g.SMs < 2 || g.MemoryMiB < 1 || g.ChunkSMs < 1 {
		return fmt.Errorf("%w: %d SMs, %d MiB, chunks of %d SMs", ErrInput, g.SMs, g.MemoryMiB, g.ChunkSMs)
	}
	fill(&g.Chunks, g.SMs/g.ChunkSMs)
	if g.Chunks < 0 || g.Chunks*g.ChunkSMs > g.SMs {
		return fmt.Errorf("%w: %d chunks of %d SMs do not fit in %d SMs", ErrInput, g.Chunks, g.ChunkSMs, g.SMs)
	}
	return nil
}
