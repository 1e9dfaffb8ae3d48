package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// Interruptible runs f with a context that the first of the signals ends, and
// returns what f returns. From then on the signals do what they do to any process,
// so a second one ends it at once.
func Interruptible(f func(context.Context) int, signals ...os.Signal) int {
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop)
	return f(ctx)
}

// Ended returns the exit status of a program whose work has ended with an error or
// with the context, and says so on stderr. It returns Done where neither is.
func Ended(ctx context.Context, program string, err error, stderr io.Writer) int {
	switch {
	case ctx.Err() != nil:
		fmt.Fprintf(stderr, "%s: interrupted\n", program)
		return Interrupted
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v\n", program, err)
		return Bad
	default:
		return Done
	}
}
