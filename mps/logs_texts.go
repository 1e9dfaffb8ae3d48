package mps

import (
	"math"
	"strconv"
	"strings"
)

// logText is one known text. A word in angle brackets is a field of LogEvent.
type logText struct {
	kind LogKind
	text string
}

// logTexts is tried from the top: the longer of two texts that start alike is first.
var logTexts = [...]logText{
	{LogNoise, "Accepting connection..."},
	{LogNoise, "User did not send valid credentials"},
	{LogNoise, "Start"},
	{LogNoise, "Startup"},
	{LogNoise, "Initializing server process"},
	{LogNoise, "Connecting to control daemon on socket: <name>"},
	{LogNoise, "To connect CUDA applications to this daemon, <name>"},
	{LogNoise, "Creating worker thread<name>"},
	{LogNoise, "Worker created"},

	{LogDaemonStarting, "Starting control daemon using socket <name>"},
	{LogVersion, "CUDA MPS <name> version: <version>"},
	{LogVersion, "Display <name> version: <version>"},
	{LogBadConnection, "Unable to read new connection type information"},
	{LogClientPending, "NEW CLIENT <client> from user <uid>: Server is not ready, push client to pending list"},
	{LogClientServed, "NEW CLIENT <client> from user <uid>: Server already exists"},
	{LogServerStarting, "Starting new server <server> for user <uid>"},
	{LogServerReady, "NEW SERVER <server>: Ready"},
	{LogServerFatal, "Server encountered a fatal exception. Shutting down"},
	{LogServerExited, "Server <server> exited with status <exit>"},

	{LogServerUp, "Server has started"},
	{LogServerFailed, "Failed to start : <name>"},
	{LogPercentage, "Active Threads Percentage set to <percentage>"},
	{LogMemoryLimit, "Device pinned memory limit for device <device> set to 0x<bytes> bytes"},
	{LogPriority, "Server Priority set to <priority>"},
	{LogClientRequest, "Received new client request for {PID: <client>, Context ID: <context>}"},
	{LogClientRequest, "Received new client request"},
	{LogClientConnected, "Client {PID: <client>, Context ID: <context>} connected"},
	{LogClientGone, "Receive command failed, assuming client exit"},
	{LogClientGone, "Client process disconnected"},

	{LogFault, "Server is handling a fatal GPU error."},
	{LogClientStatus, "status of client {<client>,<context>} is <status>"},
	{LogClientExit, "Client {<client>,<context>} exit"},
	{LogContextGone, "Destroy server context on device <device>"},
	{LogContextCreated, "Creating server context on device <device> (<name>)"},
	{LogContextCreated, "Creating server context on device <device>"},
	{LogDevice, "Device <name> (uuid <uuid>) is associated"},
}

// matchText reads text by the pattern into e, which is spoilt where it returns false.
func matchText(pattern, text string, e *LogEvent) bool {
	for {
		literal, rest, field := strings.Cut(pattern, "<")
		if !strings.HasPrefix(text, literal) {
			return false
		}
		text = text[len(literal):]
		if !field {
			return text == ""
		}
		name, after, _ := strings.Cut(rest, ">")
		pattern = after
		value := text
		if literal, _, more := strings.Cut(after, "<"); literal != "" {
			end := strings.Index(text, literal)
			if !more { // the end of the line: a name may have the literal in it as well
				end = strings.LastIndex(text, literal)
			}
			if end < 0 {
				return false
			}
			value = text[:end]
		}
		text = text[len(value):]
		if !e.set(name, value) {
			return false
		}
	}
}

// set stores a field of a known text.
func (e *LogEvent) set(name, value string) bool {
	var number *int
	switch name {
	case "client":
		number = &e.Client
	case "server":
		number = &e.Server
	case "uid":
		number = &e.UID
	case "context":
		number = &e.Context
	case "device":
		number = &e.Device
	case "exit":
		number = &e.Exit
	case "version":
		number = &e.Version
	case "priority":
		number = &e.Priority
	case "name":
		e.Name = value
		return true
	case "uuid":
		e.UUID = value
		return value != ""
	case "status":
		e.Active = value == "ACTIVE"
		return e.Active || value == "INACTIVE"
	case "percentage":
		p, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		e.Percentage = p
		return err == nil && p >= 0 && !math.IsInf(p, 0)
	case "bytes":
		n, err := strconv.ParseUint(value, 16, 63)
		e.LimitBytes = int64(n)
		return err == nil
	default:
		return false
	}
	n, err := strconv.Atoi(strings.TrimSpace(value))
	*number = n
	return err == nil && n >= 0
}
