package mps

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"
)

// WatchKind is what a watch saw.
type WatchKind uint8

// The kinds, with the fields of WatchEvent that they set besides Time.
const (
	WatchDaemonUp   WatchKind = iota // a daemon answers, first or again, also after a trouble: Identity if it is known
	WatchDaemonDown                  // none answers any more, or from the start
	WatchReplaced                    // another daemon answers: its Identity. All its servers are new
	WatchServer                      // Server is there or changed: State, or Status of protocol 3
	WatchServerGone                  // Server is there no longer
	WatchCrashLoop                   // servers went and others came, again and again: Count
	WatchTrouble                     // a look failed with Err, which is told once as long as it stays of its kind
)

var watchKindNames = [...]string{
	"daemon up", "daemon down", "daemon replaced", "server", "server gone", "crash loop", "trouble",
}

// String is the kind in words.
func (k WatchKind) String() string {
	if int(k) >= len(watchKindNames) {
		return fmt.Sprintf("WatchKind(%d)", uint8(k))
	}
	return watchKindNames[k]
}

// WatchEvent is a change that a watch saw.
type WatchEvent struct {
	Time     time.Time // of the look
	Kind     WatchKind
	Identity Identity
	Server   int         // PID
	Name     string      // of the server, with protocol 3
	State    ServerState // 0 where Status is no word for it that is documented
	Status   string      // as protocol 3 tells it
	Count    int
	Err      error
}

// WatchOptions says how a daemon is watched. The zero value is fit for use.
type WatchOptions struct {
	Every    time.Duration // between two looks; 0 is 2 s
	Protocol int           // 2 or 3; 0 is 2

	// A crash loop is when Replacements times within Window a server was gone and
	// another one was there instead; 0 is 3 times within a minute.
	Replacements int
	Window       time.Duration
}

// Watch looks at the daemon and its servers again and again and gives what changed,
// until ctx ends or the caller stops. The first look gives all that is there. Each look
// runs the program once, and with protocol 2 once more for every server.
//
// It sees what lasts from one look to the next: of a server that ends sooner nothing is
// seen, and users that take turns look like a crash loop. The log knows more, see
// LogMonitor.
func (c *Client) Watch(ctx context.Context, o WatchOptions) iter.Seq[WatchEvent] {
	if o.Every <= 0 {
		o.Every = 2 * time.Second
	}
	if o.Replacements <= 0 {
		o.Replacements = 3
	}
	if o.Window <= 0 {
		o.Window = time.Minute
	}
	return func(yield func(WatchEvent) bool) {
		w := watch{client: c, options: o, seen: map[int]serverLook{}}
		timer := time.NewTimer(0)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-timer.C:
				for _, e := range w.look(ctx, now) {
					e.Time = now
					if ctx.Err() != nil || !yield(e) {
						return
					}
				}
			}
			timer.Reset(o.Every)
		}
	}
}

// serverLook is a server at one look.
type serverLook struct {
	name   string // with protocol 3
	state  ServerState
	status string
}

// goneServer is a server that went and whose place nobody took yet.
type goneServer struct {
	name string
	at   time.Time
}

type watch struct {
	client  *Client
	options WatchOptions

	looked, up bool
	identity   Identity
	seen       map[int]serverLook
	gone       []goneServer
	replaced   []time.Time // when a server came for one that went
	looping    bool
	trouble    string // what kind of trouble was told last
}

// look is one look at all of it.
func (w *watch) look(ctx context.Context, now time.Time) []WatchEvent {
	c := w.client.pin()
	id := w.identity // a pid file that cannot be read for once is no new daemon
	if c.pinned != nil {
		id = *c.pinned
	}
	servers, err := w.servers(ctx, c)
	switch {
	case err == nil:
	case errors.Is(err, ErrNoDaemon):
		return w.down()
	default:
		return w.failed(err)
	}
	var events []WatchEvent
	switch {
	case w.up && id != w.identity && w.identity.PID != 0:
		events = append(events, WatchEvent{Kind: WatchReplaced, Identity: id})
		w.forget()
	case !w.up || w.trouble != "":
		events = append(events, WatchEvent{Kind: WatchDaemonUp, Identity: id})
	}
	w.looked, w.up, w.identity, w.trouble = true, true, id, ""
	return append(events, w.compare(servers, now)...)
}

// servers are the servers with their states.
func (w *watch) servers(ctx context.Context, c *Client) (map[int]serverLook, error) {
	found := map[int]serverLook{}
	if w.options.Protocol == 3 {
		servers, err := c.V3().Servers(ctx)
		for _, s := range servers {
			if s.PID == 0 {
				continue
			}
			look := serverLook{name: s.Name, status: s.Status}
			if s.Status == "Ready" {
				look.state = ServerActive
			}
			found[s.PID] = look
		}
		return found, err
	}
	pids, err := c.Servers(ctx)
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		state, err := c.ServerStatus(ctx, pid)
		switch {
		case errors.Is(err, ErrRefused):
			continue // gone since the list
		case err != nil && !errors.Is(err, ErrUnparsed) && !errors.Is(err, ErrUnsupported):
			return nil, err
		}
		found[pid] = serverLook{state: state} // 0 if this driver does not tell
	}
	return found, nil
}

func (w *watch) down() []WatchEvent {
	told := w.looked && !w.up
	w.looked, w.up, w.identity, w.trouble = true, false, Identity{}, ""
	w.forget()
	if told {
		return nil
	}
	return []WatchEvent{{Kind: WatchDaemonDown}}
}

// failed tells a trouble once.
func (w *watch) failed(err error) []WatchEvent {
	kind := err.Error()
	var op *OpError
	if errors.As(err, &op) {
		kind = op.Kind.String()
	}
	if w.trouble == kind {
		return nil
	}
	w.trouble = kind
	return []WatchEvent{{Kind: WatchTrouble, Err: err}}
}

// forget drops what is known of the servers of a daemon that is gone.
func (w *watch) forget() {
	clear(w.seen)
	w.gone, w.replaced, w.looping = nil, nil, false
}

// compare tells how the servers differ from those of the look before.
func (w *watch) compare(servers map[int]serverLook, now time.Time) []WatchEvent {
	var events []WatchEvent
	for _, pid := range slices.Sorted(maps.Keys(w.seen)) {
		if _, still := servers[pid]; !still {
			name := w.seen[pid].name
			events = append(events, WatchEvent{Kind: WatchServerGone, Server: pid, Name: name})
			w.gone = append(w.gone, goneServer{name: name, at: now})
		}
	}
	for _, pid := range slices.Sorted(maps.Keys(servers)) {
		look := servers[pid]
		before, known := w.seen[pid]
		if !known && w.takesPlace(look.name) {
			w.replaced = append(w.replaced, now)
		}
		if !known || look != before {
			events = append(events, WatchEvent{
				Kind: WatchServer, Server: pid, Name: look.name, State: look.state, Status: look.status,
			})
		}
	}
	w.seen = servers
	old := now.Add(-w.options.Window)
	w.gone = slices.DeleteFunc(w.gone, func(g goneServer) bool { return g.at.Before(old) })
	w.replaced = slices.DeleteFunc(w.replaced, old.After)
	count := len(w.replaced)
	if looping := count >= w.options.Replacements; looping != w.looping {
		w.looping = looping
		if looping {
			events = append(events, WatchEvent{Kind: WatchCrashLoop, Count: count})
		}
	}
	return events
}

// takesPlace tells whether a new server comes for one that went.
func (w *watch) takesPlace(name string) bool {
	i := slices.IndexFunc(w.gone, func(g goneServer) bool { return g.name == name })
	if i < 0 {
		return false
	}
	w.gone = slices.Delete(w.gone, i, i+1)
	return true
}
