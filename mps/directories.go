package mps

import (
	"fmt"
	"path/filepath"
	"strings"
)

// maxSocketPath is the longest path of a Unix socket: 108 bytes with the zero byte at
// the end.
const maxSocketPath = 107

const (
	pipeVariable = "CUDA_MPS_PIPE_DIRECTORY"
	logVariable  = "CUDA_MPS_LOG_DIRECTORY"
)

// Directories are where a control daemon keeps its sockets and its logs. The daemon,
// its servers and every client must name the same pipe directory: a CUDA program that
// finds no daemon in its own runs without MPS and does not say so.
type Directories struct {
	Pipe string // must be on a file system of the node, not of the network
	Log  string
}

// DefaultDirectories are those of a daemon that is not told any. The pipe directory
// depends on the protocol, 2 or 3, and with 3 on whether the daemon runs as root.
func DefaultDirectories(protocol int, root bool) Directories {
	d := Directories{Pipe: "/tmp/nvidia-mps", Log: "/var/log/nvidia-mps"}
	if protocol >= 3 && root {
		d.Pipe = "/run/nvidia-mps"
	}
	return d
}

// ResolveDirectories are those that the environment names, else the default ones.
// Give os.Getenv, or the look-up of another process's environment; nil names nothing.
func ResolveDirectories(getenv func(string) string, protocol int, root bool) Directories {
	d := DefaultDirectories(protocol, root)
	if getenv == nil {
		return d
	}
	if v := getenv(pipeVariable); v != "" {
		d.Pipe = v
	}
	if v := getenv(logVariable); v != "" {
		d.Log = v
	}
	return d
}

// Control is the path of the socket to which clients connect.
func (d Directories) Control() string { return filepath.Join(d.Pipe, "control") }

// Env are the two variables as KEY=VALUE, without those that are empty.
func (d Directories) Env() []string {
	var env []string
	if d.Pipe != "" {
		env = append(env, pipeVariable+"="+d.Pipe)
	}
	if d.Log != "" {
		env = append(env, logVariable+"="+d.Log)
	}
	return env
}

// Check refuses what no daemon can use, with an error that wraps ErrInput: relative
// paths, and a control socket of more than 107 bytes. With such a one the daemon
// starts, cannot bind and ends, and all that a client hears is that there is none.
// What becomes of the longer control_privileged beside it is not known.
func (d Directories) Check() error {
	for _, v := range [...]struct{ name, path string }{{"pipe", d.Pipe}, {"log", d.Log}} {
		if v.path == "" && v.name == "log" {
			continue // the daemon's default
		}
		if !strings.HasPrefix(v.path, "/") {
			return fmt.Errorf("%w: %s directory %q is not an absolute path", ErrInput, v.name, v.path)
		}
		if strings.ContainsRune(v.path, 0) {
			return fmt.Errorf("%w: %s directory %q contains a zero byte", ErrInput, v.name, v.path)
		}
	}
	return checkSocketPath(d.Control())
}

// checkSocketPath refuses a path that the address of a Unix socket cannot hold.
func checkSocketPath(path string) error {
	if len(path) > maxSocketPath {
		return fmt.Errorf("%w: socket path %q has %d bytes, at most %d are possible", ErrInput, path, len(path), maxSocketPath)
	}
	return nil
}
