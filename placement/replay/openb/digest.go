package openb

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	"github.com/gpushare/gpushare/placement/replay"
)

// Digest sums up decisions, so that two runs that decided alike are known by one
// text. It hashes a line "task,node,devices" for every arrival, where devices
// are the GPU indexes joined by dashes; node and devices are empty for a task
// that was refused. It is not safe for concurrent use.
type Digest struct{ hash hash.Hash }

// NewDigest returns the digest of no decisions.
func NewDigest() *Digest { return &Digest{sha256.New()} }

// Add adds an event; departures are not decisions and are passed over. It fits
// replay.Config.Observe.
func (d *Digest) Add(e replay.Event) {
	if !e.Departure {
		io.WriteString(d.hash, Decision(e)+"\n") //nolint:errcheck // a hash does not fail
	}
}

// String returns the SHA-256 so far in hexadecimal.
func (d *Digest) String() string { return hex.EncodeToString(d.hash.Sum(nil)) }

// Decision returns the line of an arrival, without its end.
func Decision(e replay.Event) string {
	if e.Node == nil {
		return e.Task.ID + ",,"
	}
	return fmt.Sprintf("%s,%s,%s", e.Task.ID, e.Node.Name(), e.Choice.Spot.GPUs)
}
