package mpsfake

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gpushare/gpushare/mps"
)

// Daemon is a fake control daemon, and the machine it runs on: its clients and its
// logs outlive it. It is safe for concurrent use.
type Daemon struct {
	mu      sync.Mutex
	cfg     Config
	counts  []int // matching calls so far, per rule
	lastPID int
	births  uint64
	crashes int // servers that are still to crash as they start; negative: all
	clients []*client
	logs    map[string]*strings.Builder
	lines   int // of all logs, for the clock

	process
	world
}

// process is the daemon that runs, or the last one.
type process struct {
	pid      int
	start    uint64
	alive    bool
	killed   bool // it left its files behind
	quitting bool
	ending   int // calls that a quitting daemon still answers
	protocol int
	static   bool
	multi    bool
}

// New starts a daemon, unless the configuration says that none runs yet.
func New(cfg Config) (*Daemon, error) {
	cfg, err := cfg.filled()
	if err != nil {
		return nil, err
	}
	d := &Daemon{
		cfg: cfg, counts: make([]int, len(cfg.Rules)), lastPID: cfg.PID - 1, logs: map[string]*strings.Builder{},
	}
	if !cfg.Stopped {
		d.begin(process{protocol: cfg.Protocol, static: cfg.StaticPartitioning, multi: cfg.MultiUser})
	}
	return d, nil
}

// Run carries out one call as nvidia-cuda-mps-control would. It implements
// mps.Runner. The error is that of ctx, wrapped; everything else is in the output.
func (d *Daemon) Run(ctx context.Context, c mps.Call) (mps.Output, error) {
	command := strings.Join(c.Args, " ")
	if len(c.Args) == 0 {
		command = strings.TrimSpace(c.Input)
	}
	if err := ctx.Err(); err != nil {
		return mps.Output{}, fmt.Errorf("mpsfake: %.200q: %w", command, err)
	}
	out, rule, due := d.run(c, command)
	if !due {
		return out, nil
	}
	switch rule.Trouble {
	case Hang, HangAfter:
		<-ctx.Done()
		return mps.Output{}, fmt.Errorf("mpsfake: %.200q: %w", command, ctx.Err())
	case Slow:
		timer := time.NewTimer(rule.Delay)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return mps.Output{}, fmt.Errorf("mpsfake: %.200q: %w", command, ctx.Err())
		case <-timer.C:
		}
	case Truncate:
		out.Stdout = out.Stdout[:min(rule.Keep, len(out.Stdout))]
	case OnStderr:
		out.Stdout, out.Stderr = "", out.Stdout+out.Stderr
	default: // the others have acted before or during the call
	}
	return out, nil
}

// run does what is done under the lock, and tells the rule that was due.
func (d *Daemon) run(c mps.Call, command string) (mps.Output, Rule, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rule, due := d.due(command)
	d.tick()
	if due {
		switch rule.Trouble {
		case Hang:
			return mps.Output{}, rule, true
		case Say:
			return mps.Output{Stdout: rule.Text}, rule, true
		case Replace:
			d.replace(0)
		case Die:
			d.kill()
		default:
		}
	}
	out := d.answer(c)
	if due && rule.Trouble == DieAfter {
		d.kill()
	}
	d.settle()
	return out, rule, due
}

// due counts the call with every rule that matches and is the first that applies.
func (d *Daemon) due(command string) (found Rule, ok bool) {
	for i, r := range d.cfg.Rules {
		if r.applies(command, &d.counts[i]) && !ok {
			found, ok = r, true
		}
	}
	return found, ok
}

// answer is the reply to a call, without faults.
func (d *Daemon) answer(c mps.Call) mps.Output {
	if len(c.Args) > 0 && strings.HasPrefix(c.Args[0], "-") {
		return d.flags(c.Args)
	}
	if !d.alive {
		return d.absent()
	}
	if len(c.Args) == 0 && strings.TrimSpace(c.Input) != "" {
		d.control("Accepting connection...")
	}
	if d.protocol == 3 {
		if len(c.Args) == 0 {
			return d.refuse("Unknown command: protocol 3 takes arguments")
		}
		d.control("Accepting connection...")
		return d.v3(c.Args)
	}
	if len(c.Args) > 0 {
		return d.refuse("Unknown option: %.100s", c.Args[0])
	}
	var all mps.Output
	for line := range strings.Lines(c.Input) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		out := d.v2(words)
		all.Stdout += out.Stdout
		all.Stderr += out.Stderr
		all.Exit = out.Exit
		if !d.alive {
			break
		}
	}
	return all
}

// absent is the answer where no daemon runs. The stream is unknown.
func (d *Daemon) absent() mps.Output {
	const text = "Cannot find MPS control daemon process\n"
	if d.cfg.Placeholders == Failing {
		return mps.Output{Stderr: text, Exit: 1}
	}
	return mps.Output{Stdout: text, Exit: 1}
}

// AddRule adds a fault behind those that are there; its count starts now.
func (d *Daemon) AddRule(r Rule) error {
	if err := r.check(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cfg.Rules = append(d.cfg.Rules, r)
	d.counts = append(d.counts, 0)
	return nil
}

// ClearRules removes all faults.
func (d *Daemon) ClearRules() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cfg.Rules, d.counts = nil, nil
}
