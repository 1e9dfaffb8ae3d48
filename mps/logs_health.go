package mps

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Health is what a stream of log events amounts to.
type Health uint8

// From the best known to the worst: of several servers the worst counts.
const (
	HealthIdle      Health = iota // no server is known
	HealthReady                   // a server takes clients
	HealthStarting                // a server is being started
	HealthFault                   // a server handles a fatal fault: it refuses new clients
	HealthCrashLoop               // servers fail again and again
)

var healthNames = [...]string{"idle", "ready", "starting", "fault", "crash loop"}

// String is the health in words.
func (h Health) String() string {
	if int(h) >= len(healthNames) {
		return fmt.Sprintf("Health(%d)", uint8(h))
	}
	return healthNames[h]
}

// LogMonitor reads a stream of log events, of control.log, of server.log or of both,
// and says what they amount to. It has no clock: it goes by the times in the lines.
// Memory does not grow with the length of the stream. The zero value is that of
// NewLogMonitor(0, 0). Not safe for concurrent use.
type LogMonitor struct {
	failures int
	window   time.Duration
	now      time.Time
	failed   []time.Time // at most failures, oldest first
	servers  map[int]*loggedServer
}

// maxAffected is far more than a server has clients.
const maxAffected = 1024

type loggedServer struct {
	ready, fault, counted bool
	affected              []int // clients that a fault reached and that have not left
	gone                  []int // devices whose context is yet to be made again
	rebuilt               bool
}

// NewLogMonitor gives a monitor that speaks of a crash loop once servers failed the
// given number of times within the window. Below 1, failures is 3; below 0 or at it,
// window is one minute.
func NewLogMonitor(failures int, window time.Duration) *LogMonitor {
	m := &LogMonitor{failures: failures, window: window}
	m.fill()
	return m
}

func (m *LogMonitor) fill() {
	if m.failures < 1 {
		m.failures = 3
	}
	if m.window <= 0 {
		m.window = time.Minute
	}
	if m.servers == nil {
		m.servers = map[int]*loggedServer{}
	}
}

// Add takes the next event and gives the health after it.
func (m *LogMonitor) Add(e LogEvent) Health {
	m.fill()
	m.pass(e.Time)
	switch e.Kind {
	case LogDaemonStarting:
		clear(m.servers)
	case LogServerStarting:
		*m.server(e.Server) = loggedServer{}
	case LogServerReady:
		*m.server(e.Server) = loggedServer{ready: true}
	case LogServerUp:
		m.server(e.PID).ready = true
	case LogServerExited:
		if s := m.servers[e.Server]; e.Exit != 0 && (s == nil || !s.counted) {
			m.fail()
		}
		delete(m.servers, e.Server)
	case LogServerFailed:
		s := m.server(e.PID)
		if !s.counted {
			m.fail()
		}
		*s = loggedServer{counted: true}
	case LogFault:
		*m.server(e.PID) = loggedServer{ready: true, fault: true}
	case LogClientStatus, LogClientExit, LogContextGone, LogContextCreated:
		if s := m.servers[e.PID]; s != nil && s.fault {
			s.recover(e)
		}
	default:
	}
	return m.Health()
}

// Health is the health after the last event.
func (m *LogMonitor) Health() Health {
	if n := m.Failures(); n > 0 && n >= m.failures {
		return HealthCrashLoop
	}
	worst := HealthIdle
	for _, s := range m.servers {
		switch {
		case s.fault:
			worst = max(worst, HealthFault)
		case s.ready:
			worst = max(worst, HealthReady)
		case !s.counted:
			worst = max(worst, HealthStarting)
		}
	}
	return worst
}

// Failures is how often servers failed within the window before the last event, as
// far as that matters: it stops at the number that makes a crash loop.
func (m *LogMonitor) Failures() int { return len(m.failed) }

// Affected are the clients, in order, that a fault reached and that have not left. The
// fault is over only when they have.
func (m *LogMonitor) Affected() []int {
	var all []int
	for _, s := range m.servers {
		all = append(all, s.affected...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Servers are the servers, in order, that take clients or would but for a fault.
func (m *LogMonitor) Servers() []int {
	var all []int
	for pid, s := range m.servers {
		if s.ready {
			all = append(all, pid)
		}
	}
	slices.Sort(all)
	return all
}

// pass moves the time on and forgets failures that are too old. Lines of two
// processes may be a little out of order; a time far back is a clock that was set,
// and no distance to what was before is known.
func (m *LogMonitor) pass(t time.Time) {
	if t.IsZero() {
		return
	}
	if m.now.Sub(t) > m.window {
		m.failed = m.failed[:0]
		m.now = t
	}
	if t.After(m.now) {
		m.now = t
	}
	m.failed = slices.DeleteFunc(m.failed, func(at time.Time) bool { return m.now.Sub(at) > m.window })
}

func (m *LogMonitor) fail() {
	if len(m.failed) == m.failures {
		m.failed = slices.Delete(m.failed, 0, 1)
	}
	m.failed = append(m.failed, m.now)
}

// server gives the entry of a server, a new one if need be. Servers of which the end
// was never seen would pile up: when there are many, all but those in a fault go, and
// if that is not enough, these too.
func (m *LogMonitor) server(pid int) *loggedServer {
	if s := m.servers[pid]; s != nil {
		return s
	}
	const many = 128
	if len(m.servers) >= many {
		maps.DeleteFunc(m.servers, func(_ int, s *loggedServer) bool { return !s.fault })
	}
	if len(m.servers) >= many {
		clear(m.servers)
	}
	s := &loggedServer{}
	m.servers[pid] = s
	return s
}

// recover follows a server out of a fault: all affected clients leave, then the
// contexts of the devices are made again.
func (s *loggedServer) recover(e LogEvent) {
	without := func(list []int, n int) []int {
		return slices.DeleteFunc(list, func(have int) bool { return have == n })
	}
	switch e.Kind {
	case LogClientStatus:
		s.affected = without(s.affected, e.Client)
		if !e.Active && len(s.affected) < maxAffected {
			s.affected = append(s.affected, e.Client)
		}
	case LogClientExit:
		s.affected = without(s.affected, e.Client)
	case LogContextGone:
		if s.gone = without(s.gone, e.Device); len(s.gone) < maxAffected {
			s.gone = append(s.gone, e.Device)
		}
	default:
		s.gone, s.rebuilt = without(s.gone, e.Device), true
	}
	if s.rebuilt && len(s.gone) == 0 && len(s.affected) == 0 {
		*s = loggedServer{ready: true}
	}
}
