// Command openb repeats the published experiment of "Beware of Fragmentation:
// Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent" (USENIX
// ATC 2023) and compares every final allocation with the reference's, to the
// integer.
//
//	openb -data DIR -golden FILE [-traces a,b] [-policies FGD,...] [-seeds 42,43]
//
// DIR holds the trace files (openb_node_list_gpu_node.csv and
// openb_pod_list_NAME.csv, plain or with .gz), FILE the reference's figures. It
// prints equal or different for each trace and policy and, with -json, one JSON
// object. Its exit status is 0 when all runs are equal, 1 when one differs, and
// 2 for bad usage or input. Interrupted, it ends with 130.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/command"
)

const usage = `openb repeats the published experiment on the openb trace and compares every
final allocation with the reference's, to the integer.

Usage:
  openb -data DIR -golden FILE [flags]

Flags:
  -data DIR         the trace files
  -golden FILE      the reference's figures
  -traces A,B       only these traces, for example default,gpuspec33
  -policies A,B     only these of FGD, BestFit, DotProd, GpuPacking, GpuClustering
                    and Random, of which the mean must lie in a range
  -seeds N,M        only these seeds of 42 to 51
  -parallel N       runs at a time (2)
  -json             print one JSON object
Exit status: 0 all equal, 1 a run differs, 2 bad usage or input, 130 interrupted.
`

// schema is the version of the JSON.
const schema = 1

func main() {
	os.Exit(command.Interruptible(func(ctx context.Context) int {
		return run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}, os.Interrupt))
}

// options are the flags.
type options struct {
	data, golden     string
	traces, policies []string // empty: all
	seeds            []int64  // empty: all
	parallel         int
	json             bool
}

// run is the whole program.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return command.Done
	}
	var report report
	if err == nil {
		report, err = compare(ctx, o, stderr)
	}
	if err == nil {
		err = report.print(stdout, o.json)
	}
	if status := command.Ended(ctx, "openb", err, stderr); status != command.Done {
		return status
	}
	if !report.good() {
		return command.No
	}
	return command.Done
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("openb", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.data, "data", "", "")
	flags.StringVar(&o.golden, "golden", "", "")
	traces := flags.String("traces", "", "")
	policies := flags.String("policies", "", "")
	seeds := flags.String("seeds", "", "")
	flags.IntVar(&o.parallel, "parallel", 2, "")
	flags.BoolVar(&o.json, "json", false, "")
	if err := flags.Parse(args); err != nil {
		return o, fmt.Errorf("%w (-h explains)", err)
	}
	o.traces, o.policies = list(*traces), list(*policies)
	for _, s := range list(*seeds) {
		seed, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return o, fmt.Errorf("-seeds: %q is not a number", s)
		}
		o.seeds = append(o.seeds, seed)
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q (-h explains)", flags.Arg(0))
	case o.data == "" || o.golden == "":
		return o, errors.New("-data and -golden are needed (-h explains)")
	case o.parallel < 1:
		return o, fmt.Errorf("-parallel: %d is not positive", o.parallel)
	}
	return o, nil
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
