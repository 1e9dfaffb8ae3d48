package mps

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// pidFileName is the file of the pipe directory in which the daemon writes its pid.
const pidFileName = "nvidia-cuda-mps-control.pid"

// Identity is who a control daemon is: two daemons in the same pipe directory, one
// after the other, have different ones.
type Identity struct {
	PID   int    // as in the pid file: a pid of the daemon's namespace
	Start uint64 // when that process started, in a unit of the system; 0 if it does not tell
}

// String is the pid, with the start if it is known.
func (i Identity) String() string {
	if i.Start == 0 {
		return strconv.Itoa(i.PID)
	}
	return fmt.Sprintf("%d (start %d)", i.PID, i.Start)
}

// IdentityFunc tells who the daemon is now. Its errors wrap fs.ErrNotExist if there is
// no pid file, and ErrStale, with the pid in the Identity, if there is one but no such
// process. It must be safe for concurrent use and fast.
type IdentityFunc func() (Identity, error)

// PIDFile reads the identity of the daemon from its pid file in the pipe directory
// and, on Linux, the start of that process. Elsewhere the pid is all there is, and
// whether the process lives is not looked at.
//
// A daemon in another PID namespace looks stale, or has the start of an unrelated
// process; both still change when the daemon does.
func PIDFile(pipe string) IdentityFunc {
	path := filepath.Join(pipe, pidFileName)
	return func() (Identity, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return Identity{}, fmt.Errorf("mps: pid file: %w", err)
		}
		pid, err := parsePID(string(text))
		if err != nil {
			return Identity{}, fmt.Errorf("mps: pid file %s: %w", path, err)
		}
		start, err := processStart(pid)
		if err != nil {
			return Identity{PID: pid}, fmt.Errorf("pid file %s: %w", path, err)
		}
		return Identity{PID: pid, Start: start}, nil
	}
}

// parsePID reads a decimal pid with blanks around.
func parsePID(text string) (int, error) {
	text = strings.TrimSpace(text)
	pid, err := strconv.ParseInt(text, 10, 32)
	if err != nil || pid <= 0 || text[0] == '+' {
		return 0, fmt.Errorf("%.40q is no pid", text)
	}
	return int(pid), nil
}
