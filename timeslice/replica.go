package timeslice

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Device is something that can be shared in time: a GPU, or a MIG instance.
type Device struct {
	UUID     string // "GPU-…" or "MIG-…"; any text without "::"
	Parent   string // UUID of the GPU that a MIG instance is part of; empty for a GPU
	Memory   int64  // MiB
	Replicas int    // how many it is advertised as; 0: itself, unshared
}

// GPU is the UUID of the physical GPU: the parent of a MIG instance, or its own.
func (d Device) GPU() string {
	if d.Parent != "" {
		return d.Parent
	}
	return d.UUID
}

// Whole is the N of a Replica that is no replica but the whole device.
const Whole = -1

// Replica is what a scheduler counts and a container is given: the n-th replica
// of a device, or the device itself. A replica is a place in a queue. It promises
// no memory, no part of the time and no protection from the others.
type Replica struct {
	Device string // UUID
	N      int    // from 0; Whole for a device that is not shared
}

const replicaSign = "::"

// String is the id that the device plugin hands to the kubelet: "GPU-…::3", or
// the bare UUID of a device that is not shared.
func (r Replica) String() string {
	if r.N < 0 {
		return r.Device
	}
	return r.Device + replicaSign + strconv.Itoa(r.N)
}

// Shared is false for a whole device.
func (r Replica) Shared() bool { return r.N >= 0 }

// ParseReplica reads an id as String writes it: a text without "::" is a whole
// device. The error wraps [ErrInput] for what String never writes, such as
// "GPU-…::", "GPU-…::03" or "::1", all of which the device plugin takes for
// replica 0 or as they come.
func ParseReplica(id string) (Replica, error) {
	device, number, shared := strings.Cut(id, replicaSign)
	if device == "" {
		return Replica{}, fmt.Errorf("%w: replica id %q names no device", ErrInput, id)
	}
	if !shared {
		return Replica{Device: id, N: Whole}, nil
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || strconv.Itoa(n) != number || strings.HasSuffix(device, ":") {
		return Replica{}, fmt.Errorf("%w: replica id %q has no number from 0 behind %q", ErrInput, id, replicaSign)
	}
	return Replica{Device: device, N: n}, nil
}

// MaxReplicas bounds how many ids [Expand] makes.
const MaxReplicas = 1 << 20

// Expand lists the replicas of devices: device by device, each with its numbers
// from 0. The error wraps [ErrInput] for devices that are not valid (a UUID that is
// empty, has "::" or stands there twice, a parent that is no GPU, a negative number)
// and for more than MaxReplicas.
func Expand(devices []Device) ([]Replica, error) {
	if _, err := newIndex(devices); err != nil {
		return nil, err
	}
	total := 0
	for _, d := range devices {
		// No sum overflows: it is looked at before each addition.
		if max(d.Replicas, 1) > MaxReplicas-total {
			return nil, fmt.Errorf("%w: more than %d replicas, with %d of %s", ErrInput, MaxReplicas, d.Replicas, d.UUID)
		}
		total += max(d.Replicas, 1)
	}
	all := make([]Replica, 0, total)
	for _, d := range devices {
		if d.Replicas == 0 {
			all = append(all, Replica{Device: d.UUID, N: Whole})
		}
		for n := range d.Replicas {
			all = append(all, Replica{Device: d.UUID, N: n})
		}
	}
	return all, nil
}

// DevicesOf is what a container gets for its replicas: each device once, in the
// order of its first replica. Two replicas of one device are one device, and no
// larger part of its time.
func DevicesOf(replicas []Replica) []string {
	var uuids []string
	seen := make(map[string]bool, len(replicas))
	for _, r := range replicas {
		if !seen[r.Device] {
			seen[r.Device] = true
			uuids = append(uuids, r.Device)
		}
	}
	return uuids
}

// index finds a device by UUID.
type index map[string]int

func newIndex(devices []Device) (index, error) {
	at := make(index, len(devices))
	for i, d := range devices {
		switch {
		case d.UUID == "" || strings.Contains(d.UUID, replicaSign) || strings.HasSuffix(d.UUID, ":"):
			return nil, fmt.Errorf("%w: device %d: UUID %q", ErrInput, i, d.UUID)
		case d.Replicas < 0 || d.Memory < 0:
			return nil, fmt.Errorf("%w: device %s: %d replicas, %d MiB", ErrInput, d.UUID, d.Replicas, d.Memory)
		case d.Parent == d.UUID:
			return nil, fmt.Errorf("%w: device %s is its own parent", ErrInput, d.UUID)
		}
		if _, twice := at[d.UUID]; twice {
			return nil, fmt.Errorf("%w: device %s stands there twice", ErrInput, d.UUID)
		}
		at[d.UUID] = i
	}
	for _, d := range devices {
		if i, known := at[d.Parent]; known && d.Parent != "" && devices[i].Parent != "" {
			return nil, fmt.Errorf("%w: device %s: its parent %s is no GPU but part of %s", ErrInput, d.UUID, d.Parent, devices[i].Parent)
		}
	}
	return at, nil
}

// find returns the position of a replica's device, if there is such a replica.
func (at index) find(devices []Device, r Replica) (int, error) {
	i, known := at[r.Device]
	if !known {
		return 0, fmt.Errorf("%w: %s: no such device", ErrInput, r)
	}
	d := devices[i]
	if d.Replicas == 0 && r.N != Whole || d.Replicas > 0 && (r.N < 0 || r.N >= d.Replicas) {
		return 0, fmt.Errorf("%w: %s: the device has %d replicas", ErrInput, r, d.Replicas)
	}
	return i, nil
}

// byDevice sorts replicas into lists of numbers, one for each device, ascending.
// A replica twice is an error.
func (at index) byDevice(devices []Device, replicas []Replica, what string) ([][]int, error) {
	lists := make([][]int, len(devices))
	for _, r := range replicas {
		i, err := at.find(devices, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		lists[i] = append(lists[i], r.N)
	}
	for i, list := range lists {
		slices.Sort(list)
		for j := 1; j < len(list); j++ {
			if list[j] == list[j-1] {
				return nil, fmt.Errorf("%w: %s: %s stands there twice", ErrInput, what, Replica{devices[i].UUID, list[j]})
			}
		}
	}
	return lists, nil
}
