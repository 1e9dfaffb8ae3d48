package mps

import "fmt"

// Documented numbers of client contexts per device and server.
const (
	ClientsBeforeVolta = 16 // compute capability below 7.0
	ClientsVolta       = 48 // from 7.0 on, in the documentation up to 2024
	ClientsVoltaLater  = 60 // the same, in current documentation; since which driver is not published
)

// defaultMaxConnections is CUDA_DEVICE_MAX_CONNECTIONS of an MPS client that sets none.
const defaultMaxConnections = 2

// ClientLimitQuery is what the number of clients depends on.
type ClientLimitQuery struct {
	ComputeMajor int // major part of the compute capability: 7 for a V100 or a T4

	// FromVolta is the driver's limit from compute capability 7.0 on; 0 means
	// ClientsVolta, which every such driver grants.
	FromVolta int

	// MaxConnections is CUDA_DEVICE_MAX_CONNECTIONS of the clients; 0 means that
	// they do not set it.
	MaxConnections int

	// InstanceSize of DeviceSize, both in the same unit, is the MIG compute instance
	// that the server runs on. Both 0: no MIG.
	InstanceSize, DeviceSize int
}

// Certainty is how far a number can be relied on.
type Certainty uint8

// The certainties.
const (
	Documented Certainty = iota // the documentation gives it
	Estimated                   // follows from a rule whose rounding is not published
	AtMost                      // the true number is this or less; how much less is not published
)

// String is the certainty in words.
func (c Certainty) String() string {
	if names := [...]string{"documented", "estimated", "at most"}; int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("Certainty(%d)", uint8(c))
}

// ClientLimit is how many client contexts a server takes on one device.
type ClientLimit struct {
	Contexts  int // CUDA contexts, not processes
	Certainty Certainty
	Reason    string // why it is not certain, or ""
}

// MaxClients is the limit of clients of one server on one device.
//
// With MIG it is lowered in proportion to the compute instance; since the rounding is
// not published, the answer is the proportional number rounded down, an estimate. More
// connections per client than the default lower it by a formula that is not published:
// the answer is then only an upper bound.
func MaxClients(q ClientLimitQuery) (ClientLimit, error) {
	limit := q.FromVolta
	if limit == 0 {
		limit = ClientsVolta
	}
	mig := q.InstanceSize != 0 || q.DeviceSize != 0
	switch {
	case q.ComputeMajor < 1:
		return ClientLimit{}, fmt.Errorf("%w: compute capability %d.x", ErrInput, q.ComputeMajor)
	case limit < 1 || limit > 1<<16:
		return ClientLimit{}, fmt.Errorf("%w: limit from Volta on: %d", ErrInput, q.FromVolta)
	case q.MaxConnections < 0 || q.MaxConnections > 1<<16:
		return ClientLimit{}, fmt.Errorf("%w: CUDA_DEVICE_MAX_CONNECTIONS %d", ErrInput, q.MaxConnections)
	case mig && (q.InstanceSize < 1 || q.DeviceSize < q.InstanceSize || q.DeviceSize > 1<<16):
		return ClientLimit{}, fmt.Errorf("%w: an instance of %d on a device of %d", ErrInput, q.InstanceSize, q.DeviceSize)
	case mig && q.ComputeMajor < 8:
		return ClientLimit{}, fmt.Errorf("%w: MIG on compute capability %d.x", ErrInput, q.ComputeMajor)
	}
	if q.ComputeMajor < 7 {
		limit = ClientsBeforeVolta
	}
	l := ClientLimit{Contexts: limit}
	more := q.MaxConnections > defaultMaxConnections
	if mig {
		// A bound must not be below the truth, an estimate not above it.
		part := limit * q.InstanceSize
		if more {
			part += q.DeviceSize - 1
		}
		l = ClientLimit{max(part/q.DeviceSize, 1), Estimated, "in proportion to the compute instance; the rounding is not published"}
	}
	if more {
		l.Certainty = AtMost
		l.Reason = fmt.Sprintf("CUDA_DEVICE_MAX_CONNECTIONS %d is above %d, which lowers the limit by an unpublished amount",
			q.MaxConnections, defaultMaxConnections)
	}
	return l, nil
}

// Check refuses more contexts than the limit, with an error that wraps ErrInput. No
// error is a promise only if the limit is Documented.
func (l ClientLimit) Check(contexts int) error {
	switch {
	case contexts < 0:
		return fmt.Errorf("%w: %d clients", ErrInput, contexts)
	case contexts > l.Contexts:
		return fmt.Errorf("%w: %d clients on one device, the limit is %d (%s)", ErrInput, contexts, l.Contexts, l.Certainty)
	}
	return nil
}
