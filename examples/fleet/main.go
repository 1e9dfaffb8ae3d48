// Command fleet schedules tasks onto a fleet of shared GPUs under several
// placement policies and shows what each was worth: a table, a picture, and the
// MIG instances of the best one created on simulated GPUs.
//
//	fleet
//	fleet -nodes openb_node_list_gpu_node.csv -tasks openb_pod_list_default.csv -seeds 10
//
// fleet sweep compares more of them in many runs: fractions and whole GPUs on the
// variants of the trace, MIG instances that come and go by mix, fleet size and load,
// with and without moves. What is finished is kept in a file, and a second run goes on
// from there.
//
//	fleet sweep -openb DIR -plot sweep
//
// fleet growth measures how long decisions take on fleets of 1,000 to 100,000 GPUs.
//
//	fleet growth -plot growth
//
// Its exit status is 0 when done, 1 when the books of the scheduler and the
// devices disagree, and 2 for bad usage or input; the error then goes to
// standard error. Interrupted, it ends with 130.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/examples/internal/picture"
	"github.com/gpushare/gpushare/examples/internal/progress"
)

func main() {
	os.Exit(command.Interruptible(func(ctx context.Context) int {
		return run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}, os.Interrupt))
}

// run is the whole program.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "sweep" {
		return sweep(ctx, args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == "growth" {
		return growth(ctx, args[1:], stdout, stderr)
	}
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return command.Done
	}
	var r *report
	if err == nil {
		r, err = work(ctx, o, stderr)
	}
	if err == nil && o.json {
		err = r.writeJSON(stdout)
	} else if err == nil {
		r.writeText(stdout, o)
	}
	if status := command.Ended(ctx, "fleet", err, stderr); status != command.Done {
		return status
	}
	return r.status()
}

// work does what the options ask for.
func work(ctx context.Context, o options, stderr io.Writer) (*report, error) {
	s, err := newScenario(o)
	if err != nil {
		return nil, err
	}
	if err := picture.Ready(o.plot); err != nil {
		return nil, err
	}
	bar := progress.New(stderr, "fleet", 100*len(o.policies)*len(o.seeds))
	outcomes, err := measure(ctx, o, s, bar.Add)
	bar.Close()
	if err != nil {
		return nil, err
	}
	r := &report{Schema: schema, Policies: outcomes}
	if o.plot != "" {
		var curves []curve
		for _, p := range outcomes {
			curves = append(curves, p.curve)
		}
		if r.Pictures, err = writePlot(o.plot, s.title, curves); err != nil {
			return nil, err
		}
	}
	last := outcomes[len(outcomes)-1]
	if i := slices.IndexFunc(outcomes, func(p outcome) bool { return p.Name == fgdName }); i >= 0 {
		last = outcomes[i]
	}
	done, err := carryOut(ctx, last.final)
	if err != nil {
		return nil, fmt.Errorf("carry out what %s decided: %w", last.Name, err)
	}
	if done.GPUs > 0 {
		done.Policy, done.Seed = last.Name, o.seeds[0]
		r.CarriedOut = done
	}
	return r, nil
}
