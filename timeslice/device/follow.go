package device

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gpushare/gpushare/timeslice"
)

// The pace of Follow. The vendor asks for five readings a second, at least, to see
// every entry. At five the log is just full when turns last 1 ms, the shortest slice
// there is, and turns that end early are shorter: the default leaves room.
const (
	MaxPace     = 200 * time.Millisecond
	DefaultPace = 100 * time.Millisecond
)

// Batch is what is new in a log.
type Batch struct {
	State   State
	Entries []Entry // by time; each once

	// Gap says that entries before these may have been lost: the log was full and
	// held nothing that was seen before, or its clock went back, as it does with a
	// reset.
	Gap bool
}

// Follow reads the log of an engine's scheduler every pace (0: DefaultPace; at
// most MaxPace, else timeslice.ErrInput) and hands on what is new, beginning with
// what is there, until the context ends, a reading fails or f does: their error is
// Follow's. A batch may be empty: the first, and one at which State changes. f is
// called by the caller's goroutine; while it works nothing is read.
func (s *Scheduler) Follow(ctx context.Context, engine timeslice.VGPUEngine, pace time.Duration, f func(Batch) error) error {
	if pace == 0 {
		pace = DefaultPace
	}
	if pace < 0 || pace > MaxPace {
		return s.failed("follow the log", engine, fmt.Errorf("%w: pace %v is not above 0 and at most %v", timeslice.ErrInput, pace, MaxPace))
	}
	if f == nil {
		return s.failed("follow the log", engine, fmt.Errorf("%w: no function for what is new", timeslice.ErrInput))
	}
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	var t Tail
	for first, before := true, (State{}); ; first = false {
		reading, err := s.Log(ctx, engine)
		if err != nil {
			return err
		}
		if b := t.New(reading); first || len(b.Entries) > 0 || b.State != before {
			if err := f(b); err != nil {
				return err
			}
		}
		before = reading.State
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return s.failed("follow the log", engine, ended(ctx))
		}
	}
}

// Tail tells what is new in one reading of a log after another, for who reads at a
// pace of their own. The zero value has seen nothing. It works for a driver whose
// readings overlap as for one that hands each entry out once. It is not safe for
// concurrent use.
type Tail struct {
	started bool
	last    int64   // the time of the newest entry seen
	atLast  []Entry // those of that time
}

// New returns the entries of a reading that were not seen before.
func (t *Tail) New(l Log) Batch {
	b := Batch{State: l.State}
	if len(l.Entries) == 0 {
		t.started = true
		return b
	}
	entries := Log{Entries: slices.Clone(l.Entries)}.sorted().Entries
	newest := entries[len(entries)-1].At
	if t.started && newest < t.last {
		*t, b.Gap = Tail{}, true
	}
	known := false
	for _, e := range entries {
		if t.seen(e) {
			known = true
			continue
		}
		b.Entries = append(b.Entries, e)
	}
	if t.started && !known && len(entries) >= LogCapacity {
		b.Gap = true
	}
	if !t.started || newest > t.last {
		t.atLast = nil
	}
	for _, e := range b.Entries {
		if e.At == newest {
			t.atLast = append(t.atLast, e)
		}
	}
	t.started, t.last = true, newest
	return b
}

func (t *Tail) seen(e Entry) bool {
	return t.started && (e.At < t.last || e.At == t.last && slices.Contains(t.atLast, e))
}
