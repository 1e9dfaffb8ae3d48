package mpsfake

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// The names in a pipe directory.
const (
	controlName    = "control"
	privilegedName = "control_privileged"
	lockName       = "control_lock"
	fifoName       = "log"
	pidName        = "nvidia-cuda-mps-control.pid"
)

// socketPathMax is the longest path that a Unix socket can be bound to: the address
// holds 108 bytes, one of them the closing NUL.
const socketPathMax = 107

// errHeld is the answer to a second daemon in one directory.
var errHeld = errors.New("another daemon holds the directory")

// pipeDir is the daemon's side of a pipe directory. The modes are those of a listing of
// a daemon that root runs, whatever the umask; those of another user's daemon are not
// known and are the same here.
type pipeDir struct {
	path                string
	lock, fifo          *os.File
	control, privileged *net.UnixListener
}

// lockDir makes the directory and takes its lock, which belongs to the process and goes
// with it.
func lockDir(path string) (*pipeDir, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	whole := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	switch err := syscall.FcntlFlock(lock.Fd(), syscall.F_SETLK, &whole); {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.EACCES):
		return nil, errors.Join(errHeld, lock.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("lock %s: %w", lock.Name(), err), lock.Close())
	}
	return &pipeDir{path: path, lock: lock}, os.Chmod(lock.Name(), 0o666)
}

// open puts everything else there, in place of what a dead daemon left: the sockets
// last, so that whoever is answered finds the pid file. On failure only the lock file
// stays.
func (d *pipeDir) open() (err error) {
	defer func() {
		if err != nil {
			d.remove()
		}
	}()
	d.remove()
	if err := syscall.Mkfifo(d.file(fifoName), 0o777); err != nil {
		return fmt.Errorf("make %s: %w", d.file(fifoName), err)
	}
	// Open for both: a read never ends because no writer is left.
	fifo, err := os.OpenFile(d.file(fifoName), os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	d.fifo = fifo
	if err := os.WriteFile(d.file(pidName), []byte(strconv.Itoa(os.Getpid())), 0o666); err != nil {
		return err
	}
	if len(d.file(controlName)) > socketPathMax {
		return fmt.Errorf("bind %s: %d bytes, at most %d fit", d.file(controlName), len(d.file(controlName)), socketPathMax)
	}
	if d.privileged, err = d.listen(privilegedName); err != nil {
		return err
	}
	if d.control, err = d.listen(controlName); err != nil {
		return err
	}
	for name, mode := range map[string]os.FileMode{
		controlName: 0o666, privilegedName: 0o755, fifoName: 0o777, pidName: 0o666,
	} {
		if err := os.Chmod(d.file(name), mode); err != nil {
			return err
		}
	}
	return nil
}

// listen binds a socket, by another path if its own is too long: what NVIDIA's daemon
// does where control fits in an address and the longer control_privileged does not is
// not known, this one has both.
func (d *pipeDir) listen(name string) (*net.UnixListener, error) {
	address := d.file(name)
	if len(address) > socketPathMax {
		dir, err := os.Open(d.path)
		if err != nil {
			return nil, err
		}
		defer dir.Close() //nolint:errcheck // nothing was written
		address = fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), name)
	}
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: address, Net: "unixpacket"})
	if err != nil {
		return nil, fmt.Errorf("bind %s: %w", d.file(name), err)
	}
	l.SetUnlinkOnClose(false)
	return l, nil
}

// remove takes away all but the lock file, which must outlive its holder: with a new
// file under the name two daemons could each hold one.
func (d *pipeDir) remove() {
	for _, l := range []*net.UnixListener{d.control, d.privileged} {
		if l != nil {
			l.Close() //nolint:errcheck // there is nobody to tell
		}
	}
	if d.fifo != nil {
		d.fifo.Close() //nolint:errcheck // there is nobody to tell
	}
	for _, name := range []string{controlName, privilegedName, fifoName, pidName} {
		os.Remove(d.file(name)) //nolint:errcheck // it may not be there
	}
}

// unlock gives the directory up.
func (d *pipeDir) unlock() { d.lock.Close() } //nolint:errcheck // there is nobody to tell

// lines gives what is written into the FIFO, line by line, until it is closed.
func (d *pipeDir) lines(add func(line string)) {
	for s := bufio.NewScanner(d.fifo); s.Scan(); {
		add(s.Text())
	}
}

func (d *pipeDir) file(name string) string { return filepath.Join(d.path, name) }
