//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package device

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// flock takes the lock of an open file.
func flock(*os.File) error {
	return fmt.Errorf("file locks on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
