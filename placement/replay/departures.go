package replay

import "container/heap"

// departure is a placed task that will leave.
type departure struct {
	at       int64
	sequence int // of its arrival
	task     int // index into Config.Tasks
}

// departures is a heap, the earliest first.
type departures []departure

func (d departures) Len() int { return len(d) }

func (d departures) Less(i, j int) bool {
	if d[i].at != d[j].at {
		return d[i].at < d[j].at
	}
	return d[i].sequence < d[j].sequence
}

func (d departures) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d *departures) Push(x any)   { *d = append(*d, x.(departure)) }

func (d *departures) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}

// due removes and returns the next departure at that time or before.
func (d *departures) due(time int64) (departure, bool) {
	if len(*d) == 0 || (*d)[0].at > time {
		return departure{}, false
	}
	return heap.Pop(d).(departure), true
}
