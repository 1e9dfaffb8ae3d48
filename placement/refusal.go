package placement

import (
	"fmt"

	"github.com/gpushare/gpushare/fragmentation"
)

// Kind says why a task does not fit on a node. Kinds are in the order in which
// a node checks them, so a larger kind came closer to fitting.
type Kind uint8

// The kinds of refusal.
const (
	None           Kind = iota // the task fits
	BadShape                   // an amount of the shape is out of range: Shape.Validate says which
	NoGPU                      // the node has no GPU of the kind asked for: none at all, only cut ones, or only uncut ones
	WrongModel                 // the task does not accept the node's GPU model
	UnknownProfile             // no GPU of the node offers the MIG profile
	LackCPU                    // not enough CPU left
	LackMemory                 // not enough main memory left
	LackGPU                    // not enough GPUs with the share asked for left
	LackDevice                 // GPUs have the share left but not the device memory, or the table does not know how much a MIG instance has
	NoStart                    // no free start for the MIG profile
	kinds
)

var kindText = [kinds]string{
	"fits",
	"bad shape",
	"no GPU of the kind asked for",
	"GPU model not accepted",
	"MIG profile not offered",
	"not enough CPU",
	"not enough memory",
	"not enough GPU left",
	"not enough device memory left, or not known",
	"no free start for the MIG profile",
}

// String returns a text without figures of the node, so that the refusals of
// many nodes can be counted by text.
func (k Kind) String() string {
	if k >= kinds {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return kindText[k]
}

// Refusal says why a task does not fit on a node. The zero Refusal is none.
type Refusal struct {
	Kind Kind
	// Evictable says that the task would fit if some or all other tasks left
	// the node; otherwise it never fits there.
	Evictable bool
}

// String returns the text of the kind.
func (r Refusal) String() string { return r.Kind.String() }

// Fits says whether a task fits into what is left, and if not why. Its ID plays
// no part. It is pure and does not allocate. A shape that is not valid never fits;
// Shape.Validate says what is wrong with it.
//
// What fits, With takes. The reverse holds too on a node without tasks placed
// anywhere. Where there are some, Fits looks at the spots that the node has chosen
// for them, and With may yet find room by moving them.
func (n *Node) Fits(t *Task) Refusal {
	kind := refusal(&n.state, &t.Shape)
	if kind == None {
		return Refusal{}
	}
	return Refusal{Kind: kind, Evictable: refusal(&n.empty.state, &t.Shape) == None}
}

// refusal returns the first reason why the shape does not fit into the state.
func refusal(s *fragmentation.State, shape *fragmentation.Shape) Kind {
	if kind := nodeRefusal(s, shape); kind != None {
		return kind
	}
	if shape.Profile != "" {
		return instanceRefusal(s, shape)
	}
	share, both := 0, 0
	for i := range s.GPUs {
		if g := &s.GPUs[i]; !g.Cut() && g.Milli >= shape.Milli {
			share++
			if g.Memory >= shape.DeviceMemory {
				both++
			}
		}
	}
	switch {
	case both >= shape.GPUs:
		return None
	case share >= shape.GPUs:
		return LackDevice
	default:
		return LackGPU
	}
}

// nodeRefusal returns why the shape does not fit, as far as no single GPU is at
// fault.
func nodeRefusal(s *fragmentation.State, shape *fragmentation.Shape) Kind {
	kind := unsuitable(s, shape)
	switch {
	case kind != None:
		return kind
	case s.CPU < shape.CPU:
		return LackCPU
	case s.Memory < shape.Memory:
		return LackMemory
	default:
		return None
	}
}

// unsuitable returns why the shape can never go to the node, whatever leaves.
func unsuitable(s *fragmentation.State, shape *fragmentation.Shape) Kind {
	if !wellFormed(shape) {
		return BadShape
	}
	if shape.GPUs == 0 {
		return None
	}
	cut := shape.Profile != ""
	kind := NoGPU
	for i := range s.GPUs {
		g := &s.GPUs[i]
		if g.Cut() != cut {
			continue
		}
		kind = None
		if !cut {
			break
		}
		if _, ok := g.Layout.Model().Offers(shape.Profile); ok {
			break
		}
		kind = UnknownProfile
	}
	if kind != NoGPU && !shape.Models.Accept(s.Model) {
		return WrongModel
	}
	return kind
}

// wellFormed is Shape.Validate for hot paths, as far as the amounts go: a name
// that is no profile is offered by no GPU.
func wellFormed(s *fragmentation.Shape) bool {
	switch {
	case s.CPU < 0 || s.Memory < 0 || s.GPUs < 0 || s.GPUs > fragmentation.MostGPUs || s.Milli < 0 || s.DeviceMemory < 0:
		return false
	case s.Profile != "":
		return s.GPUs == 1 && s.Milli == 0
	case s.GPUs == 0:
		return s.Milli == 0 && s.DeviceMemory == 0
	default:
		return s.Milli == fragmentation.Whole || s.GPUs == 1 && s.Milli > 0 && s.Milli < fragmentation.Whole
	}
}

// instanceRefusal is refusal for a MIG instance, which a GPU of the node offers.
func instanceRefusal(s *fragmentation.State, shape *fragmentation.Shape) Kind {
	kind := UnknownProfile
	for i := range s.GPUs {
		g := &s.GPUs[i]
		if !g.Cut() {
			continue
		}
		p, ok := g.Layout.Model().Offers(shape.Profile)
		if !ok {
			continue
		}
		if int64(p.MemoryMiB) < shape.DeviceMemory { // also where the figure is unknown
			kind = max(kind, LackDevice)
			continue
		}
		if g.Layout.FreeStarts(p) != 0 {
			return None
		}
		kind = NoStart
	}
	return kind
}
