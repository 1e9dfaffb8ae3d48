package nvmlfake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/gpushare/gpushare/mig"
)

// Schema is the version of the JSON form of a Snapshot.
const Schema = 1

// Snapshot is a machine as plain data: what the driver knows, without the
// clients. Its JSON form can be written by hand, since everything but the schema
// and the models has a default:
//
//	{"schema": 1, "gpus": [{"model": "a100-40gb", "mig": true,
//		"instances": [{"profile": "3g.20gb", "start": 4}]}]}
//
// Server.Snapshot leaves no default to be filled in, and encoding/json writes it.
type Snapshot struct {
	Schema       int           `json:"schema"`
	Seed         uint64        `json:"seed,omitempty"`
	StaleHandles bool          `json:"staleHandles,omitempty"`
	GPUs         []GPUSnapshot `json:"gpus"` // in the order of NVML indices
}

// GPUSnapshot is one GPU.
type GPUSnapshot struct {
	Model   string `json:"model"`             // as GPU.Model
	Product string `json:"product,omitempty"` // one of the model's product names; empty: by Model
	UUID    string `json:"uuid,omitempty"`    // empty: by seed and index
	MIG     bool   `json:"mig,omitempty"`     // MIG mode is enabled
	// PendingMIG is the mode that the next reset brings. Absent: the current one.
	PendingMIG *bool `json:"pendingMig,omitempty"`
	// Created counts the MIG devices ever created, so that UUIDs stay unique.
	Created   uint64             `json:"created,omitempty"`
	Instances []InstanceSnapshot `json:"instances,omitempty"`
	Holders   []Holder           `json:"holders,omitempty"` // of the whole GPU
	VGPUHost  bool               `json:"vgpuHost,omitempty"`
	// VGPUScheduler is that of the GPU without MIG. Absent: best effort.
	VGPUScheduler *VGPUSnapshot `json:"vgpuScheduler,omitempty"`

	// Table is the model where it is not one that mig.Lookup finds. JSON does not
	// carry it: fill it in again after reading.
	Table *mig.Model `json:"-"`
}

// InstanceSnapshot is a GPU instance.
type InstanceSnapshot struct {
	Profile string `json:"profile"`      // name
	Start   int    `json:"start"`        // first memory slice
	ID      *int   `json:"id,omitempty"` // absent: the driver's choice
	// Compute is what stands in it. Absent, or null: one of full size.
	Compute []ComputeSnapshot `json:"computeInstances"`
	Holders []Holder          `json:"holders,omitempty"` // hidden ones
	// VGPUScheduler is that of the GPU instance. Absent: best effort.
	VGPUScheduler *VGPUSnapshot `json:"vgpuScheduler,omitempty"`
}

// ComputeSnapshot is a compute instance and its MIG device.
type ComputeSnapshot struct {
	Profile string `json:"profile"` // name
	Start   int    `json:"start"`   // first compute slice of the GPU instance
	// Index is that of the compute profile, where two share the name. Absent: the
	// one that takes most for the full size, the one there can be most of for a
	// part.
	Index   *int     `json:"index,omitempty"`
	ID      *int     `json:"id,omitempty"`     // absent: the lowest free
	Device  *int     `json:"device,omitempty"` // index of the MIG device; absent: the lowest free
	UUID    string   `json:"uuid,omitempty"`   // empty: the next one
	Holders []Holder `json:"holders,omitempty"`
}

// VGPUSnapshot is a vGPU scheduler of the graphics engine that is not best
// effort, by NVML's numbers; 0 is the default in each field but the first.
type VGPUSnapshot struct {
	Policy    uint32 `json:"policy"`              // nvml.VGPU_SCHEDULER_POLICY_EQUAL_SHARE or _FIXED_SHARE
	ARR       uint32 `json:"arr,omitempty"`       // nvml.VGPU_SCHEDULER_ARR_DEFAULT, _DISABLE or _ENABLE
	Factor    uint32 `json:"factor,omitempty"`    // averaging factor, unless ARR is disabled
	Frequency uint32 `json:"frequency,omitempty"` // Hz, unless ARR is disabled
	Timeslice uint32 `json:"timeslice,omitempty"` // ns, where ARR is disabled
}

func (v vgpuState) snapshot() *VGPUSnapshot {
	if v.graphics == (scheduler{}) {
		return nil
	}
	s := v.graphics
	return &VGPUSnapshot{Policy: s.policy, ARR: s.arr, Factor: s.factor, Frequency: s.frequency, Timeslice: s.timeslice}
}

// Snapshot returns the machine as it is. Initialisations of the library, the
// record of calls that are not modelled, the logs of vGPU schedulers and handles
// are no part of it. The result is the caller's.
func (s *Server) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := Snapshot{Schema: Schema, Seed: s.seed, StaleHandles: s.staleHandles, GPUs: []GPUSnapshot{}}
	for _, g := range s.gpus {
		pending := g.pending
		gs := GPUSnapshot{
			Model: g.model.Key(), Product: g.product, UUID: g.uuid, MIG: g.current, PendingMIG: &pending,
			Created: g.created, Holders: g.holders.plain(), Table: g.table,
			VGPUHost: g.vgpuHost, VGPUScheduler: g.vgpu.snapshot(),
		}
		for _, gi := range g.instances {
			id := gi.id
			is := InstanceSnapshot{
				Profile: gi.profile.Name, Start: gi.start, ID: &id,
				Compute: []ComputeSnapshot{}, Holders: gi.holders.plain(),
				VGPUScheduler: gi.vgpu.snapshot(),
			}
			for _, ci := range gi.instances {
				index, id, device := ci.profile.Index, ci.id, ci.index
				is.Compute = append(is.Compute, ComputeSnapshot{
					Profile: ci.profile.Name, Start: ci.start, Index: &index, ID: &id, Device: &device,
					UUID: ci.uuid, Holders: ci.holders.plain(),
				})
			}
			gs.Instances = append(gs.Instances, is)
		}
		snap.GPUs = append(snap.GPUs, gs)
	}
	return snap
}

// maxSnapshot is the size in bytes of the largest file that ReadSnapshot reads.
const maxSnapshot = 1 << 20

// ReadSnapshot reads the JSON form. An unknown field is an error: it would be a
// setting that does nothing. Whether such a machine can be is Restore's question.
// The error wraps ErrBadSnapshot and names line and column, or is the reader's.
func ReadSnapshot(r io.Reader) (Snapshot, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSnapshot+1))
	if err != nil {
		return Snapshot{}, fmt.Errorf("nvmlfake: snapshot: %w", err)
	}
	if len(text) > maxSnapshot {
		return Snapshot{}, fmt.Errorf("nvmlfake: %w: more than %d bytes", ErrBadSnapshot, maxSnapshot)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var snap Snapshot
	if err := d.Decode(&snap); err != nil {
		return Snapshot{}, badText(text, offsetOf(err, d), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Snapshot{}, badText(text, d.InputOffset(), errors.New("something follows the machine"))
	}
	if snap.Schema != Schema {
		return Snapshot{}, fmt.Errorf("nvmlfake: %w: schema %d, and only %d can be read", ErrBadSnapshot, snap.Schema, Schema)
	}
	return snap, nil
}

// offsetOf returns where decoding failed.
func offsetOf(err error, d *json.Decoder) int64 {
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return syntax.Offset - 1 // the offending character is counted
	case errors.As(err, &typed):
		return typed.Offset
	default:
		return d.InputOffset()
	}
}

func badText(text []byte, offset int64, err error) error {
	before := text[:min(max(offset, 0), int64(len(text)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("nvmlfake: %w: line %d, column %d: %w", ErrBadSnapshot, line, column, err)
}
