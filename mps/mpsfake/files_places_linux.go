package mpsfake

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// places are the directories that a daemon of protocol 3 has in its pipe directory: one
// for each server, with a control socket and a FIFO for its log, and in it one for each
// namespace, with a control socket.
type places struct {
	root  string
	serve func(*net.UnixListener) // of each socket, until it is closed

	mu   sync.Mutex
	open map[string]*pipeDir // by the path below root
}

// places gives the directories that there should be: servers before their namespaces.
func (d *Daemon) places() (paths []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.alive || d.protocol != 3 {
		return nil
	}
	for _, s := range d.servers {
		paths = append(paths, s.name)
		for _, n := range s.namespaces {
			paths = append(paths, s.name+"/"+n.name)
		}
	}
	return paths
}

// follow makes what is wanted and missing, and removes what is there and not wanted. A
// directory whose socket cannot be bound stays without: its path may be too long.
func (p *places) follow(wanted []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	keep := map[string]bool{}
	for _, path := range wanted {
		keep[path] = true
		if p.open[path] != nil {
			continue
		}
		if p.open == nil {
			p.open = map[string]*pipeDir{}
		}
		p.open[path] = p.add(path)
	}
	for path, gone := range p.open {
		if !keep[path] {
			if gone.control != nil {
				gone.control.Close() //nolint:errcheck // there is nobody to tell
			}
			os.RemoveAll(gone.path) //nolint:errcheck // there is nobody to tell
			delete(p.open, path)
		}
	}
}

func (p *places) add(path string) *pipeDir {
	d := &pipeDir{path: filepath.Join(p.root, path)}
	os.RemoveAll(d.path) //nolint:errcheck // what a dead daemon left
	if os.Mkdir(d.path, 0o755) != nil {
		return d
	}
	if filepath.Dir(path) == "." {
		syscall.Mkfifo(d.file(fifoName), 0o777) //nolint:errcheck // then there is none
		os.Chmod(d.file(fifoName), 0o777)       //nolint:errcheck // see above
	}
	if len(d.file(controlName)) > socketPathMax {
		return d
	}
	if l, err := d.listen(controlName); err == nil {
		d.control = l
		os.Chmod(d.file(controlName), 0o666) //nolint:errcheck // see above
		p.serve(l)
	}
	return d
}
