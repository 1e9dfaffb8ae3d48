package mps_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
)

// drawPartitions is a table that a daemon could print: devices with different starts,
// partitions with IDs of 36 characters of base64.
func drawPartitions(t *rapid.T) []mps.PartitionedDevice {
	var devices []mps.PartitionedDevice
	count := rapid.IntRange(0, 4).Draw(t, "devices")
	id := rapid.StringMatching(`[A-Za-z0-9+/]{36}`)
	for i := range count {
		d := mps.PartitionedDevice{Device: fmt.Sprintf("GPU-%x", 0xa0+i)}
		chunk := rapid.SampledFrom([]int{2, 4, 8}).Draw(t, "SMs of a chunk")
		d.FreeChunks = rapid.IntRange(0, 16).Draw(t, "free chunks")
		for range rapid.IntRange(0, 4).Draw(t, "partitions") {
			p := mps.SMPartition{
				PartitionID: mps.PartitionID{Device: d.Device, ID: id.Draw(t, "id")},
				Chunks:      rapid.IntRange(1, 7).Draw(t, "chunks"),
				Clients:     rapid.SampledFrom([]string{"", "Yes", "No"}).Draw(t, "clients"),
			}
			p.SMs = p.Chunks * chunk
			d.UsedChunks += p.Chunks
			d.Partitions = append(d.Partitions, p)
		}
		d.FreeSMs, d.UsedSMs = d.FreeChunks*chunk, d.UsedChunks*chunk
		devices = append(devices, d)
	}
	return devices
}

// Both styles of the table say the same.
func TestPartitionStyles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawPartitions(t)
		for _, withDashes := range []bool{true, false} {
			text := formatPartitions(want, withDashes)
			got, err := mps.New(saying(text), mps.Options{}).Partitions(t.Context())
			require.NoError(t, err, text)
			require.Equal(t, want, got, text)
		}
		for _, d := range want {
			for _, p := range d.Partitions {
				got, err := mps.ParsePartitionID(p.String())
				require.NoError(t, err)
				require.Equal(t, p.PartitionID, got)
			}
		}
	})
}
