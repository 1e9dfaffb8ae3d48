package timeslice_test

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice"
)

// genDevices draws up to seven devices: GPUs, and MIG instances of other GPUs.
func genDevices(t *rapid.T) []timeslice.Device {
	devices := make([]timeslice.Device, rapid.IntRange(0, 7).Draw(t, "devices"))
	for i := range devices {
		d := timeslice.Device{
			UUID:     fmt.Sprintf("GPU-%d", i),
			Replicas: rapid.IntRange(0, 4).Draw(t, "replicas"),
			Memory:   rapid.Int64Range(0, 60).Draw(t, "memory"),
		}
		if rapid.Bool().Draw(t, "mig") {
			d.UUID = fmt.Sprintf("MIG-%d", i)
			d.Parent = fmt.Sprintf("GPU-parent-%d", rapid.IntRange(0, 2).Draw(t, "parent"))
		}
		devices[i] = d
	}
	return devices
}

// genSubset draws some of them, in any order.
func genSubset[T any](t *rapid.T, all []T, label string) []T {
	var some []T
	for _, v := range all {
		if rapid.Bool().Draw(t, label) {
			some = append(some, v)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return rapid.Permutation(some).Draw(t, label+" order")
}

func genRequest(t *rapid.T, all []timeslice.Replica) timeslice.Request {
	req := timeslice.Request{
		Policy:    rapid.SampledFrom([]timeslice.Policy{timeslice.Distributed, timeslice.Packed, timeslice.Distinct}).Draw(t, "policy"),
		Available: genSubset(t, all, "available"),
		OnlyOne:   rapid.IntRange(0, 9).Draw(t, "only one") == 0,
	}
	if rapid.Bool().Draw(t, "with must") {
		req.Must = genSubset(t, req.Available, "must")
		req.Must = req.Must[:min(len(req.Must), 3)]
	}
	req.Size = len(req.Must) + rapid.IntRange(0, 5).Draw(t, "more")
	return req
}
