//go:build !linux

package mpsfake

import (
	"fmt"
	"io"
)

const supported = false

// Main is the program; only Linux has it. It says so and fails.
func Main(_, _ []string, _ io.Reader, _, stderr io.Writer) int {
	fmt.Fprintln(stderr, "mpsfake: the program needs Linux") //nolint:errcheck // there is nobody left to tell
	return 2
}
