package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/mig/plan"
)

// carrier carries changes out, on record.
type carrier struct {
	inv  *invocation
	m    *machine
	book *book

	mu       sync.Mutex // guards the output and what follows
	steps    int        // done
	crashed  bool
	answered bool // run has returned
	saveErr  error
}

// forward brings a GPU to what it shall become, from wherever it stands.
func (c *carrier) forward(ctx context.Context, g *gpu, b bookGPU) (*device.Report, error) {
	return c.lead(ctx, g, b, b.ModeTo, func(file *os.File, j device.Journal, begun bool) (device.Report, error) {
		if begun {
			return g.dev.Resume(ctx, j, c.options(g, file))
		}
		return g.dev.Apply(ctx, b.Plan, c.options(g, file))
	})
}

// backward brings a GPU to what it was.
func (c *carrier) backward(ctx context.Context, g *gpu, b bookGPU) (*device.Report, error) {
	return c.lead(ctx, g, b, b.ModeFrom, func(file *os.File, j device.Journal, begun bool) (device.Report, error) {
		if !begun { // nothing of the plan
			return device.Report{}, nil
		}
		return g.dev.Undo(ctx, j, c.options(g, file))
	})
}

// lead sets the MIG mode and brings the instances where they belong: the mode
// first where it is to be on, and last where it is to be off.
func (c *carrier) lead(ctx context.Context, g *gpu, b bookGPU, on bool, layout func(*os.File, device.Journal, bool) (device.Report, error)) (*device.Report, error) {
	if on {
		if err := c.setMode(ctx, g, on); err != nil {
			return nil, err
		}
	}
	st, err := g.dev.State(ctx)
	if err != nil {
		return nil, err
	}
	there := len(st.Instances) > 0
	if !on && there && !st.Mode.Pending { // instances change only where the mode is to stay
		if err := c.setMode(ctx, g, true); err != nil {
			return nil, err
		}
	}
	var report *device.Report
	if len(b.Plan.Steps) > 0 && (on || there) { // where the mode is to be off, nothing is to stand
		if report, err = c.layout(ctx, b, layout); err != nil {
			return report, err
		}
	}
	if !on {
		return report, c.setMode(ctx, g, on)
	}
	return report, nil
}

// layout runs a transaction with its journal, and waits for its end.
func (c *carrier) layout(ctx context.Context, b bookGPU, run func(*os.File, device.Journal, bool) (device.Report, error)) (*device.Report, error) {
	file, j, begun, err := c.book.journal(b)
	if err != nil {
		return nil, err
	}
	report, err := run(file, j, begun)
	if report.Outcome == device.Indeterminate {
		c.say("GPU %d  a call into the driver has not returned: waiting (interrupt again to leave it)\n", b.Index)
		patience := context.WithoutCancel(ctx)
		if c.inv.change.timeout > 0 {
			var cancel context.CancelFunc
			patience, cancel = context.WithTimeout(patience, c.inv.change.timeout)
			defer cancel()
		}
		late := err // says which call it is
		if report, err = report.Wait(patience); err != nil && report.Outcome != device.Indeterminate {
			err = fmt.Errorf("%w; then: %w", late, err)
		}
	}
	if file != nil && report.Outcome != device.Indeterminate { // else it is still written
		err = errors.Join(err, file.Close())
	}
	if report.Outcome == "" {
		return nil, err
	}
	return &report, err
}

// options are those of a transaction on a GPU.
func (c *carrier) options(g *gpu, file *os.File) device.ApplyOptions {
	o := device.ApplyOptions{CallTimeout: c.inv.change.timeout, Observe: func(e device.Event) { c.observe(g, e) }}
	if file != nil { // a nil *os.File is no nil io.Writer
		o.Journal = file
	}
	return o
}

// observe tells of a step. A fake machine is saved after each, so that a crash
// leaves it as it then is.
func (c *carrier) observe(g *gpu, e device.Event) {
	way := ""
	if e.Back {
		way = "back "
	}
	switch e.Phase {
	case device.PhaseBegin:
		c.say("GPU %d  %s%d/%d  %s %s\n", g.index, way, e.Step, e.Total, e.Op, e.Instance.Instance)
	case device.PhaseFailed:
		c.say("GPU %d  %s%d/%d  failed: %s\n", g.index, way, e.Step, e.Total, command.OneLine(e.Err.Error()))
	case device.PhaseDone:
		if e.Op == plan.Create {
			for i, in := range e.Instance.Compute {
				c.say("            %s  %s\n", e.Instance.UUIDs[i], in.Profile)
			}
		}
	default:
	}
	if e.Phase == device.PhaseBegin {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.m.save(); err != nil && c.saveErr == nil {
		c.saveErr = err
	}
	if e.Phase != device.PhaseDone {
		return
	}
	c.steps++
	if c.steps == c.inv.change.crashAfter {
		c.crashed = true
		runtime.Goexit() // nothing more is done or recorded, as in a crash
	}
}

// say prints progress, which is for people, until the answer is given: a call that
// returns later has nobody left to tell.
func (c *carrier) say(format string, args ...any) {
	if c.inv.JSON {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answered {
		return
	}
	fmt.Fprintf(c.inv.Out, format, args...)
}

// setMode switches the MIG mode where it is not so already.
func (c *carrier) setMode(ctx context.Context, g *gpu, on bool) error {
	st, err := g.dev.State(ctx)
	if err != nil || st.Mode.Current == on && st.Mode.Pending == on {
		return err
	}
	c.say("GPU %d  switch MIG mode %s\n", g.index, onOff(on))
	var reset device.ResetFunc
	switch {
	case c.m.fake != nil:
		reset = func(context.Context, string) error { return c.m.fake.server.Reset(g.index) }
	case c.inv.change.reset:
		reset = device.NvidiaSMIReset(device.Exec)
	}
	_, err = g.dev.SetMode(ctx, on, reset)
	if errors.Is(err, device.ErrPending) && reset == nil {
		err = fmt.Errorf("%w (-reset lets nvidia-smi reset it; then resume)", err)
	}
	return err
}

// worked is what carrying out changed, by GPU of the book.
type worked struct {
	report *device.Report
	err    error
}

// run leads the GPUs of the book where they belong, one after the other, until
// one fails. It returns an entry for each that was tried, in the order of the list.
func (c *carrier) run(ctx context.Context, list []bookGPU, ended string, lead func(context.Context, *gpu, bookGPU) (*device.Report, error)) ([]worked, error) {
	var done []worked
	if err := c.book.write(""); err != nil {
		return nil, fmt.Errorf("-journal: %w", err)
	}
	for _, b := range list {
		g, err := c.m.find(b.UUID)
		if err == nil {
			err = g.capable()
		}
		w := worked{err: err}
		if err == nil {
			w.report, w.err = lead(ctx, g, b)
		}
		if c.crashed {
			w.err = fmt.Errorf("-crash-after: ended after %d steps, as a crash would", c.steps)
		}
		done = append(done, w)
		if w.err != nil {
			ended = "stopped"
			if b.ModeFrom != b.ModeTo || w.report != nil && (w.report.Outcome == device.Left || w.report.Outcome == device.Indeterminate) {
				ended = ""
			}
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered = true
	err := errors.Join(c.saveErr, c.m.save())
	if !c.crashed {
		err = errors.Join(err, c.book.write(ended))
	}
	return done, err
}
