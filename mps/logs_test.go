package mps_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
)

func TestParseLogLine(t *testing.T) {
	t.Parallel()
	type event = mps.LogEvent
	const gpu = "GPU-0e9ce6cc-a0ac-6bd1-9f1a-4c4d6c4f3b71"
	for _, test := range []struct {
		text string
		want event
	}{
		{"Starting control daemon using socket /run/mps/control", event{Kind: mps.LogDaemonStarting, Name: "/run/mps/control"}},
		{"To connect CUDA applications to this daemon, set env CUDA_MPS_PIPE_DIRECTORY=/run/mps", event{Kind: mps.LogNoise, Name: "set env CUDA_MPS_PIPE_DIRECTORY=/run/mps"}},
		{"CUDA MPS Control binary version: 13010", event{Kind: mps.LogVersion, Name: "Control binary", Version: 13010}},
		{"CUDA MPS Server for Linux/Unix. Binary version: 13000", event{Kind: mps.LogVersion, Name: "Server for Linux/Unix. Binary", Version: 13000}},
		{"Display Driver version: 580", event{Kind: mps.LogVersion, Name: "Driver", Version: 580}},
		{"Accepting connection...", event{Kind: mps.LogNoise}},
		{"User did not send valid credentials", event{Kind: mps.LogNoise}},
		{"Unable to read new connection type information", event{Kind: mps.LogBadConnection}},
		{"NEW CLIENT 0 from user 1000: Server is not ready, push client to pending list", event{Kind: mps.LogClientPending, UID: 1000}},
		{"NEW CLIENT 812 from user 0: Server already exists", event{Kind: mps.LogClientServed, Client: 812}},
		{"NEW CLIENT 812 from user 0: Something else", event{}},
		{"NEW CLIENT eight from user 0: Server already exists", event{}},
		{"NEW CLIENT -8 from user 0: Server already exists", event{}},
		{"Starting new server 813 for user 1000", event{Kind: mps.LogServerStarting, Server: 813, UID: 1000}},
		{"NEW SERVER 813: Ready", event{Kind: mps.LogServerReady, Server: 813}},
		{"Server encountered a fatal exception. Shutting down", event{Kind: mps.LogServerFatal}},
		{"Server 813 exited with status 1", event{Kind: mps.LogServerExited, Server: 813, Exit: 1}},
		{"Server 813 exited with status 0", event{Kind: mps.LogServerExited, Server: 813}},

		{"Startup", event{Kind: mps.LogNoise}},
		{"Server has started", event{Kind: mps.LogServerUp}},
		{"Failed to start : invalid argument", event{Kind: mps.LogServerFailed, Name: "invalid argument"}},
		{"Creating server context on device 1 (Tesla T4)", event{Kind: mps.LogContextCreated, Device: 1, Name: "Tesla T4"}},
		{"Creating server context on device 2 (A (B) C)", event{Kind: mps.LogContextCreated, Device: 2, Name: "A (B) C"}},
		{"Active Threads Percentage set to 12.0", event{Kind: mps.LogPercentage, Percentage: 12}},
		{"Active Threads Percentage set to NaN", event{}},
		{"Device pinned memory limit for device 0 set to 0x140000000 bytes", event{Kind: mps.LogMemoryLimit, LimitBytes: 5120 << 20}},
		{"Device pinned memory limit for device 3 set to 0x77f00000 bytes", event{Kind: mps.LogMemoryLimit, Device: 3, LimitBytes: 1919 << 20}},
		{"Device pinned memory limit for device 3 set to 0xffffffffffffffff bytes", event{}},
		{"Server Priority set to 1", event{Kind: mps.LogPriority, Priority: 1}},
		{"Received new client request", event{Kind: mps.LogClientRequest}},
		{"Received new client request for {PID: 812, Context ID: 2}", event{Kind: mps.LogClientRequest, Client: 812, Context: 2}},
		{"Client {PID: 812, Context ID: 2} connected", event{Kind: mps.LogClientConnected, Client: 812, Context: 2}},
		{"Creating worker thread for client", event{Kind: mps.LogNoise, Name: " for client"}},
		{"Device NVIDIA H100 80GB HBM3 (uuid " + gpu + ") is associated", event{Kind: mps.LogDevice, Name: "NVIDIA H100 80GB HBM3", UUID: gpu}},
		{"Receive command failed, assuming client exit", event{Kind: mps.LogClientGone}},
		{"Client process disconnected", event{Kind: mps.LogClientGone}},

		{"Volta MPS: status of client {812, 2} is ACTIVE", event{Kind: mps.LogClientStatus, Client: 812, Context: 2, Active: true}},
		{"Volta MPS: status of client {812,2} is INACTIVE", event{Kind: mps.LogClientStatus, Client: 812, Context: 2}},
		{"Volta MPS: status of client {812, 2} is UNWELL", event{}},
		{"Volta MPS: Server is handling a fatal GPU error.", event{Kind: mps.LogFault}},
		{"Volta MPS: Client {812, 2} exit", event{Kind: mps.LogClientExit, Client: 812, Context: 2}},
		{"Volta MPS: Destroy server context on device 1", event{Kind: mps.LogContextGone, Device: 1}},
		{"Volta MPS: Creating server context on device 1", event{Kind: mps.LogContextCreated, Device: 1}},
		{"", event{}},
		{"Creating server context on device 99999999999999999999", event{}},
	} {
		t.Run(test.text, func(t *testing.T) {
			t.Parallel()
			test.want.Text = test.text
			assert.Equal(t, test.want, mps.ParseLogLine(test.text+"\r\n"))
		})
	}
}

func TestLogPrefix(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.UTC)
	for _, test := range []struct {
		line, role, text string
		pid              int
	}{
		{"[2026-03-04 05:06:07.089 Control     6] Startup", "Control", "Startup", 6},
		{"[2026-03-04 05:06:07.089 Control 11800] Startup", "Control", "Startup", 11800},
		{"[2026-03-04 05:06:07.089 Control 6] Startup", "Control", "Startup", 6},
		{"[2026-03-04 05:06:07.0890 Other  6060] Startup", "Other", "Startup", 6060},
		{"[2026-03-04 05:06:07.089 Legacy Server 4194304] Startup", "Legacy Server", "Startup", 4194304},
		{"[2026-03-04 05:06:07.089 Server    17]   indented", "Server", "  indented", 17},
		{"[2026-03-04 05:06:07.089 Server    17]", "Server", "", 17},
	} {
		e := mps.ParseLogLine(test.line)
		assert.Equal(t, at, e.Time, test.line)
		assert.Equal(t, test.role, e.Role, test.line)
		assert.Equal(t, test.pid, e.PID, test.line)
		assert.Equal(t, test.text, e.Text, test.line)
	}
	for _, line := range []string{
		"[2026-03-04 05:06:07.089 Control six] Startup",
		"[2026-03-04 05:06:07.089 Control -6] Startup",
		"[2026-03-04 05:06:07.089 6] Startup",
		"[2026-03-04 25:06:07.089 Control 6] Startup",
		"[2026-03-04 05:06:07.089 Control 6 Startup",
		"2026-03-04 05:06:07.089 Control 6] Startup",
		"[]",
	} {
		assert.Equal(t, mps.LogEvent{Text: line}, mps.ParseLogLine(line), "a line without a whole prefix is all text")
	}
	e := mps.ParseLogLine("[2026-03-04 05:06:07.089 Control 6] Startup")
	assert.Equal(t, "[2026-03-04 05:06:07.089 Control     6] Startup", e.String())
}

// logged gives the events of lines that a process writes, a second apart.
func logged(role string, pid int, texts ...string) []mps.LogEvent {
	var events []mps.LogEvent
	for i, text := range texts {
		e := mps.ParseLogLine(text)
		e.Time = time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)
		e.Role, e.PID = role, pid
		events = append(events, e)
	}
	return events
}

// healths gives the health after each event.
func healths(m *mps.LogMonitor, events []mps.LogEvent) []mps.Health {
	var all []mps.Health
	for _, e := range events {
		all = append(all, m.Add(e))
	}
	return all
}

func TestLogMonitorCrashLoop(t *testing.T) {
	t.Parallel()
	crash := func(pid string) []string {
		return []string{
			"Starting new server " + pid + " for user 0",
			"Server encountered a fatal exception. Shutting down",
			"Server " + pid + " exited with status 1",
		}
	}
	lines := append(append(crash("20"), crash("21")...), crash("22")...)
	events := logged("Control", 6, append(lines, "Starting new server 23 for user 0", "NEW SERVER 23: Ready")...)

	m := mps.NewLogMonitor(3, 10*time.Second)
	got := healths(m, events)
	const idle, ready, starting, loop = mps.HealthIdle, mps.HealthReady, mps.HealthStarting, mps.HealthCrashLoop
	want := []mps.Health{starting, starting, idle, starting, starting, idle, starting, starting, loop, loop, loop}
	assert.Equal(t, want, got)
	assert.Equal(t, 3, m.Failures())
	assert.Equal(t, []int{23}, m.Servers())

	late := mps.ParseLogLine("Accepting connection...")
	late.Time = events[2].Time.Add(11 * time.Second)
	assert.Equal(t, ready, m.Add(late), "the first failure is out of the window")
	assert.Equal(t, 2, m.Failures())

	narrow := mps.NewLogMonitor(3, 5*time.Second)
	assert.NotContains(t, healths(narrow, events), loop, "three failures take longer than the window")

	clean := logged("Control", 6, strings.Split(strings.ReplaceAll(strings.Join(lines, "\n"), "status 1", "status 0"), "\n")...)
	assert.NotContains(t, healths(mps.NewLogMonitor(3, time.Minute), clean), loop, "servers that end well are none")
}

func TestLogMonitorCountsAFailureOnce(t *testing.T) {
	t.Parallel()
	m := mps.NewLogMonitor(2, time.Minute)
	m.Add(logged("Control", 6, "Starting new server 20 for user 0")[0])
	m.Add(logged("Server", 20, "Failed to start : invalid argument")[0])
	assert.Equal(t, 1, m.Failures())
	assert.Equal(t, mps.HealthIdle, m.Add(logged("Control", 6, "Server 20 exited with status 1")[0]))
	assert.Equal(t, 1, m.Failures(), "both files tell of the same end")
	assert.Equal(t, mps.HealthCrashLoop, m.Add(logged("Server", 21, "Failed to start : invalid argument")[0]))
}

// Servers of which the end is in no log do not pile up, and neither do clients; what is
// in a fault is not forgotten for them.
func TestLogMonitorForgets(t *testing.T) {
	t.Parallel()
	m := mps.NewLogMonitor(3, time.Minute)
	m.Add(mps.LogEvent{Kind: mps.LogFault, PID: 1})
	for pid := 2; pid < 10000; pid++ {
		m.Add(mps.LogEvent{Kind: mps.LogServerStarting, Server: pid})
		m.Add(mps.LogEvent{Kind: mps.LogServerReady, Server: pid})
		m.Add(mps.LogEvent{Kind: mps.LogClientStatus, PID: 1, Client: pid})
		m.Add(mps.LogEvent{Kind: mps.LogContextGone, PID: 1, Device: pid})
	}
	servers := m.Servers()
	assert.LessOrEqual(t, len(servers), 128)
	assert.Equal(t, 1, servers[0])
	assert.Equal(t, 9999, servers[len(servers)-1])
	assert.Len(t, m.Affected(), 1024)
	assert.Equal(t, mps.HealthFault, m.Health())
}

func TestLogMonitorClockSetBack(t *testing.T) {
	t.Parallel()
	m := mps.NewLogMonitor(2, time.Minute)
	events := logged("Control", 6, "Server 20 exited with status 1", "Server 21 exited with status 1")
	m.Add(events[0])
	events[1].Time = events[0].Time.Add(-time.Hour)
	assert.Equal(t, mps.HealthIdle, m.Add(events[1]), "how far apart the two are is not known")
	assert.Equal(t, 1, m.Failures())
}

func TestLogMonitorFault(t *testing.T) {
	t.Parallel()
	m := mps.NewLogMonitor(0, 0)
	m.Add(logged("Control", 6, "NEW SERVER 17: Ready")[0])
	const fault, ready = mps.HealthFault, mps.HealthReady
	got := healths(m, logged("Other", 17,
		"Volta MPS: status of client {100, 1} is ACTIVE",
		"Volta MPS: status of client {200, 1} is ACTIVE",
		"Volta MPS: Server is handling a fatal GPU error.",
		"Volta MPS: status of client {100, 1} is INACTIVE",
		"Volta MPS: status of client {200, 1} is ACTIVE",
		"Volta MPS: Destroy server context on device 0",
		"Volta MPS: Creating server context on device 0",
	))
	assert.Equal(t, []mps.Health{ready, ready, fault, fault, fault, fault, fault}, got, "client 100 is still there")
	assert.Equal(t, []int{100}, m.Affected())
	assert.Equal(t, []int{17}, m.Servers())
	got = healths(m, logged("Other", 17, "Volta MPS: Client {100, 1} exit"))
	assert.Equal(t, []mps.Health{ready}, got)
	assert.Empty(t, m.Affected())

	got = healths(m, logged("Other", 17,
		"Volta MPS: Server is handling a fatal GPU error.",
		"Volta MPS: status of client {200, 1} is INACTIVE",
		"Volta MPS: Client {200, 1} exit",
		"Volta MPS: Destroy server context on device 0",
		"Volta MPS: Destroy server context on device 1",
		"Volta MPS: Creating server context on device 0",
		"Volta MPS: Creating server context on device 1",
	))
	assert.Equal(t, []mps.Health{fault, fault, fault, fault, fault, fault, ready}, got, "both devices are made again")

	m.Add(logged("Other", 17, "Volta MPS: Server is handling a fatal GPU error.")[0])
	got = healths(m, logged("Control", 6, "Server 17 exited with status 0"))
	assert.Equal(t, []mps.Health{mps.HealthIdle}, got, "a server that is gone has no fault")

	m.Add(logged("Other", 18, "Volta MPS: Server is handling a fatal GPU error.")[0])
	got = healths(m, logged("Control", 7, "Starting control daemon using socket /run/mps/control"))
	assert.Equal(t, []mps.Health{mps.HealthIdle}, got, "a new daemon has no servers")
}

// A monitor that keeps all failures and counts them anew each time.
func TestLogMonitorAgainstNaive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		failures := rapid.IntRange(1, 4).Draw(t, "failures")
		window := time.Duration(rapid.IntRange(1, 20).Draw(t, "window")) * time.Second
		m := mps.NewLogMonitor(failures, window)
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var failed []time.Time
		for i := range rapid.IntRange(1, 40).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "seconds")) * time.Second)
			exit := rapid.IntRange(0, 1).Draw(t, "exit")
			health := m.Add(mps.LogEvent{Time: now, Kind: mps.LogServerExited, Server: i, Exit: exit})
			if exit != 0 {
				failed = append(failed, now)
			}
			recent := 0
			for _, at := range failed {
				if now.Sub(at) <= window {
					recent++
				}
			}
			require.Equal(t, min(recent, failures), m.Failures())
			require.Equal(t, recent >= failures, health == mps.HealthCrashLoop)
		}
	})
}

func FuzzParseLogLine(f *testing.F) {
	f.Add("[2026-03-04 05:06:07.089 Control     6] NEW CLIENT 0 from user 0: Server is not ready, push client to pending list")
	f.Add("[2026-03-04 05:06:07.089 Legacy Server 6060] Volta MPS: status of client {6060, 1} is INACTIVE")
	f.Add("[2026-03-04 05:06:07.089 Server 17] Device pinned memory limit for device 0 set to 0x140000000 bytes")
	f.Add("[2026-03-04 05:06:07 a 1]] [")
	f.Fuzz(func(t *testing.T, line string) {
		e := mps.ParseLogLine(line)
		again := mps.ParseLogLine(e.String())
		if e.Role != "" { // e.Time has a zone that == compares
			assert.True(t, e.Time.Equal(again.Time))
			again.Time = e.Time
		}
		assert.Equal(t, e, again)
		m := mps.NewLogMonitor(0, 0)
		m.Add(e)
		m.Add(again)
	})
}

func TestLogMonitorZeroValue(t *testing.T) {
	t.Parallel()
	var m mps.LogMonitor
	assert.Equal(t, mps.HealthIdle, m.Health())
	fail := func(second int) mps.Health {
		return m.Add(mps.LogEvent{Kind: mps.LogServerExited, Server: second, Exit: 1, Time: time.Unix(int64(second), 0)})
	}
	assert.Equal(t, mps.HealthIdle, fail(1))
	assert.Equal(t, mps.HealthIdle, fail(2))
	assert.Equal(t, mps.HealthCrashLoop, fail(3))
	assert.Equal(t, mps.HealthReady, m.Add(mps.LogEvent{Kind: mps.LogServerReady, Server: 9, Time: time.Unix(99, 0)}))
}
