package mps

import "context"

// Call is one run of nvidia-cuda-mps-control: its arguments, and what it reads from
// standard input. Protocol 2 has no arguments and one command line as input;
// protocol 3 has the module, the verb and their arguments, and no input.
type Call struct {
	Args  []string
	Input string
}

// Output is what one run left. The exit status says little: many commands that fail
// end with 0, and say so in the text only.
type Output struct {
	Stdout, Stderr string
	Exit           int
}

// Runner runs one call, at most until ctx ends. Exec runs the program; the fake of
// mpsfake answers in memory.
//
// The error is for a run of which there is no exit status: the program is not there,
// was killed, said more than is read, or ctx ended (then it wraps the error of ctx).
// A Runner must be safe for concurrent use.
type Runner interface {
	Run(ctx context.Context, c Call) (Output, error)
}
