package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

const sweepUsage = `fleet sweep runs placement policies over traces, fleets, loads and seeds, keeps what
is finished in a file, and sums it up in tables and pictures.

Usage:
  fleet sweep -out FILE [flags]

A second run with the same file goes on where the first ended; what is there is not
run again.

  -out FILE        results, one line of JSON for each finished run; default sweep.jsonl
  -seeds N         runs of each kind, with the seeds 42, 43, ...; default 10
  -parallel N      runs at a time; default one for each processor
  -plot PREFIX     write pictures to files whose names begin so; default none
  -json            one JSON object instead of tables

Fractions and whole GPUs, with -openb:
  -openb DIR       the node list and the task lists of the openb trace
  -traces LIST     such as default,cpu250; default the 17 with published results.
                   After a colon, what is done to it: perturbed scales the requests by
                   0.8 to 1.25, eights and small put it on other fleets
  -policies LIST   any of %s,
                   which are the default, or fill-seed1 to fill-seed9: fill with other
                   random sequences

MIG instances that come and go:
  -mixes LIST      any of %s;
                   drift- before a name makes it alternate with the next one; default
                   the first seven, "" for none
  -models LIST     default a100-40gb; a+b is a fleet of both, half of each, without
                   repacking, selected and +moves, which are for one model
  -sizes LIST      GPUs; default 8,64,512
  -loads LIST      default 0.9,1,1.1
  -lifetimes LIST  exponential or heavy; default exponential
  -rules LIST      any of %s;
                   default all
  -arrivals N      measured in each run; default 20000, and 40000 from 256 GPUs on
  -warmup T        mean lifetimes before that; default 6, 25 from 256 GPUs on, and 15
                   for heavy lifetimes

A policy with +repair may move one task for every hundred that it admits, to admit
one that is refused; with +moves also in the background.

Exit status: 0 done, 2 bad usage or input, 130 interrupted.
`

// sweepOptions is the command line of a sweep.
type sweepOptions struct {
	out, openb, plot string
	json             bool
	parallel         int
	seeds            []int64
	traces, policies []string

	mixes, models, rules, lifetimes []string
	sizes                           []int
	loads                           []float64
	arrivals                        int
	warm                            float64 // 0: by size and lifetimes
}

func sweepHelp() string {
	return fmt.Sprintf(sweepUsage, strings.Join(sharePolicies[:], ", "), strings.Join(mixNames(), ", "), strings.Join(instanceRules[:], ", "))
}

// parseSweep reads the command line. The error wraps errUsage or flag.ErrHelp.
func parseSweep(args []string) (sweepOptions, error) {
	var o sweepOptions
	bad := func(err error) (sweepOptions, error) { return sweepOptions{}, fmt.Errorf("%w: %w", errUsage, err) }
	fs := flag.NewFlagSet("fleet sweep", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&o.out, "out", "sweep.jsonl", "")
	fs.StringVar(&o.openb, "openb", "", "")
	fs.StringVar(&o.plot, "plot", "", "")
	fs.BoolVar(&o.json, "json", false, "")
	fs.IntVar(&o.parallel, "parallel", 0, "")
	fs.IntVar(&o.arrivals, "arrivals", 0, "")
	fs.Float64Var(&o.warm, "warmup", 0, "")
	seeds := fs.Int("seeds", 10, "")
	traces := fs.String("traces", strings.Join(publishedTraces[:], ","), "")
	policies := fs.String("policies", strings.Join(sharePolicies[:], ","), "")
	mixes := fs.String("mixes", strings.Join(mixNames()[:7], ","), "")
	models := fs.String("models", "a100-40gb", "")
	sizes := fs.String("sizes", "8,64,512", "")
	loads := fs.String("loads", "0.9,1,1.1", "")
	lifetimes := fs.String("lifetimes", exponentialLife, "")
	rules := fs.String("rules", strings.Join(instanceRules[:], ","), "")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return sweepOptions{}, err
		}
		return bad(err)
	}
	switch {
	case fs.NArg() > 0:
		return bad(fmt.Errorf("unexpected argument %q after the flags", fs.Arg(0)))
	case o.out == "":
		return bad(errors.New("-out: no file"))
	case *seeds < 1 || *seeds > mostSeeds:
		return bad(fmt.Errorf("-seeds %d: not a number of runs from 1 to %d", *seeds, mostSeeds))
	case o.parallel < 0 || o.parallel > 1024:
		return bad(fmt.Errorf("-parallel %d: not from 1 to 1024", o.parallel))
	case o.arrivals < 0 || o.arrivals > 10_000_000:
		return bad(fmt.Errorf("-arrivals %d: not from 1 to 10000000", o.arrivals))
	case !(o.warm >= 0 && o.warm <= 1000): // NaN too
		return bad(fmt.Errorf("-warmup %v: not from 0 to 1000", o.warm))
	}
	for i := range *seeds {
		o.seeds = append(o.seeds, firstSeed+int64(i))
	}
	var err error
	if o.openb != "" {
		if o.traces, err = distinctNames("traces", *traces); err != nil {
			return bad(err)
		}
		if o.policies, err = known("policies", *policies, knownSharePolicies()); err != nil {
			return bad(err)
		}
	}
	var names []string
	for _, name := range mixNames() {
		names = append(names, name, driftPrefix+name)
	}
	if o.mixes, err = known("mixes", *mixes, names); err != nil {
		return bad(err)
	}
	if o.rules, err = known("rules", *rules, instanceRules[:]); err != nil {
		return bad(err)
	}
	if o.lifetimes, err = known("lifetimes", *lifetimes, []string{exponentialLife, heavyLife}); err != nil {
		return bad(err)
	}
	if o.sizes, err = numbers("sizes", *sizes, strconv.Atoi, 1, 100_000); err != nil {
		return bad(err)
	}
	parseLoad := func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }
	if o.loads, err = numbers("loads", *loads, parseLoad, 0.01, 10); err != nil {
		return bad(err)
	}
	if o.models, err = distinctNames("models", *models); err != nil {
		return bad(err)
	}
	for _, m := range o.models {
		models, err := modelsOf(m)
		if err != nil {
			return bad(fmt.Errorf("-models: %w", err))
		}
		if fewest := slices.Min(append(o.sizes, math.MaxInt)); fewest < len(models) {
			return bad(fmt.Errorf("-models %s: more models than GPUs (-sizes %d)", m, fewest))
		}
	}
	if len(o.cells()) == 0 {
		return bad(errors.New("nothing to run: give -openb, or -mixes that the models have profiles for, and for a fleet of several -rules that are not for one"))
	}
	return o, nil
}

// split cuts a list at its commas; an empty text is an empty list.
func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// known cuts a list of names, each of which must be known and stand there once.
func known(flag, list string, names []string) ([]string, error) {
	all, err := distinctNames(flag, list)
	for _, name := range all {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("-%s: unknown %q (known: %s)", flag, name, strings.Join(names, ", "))
		}
	}
	return all, err
}

// distinctNames cuts a list of names, each of which must stand there once: a run
// that counted twice would make intervals look narrow.
func distinctNames(flag, list string) ([]string, error) {
	all := split(list)
	for i, name := range all {
		if slices.Contains(all[:i], name) {
			return nil, fmt.Errorf("-%s: %s stands there twice", flag, name)
		}
	}
	return all, nil
}

// numbers cuts a list of numbers within bounds, each of which must stand there once.
func numbers[T int | float64](flag, list string, parse func(string) (T, error), low, high T) ([]T, error) {
	var all []T
	for _, text := range split(list) {
		x, err := parse(text)
		if within := x >= low && x <= high; err != nil || !within { // NaN is not
			return nil, fmt.Errorf("-%s: %q is not a number from %v to %v", flag, text, low, high)
		}
		if slices.Contains(all, x) {
			return nil, fmt.Errorf("-%s: %v stands there twice", flag, x)
		}
		all = append(all, x)
	}
	return all, nil
}
