package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gpushare/gpushare/timeslice"
)

// clientSpec is a client as it stands in a file, and as -clients describes it.
type clientSpec struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // busy, periodic, poisson or trace

	Every span      `json:"every,omitzero"` // periodic, poisson
	Work  span      `json:"work,omitzero"`  // periodic, poisson
	First span      `json:"first,omitzero"` // periodic
	Vary  bool      `json:"vary,omitzero"`  // poisson
	Jobs  []jobSpec `json:"jobs,omitempty"` // trace

	Fraction    *int64 `json:"fraction,omitempty"` // thousandths of the GPU; strict and fair
	ExtraSwitch span   `json:"extraSwitch,omitzero"`
	Overrun     span   `json:"overrun,omitzero"`
	Start       span   `json:"start,omitzero"`
	Stop        span   `json:"stop,omitzero"`
}

type jobSpec struct {
	At   span `json:"at"`
	Work span `json:"work"`
}

// The kinds of clients.
const (
	kindBusy     = "busy"
	kindPeriodic = "periodic"
	kindPoisson  = "poisson"
	kindTrace    = "trace"
)

// parseClients reads the list of -clients.
func parseClients(list string) ([]clientSpec, error) {
	var all []clientSpec
	numbers := map[string]int{} // of the clients without a name, by kind
	for i, item := range strings.Split(list, ",") {
		specs, err := parseItem(item, numbers, timeslice.MaxClients-len(all))
		if err != nil {
			return nil, fmt.Errorf("item %d %q: %w", i+1, item, err)
		}
		all = append(all, specs...)
	}
	return all, nil
}

// parseItem reads "8*web=poisson:rate=30:work=5ms".
func parseItem(item string, numbers map[string]int, most int) ([]clientSpec, error) {
	head, options, hasOptions := strings.Cut(item, ":")
	n := 1
	if number, rest, found := strings.Cut(head, "*"); found {
		var err error
		if n, err = strconv.Atoi(number); err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number of clients", number)
		}
		head = rest
	}
	if n > most {
		return nil, fmt.Errorf("more than %d clients", timeslice.MaxClients)
	}
	name, kind, hasName := strings.Cut(head, "=")
	if !hasName {
		kind = head
	}
	var list []string
	if hasOptions {
		list = strings.Split(options, ":")
	}
	c, err := parseClient(kind, list)
	if err != nil {
		return nil, err
	}
	specs := make([]clientSpec, n)
	for i := range specs {
		specs[i] = c
		switch {
		case !hasName:
			numbers[kind]++
			specs[i].Name = kind + strconv.Itoa(numbers[kind])
		case n > 1:
			specs[i].Name = name + strconv.Itoa(i+1)
		default:
			specs[i].Name = name
		}
	}
	return specs, nil
}

// parseClient reads the options of one kind: "every=16ms", "work=3ms".
func parseClient(kind string, options []string) (clientSpec, error) {
	p := clientParser{clientSpec: clientSpec{Kind: kind}, seen: map[string]bool{}}
	for _, option := range options {
		if err := p.option(option); err != nil {
			return clientSpec{}, fmt.Errorf("%q: %w", option, err)
		}
	}
	return p.clientSpec, p.finish()
}

// clientParser is a client of which some options have been read.
type clientParser struct {
	clientSpec
	seen       map[string]bool
	rate, load int64 // thousandths: jobs a second, and of the GPU
}

func (p *clientParser) option(text string) error {
	key, value, hasValue := strings.Cut(text, "=")
	if p.seen[key] {
		return errors.New("stands there twice")
	}
	p.seen[key] = true
	spans := map[string]*span{
		"every": &p.Every, "work": &p.Work, "first": &p.First,
		"extra": &p.ExtraSwitch, "overrun": &p.Overrun, "start": &p.Start, "stop": &p.Stop,
	}
	var err error
	switch key {
	case "rate":
		p.rate, err = decimal(value)
	case "load":
		p.load, err = decimal(value)
	case "fraction":
		var n int64
		if n, err = strconv.ParseInt(value, 10, 64); err != nil {
			return fmt.Errorf("%q is no whole number of thousandths", value)
		}
		p.Fraction = &n
	case "vary":
		p.Vary = true
		if hasValue {
			return errors.New("takes no value")
		}
	case "jobs":
		p.Jobs, err = parseJobs(value)
	default:
		to, known := spans[key]
		if !known {
			return errors.New("is not known")
		}
		err = to.Set(value)
	}
	return err
}

// parseJobs reads "0s+5ms/20ms+1ms".
func parseJobs(text string) ([]jobSpec, error) {
	var jobs []jobSpec
	for item := range strings.SplitSeq(text, "/") {
		at, work, found := strings.Cut(item, "+")
		if !found {
			return nil, fmt.Errorf("%q is not of the form AT+WORK", item)
		}
		var j jobSpec
		if err := errors.Join(j.At.Set(at), j.Work.Set(work)); err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// finish turns a rate or a load into a time between jobs.
func (p *clientParser) finish() error {
	ways := 0
	for _, key := range []string{"every", "rate", "load"} {
		if p.seen[key] {
			ways++
		}
	}
	if ways > 1 {
		return errors.New("only one of every, rate and load can be given")
	}
	if p.load > 0 && !p.seen["work"] {
		return errors.New("load needs work")
	}
	switch {
	case p.rate > 0:
		p.Every = span(1_000_000_000_000 / p.rate)
	case p.load > 0:
		if err := p.Work.within(1, timeslice.MaxTime); err != nil {
			return fmt.Errorf("work: %w", err)
		}
		p.Every = span(int64(p.Work) * 1000 / p.load)
	}
	if p.Every == 0 && (p.rate > 0 || p.load > 0) {
		return errors.New("more than one job a ns")
	}
	return p.check()
}

// check refuses options of another kind, and what is missing; whether the values are
// in bounds the simulator says.
func (c *clientSpec) check() error {
	for _, o := range []struct {
		name  string
		given bool
		kinds string
	}{
		{"every", c.Every != 0, "periodic poisson"},
		{"work", c.Work != 0, "periodic poisson"},
		{"first", c.First != 0, "periodic"},
		{"vary", c.Vary, "poisson"},
		{"jobs", c.Jobs != nil, "trace"},
	} {
		takes := strings.Contains(o.kinds, c.Kind)
		needs := takes && o.name != "first" && o.name != "vary"
		switch {
		case c.Kind == "" || !isKind(c.Kind):
			return fmt.Errorf("kind %q is none of busy, periodic, poisson, trace", c.Kind)
		case o.given && !takes:
			return fmt.Errorf("%s is not for %s clients", o.name, c.Kind)
		case needs && !o.given:
			return fmt.Errorf("a %s client needs %s", c.Kind, o.name)
		}
	}
	return nil
}

func isKind(s string) bool {
	return s == kindBusy || s == kindPeriodic || s == kindPoisson || s == kindTrace
}

// maxName is how many characters a name has at most.
const maxName = 24

func checkName(name string) error {
	if !utf8.ValidString(name) {
		return fmt.Errorf("name %q is no UTF-8", name)
	}
	if n := len([]rune(name)); n == 0 || n > maxName {
		return fmt.Errorf("name %q does not have 1 to %d characters", name, maxName)
	}
	for _, r := range name {
		if !unicode.IsPrint(r) || strings.ContainsRune(",:=*", r) {
			return fmt.Errorf("name %q: a name has no %q", name, r)
		}
	}
	return nil
}

// client returns the client for the simulator, with a fraction of so many
// thousandths where it has none of its own.
func (c *clientSpec) client(fraction int64) timeslice.Client {
	out := timeslice.Client{
		Name: c.Name, Fraction: fraction, ExtraSwitch: int64(c.ExtraSwitch), Overrun: int64(c.Overrun),
		Start: int64(c.Start), Stop: int64(c.Stop),
	}
	if c.Fraction != nil {
		out.Fraction = *c.Fraction
	}
	switch c.Kind {
	case kindBusy:
		out.Arrivals = timeslice.AlwaysBusy{}
	case kindPeriodic:
		out.Arrivals = timeslice.Periodic{First: int64(c.First), Every: int64(c.Every), Work: int64(c.Work)}
	case kindPoisson:
		out.Arrivals = timeslice.Poisson{Every: int64(c.Every), Work: int64(c.Work), Vary: c.Vary}
	case kindTrace:
		trace := make(timeslice.Trace, len(c.Jobs))
		for i, j := range c.Jobs {
			trace[i] = timeslice.Job{At: int64(j.At), Work: int64(j.Work)}
		}
		out.Arrivals = trace
	}
	return out
}
