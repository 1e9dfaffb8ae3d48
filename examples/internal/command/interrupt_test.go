package command_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/examples/internal/command"
)

// TestInterruptible runs itself as a program: one signal ends the context, the
// second the process. It is not os.Interrupt, which a program in the background may
// have been told to ignore.
func TestInterruptible(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no process can be sent a signal here")
	}
	const variable = "GPUSHARE_TEST_SIGNALS"
	times := os.Getenv(variable)
	if times == "" {
		for times, want := range map[string]int{"1": 7, "2": -1} { // -1: a signal ended it
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInterruptible$")
			cmd.Env = append(os.Environ(), variable+"="+times)
			out, err := cmd.CombinedOutput()
			var ended *exec.ExitError
			require.ErrorAs(t, err, &ended, "%s", out)
			assert.Equal(t, want, ended.ExitCode(), "%s signals: %s", times, out)
		}
		return
	}
	os.Exit(command.Interruptible(func(ctx context.Context) int {
		self, err := os.FindProcess(os.Getpid())
		if err != nil || self.Signal(syscall.SIGTERM) != nil {
			return 8
		}
		<-ctx.Done()
		for range 200 { // what the first one sets off is done in the background
			if times == "1" {
				break
			}
			time.Sleep(10 * time.Millisecond)
			if err := self.Signal(syscall.SIGTERM); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
		return 7
	}, syscall.SIGTERM))
}

func TestEnded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		over   bool
		err    error
		status int
		stderr string
	}{
		{"done", false, nil, command.Done, ""},
		{"failed", false, errors.New("why"), command.Bad, "demo: why\n"},
		{"interrupted", true, fmt.Errorf("run: %w", context.Canceled), command.Interrupted, "demo: interrupted\n"},
		{"interrupted at the end", true, nil, command.Interrupted, "demo: interrupted\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.over {
				cancel()
			}
			var errs strings.Builder
			assert.Equal(t, c.status, command.Ended(ctx, "demo", c.err, &errs))
			assert.Equal(t, c.stderr, errs.String())
		})
	}
}
