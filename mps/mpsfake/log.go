package mpsfake

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// control adds a line of the daemon to control.log.
func (d *Daemon) control(format string, args ...any) {
	d.logLine("control.log", "Control", d.pid, format, args...)
}

// serverLog adds a line of a server to its log.
func (d *Daemon) serverLog(s *server, format string, args ...any) {
	name := "server.log"
	if s.name != "" {
		name = s.name + "/server.log"
	}
	d.logLine(name, "Server", s.pid, format, args...)
}

func (d *Daemon) logLine(file, role string, pid int, format string, args ...any) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(d.lines) * time.Millisecond)
	if d.cfg.Clock != nil {
		now = d.cfg.Clock()
	}
	d.lines++
	b := d.logs[file]
	if b == nil {
		b = &strings.Builder{}
		d.logs[file] = b
	}
	fmt.Fprintf(b, "[%s %s %5d] ", now.Format("2006-01-02 15:04:05.000"), role, pid)
	fmt.Fprintf(b, format+"\n", args...)
}

// LogFiles names the logs that have lines: control.log, server.log, and under
// protocol 3 <server>/server.log, in the order of the alphabet.
func (d *Daemon) LogFiles() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.logs))
}

// LogFrom is the text of a log from a byte on, "" if there is none. Logs only grow.
func (d *Daemon) LogFrom(name string, offset int) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.logs[name]
	if b == nil || offset < 0 || offset > b.Len() {
		return ""
	}
	return b.String()[offset:]
}
