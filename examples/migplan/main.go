// Command migplan answers questions about MIG layouts without a GPU: which
// profiles a model offers, whether a demand fits beside what is there, which
// layouts exist, how to get from one to another with the fewest victims and what
// that costs, and whether the configurations of a mig-parted file can work.
//
//	migplan fit -model a100-40gb -want 3g.20gb=1,2g.10gb=1 -have 1g.5gb@6
//	migplan plan -model a100-40gb -have 1g.5gb@1,1g.5gb@4 -want 3g.20gb=1,1g.5gb=1
//	migplan lint -f config.yaml -model a100-40gb
//
// It prints a picture for people and, with -json, one JSON object for
// programs. Its exit status is 0 when done, 1 when the answer is no, and 2 for
// bad usage or input; the error then goes to standard error.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/mig"
)

// schema is the version of the JSON that every command prints.
const schema = 1

// The exit statuses.
const (
	exitDone = iota
	exitNo
	exitBad
)

// errNo says that the question was answered, with no.
var errNo = errors.New("the answer is no")

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// command is what the first argument names.
type command struct {
	name string
	run  func(*invocation, []string) error
}

// commands lists all of them, in the order of the usage text.
func commands() []command {
	return []command{
		{"models", models},
		{"profiles", profiles},
		{"layouts", layouts},
		{"fit", fit},
		{"smallest", smallest},
		{"mix", mix},
		{"plan", planCommand},
		{"cost", cost},
		{"lint", lint},
	}
}

// run is the whole program.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return exitBad
	}
	switch args[0] {
	case "-h", "-help", "--help", "help":
		fmt.Fprint(stdout, usage)
		return exitDone
	}
	list := commands()
	chosen := slices.IndexFunc(list, func(c command) bool { return c.name == args[0] })
	if chosen < 0 {
		var names []string
		for _, c := range list {
			names = append(names, c.name)
		}
		fmt.Fprintf(stderr, "migplan: unknown command %q (there are %s; -h explains)\n", args[0], strings.Join(names, ", "))
		return exitBad
	}
	inv := &invocation{in: stdin, out: stdout, flags: flag.NewFlagSet(args[0], flag.ContinueOnError)}
	inv.flags.SetOutput(io.Discard)
	inv.flags.BoolVar(&inv.json, "json", false, "")
	switch err := list[chosen].run(inv, args[1:]); {
	case err == nil:
		return exitDone
	case errors.Is(err, errNo):
		return exitNo
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return exitDone
	default:
		fmt.Fprintf(stderr, "migplan %s: %v\n", args[0], err)
		return exitBad
	}
}

// invocation is one run of a command.
type invocation struct {
	in    io.Reader
	out   io.Writer
	flags *flag.FlagSet
	json  bool
}

// parse reads the flags. The ones named in required must be given.
func (inv *invocation) parse(args []string, required ...string) error {
	if err := inv.flags.Parse(args); err != nil {
		return err
	}
	if inv.flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q after the flags", inv.flags.Arg(0))
	}
	for _, name := range required {
		if !inv.given(name) {
			return fmt.Errorf("-%s is missing (-h explains)", name)
		}
	}
	return nil
}

// given reports whether a flag stands on the command line.
func (inv *invocation) given(name string) bool {
	found := false
	inv.flags.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// print writes the value as indented JSON, or what text gives for people.
func (inv *invocation) print(value any, text func() string) error {
	if !inv.json {
		_, err := io.WriteString(inv.out, text())
		return err
	}
	enc := json.NewEncoder(inv.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// read returns what stands in a file, or in the standard input where the name is
// "-".
func (inv *invocation) read(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(inv.in)
	}
	return os.ReadFile(name)
}

// lookup returns the model of the -model flag.
func lookup(name string) (*mig.Model, error) {
	m, err := mig.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("-model: %w", err)
	}
	return m, nil
}

// known returns nil for zero, which the tables use for "not known".
func known(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// figure writes a number that may not be known.
func figure(n int, unit string) string {
	if n == 0 {
		return "unknown"
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", n, unit))
}
