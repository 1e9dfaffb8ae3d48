package command_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/examples/internal/command"
)

// demo has a command for each way to end.
func demo() command.Program {
	end := func(err error) func(*command.Invocation, []string) error {
		return func(*command.Invocation, []string) error { return err }
	}
	return command.Program{Name: "demo", Usage: "usage\n", Commands: []command.Command{
		{Name: "yes", Run: end(nil)},
		{Name: "no", Run: end(fmt.Errorf("wrapped: %w", command.ErrNo))},
		{Name: "explain", Run: end(fmt.Errorf("wrapped: %w", flag.ErrHelp))},
		{Name: "fail", Run: end(errors.Join(errors.New("a"), errors.New("b")))},
		{Name: "parse", Run: func(inv *command.Invocation, args []string) error { return inv.Parse(args) }},
		{Name: "echo", Run: func(inv *command.Invocation, args []string) error {
			text, err := io.ReadAll(inv.In)
			return errors.Join(err, inv.Print(nil, func() string { return fmt.Sprint(inv.Flags.Name(), args, string(text)) }))
		}},
	}}
}

func TestRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args           string
		status         int
		stdout, stderr string
	}{
		{"", command.Bad, "", "usage\n"},
		{"-h", command.Done, "usage\n", ""},
		{"--help", command.Done, "usage\n", ""},
		{"help", command.Done, "usage\n", ""},
		{"nope", command.Bad, "", `demo: unknown command "nope" (there are yes, no, explain, fail, parse, echo; -h explains)` + "\n"},
		{"yes", command.Done, "", ""},
		{"no", command.No, "", ""},
		{"explain", command.Done, "usage\n", ""},
		{"fail", command.Bad, "", "demo fail: a; b\n"},
		{"parse -h", command.Done, "usage\n", ""},
		{"parse -x", command.Bad, "", "demo parse: flag provided but not defined: -x\n"},
		{"echo a -b", command.Done, "echo[a -b]in", ""},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			var out, errs strings.Builder
			assert.Equal(t, c.status, demo().Run(strings.Fields(c.args), strings.NewReader("in"), &out, &errs))
			assert.Equal(t, c.stdout, out.String())
			assert.Equal(t, c.stderr, errs.String())
		})
	}
}

// invocation returns one with flags of two kinds, and what it prints.
func invocation() (*command.Invocation, *strings.Builder) {
	out := &strings.Builder{}
	inv := command.New("x", strings.NewReader("in"), out)
	inv.Flags.String("a", "", "")
	inv.Flags.String("b", "", "")
	inv.Flags.Bool("on", false, "")
	return inv, out
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, err string }{
		{"-a= -b 1", ""},
		{"-b 1 -a", "flag needs an argument: -a"},
		{"-b 1", "-a is missing (-h explains)"},
		{"-a 1 -b 2 c d", `unexpected argument "c" after the flags`},
		{"-a 1 -on=perhaps", `invalid boolean value "perhaps" for -on: parse error`},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			inv, out := invocation()
			err := inv.Parse(strings.Fields(c.args), "a", "b")
			assert.Empty(t, out.String())
			if c.err == "" {
				require.NoError(t, err)
				assert.True(t, inv.Given("a"), "an empty value is one")
				assert.False(t, inv.Given("on"))
				assert.False(t, inv.JSON)
				return
			}
			require.EqualError(t, err, c.err)
		})
	}
}

func TestExactlyOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, which, err string }{
		{"", "", "one of -a, -b, -on is missing (-h explains)"},
		{"-b=", "b", ""},
		{"-a false", "a", ""},
		{"-on", "on", ""},
		{"-on=false", "", "one of -a, -b, -on is missing (-h explains)"},
		{"-on=false -a 1", "a", ""},
		{"-on -a 1", "", "-a and -on exclude each other"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			inv, _ := invocation()
			require.NoError(t, inv.Parse(strings.Fields(c.args)))
			which, err := inv.ExactlyOne("a", "b", "on")
			assert.Equal(t, c.which, which)
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.err)
			}
		})
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	value := map[string]string{"a": "<&>"}
	inv, out := invocation()
	require.NoError(t, inv.Print(value, func() string { return "text" }))
	require.ErrorIs(t, inv.Answer(false, value, func() string { return ", no" }), command.ErrNo)
	require.NoError(t, inv.Answer(true, value, func() string { return ", yes\n" }))
	assert.Equal(t, "text, no, yes\n", out.String())

	inv, out = invocation()
	require.NoError(t, inv.Parse([]string{"-json"}))
	require.NoError(t, inv.Print(value, nil))
	assert.Equal(t, []string{"{", `  "a": "<&>"`, "}", ""}, strings.Split(out.String(), "\n"))
}

// failing is a standard output that is closed.
type failing struct{}

var errClosed = errors.New("closed")

func (failing) Write([]byte) (int, error) { return 0, errClosed }

// TestOutputThatFails: an answer that nobody can read is none, not a no.
func TestOutputThatFails(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"-json"}} {
		inv := command.New("x", nil, failing{})
		require.NoError(t, inv.Parse(args))
		err := inv.Answer(false, 1, func() string { return "no" })
		require.ErrorIs(t, err, errClosed)
		require.NotErrorIs(t, err, command.ErrNo)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	inv, _ := invocation()
	text, err := inv.Read("-")
	require.NoError(t, err)
	assert.Equal(t, "in", string(text))
	file := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(file, []byte("file"), 0o600))
	text, err = inv.Read(file)
	require.NoError(t, err)
	assert.Equal(t, "file", string(text))
	_, err = inv.Read(file + "x")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "a": "a", "a\nb": "a; b", "\na\n\nb\n": "a; b"} {
		assert.Equal(t, want, command.OneLine(text))
	}
}
