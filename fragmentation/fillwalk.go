package fragmentation

import "math/bits"

// withoutMemory is Of where device memory decides nothing. What is
// left of each GPU is then a number, and a list of them in ascending order gives
// the tightest by a look from its start.
func (f *Fill) withoutMemory(s *State) int64 {
	t := &f.tables
	var room [2][MostGPUs]uint16 // on the stack
	start, parts := room[0][:0], room[1][:]
	idle := 0
	for i := range s.GPUs {
		switch g := &s.GPUs[i]; {
		case g.Milli < t.least || g.Cut():
		case g.Milli >= Whole:
			idle++
		default:
			start = append(start, 0)
			insert(start, len(start)-1, uint16(g.Milli))
		}
	}
	if len(start)+idle > len(parts) {
		parts = make([]uint16, len(start)+idle)
	}
	cpuLevel, gpuLevel := t.cpuLevel(s.CPU), t.gpuLevel(start, idle)
	if cpuLevel == 0 || gpuLevel == 0 {
		return 0
	}
	byCPU, byGPU := t.row(t.byCPU, cpuLevel), t.row(t.byGPU, gpuLevel)
	byModel := t.accepted(s.Model)
	filled := int64(0)
	for k, places := range byCPU {
		places &= byGPU[k]
		if byModel != nil {
			places &= byModel[k]
		}
		if places == 0 {
			continue
		}
		drawn := f.drawn[k*f.length:][:f.length]
		n, idle, cpu := copy(parts, start), idle, s.CPU
		own := int64(0)
		for places != 0 {
			place := bits.TrailingZeros64(places)
			shape := &f.shapes[drawn[place]]
			cpu -= shape.cpu
			own += shape.total
			if shape.gpus > 0 {
				idle -= shape.gpus
			} else {
				i := 0
				for i < n && parts[i] < shape.milli {
					i++
				}
				var left uint16
				if i == n {
					idle--
					n++
					left = Whole - shape.milli
				} else {
					left = parts[i] - shape.milli
				}
				if int64(left) >= t.least {
					insert(parts, i, left)
				} else {
					copy(parts[i:n], parts[i+1:n])
					n--
				}
			}
			// What did not fit before does not fit now.
			places &= places - 1
			places &= t.byCPU[t.cpuLevel(cpu)*t.sequences+k] & t.byGPU[t.gpuLevel(parts[:n], idle)*t.sequences+k]
		}
		filled += own * f.weights[k]
	}
	return filled
}

// insert puts x, which is to take place i or an earlier one, where it belongs in
// an ascending list, and moves what stands between.
func insert(list []uint16, i int, x uint16) {
	for ; i > 0 && list[i-1] > x; i-- {
		list[i] = list[i-1]
	}
	list[i] = x
}

// gpuLevel returns how many levels GPUs serve: those with a part left, in
// ascending order, and idle ones.
func (t *fillTables) gpuLevel(parts []uint16, idle int) int {
	switch {
	case idle > 0:
		return int(t.idleLevel[min(idle, MostGPUs)])
	case len(parts) > 0:
		return int(t.milliLevel[parts[len(parts)-1]])
	default:
		return 0
	}
}

// accepted returns for each sequence the places whose shapes accept a model; nil
// if all do.
func (t *fillTables) accepted(model string) []uint64 {
	if t.byModel == nil {
		return nil
	}
	if words, named := t.byModel[model]; named {
		return words
	}
	return t.anyModel
}
