package plan

import (
	"github.com/gpushare/gpushare/mig"
)

// Schema is the version of the JSON form of a Plan.
const Schema = 1

// State is what stands on one GPU, as far as planning is concerned.
type State struct {
	GPU       string // UUID; empty where there is no device, as in a plan made ahead
	Model     *mig.Model
	Instances []Instance // in any order
}

// Instance is a GPU instance with what stands in it.
type Instance struct {
	mig.Instance // profile, start and size in memory slices

	// Compute is what stands in it; nil says one of full size. An empty list is a GPU
	// instance that nothing can run on.
	Compute []mig.ComputeInstance `json:"computeInstances"`

	// UUIDs are those of the MIG devices, one for each of Compute, where the state
	// was read from a device. A fingerprint covers them, since ids and starts are
	// used again. A goal has none.
	UUIDs []string `json:"uuids,omitempty"`

	// Busy says that somebody uses it: no plan destroys it.
	Busy bool `json:"busy,omitempty"`

	// LossSeconds is how much work would be lost if it were destroyed, in seconds of
	// all its slices: zero for an idle one, the time since the last checkpoint for
	// one that may be restarted. At most MaxLossSeconds.
	LossSeconds int64 `json:"lossSeconds,omitempty"`
}

// MaxLossSeconds is the most that an instance can lose: about three years.
const MaxLossSeconds = 100_000_000

// Op is what a step does.
type Op string

// The operations.
const (
	Destroy Op = "destroy" // the compute instances, then the GPU instance
	Create  Op = "create"  // the GPU instance at its start, then its compute instances
)

// Step is one change of one GPU instance.
type Step struct {
	Op Op `json:"op"`
	Instance
}

// Plan is a list of steps from a state to a goal. Every prefix of the steps
// leaves a legal layout. It is plain data with a JSON form.
type Plan struct {
	Schema      int        `json:"schema"`
	Model       string     `json:"model"`         // key
	GPU         string     `json:"gpu,omitempty"` // UUID, where the state had one
	Fingerprint string     `json:"fingerprint"`   // of the state that it starts from
	Steps       []Step     `json:"steps"`
	Kept        []Instance `json:"kept"` // not touched, lowest start first
	Goal        []Instance `json:"goal"` // all that stands at the end, lowest start first
}
