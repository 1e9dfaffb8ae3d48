package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/gpushare/gpushare/mps"
)

// watchLine is one thing that a watch saw. With -json each is a line of its own.
type watchLine struct {
	Schema int    `json:"schema"`
	Time   string `json:"time"`   // of the look; of a line of a log as the log has it, without a zone
	Source string `json:"source"` // "daemon", "control.log", "server.log", "logs" (what they amount to)
	Kind   string `json:"kind"`
	PID    int    `json:"pid,omitempty"`  // of the daemon or the server that it is about
	Name   string `json:"name,omitempty"` // of the server, with protocol 3
	State  string `json:"state,omitempty"`
	Text   string `json:"text"`
}

// watching is a watch that goes on.
type watching struct {
	inv  *invocation
	all  bool
	tail mps.TailOptions

	group   sync.WaitGroup
	logs    chan seenLine
	monitor *mps.LogMonitor
	health  mps.Health
	tails   map[string]bool
}

// seenLine is a line of a log, or why there are no more.
type seenLine struct {
	source string
	event  mps.LogEvent
	err    error
}

// watch prints what changes until it is interrupted, or for some time.
func watch(ctx context.Context, inv *invocation, args []string) error {
	inv.reaches()
	every := inv.Flags.Duration("every", 2*time.Second, "")
	length := inv.Flags.Duration("for", 0, "")
	all := inv.Flags.Bool("all", false, "")
	fromStart := inv.Flags.Bool("from-start", false, "")
	if err := inv.parse(args); err != nil {
		return err
	}
	if *every <= 0 {
		return fmt.Errorf("-every: %v is not above 0", *every)
	}
	if *length < 0 {
		return fmt.Errorf("-for: %v is negative", *length)
	}
	d, err := inv.reach(ctx, false)
	if err != nil {
		return err
	}
	if inv.fake {
		*fromStart = true
		if !inv.Given("every") {
			*every = 100 * time.Millisecond
		}
	}
	if d.protocol == 0 {
		// Without a daemon there is nothing to tell the protocol by; 2 is what one
		// speaks unless told otherwise.
		found, err := d.client.Detect(ctx)
		if errors.Is(err, mps.ErrNoProgram) || ctx.Err() != nil {
			return err
		}
		d.protocol = max(found.Protocol, 2)
	}
	w := &watching{
		inv: inv, all: *all, logs: make(chan seenLine), tails: map[string]bool{}, monitor: mps.NewLogMonitor(0, 0),
		tail: mps.TailOptions{Every: min(*every, 250*time.Millisecond), FromStart: *fromStart},
	}
	seen, cancel := context.WithCancel(ctx)
	if *length > 0 {
		seen, cancel = context.WithTimeout(ctx, *length)
	}
	played := func() {} // what happens to the fake is over
	if !inv.Given("for") {
		played = cancel
	}
	err = w.run(seen, d, *every, played)
	cancel()
	w.group.Wait()
	if err == nil {
		err = ctx.Err() // an interruption, and not the end of -for
	}
	return err
}

// run prints until ctx ends.
func (w *watching) run(ctx context.Context, d *daemon, every time.Duration, played func()) error {
	states := make(chan mps.WatchEvent)
	w.group.Go(func() {
		for e := range d.client.Watch(ctx, mps.WatchOptions{Every: every, Protocol: d.protocol}) {
			select {
			case states <- e:
			case <-ctx.Done():
				return
			}
		}
	})
	w.follow(ctx, d, "control.log")
	if d.protocol != 3 {
		w.follow(ctx, d, "server.log")
	}
	if d.stage != nil {
		w.group.Go(func() {
			d.stage.play(ctx, d, 8*every)
			played()
		})
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-states:
			if e.Name != "" && d.protocol == 3 {
				w.follow(ctx, d, filepath.Join(e.Name, "server.log"))
			}
			if err := w.state(e); err != nil {
				return err
			}
		case l := <-w.logs:
			if err := w.line(l); err != nil {
				return err
			}
		}
	}
}

// follow reads a log, once.
func (w *watching) follow(ctx context.Context, d *daemon, name string) {
	if w.tails[name] || d.directories.Log == "" || !filepath.IsLocal(name) {
		return
	}
	w.tails[name] = true
	w.group.Go(func() {
		for e, err := range mps.Tail(ctx, filepath.Join(d.directories.Log, name), w.tail) {
			select {
			case w.logs <- seenLine{filepath.ToSlash(name), e, err}:
			case <-ctx.Done():
				return
			}
		}
	})
}

// state prints what the daemon says.
func (w *watching) state(e mps.WatchEvent) error {
	l := watchLine{Time: e.Time.Format(time.RFC3339Nano), Source: "daemon", Kind: e.Kind.String(), PID: e.Server, Name: e.Name}
	server := fmt.Sprintf("server %d", e.Server)
	if e.Name != "" {
		server = fmt.Sprintf("server %s (%d)", e.Name, e.Server)
	}
	switch e.Kind {
	case mps.WatchDaemonUp, mps.WatchReplaced:
		l.PID, l.Text = e.Identity.PID, e.Kind.String()
		if e.Identity.PID > 0 {
			l.Text += fmt.Sprintf(": pid %d", e.Identity.PID)
		}
	case mps.WatchServer:
		switch {
		case e.Status != "":
			l.State = e.Status
		case e.State != 0:
			l.State = e.State.String()
		}
		l.Text = server + ": " + l.State
		if l.State == "" {
			l.Text = server + ": state not told"
		}
	case mps.WatchServerGone:
		l.Text = server + ": gone"
	case mps.WatchCrashLoop:
		l.Text = fmt.Sprintf("crash loop: %d servers went and others came", e.Count)
	case mps.WatchTrouble:
		l.Text = "trouble: " + e.Err.Error()
	case mps.WatchDaemonDown:
		l.Text = "daemon down"
	}
	return w.print(l, e.Time)
}

// line prints a line of a log, and what the logs amount to if that has changed.
func (w *watching) line(s seenLine) error {
	if s.err != nil {
		now := time.Now()
		return w.print(watchLine{Time: now.Format(time.RFC3339Nano), Source: s.source, Kind: "trouble", Text: s.err.Error()}, now)
	}
	e := s.event
	at := ""
	if !e.Time.IsZero() {
		at = e.Time.Format("2006-01-02T15:04:05.000")
	}
	if w.all || e.Kind != mps.LogNoise && e.Kind != mps.LogOther {
		l := watchLine{Time: at, Source: s.source, Kind: e.Kind.String(), PID: e.Server, Text: e.Text}
		if err := w.print(l, e.Time); err != nil {
			return err
		}
	}
	if h := w.monitor.Add(e); h != w.health {
		w.health = h
		return w.print(watchLine{Time: at, Source: "logs", Kind: h.String(), Text: "by the logs: " + h.String()}, e.Time)
	}
	return nil
}

func (w *watching) print(l watchLine, at time.Time) error {
	l.Schema = schema
	if w.inv.JSON {
		enc := json.NewEncoder(w.inv.Out)
		enc.SetEscapeHTML(false)
		return enc.Encode(l)
	}
	kind := l.Kind
	if l.Source == "daemon" || l.Source == "logs" {
		kind = ""
	} else {
		kind = "[" + kind + "] "
	}
	_, err := fmt.Fprintf(w.inv.Out, "%s  %-11s  %s%s\n", at.Format("15:04:05.000"), l.Source, kind, l.Text)
	return err
}
