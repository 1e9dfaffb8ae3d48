package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

const usage = `fleet offers tasks to a fleet of shared GPUs, once for each placement policy, and
says what each policy was worth. Tasks come one by one, go where the policy says and
stay; one that fits nowhere is dropped.

Usage:
  fleet [flags]
  fleet sweep [flags]   many runs, kept in a file; "fleet sweep -h" says more
  fleet growth [flags]  how long decisions take; "fleet growth -h" says more

Without -nodes and -tasks it takes a fleet and a workload that are built in: nodes
that serve fractions of GPUs and whole ones, with task shapes drawn from a public
trace, beside A100, H100 and B200 nodes that serve MIG instances. What fgd decided
for these (without fgd, the last policy) is then carried out on GPUs that are
simulated call by call, read back and compared.

  -nodes FILE     nodes in the format of the openb trace, CSV, plain or gzip
  -tasks FILE     tasks in that format; the two go together. The run then follows
                  the published protocol, node order and tuning of the tasks included
  -policies LIST  any of random, firstfit, bestfit, worstfit, dotproduct, packing,
                  clustering, fgd-published, fgd, in the order wanted; default all
  -seeds N        runs per policy, with the seeds 42, 43, ...; default 1
  -inflate R      how much GPU the tasks ask for, over that of the fleet; default 1.3
  -plot PREFIX    write the picture to PREFIX.png and PREFIX.svg; default fleet, or
                  none with -json; "" writes none
  -json           one JSON object instead of tables

fgd is this library's rule: strand least, by exact counts, in steps, with a fixed
order inside a step. fgd-published is the rule of 2023 with its float arithmetic; it
has none for MIG instances, which go by best fit there. With -nodes and -tasks also
bestfit, dotproduct, packing and clustering are the published rules.

Exit status: 0 done, 1 the books and the devices disagree, 2 bad usage or input,
130 interrupted.
`

// firstSeed is the seed of the first run; the published runs begin there.
const firstSeed = 42

// defaultPlot is the prefix of the picture's files.
const defaultPlot = "fleet"

// errUsage is wrapped by every error about the command line.
var errUsage = errors.New("bad usage")

// options is the command line.
type options struct {
	nodes, tasks string   // files, both or neither
	policies     []string // at least one, known, no name twice
	seeds        []int64  // at least one
	inflate      float64  // above 0, finite
	plot         string   // prefix; empty: no picture
	json         bool
}

// A slip of the keyboard should not fill the memory.
const (
	mostSeeds   = 10_000
	mostInflate = 100
)

// parse reads the command line. The error wraps errUsage or flag.ErrHelp.
func parse(args []string) (options, error) {
	var o options
	bad := func(format string, a ...any) (options, error) {
		return options{}, fmt.Errorf("%w: %w", errUsage, fmt.Errorf(format, a...))
	}
	fs := flag.NewFlagSet("fleet", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.nodes, "nodes", "", "")
	fs.StringVar(&o.tasks, "tasks", "", "")
	policies := fs.String("policies", strings.Join(policyNames[:], ","), "")
	seeds := fs.Int("seeds", 1, "")
	fs.Float64Var(&o.inflate, "inflate", 1.3, "")
	fs.StringVar(&o.plot, "plot", defaultPlot, "")
	fs.BoolVar(&o.json, "json", false, "")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return options{}, err
		}
		return bad("%w", err)
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case fs.NArg() > 0:
		return bad("unexpected argument %q after the flags", fs.Arg(0))
	case given["nodes"] != given["tasks"]:
		return bad("-nodes %q and -tasks %q: give both or neither", o.nodes, o.tasks)
	case given["nodes"] && (o.nodes == "" || o.tasks == ""):
		return bad("-nodes %q and -tasks %q: a file name is empty", o.nodes, o.tasks)
	case *seeds < 1 || *seeds > mostSeeds:
		return bad("-seeds %d: not a number of runs from 1 to %d", *seeds, mostSeeds)
	case !(o.inflate > 0 && o.inflate <= mostInflate): // NaN too
		return bad("-inflate %v: not above 0 and at most %d", o.inflate, mostInflate)
	}
	if o.json && !given["plot"] {
		o.plot = ""
	}
	for i := range *seeds {
		o.seeds = append(o.seeds, firstSeed+int64(i))
	}
	for name := range strings.SplitSeq(*policies, ",") {
		switch {
		case !slices.Contains(policyNames[:], name):
			return bad("-policies: unknown policy %q (known: %s)", name, strings.Join(policyNames[:], ", "))
		case slices.Contains(o.policies, name):
			return bad("-policies: %s stands there twice", name)
		}
		o.policies = append(o.policies, name)
	}
	return o, nil
}
