package timeslice

import (
	"fmt"
	"slices"
)

// Policy says which of the available replicas a request gets.
type Policy uint8

// The policies. Distributed and Packed are those of the device plugin.
const (
	// Distributed prefers the device with the fewest replicas in use. It may
	// still give two replicas of one device.
	Distributed Policy = iota
	// Packed prefers the device with the most in use.
	Packed
	// Distinct gives replicas of as many physical GPUs as replicas are asked for,
	// of the GPUs with the fewest in use, or refuses.
	Distinct
)

var policyNames = [...]string{Distributed: "distributed", Packed: "packed", Distinct: "distinct"}

// String is "distributed", "packed" or "distinct".
func (p Policy) String() string {
	if int(p) < len(policyNames) {
		return policyNames[p]
	}
	return fmt.Sprintf("policy(%d)", uint8(p))
}

// ParsePolicy reads a name as String writes it; the error wraps [ErrInput].
func ParsePolicy(name string) (Policy, error) {
	if i := slices.Index(policyNames[:], name); i >= 0 {
		return Policy(i), nil
	}
	return 0, fmt.Errorf("%w: allocation policy %q is none of %q", ErrInput, name, policyNames[:])
}

// Request asks for replicas.
type Request struct {
	Policy    Policy
	Size      int       // how many, Must included
	Available []Replica // free ones, in any order
	Must      []Replica // to be among the answer; they are available, too

	// OnlyOne refuses more than one replica, as failRequestsGreaterThanOne of
	// the device plugin does. Whole devices are not meant.
	OnlyOne bool
}

// Allocate chooses replicas of devices for a request: first Must in its order,
// then one after the other by the policy. What is not available counts as in use,
// what has been chosen too. Of devices that are equal for the policy the one with
// the fewest replicas in this answer comes first, then the one that stands first
// in the list; of its replicas the lowest number.
//
// So the same request has the same answer, whatever the order of Available. The
// device plugin leaves the last tie to chance. It counts neither Must as chosen,
// nor (so that two replicas may come from one GPU while another is free) whether
// the container gets as many GPUs as it asked for: see Distinct.
//
// An answer to a wish is distinct from an error in it: [ErrNotEnough],
// [ErrSameGPU] (enough replicas, on too few GPUs) and [ErrOnlyOne] say no;
// [ErrInput] says that the request is malformed. It costs O(size * devices), is
// pure and safe for concurrent use.
func Allocate(devices []Device, req Request) ([]Replica, error) {
	a, err := newAllocation(devices, req)
	if err != nil {
		return nil, err
	}
	chosen := slices.Clone(req.Must)
	for len(chosen) < req.Size {
		i := a.best()
		if i < 0 {
			return nil, fmt.Errorf("%w: %d asked for, available ones are on %d", ErrSameGPU, req.Size, len(chosen))
		}
		n := a.free[i][0]
		a.take(i)
		a.free[i] = a.free[i][1:]
		chosen = append(chosen, Replica{Device: devices[i].UUID, N: n})
	}
	if req.OnlyOne && req.Size > 1 && slices.ContainsFunc(chosen, Replica.Shared) {
		return nil, fmt.Errorf("%w: %d", ErrOnlyOne, req.Size)
	}
	return chosen, nil
}

type allocation struct {
	devices []Device
	policy  Policy
	free    [][]int // numbers of the replicas that can be chosen, by device
	gpu     []int   // physical GPU of a device
	taken   []int   // in this answer, by device
	inUse   []int   // by device
	gpuHas  []int   // in this answer, by GPU
	gpuUse  []int   // in use before, by GPU: Distinct takes no second one of a GPU
}

func newAllocation(devices []Device, req Request) (*allocation, error) {
	at, err := newIndex(devices)
	if err != nil {
		return nil, err
	}
	if req.Size < 0 || req.Size < len(req.Must) || int(req.Policy) >= len(policyNames) {
		return nil, fmt.Errorf("%w: %d replicas, %d of which are given, policy %s", ErrInput, req.Size, len(req.Must), req.Policy)
	}
	a := &allocation{
		devices: devices, policy: req.Policy,
		gpu: make([]int, len(devices)), taken: make([]int, len(devices)), inUse: make([]int, len(devices)),
		gpuHas: make([]int, len(devices)), gpuUse: make([]int, len(devices)),
	}
	if a.free, err = at.byDevice(devices, req.Available, "available"); err != nil {
		return nil, err
	}
	must, err := at.byDevice(devices, req.Must, "must")
	if err != nil {
		return nil, err
	}
	for i, numbers := range must {
		for _, n := range numbers {
			if _, there := slices.BinarySearch(a.free[i], n); !there {
				return nil, fmt.Errorf("%w: must: %s is not available", ErrInput, Replica{devices[i].UUID, n})
			}
		}
	}
	if req.Size > len(req.Available) {
		return nil, fmt.Errorf("%w: %d of %d", ErrNotEnough, len(req.Available), req.Size)
	}
	return a, a.begin(must)
}

// begin counts what is in use, and takes what has to be in the answer.
func (a *allocation) begin(must [][]int) error {
	first := map[string]int{} // device at which a GPU stands first
	for i, d := range a.devices {
		if _, known := first[d.GPU()]; !known {
			first[d.GPU()] = i
		}
		a.gpu[i] = first[d.GPU()]
		a.inUse[i] = max(d.Replicas, 1) - len(a.free[i])
		a.gpuUse[a.gpu[i]] += a.inUse[i]
	}
	for i, numbers := range must {
		for range numbers {
			a.take(i)
			if a.policy == Distinct && a.gpuHas[a.gpu[i]] > 1 {
				return fmt.Errorf("%w: must: GPU %s twice", ErrSameGPU, a.devices[i].GPU())
			}
		}
		if len(numbers) > 0 {
			a.free[i] = slices.DeleteFunc(a.free[i], func(n int) bool {
				_, found := slices.BinarySearch(numbers, n)
				return found
			})
		}
	}
	return nil
}

func (a *allocation) take(i int) {
	a.taken[i]++
	a.inUse[i]++
	a.gpuHas[a.gpu[i]]++
}

// best returns the device from which the next replica comes, -1 if there is none.
func (a *allocation) best() int {
	best := -1
	for i := range a.devices {
		if len(a.free[i]) == 0 || a.policy == Distinct && a.gpuHas[a.gpu[i]] > 0 {
			continue
		}
		if best < 0 || a.before(i, best) {
			best = i
		}
	}
	return best
}

// before reports whether device i is better than j, which stands before it.
func (a *allocation) before(i, j int) bool {
	if a.policy == Distinct {
		if x, y := a.gpuUse[a.gpu[i]], a.gpuUse[a.gpu[j]]; x != y {
			return x < y
		}
	}
	if a.inUse[i] != a.inUse[j] {
		return (a.inUse[i] < a.inUse[j]) != (a.policy == Packed)
	}
	return a.taken[i] < a.taken[j]
}
