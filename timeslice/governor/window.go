package governor

import "time"

// slots is how finely a window is kept; the slot in progress comes on top, so
// that the slots always cover a whole window.
const slots = 128

// window is the GPU time charged lately. A launch stands, with what it really took,
// in the slot in which it was granted; launches are taken to end in the order in
// which they were granted.
type window struct {
	quota  int64 // ns
	width  int64 // ns of a slot
	head   int64 // number of the slot that holds now
	oldest int64 // no slot before it has open launches
	now    int64 // ns
	sum    int64 // ns in all slots
	late   int64 // ns open whose slot has left the window
	slots  [slots + 1]slot
}

type slot struct {
	charged int64 // ns
	open    int64 // ns of it that is not done
}

func newWindow(length, quota time.Duration) window {
	return window{quota: int64(quota), width: (int64(length) + slots - 1) / slots}
}

func (w *window) at(n int64) *slot { return &w.slots[n%(slots+1)] }

// slide lets go of what has left the window.
func (w *window) slide(now int64) {
	w.now = now
	if w.width == 0 {
		return // nobody made it
	}
	to := now / w.width
	if to-w.head > slots {
		for i := range w.slots {
			w.late += w.slots[i].open
			w.slots[i] = slot{}
		}
		w.sum, w.head = 0, to
	}
	for w.head < to {
		w.head++
		s := w.at(w.head)
		w.sum -= s.charged
		w.late += s.open
		*s = slot{}
	}
	w.oldest = max(w.oldest, w.head-slots)
}

// full is how long the window stays full; it is up to now.
func (w *window) full() time.Duration {
	if w.width == 0 {
		return Forever
	}
	left := w.sum - w.quota
	if left < 0 {
		return 0
	}
	n := w.head
	for left >= 0 { // ends: the slots hold more than left
		n++
		left -= w.at(n).charged
	}
	return time.Duration(n*w.width - w.now)
}

func (w *window) take(cost int64) {
	s := w.at(w.head)
	s.charged += cost
	s.open += cost
	w.sum += cost
}

// done puts right what was charged for a launch that had so much reserved. One
// whose slot has left the window has left it with all that it took.
func (w *window) done(reserved, spent int64) {
	if w.sum >= 1<<62 { // more than anyone will wait for
		spent = min(spent, reserved)
	}
	if reserved == 0 { // never asked for
		w.at(w.head).charged += spent
		w.sum += spent
		return
	}
	x := min(reserved, w.late)
	w.late -= x
	right := spent - reserved // to be added, or taken off if negative
	for reserved -= x; reserved > 0; w.oldest++ {
		s := w.at(w.oldest)
		x = min(reserved, s.open)
		reserved -= x
		s.open -= x
		if x > 0 {
			part := max(right, -x)
			right -= part
			s.charged += part
			w.sum += part
		}
		if s.open > 0 || w.oldest == w.head {
			return
		}
	}
}
