package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Program is a program whose first argument names a command.
type Program struct {
	Name     string
	Usage    string // the whole text of -h, with a line end
	Commands []Command
}

// Command is what the first argument names. Run gets the arguments after it; the
// error may wrap ErrNo or flag.ErrHelp, and is the user's else.
type Command struct {
	Name string
	Run  func(*Invocation, []string) error
}

// Run runs the command that the first argument names and returns the exit status.
// The usage text goes to stdout if it is asked for and to stderr if there is no
// argument.
func (p Program) Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, p.Usage)
		return Bad
	}
	switch args[0] {
	case "-h", "-help", "--help", "help":
		fmt.Fprint(stdout, p.Usage)
		return Done
	}
	chosen := slices.IndexFunc(p.Commands, func(c Command) bool { return c.Name == args[0] })
	if chosen < 0 {
		var names []string
		for _, c := range p.Commands {
			names = append(names, c.Name)
		}
		fmt.Fprintf(stderr, "%s: unknown command %q (there are %s; -h explains)\n", p.Name, args[0], strings.Join(names, ", "))
		return Bad
	}
	switch err := p.Commands[chosen].Run(New(args[0], stdin, stdout), args[1:]); {
	case err == nil:
		return Done
	case errors.Is(err, ErrNo):
		return No
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, p.Usage)
		return Done
	default:
		fmt.Fprintf(stderr, "%s %s: %s\n", p.Name, args[0], OneLine(err.Error()))
		return Bad
	}
}

// OneLine joins the lines of a text: some errors list several problems.
func OneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), "; ")
}
