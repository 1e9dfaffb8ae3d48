package mpsfake_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"syscall"
	"testing"
	"time"

	"github.com/gpushare/gpushare/mps/mpsfake"
)

// TestMain is the fake program when the test binary is started under its name. After
// the tests it looks for what they left: goroutines and processes.
func TestMain(m *testing.M) {
	if mpsfake.Invoked(os.Args[0]) {
		// os.Exit of a binary with the race detector waits for a second.
		syscall.Exit(mpsfake.Main(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
	before := runtime.NumGoroutine()
	code := m.Run()
	if code == 0 && flag.Lookup("test.fuzz").Value.String() == "" { // fuzzing keeps a goroutine of its own
		if left := leftBehind(before); left != "" {
			fmt.Fprintln(os.Stderr, "the tests left behind:\n"+left)
			code = 1
		}
	}
	os.Exit(code)
}

// leftBehind gives what is still there after a moment's patience.
func leftBehind(goroutines int) (left string) {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if n := runtime.NumGoroutine(); n > goroutines {
			left = fmt.Sprintf("%d goroutines, %d before", n, goroutines)
		} else if left = children(); left == "" {
			return ""
		}
	}
	if runtime.NumGoroutine() > goroutines {
		pprof.Lookup("goroutine").WriteTo(os.Stderr, 1) //nolint:errcheck // it is only to see more
	}
	return left
}
