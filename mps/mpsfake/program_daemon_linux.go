package mpsfake

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/gpushare/gpushare/mps"
)

// pidMax is the largest PID that Linux can be set to give.
const pidMax = 1 << 22

// started is how the program was started.
type started struct {
	in    invocation
	setup Setup
	args  []string
	env   []string
}

// host is the process around one Daemon.
type host struct {
	started
	fake  *Daemon
	pid   int // that fake goes by
	dir   *pipeDir
	hooks net.Listener // nil without
	logs  *logFiles
	tree  places
	once  sync.Once
	over  chan end
}

// end is how the process ends.
type end uint8

const (
	endQuit end = iota // tidily
	endDie             // as if killed: the files stay
	endGone            // the files are another's already
)

// runDaemon is the daemon from start to end. held is called once it owns the directory;
// why it cannot is said. The answer is the exit status.
func runDaemon(s started, say func(string) int, held func()) int {
	config := s.setup.config(s.in, environment(s.env), os.Getpid(), func() time.Time {
		return time.Now() //nolint:forbidigo // the program's own clock
	})
	fake, err := New(config)
	if err != nil {
		return say(err.Error()) // a placeholder: the real text is not known
	}
	if s.setup.Config.PID == 0 {
		fake.countPIDsFrom(pidMax + 1) // its servers are no processes, so no process has their PIDs
	}
	dir, err := lockDir(s.in.pipe)
	switch {
	case errors.Is(err, errHeld):
		return say(textRunning)
	case err != nil:
		return say(err.Error()) // a placeholder as well
	}
	defer dir.unlock()
	held()
	time.Sleep(s.setup.BindDelay)

	h := &host{started: s, fake: fake, dir: dir, logs: &logFiles{dir: s.in.log, fake: fake}, over: make(chan end, 1)}
	h.pid, _, _ = fake.state()
	h.logs.flush()
	if err := dir.open(); err != nil {
		h.logs.add(controlLog, err.Error()) // a placeholder: what the log says then is not known
		return 1
	}
	if s.setup.Hooks != "" {
		if h.hooks, err = net.Listen("unix", s.setup.Hooks); err != nil {
			dir.remove()
			return say(err.Error())
		}
		defer h.hooks.Close() //nolint:errcheck // the process ends
	}
	return h.serve()
}

// serve answers until the daemon ends.
func (h *host) serve() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go h.dir.lines(func(line string) { h.logs.add(serverLog, line) })
	serve := func(l *net.UnixListener) { go h.accept(l, func(conn net.Conn) { h.answer(ctx, conn) }) }
	serve(h.dir.privileged)
	serve(h.dir.control)
	h.tree.root, h.tree.serve = h.in.pipe, serve
	if h.hooks != nil {
		go h.accept(h.hooks, h.obey)
	}
	if h.setup.Owner != 0 {
		go h.watch(ctx, h.setup.Owner)
	}
	how := <-h.over
	h.logs.flush()
	switch how {
	case endDie:
		syscall.Kill(os.Getpid(), syscall.SIGKILL) //nolint:errcheck // it cannot fail
	case endQuit:
		// Whoever sent quit has its answer before the daemon is gone.
		time.Sleep(h.setup.QuitDelay)
		h.tree.follow(nil)
		h.dir.remove()
	case endGone:
	}
	return 0
}

func (h *host) end(how end) { h.once.Do(func() { h.over <- how }) }

// accept serves a listener until it is closed.
func (h *host) accept(l net.Listener, serve func(net.Conn)) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close() //nolint:errcheck // the other side finds out
			serve(conn)
		}()
	}
}

// answer serves one run of the client. A client that goes away ends the command.
func (h *host) answer(ctx context.Context, conn net.Conn) {
	call, err := readCall(conn)
	if err != nil {
		return // a probe, or no client of ours
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		readPacket(conn, make([]byte, 1)) //nolint:errcheck // nothing comes but the end
		cancel()
	}()
	out, err := h.fake.Run(ctx, call)
	h.settle()
	if err != nil {
		return
	}
	pid, lives, killed := h.fake.state()
	if lives && pid != h.pid {
		h.once.Do(func() {
			h.succeed(conn, call)
			h.over <- endGone
		})
		return
	}
	sendOutput(conn, out) //nolint:errcheck // the client is gone
	// What has ended still answers some calls; here time passes as well.
	for lives && h.fake.quits() {
		time.Sleep(10 * time.Millisecond)
		h.fake.Advance()
		_, lives, killed = h.fake.state()
	}
	switch {
	case lives:
	case killed:
		h.end(endDie)
	default:
		h.end(endQuit)
	}
}

// settle brings into files what the Daemon did.
func (h *host) settle() {
	h.logs.flush()
	h.tree.follow(h.fake.places())
}

// state is PIDFile without a call's time, and whether the daemon ended as if killed.
func (d *Daemon) state() (pid int, lives, killed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pid, d.alive, d.killed
}

// quits tells whether a daemon that lives was told to quit.
func (d *Daemon) quits() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.quitting
}

// countPIDsFrom has the next process get this PID, or a later one.
func (d *Daemon) countPIDsFrom(pid int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lastPID = max(d.lastPID, pid-1)
}

// succeed puts another process in the place of this one, has it answer the call, and
// leaves it the directory. The successor is not told of the faults.
func (h *host) succeed(conn net.Conn, call mps.Call) {
	h.tree.follow(nil)
	h.dir.remove()
	h.dir.unlock()
	if h.hooks != nil {
		h.hooks.Close() //nolint:errcheck // the successor needs the name
	}
	setup := h.setup
	setup.Config.Rules = nil
	env := append(slices.Clip(h.env), setup.Environ()...)
	if detach(h.args, env, h.in, func(string) int { return 1 }) != 0 {
		return
	}
	path := filepath.Join(h.in.pipe, controlName)
	for range 1000 {
		if next, err := net.Dial("unixpacket", path); err == nil {
			defer next.Close() //nolint:errcheck // everything was read
			relay(conn, next, call)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// obey serves one order.
func (h *host) obey(conn net.Conn) {
	var c hookCall
	if err := json.NewDecoder(conn).Decode(&c); err != nil {
		return
	}
	var r hookReply
	switch c.Do {
	case hookPID, hookQuit, hookDie:
		r.PID = os.Getpid()
	default:
		r = h.fake.obey(c)
		h.settle()
	}
	json.NewEncoder(conn).Encode(r) //nolint:errcheck // whoever asked is gone
	switch c.Do {
	case hookQuit:
		h.end(endQuit)
	case hookDie:
		h.end(endDie)
	}
}

// watch ends the daemon when the process that wanted it is gone, so that a test that is
// killed leaves none behind.
func (h *host) watch(ctx context.Context, owner int) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if errors.Is(syscall.Kill(owner, 0), syscall.ESRCH) {
				h.end(endQuit)
				return
			}
		}
	}
}
