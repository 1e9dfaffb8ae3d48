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
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/mig"
)

// schema is the version of the JSON that every command prints.
const schema = 1

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// commands lists all commands, in the order of the usage text.
func commands() []command.Command {
	return []command.Command{
		{Name: "models", Run: models},
		{Name: "profiles", Run: profiles},
		{Name: "layouts", Run: layouts},
		{Name: "fit", Run: fit},
		{Name: "smallest", Run: smallest},
		{Name: "mix", Run: mix},
		{Name: "plan", Run: planCommand},
		{Name: "cost", Run: cost},
		{Name: "lint", Run: lint},
	}
}

// run is the whole program.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return command.Program{Name: "migplan", Usage: usage, Commands: commands()}.Run(args, stdin, stdout, stderr)
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
