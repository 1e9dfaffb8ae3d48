//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package device

import (
	"errors"
	"os"
	"syscall"
)

// flock takes the lock of an open file, without waiting: ErrLocked if somebody
// holds it.
func flock(file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		default:
			return os.NewSyscallError("flock", err)
		}
	}
}
