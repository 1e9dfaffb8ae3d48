package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/examples/internal/picture"
	"github.com/gpushare/gpushare/examples/internal/progress"
)

const growthUsage = `fleet growth measures how long a decision takes as fleets grow: by FGD and by
expected fill for fractions and whole GPUs, and by MIG-FGD and by value index for MIG
instances, each beside the same decision made by asking every node.

Usage:
  fleet growth [flags]

The nodes and the tasks are of the workload that is built in, the MIG instances on
A100 GPUs of 40 GB. Fleets are filled at random, so that hardly two nodes are alike,
to three quarters, and to a half with MIG instances. As each task comes another
one leaves. Give it a machine that does nothing else; with the same flags it
makes the same decisions again.

  -gpus LIST      default 1000,3000,10000,30000,100000
  -decisions N    in each of the nine rounds of a line, the first of which does not
                  count; the median is reported; default 2000
  -plot PREFIX    write the picture to PREFIX.png and PREFIX.svg; default none
  -json           one JSON object instead of the table

Exit status: 0 done, 2 bad usage or input, 130 interrupted.
`

// growthOptions is the command line of a measurement.
type growthOptions struct {
	sizes     []int
	decisions int
	plot      string
	json      bool
}

// growthReport is what was measured.
type growthReport struct {
	Schema   int         `json:"schema"`
	Rows     []growthRow `json:"rows"`
	Pictures []string    `json:"pictures,omitempty"` // files
}

// growthRow is how long decisions of a rule take on a fleet.
type growthRow struct {
	Rule   string  `json:"rule"`
	GPUs   int     `json:"gpus"`
	Engine float64 `json:"engineMicroseconds"` // of a placement.Engine
	Plain  float64 `json:"plainMicroseconds"`  // of asking every node
}

// growth is the program fleet growth.
func growth(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseGrowth(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, growthUsage)
		return command.Done
	}
	if err == nil {
		err = o.run(ctx, stdout, stderr)
	}
	return command.Ended(ctx, "fleet growth", err, stderr)
}

// parseGrowth reads the command line. The error wraps errUsage or flag.ErrHelp.
func parseGrowth(args []string) (growthOptions, error) {
	var o growthOptions
	fs := flag.NewFlagSet("fleet growth", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	sizes := fs.String("gpus", "1000,3000,10000,30000,100000", "")
	fs.IntVar(&o.decisions, "decisions", 2000, "")
	fs.StringVar(&o.plot, "plot", "", "")
	fs.BoolVar(&o.json, "json", false, "")
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return o, err
	case err != nil:
	case fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q after the flags", fs.Arg(0))
	case o.decisions < 1 || o.decisions > 1_000_000:
		err = fmt.Errorf("-decisions %d: not from 1 to 1000000", o.decisions)
	default:
		o.sizes, err = numbers("gpus", *sizes, strconv.Atoi, 8, 1_000_000)
		if err == nil && len(o.sizes) == 0 {
			err = errors.New("-gpus: no size")
		}
	}
	if err != nil {
		return o, fmt.Errorf("%w: %w", errUsage, err)
	}
	return o, nil
}

// run measures and reports.
func (o *growthOptions) run(ctx context.Context, stdout, stderr io.Writer) error {
	if err := picture.Ready(o.plot); err != nil {
		return err
	}
	rules, err := growthRules()
	if err != nil {
		return err
	}
	r := growthReport{Schema: schema}
	bar := progress.New(stderr, "fleet growth", len(rules)*len(o.sizes)*(growthRounds+1))
	for _, gpus := range o.sizes {
		for _, rule := range rules {
			title := fmt.Sprintf("%s, %d GPUs", rule.name, gpus)
			row, err := rule.measure(ctx, gpus, o.decisions, func() { bar.Add(title, 1) })
			if err != nil {
				bar.Close()
				return fmt.Errorf("%s: %w", title, err)
			}
			r.Rows = append(r.Rows, row)
		}
	}
	bar.Close()
	if o.plot != "" {
		p, err := growthPlot(r.Rows)
		if err != nil {
			return err
		}
		if r.Pictures, err = save(o.plot, p); err != nil {
			return err
		}
	}
	if o.json {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	writeGrowth(stdout, r.Rows)
	return nil
}
