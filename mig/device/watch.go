package device

import (
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// watch knows which call into the driver is under way. One operation at a time
// uses it: the one that has the GPU's turn.
type watch struct {
	mu      sync.Mutex
	call    string // under way; empty if none is
	number  int    // of the calls that have begun
	limit   time.Duration
	overdue func(call string)
	timer   *time.Timer
}

// arm makes the watch report, once for each, the calls that take longer than a
// limit; 0 stops that.
func (w *watch) arm(limit time.Duration, overdue func(call string)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit, w.overdue = limit, overdue
}

func (w *watch) begin(call string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call = call
	w.number++
	if w.limit <= 0 {
		return
	}
	number, overdue := w.number, w.overdue
	w.timer = time.AfterFunc(w.limit, func() {
		w.mu.Lock()
		late := w.number == number && w.call != ""
		w.mu.Unlock()
		if late {
			overdue(call)
		}
	})
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.call = ""
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// while does something that is no call into the driver, and is given its time.
func (w *watch) while(what string, f func()) {
	w.mu.Lock()
	w.call = what
	w.number++
	w.mu.Unlock()
	defer w.end()
	f()
}

// current names what is under way.
func (w *watch) current() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.call == "" {
		return "the operation"
	}
	return w.call
}

// watched makes a call that the watch knows of.
func watched[T any](w *watch, call string, f func() (T, nvml.Return)) (T, nvml.Return) {
	w.begin(call)
	defer w.end()
	return f()
}
