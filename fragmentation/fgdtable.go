package fragmentation

import (
	"slices"
	"strings"
)

// fgdTable holds, for nodes of one GPU model, what a mix makes of a GPU: the sums
// over the shapes that the model and so much CPU, milli-GPU and device memory
// serve. What is left of each counts by its step: how many of the amounts that
// shapes ask for it reaches. With it a value costs a look-up for each GPU and not
// for each GPU and shape; the integers are the same.
type fgdTable struct {
	model string
	one   []int64 // counts of shapes of one GPU, by CPU step, device memory step and milli step
	many  []int64 // counts of shapes of several GPUs, by CPU step, device memory and GPUs that fit
}

// fgdSteps are the amounts that the shapes of a mix ask for, ascending.
type fgdSteps struct {
	cpu    []int64
	device []int64
	milli  [Whole + 1]uint16 // the step of each amount left
	millis int               // how many steps there are, 0 included
	gpus   int               // the most GPUs that a shape asks for
}

// mostCells bounds the tables: a mix of more different amounts goes without.
const mostCells = 1 << 18

// newFGDTables returns one table for each model that a shape names and, first, one
// for all others; none if they were too large.
func newFGDTables(entries []Entry) (*fgdSteps, []fgdTable) {
	s := &fgdSteps{}
	var millis []int64
	models := []string{""}
	for i := range entries {
		shape := &entries[i].Shape
		if shape.GPUs == 0 {
			continue
		}
		s.cpu = append(s.cpu, shape.CPU)
		s.device = append(s.device, shape.DeviceMemory)
		s.gpus = max(s.gpus, shape.GPUs)
		millis = append(millis, shape.Milli)
		for name := range strings.SplitSeq(string(shape.Models), "|") {
			models = append(models, name)
		}
	}
	for _, list := range []*[]int64{&s.cpu, &s.device, &millis} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	slices.Sort(models) // the empty name comes first
	models = slices.Compact(models)
	s.millis = len(millis) + 1
	for i := range s.milli {
		s.milli[i] = uint16(stepOf(millis, int64(i)))
	}
	cells := (len(s.cpu) + 1) * (len(s.device) + 1) * (s.millis + s.gpus + 1)
	if cells > mostCells/len(models) {
		return nil, nil
	}
	tables := make([]fgdTable, len(models))
	for i, model := range models {
		tables[i] = s.table(model, entries, millis)
	}
	return s, tables
}

// stepOf returns how many of the ascending amounts are reached.
func stepOf(amounts []int64, left int64) int {
	low, high := 0, len(amounts)
	for low < high {
		if middle := int(uint(low+high) >> 1); amounts[middle] <= left {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

func (s *fgdSteps) table(model string, entries []Entry, millis []int64) fgdTable {
	t := fgdTable{
		model: model,
		one:   make([]int64, (len(s.cpu)+1)*(len(s.device)+1)*s.millis),
		many:  make([]int64, (len(s.cpu)+1)*len(s.device)*(s.gpus+1)),
	}
	for i := range entries {
		shape, count := &entries[i].Shape, entries[i].Count
		if shape.GPUs == 0 || !shape.Models.Accept(model) {
			continue
		}
		device, _ := slices.BinarySearch(s.device, shape.DeviceMemory)
		milli := stepOf(millis, shape.Milli)
		for cpu := stepOf(s.cpu, shape.CPU); cpu <= len(s.cpu); cpu++ {
			if shape.GPUs > 1 {
				for fitting := shape.GPUs; fitting <= s.gpus; fitting++ {
					t.many[(cpu*len(s.device)+device)*(s.gpus+1)+fitting] += count
				}
				continue
			}
			for d := device + 1; d <= len(s.device); d++ {
				for m := milli; m < s.millis; m++ {
					t.one[(cpu*(len(s.device)+1)+d)*s.millis+m] += count
				}
			}
		}
	}
	return t
}

// of returns what FGD.Of does.
func (s *fgdSteps) of(t *fgdTable, state *State) int64 {
	cpu := stepOf(s.cpu, state.CPU)
	if cpu == 0 {
		return 0 // the CPU is enough for no shape
	}
	devices := len(s.device)
	one := t.one[cpu*(devices+1)*s.millis:][:(devices+1)*s.millis]
	worth, whole := int64(0), 0
	for i := range state.GPUs {
		g := &state.GPUs[i]
		if g.Milli <= 0 || g.Cut() {
			continue
		}
		device := devices
		if devices > 1 || g.Memory < s.device[0] {
			device = stepOf(s.device, g.Memory)
		}
		worth += g.Milli * one[device*s.millis+int(s.milli[min(g.Milli, Whole)])]
		if g.Milli >= Whole {
			whole++
		}
	}
	if s.gpus == 1 || whole < 2 {
		return worth
	}
	many := t.many[cpu*devices*(s.gpus+1):]
	for d, need := range s.device {
		fitting, usable := 0, int64(0)
		for i := range state.GPUs {
			if g := &state.GPUs[i]; g.Milli >= Whole && g.Memory >= need && !g.Cut() {
				fitting++
				usable += g.Milli
			}
		}
		worth += usable * many[d*(s.gpus+1)+min(fitting, s.gpus)]
	}
	return worth
}
