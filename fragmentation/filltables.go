package fragmentation

import (
	"slices"
	"strings"
)

// fillTables says which tasks of the sequences still fit on a node. What is left
// only shrinks along a sequence, so a task that does not fit once never will:
// three words, by what is left of CPU and of GPU and by model, name all places of
// a sequence that are worth a look, and the others cost nothing.
type fillTables struct {
	sequences int
	cpus      []int64  // what shapes ask for, ascending
	rough     []uint16 // by CPU left, in steps: how many of them surely fit
	shift     uint     // of the steps
	byCPU     []uint64 // by how many fit and then by sequence: the places
	// What shapes ask of GPUs, as levels: milli-GPU ascending, then one idle
	// GPU, two and so on. A node that serves a level serves those below.
	milliLevel [Whole]uint16 // by the most milli-GPU left on a GPU, without an idle one
	idleLevel  [MostGPUs + 1]uint16
	byGPU      []uint64 // by the number of levels served and then by sequence
	least      int64    // the smallest milli-GPU asked for
	// By model that a shape names, and then by sequence; anyModel is for the
	// others. Nil if no shape names any.
	byModel  map[string][]uint64
	anyModel []uint64
	lanes    fillLanes // where GPUs are few and shares coarse
}

const roughSteps = 1 << 9

func newFillTables(f *Fill, mix Mix) fillTables {
	t := fillTables{sequences: f.sequences, least: Whole}
	t.tableCPU(f)
	t.tableGPU(f)
	t.tableModels(f, mix)
	t.tableLanes(f)
	return t
}

// places returns for each sequence the places whose shape is wanted.
func (f *Fill) places(wanted func(shape int) bool) []uint64 {
	all := make([]uint64, f.sequences)
	for i, shape := range f.drawn {
		if wanted(int(shape)) {
			all[i/f.length] |= 1 << (i % f.length)
		}
	}
	return all
}

func (t *fillTables) tableCPU(f *Fill) {
	for _, s := range f.shapes {
		t.cpus = append(t.cpus, s.cpu)
	}
	slices.Sort(t.cpus)
	t.cpus = slices.Compact(t.cpus)
	t.byCPU = make([]uint64, f.sequences, f.sequences*(len(t.cpus)+1))
	for _, cpu := range t.cpus {
		t.byCPU = append(t.byCPU, f.places(func(shape int) bool { return f.shapes[shape].cpu <= cpu })...)
	}
	most := t.cpus[len(t.cpus)-1]
	for most>>t.shift >= roughSteps {
		t.shift++
	}
	fit := 0
	for step := range most>>t.shift + 1 {
		for fit < len(t.cpus) && t.cpus[fit] <= step<<t.shift {
			fit++
		}
		t.rough = append(t.rough, uint16(fit))
	}
}

// cpuLevel returns how many of the CPU requests fit.
func (t *fillTables) cpuLevel(cpu int64) int {
	if cpu < 0 {
		return 0
	}
	step := cpu >> t.shift
	if step >= int64(len(t.rough)) {
		return len(t.cpus)
	}
	fit := int(t.rough[step])
	for fit < len(t.cpus) && t.cpus[fit] <= cpu {
		fit++
	}
	return fit
}

func (t *fillTables) tableGPU(f *Fill) {
	// A level is the milli-GPU asked of one GPU or, above them, whole GPUs.
	level := func(s fillShape) int64 {
		if s.gpus > 0 {
			return Whole * int64(s.gpus)
		}
		return int64(s.milli)
	}
	var levels []int64
	for _, s := range f.shapes {
		levels = append(levels, level(s))
		t.least = min(t.least, int64(s.milli))
	}
	slices.Sort(levels)
	levels = slices.Compact(levels)
	t.byGPU = make([]uint64, f.sequences, f.sequences*(len(levels)+1))
	for _, l := range levels {
		t.byGPU = append(t.byGPU, f.places(func(shape int) bool { return level(f.shapes[shape]) <= l })...)
	}
	served := func(have int64) uint16 {
		i, found := slices.BinarySearch(levels, have)
		if found {
			i++
		}
		return uint16(i)
	}
	for milli := range t.milliLevel {
		t.milliLevel[milli] = served(int64(milli))
	}
	for idle := range t.idleLevel {
		t.idleLevel[idle] = served(Whole * int64(idle))
	}
}

func (t *fillTables) tableModels(f *Fill, mix Mix) {
	accepting := func(model string) []uint64 {
		return f.places(func(shape int) bool { return mix[shape].Shape.Models.Accept(model) })
	}
	for i := range mix {
		for model := range strings.SplitSeq(string(mix[i].Shape.Models), "|") {
			if model == "" || t.byModel[model] != nil {
				continue
			}
			if t.byModel == nil {
				t.byModel = map[string][]uint64{}
			}
			t.byModel[model] = accepting(model)
		}
	}
	if t.byModel != nil {
		t.anyModel = accepting("")
	}
}

// row returns the words of the sequences at a level.
func (t *fillTables) row(words []uint64, level int) []uint64 {
	return words[level*t.sequences:][:t.sequences]
}
