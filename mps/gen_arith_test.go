package mps_test

import (
	"fmt"
	"strconv"

	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
)

// genCapacity draws a device of any size, memory known or not.
func genCapacity(t *rapid.T) mps.Capacity {
	perTPC := rapid.SampledFrom([]int{0, 1, 2, 2, 4}).Draw(t, "SMs per TPC")
	return mps.Capacity{
		Device:    "gpu",
		SMs:       rapid.IntRange(max(perTPC, 2), 200).Draw(t, "SMs"),
		SMsPerTPC: perTPC,
		MemoryMiB: rapid.SampledFrom([]int64{0, 15360, 40960, 81559, 183359}).Draw(t, "memory"),
	}
}

// genWeights draws relative weights for at most n clients.
func genWeights(t *rapid.T, n, most int) []int {
	return rapid.SliceOfN(rapid.IntRange(1, most), 1, n).Draw(t, "weights")
}

// genUUIDs draws distinct UUIDs, none the beginning of another.
func genUUIDs(t *rapid.T, least, most int) []string {
	firsts := rapid.SliceOfNDistinct(rapid.IntRange(0, 0xffff), least, most, rapid.ID[int]).Draw(t, "UUIDs")
	uuids := make([]string, len(firsts))
	for i, n := range firsts {
		uuids[i] = fmt.Sprintf("GPU-%04x0000-1111-2222-3333-444455556666", n)
	}
	return uuids
}

// genDeviceLimits draws limits for distinct devices, named by ordinal or UUID.
func genDeviceLimits(t *rapid.T) []mps.DeviceLimit {
	keys := genUUIDs(t, 1, 6)
	limits := make([]mps.DeviceLimit, len(keys))
	for i, key := range keys {
		if rapid.Bool().Draw(t, "by ordinal") {
			key = strconv.Itoa(i)
		}
		limits[i] = mps.DeviceLimit{Device: key, MiB: rapid.Int64Range(1, 1<<43-1).Draw(t, "MiB")}
	}
	return limits
}

// genClientEnv draws an environment that Env accepts, each variable set or not.
func genClientEnv(t *rapid.T) mps.ClientEnv {
	var e mps.ClientEnv
	with := func(name string) bool { return rapid.Bool().Draw(t, name) }
	if with("pipe") {
		e.PipeDirectory = "/" + rapid.StringMatching(`[a-z/=]{1,40}`).Draw(t, "pipe directory")
	}
	if with("percentage") {
		e.Percent = float64(rapid.IntRange(1, 10000).Draw(t, "hundredths")) / 100
	}
	if with("limits") {
		e.PinnedLimits = genDeviceLimits(t)
	}
	if with("priority") {
		p := rapid.IntRange(0, 1).Draw(t, "priority value")
		e.Priority = &p
	}
	e.PerContext = with("per context")
	if with("partition") {
		e.SMPartition = mps.PartitionID{
			Device: genUUIDs(t, 1, 1)[0], ID: rapid.StringMatching(`[A-Za-z0-9+/]{36}`).Draw(t, "partition id"),
		}
	}
	if with("visible") {
		e.VisibleDevices = genUUIDs(t, 0, 4)
	}
	if with("connections") {
		e.MaxConnections = rapid.IntRange(1, 32).Draw(t, "connections value")
	}
	return e
}
