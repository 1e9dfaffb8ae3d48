package command

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// Invocation is one run of a command.
type Invocation struct {
	In    io.Reader
	Out   io.Writer
	Flags *flag.FlagSet // the command adds its own
	JSON  bool          // -json
}

// New returns an invocation of a command with the flag -json. What its flag set
// says is an error and nothing else.
func New(name string, in io.Reader, out io.Writer) *Invocation {
	inv := &Invocation{In: in, Out: out, Flags: flag.NewFlagSet(name, flag.ContinueOnError)}
	inv.Flags.SetOutput(io.Discard)
	inv.Flags.BoolVar(&inv.JSON, "json", false, "")
	return inv
}

// Parse reads the flags; nothing may follow them. The ones named in required must
// be given.
func (inv *Invocation) Parse(args []string, required ...string) error {
	if err := inv.Flags.Parse(args); err != nil {
		return err
	}
	if inv.Flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q after the flags", inv.Flags.Arg(0))
	}
	return inv.Require(required...)
}

// Require returns an error unless all of the flags are given.
func (inv *Invocation) Require(names ...string) error {
	for _, name := range names {
		if !inv.Given(name) {
			return fmt.Errorf("-%s is missing (-h explains)", name)
		}
	}
	return nil
}

// Given reports whether a flag stands on the command line.
func (inv *Invocation) Given(name string) bool {
	found := false
	inv.Flags.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// ExactlyOne returns which of the flags is given; it must be one of them. A switch
// that is given as off, such as -nvml=false, does not count.
func (inv *Invocation) ExactlyOne(names ...string) (string, error) {
	var found []string
	for _, name := range names {
		if inv.Given(name) && !isOff(inv.Flags.Lookup(name)) {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("one of -%s is missing (-h explains)", strings.Join(names, ", -"))
	case 1:
		return found[0], nil
	default:
		return "", fmt.Errorf("-%s exclude each other", strings.Join(found, " and -"))
	}
}

func isOff(f *flag.Flag) bool {
	get, ok := f.Value.(flag.Getter)
	return ok && get.Get() == false
}

// Read returns what stands in a file, or in the standard input where the name is
// "-".
func (inv *Invocation) Read(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(inv.In)
	}
	return os.ReadFile(name)
}

// Print writes the value as indented JSON, or what text gives for people.
func (inv *Invocation) Print(value any, text func() string) error {
	if !inv.JSON {
		_, err := io.WriteString(inv.Out, text())
		return err
	}
	enc := json.NewEncoder(inv.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// Answer is Print, and returns ErrNo unless the answer is yes.
func (inv *Invocation) Answer(yes bool, value any, text func() string) error {
	if err := inv.Print(value, text); err != nil || yes {
		return err
	}
	return ErrNo
}
