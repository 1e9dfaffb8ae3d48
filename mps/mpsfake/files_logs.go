package mpsfake

import (
	"os"
	"path/filepath"
	"sync"
)

// The logs of a daemon, in its log directory.
const (
	controlLog = "control.log"
	serverLog  = "server.log"
)

// logFiles brings the log lines of a Daemon into files.
type logFiles struct {
	dir  string
	fake *Daemon

	mu      sync.Mutex
	written map[string]int // bytes of each log of the Daemon
}

// flush writes what is new. A file that was moved or removed is made anew.
func (l *logFiles) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written == nil {
		l.written = map[string]int{}
	}
	for _, name := range l.fake.LogFiles() {
		text := l.fake.LogFrom(name, l.written[name])
		l.write(name, text)
		l.written[name] += len(text)
	}
}

// add appends a line that did not come from the Daemon.
func (l *logFiles) add(name, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(name, line+"\n")
}

// write appends. A log that cannot be written is lost, as with the real daemon nobody
// is told.
func (l *logFiles) write(name, text string) {
	path := filepath.Join(l.dir, filepath.FromSlash(name))
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return
	}
	f.WriteString(text) //nolint:errcheck // see above
	f.Close()           //nolint:errcheck // see above
}
