package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/examples/internal/picture"
	"github.com/gpushare/gpushare/examples/internal/progress"
)

// sweep is the program fleet sweep.
func sweep(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseSweep(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, sweepHelp())
		return command.Done
	}
	if err == nil {
		err = o.run(ctx, stdout, stderr)
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "fleet sweep: interrupted; run again to go on")
		return command.Interrupted
	case err != nil:
		fmt.Fprintf(stderr, "fleet sweep: %v\n", err)
		return command.Bad
	default:
		return command.Done
	}
}

// run runs what is not finished yet and sums up.
func (o *sweepOptions) run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	if err := picture.Ready(o.plot); err != nil {
		return err
	}
	file, err := openResults(o.out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.close()) }()
	cells := o.cells()
	var open []cell
	for _, c := range cells {
		if !file.has(c) {
			open = append(open, c)
		}
	}
	if err := o.finish(ctx, open, file, stderr); err != nil {
		return err
	}
	s := summarizeSweep(file.of(cells))
	if o.plot != "" {
		if s.Pictures, err = s.draw(o.plot); err != nil {
			return err
		}
	}
	if o.json {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(s)
	}
	s.writeMarkdown(stdout)
	return nil
}

// finish runs cells, several at a time, and writes each as it is finished. The
// first error, or the end of the context, keeps new ones from being begun.
func (o *sweepOptions) finish(ctx context.Context, open []cell, file *results, stderr io.Writer) error {
	if len(open) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lab := newLaboratory(o.openb)
	bar := progress.New(stderr, "fleet sweep", len(open))
	defer bar.Close()
	workers := o.parallel
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	queue := make(chan cell)
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for c := range queue {
				figures, err := lab.measure(ctx, c)
				if err == nil {
					err = file.add(c, figures)
				} else {
					err = fmt.Errorf("%s: %w", c.title(), err)
				}
				if err != nil {
					cancel(err)
					return
				}
				bar.Add(c.title(), 1)
			}
		})
	}
feed:
	for _, c := range open {
		select {
		case queue <- c:
		case <-ctx.Done():
			break feed
		}
	}
	close(queue)
	wait.Wait()
	return context.Cause(ctx)
}

// title names a cell for people.
func (c cell) title() string {
	if c.Kind == shareCells {
		return fmt.Sprintf("%s, %s, seed %d", c.Policy, c.Trace, c.Seed)
	}
	return fmt.Sprintf("%s, %s, %d GPUs, load %g, seed %d", c.Policy, c.Mix, c.GPUs, c.Load, c.Seed)
}
