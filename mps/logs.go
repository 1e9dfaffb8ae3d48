package mps

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// LogKind is what a line of control.log or server.log tells.
type LogKind uint8

// The kinds, with the fields of LogEvent that they set.
const (
	LogOther           LogKind = iota // a text that is not known
	LogNoise                          // normal chatter; the line about credentials is one, and no error
	LogDaemonStarting                 // the control daemon starts: Name is its socket
	LogVersion                        // Version of Name: Control binary, Driver and the like
	LogBadConnection                  // something connected that the daemon could not read
	LogClientPending                  // Client of UID waits for a server
	LogClientServed                   // Client of UID goes to the server that is there
	LogServerStarting                 // Server is spawned for UID
	LogServerReady                    // Server takes clients
	LogServerFatal                    // a server gives up; the line does not say which
	LogServerExited                   // Server ended with Exit
	LogServerUp                       // the writing server finished its own start
	LogServerFailed                   // the writing server could not start: Name is the reason
	LogPercentage                     // Percentage of the writing server
	LogMemoryLimit                    // LimitBytes of Device
	LogPriority                       // Priority, 0 or 1
	LogClientRequest                  // Client, Context ask to be served; both 0 in the short form
	LogClientConnected                // Client, Context are served
	LogClientGone                     // a client left; the line does not say which
	LogClientStatus                   // Client, Context are Active or not, told around a fault
	LogClientExit                     // Client, Context left after a fault
	LogFault                          // the writing server handles a fatal GPU error
	LogContextGone                    // the server context of Device is destroyed
	LogContextCreated                 // the server context of Device is made
	LogDevice                         // Name (a product) with UUID belongs to a client
)

var logKindNames = [...]string{
	"other", "noise", "daemon starting", "version", "bad connection", "client pending", "client served",
	"server starting", "server ready", "server fatal", "server exited", "server up", "server failed",
	"percentage", "memory limit", "priority", "client request", "client connected", "client gone",
	"client status", "client exit", "fault", "context gone", "context created", "device",
}

// String is the kind in words.
func (k LogKind) String() string {
	if int(k) >= len(logKindNames) {
		return fmt.Sprintf("LogKind(%d)", uint8(k))
	}
	return logKindNames[k]
}

// LogEvent is one line of control.log or server.log. Time, Role and PID are of the
// writer and zero where the line has no prefix; Kind says which of the others are set.
type LogEvent struct {
	Time time.Time // to the millisecond. The log names no zone: local time of the daemon, read as if it were UTC
	Role string    // Control, Server, Other or Legacy Server
	PID  int       // who wrote the line; in server.log that is the server
	Kind LogKind

	Server, Client, UID, Context, Device, Exit, Priority, Version int

	Active     bool
	Percentage float64
	LimitBytes int64
	Name, UUID string

	Text string // without the prefix
}

// ParseLogLine reads one line. A text that is not known is an event of kind
// LogOther, so there is no error: what the program writes differs by release.
func ParseLogLine(line string) LogEvent {
	var e LogEvent
	e.Text = strings.TrimRight(line, "\r\n")
	e.cutPrefix()
	text := strings.TrimSpace(e.Text)
	text = strings.TrimPrefix(text, "Volta MPS: ")
	for _, t := range logTexts {
		if found := e; matchText(t.text, text, &found) {
			found.Kind = t.kind
			return found
		}
	}
	return e
}

// String is the line as the program writes it, PIDs padded to five columns.
func (e LogEvent) String() string {
	if e.Role == "" {
		return e.Text
	}
	return fmt.Sprintf("[%s %s %5d] %s", e.Time.Format(logTime+".000"), e.Role, e.PID, e.Text)
}

const logTime = "2006-01-02 15:04:05"

// cutPrefix takes "[date time role pid] " off the text, if it is there whole.
func (e *LogEvent) cutPrefix() {
	inner, rest, ok := strings.Cut(e.Text, "]")
	if !ok || !strings.HasPrefix(inner, "[") {
		return
	}
	fields := strings.Fields(inner[1:])
	if len(fields) < 4 {
		return
	}
	at, err := time.Parse(logTime, fields[0]+" "+fields[1])
	if err != nil {
		return
	}
	last := len(fields) - 1
	pid, err := strconv.Atoi(fields[last])
	if err != nil || pid < 0 {
		return
	}
	e.Time, e.PID = at.Truncate(time.Millisecond), pid
	e.Role = strings.Join(fields[2:last], " ")
	e.Text = strings.TrimPrefix(rest, " ")
}
