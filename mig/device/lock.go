package device

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Conditions of Lock.
var (
	ErrLocked      = errors.New("held by another")
	ErrNotLockFile = errors.New("not a lock file")
)

// How long Lock waits between two tries: it starts low, for who holds the lock
// for one operation, and doubles up to the bound.
const (
	lockFirstWait = time.Millisecond
	lockLastWait  = 100 * time.Millisecond
)

// lockBytes is more than a process id and its line end take.
const lockBytes = 24

// Lock takes an advisory lock on a file, so that the processes which change the
// MIG instances of a machine take turns: each calls Lock with the same path
// before it reads a state to plan from, and unlock when its changes are done.
// It keeps out nobody who does not ask.
//
// The file is created if it is missing and stays; it holds the process id of the
// last holder, for people. It must be a regular file, empty or written by Lock, in
// a directory that only those processes can write; any other is left as it is
// (ErrNotLockFile). The lock ends with its process, however that ends, and two
// calls in one process exclude each other too. On a network file system it may not
// reach other machines.
//
// While somebody else holds the lock, Lock waits until the context ends: to try
// once, give it a short deadline. The error then matches ErrLocked and the
// context's error, and names the path and, where it can be read, the holder.
//
// Keep the unlock that is returned: once nothing refers to it any more, the
// lock may go. Any goroutine may call it, again to no effect. Where the operating
// system has no such locks, as Windows, the error matches errors.ErrUnsupported.
func Lock(ctx context.Context, path string) (unlock func() error, err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("mig/device: lock %q: %w", path, err)
	}
	wait := lockFirstWait
	for {
		file, err := tryLock(path)
		if err == nil {
			return sync.OnceValue(file.Close), nil
		}
		if !errors.Is(err, ErrLocked) {
			return nil, fmt.Errorf("mig/device: lock %q: %w", path, err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("mig/device: lock %q: %w%s: %w", path, ErrLocked, holder(path), ctx.Err())
		}
		wait = min(2*wait, lockLastWait)
	}
}

// tryLock opens a lock file and claims it; ErrLocked if somebody holds it.
func tryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err = claim(file, path); err != nil {
		_ = file.Close() // the lock goes with it
		return nil, err
	}
	return file, nil
}

// claim locks an open lock file and writes who holds it.
func claim(file *os.File, path string) error {
	if _, err := readHolder(file); err != nil {
		return err
	}
	if err := flock(file); err != nil {
		return err
	}
	// Somebody may have put another file there since this one was opened, and
	// a third may hold that one.
	mine, err := file.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(mine, there) {
		return ErrLocked // and so to be tried again
	}
	if err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// readHolder reads the process id in a lock file; 0 if there is none. The error
// says that the file is something else.
func readHolder(file *os.File) (int, error) {
	info, err := file.Stat()
	switch {
	case err != nil:
		return 0, err
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%w: a file of mode %v", ErrNotLockFile, info.Mode())
	case info.Size() > lockBytes:
		return 0, fmt.Errorf("%w: it holds %d bytes", ErrNotLockFile, info.Size())
	}
	text := make([]byte, info.Size())
	n, err := file.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if n == 0 {
		return 0, nil // just made, or just being written
	}
	pid, err := strconv.Atoi(strings.TrimSuffix(string(text[:n]), "\n"))
	if err != nil || pid <= 0 {
		return 0, fmt.Errorf("%w: it holds %q, not a process id", ErrNotLockFile, text[:n])
	}
	return pid, nil
}

// holder says who holds a lock, as text to follow ErrLocked.
func holder(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	if pid, err := readHolder(file); err == nil && pid != 0 {
		return fmt.Sprintf(" (process %d)", pid)
	}
	return ""
}
