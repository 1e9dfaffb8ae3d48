package mps_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

// IDs of the length that drivers give, one with slashes.
const (
	idA    = "AAAAAAAAAAAAAP8BAAAAAAAAAAAAAAAAAAAA"
	idB    = "AAAA/AAAAAA/APB+AAAAAAAAAAAAAAAAAAAA"
	device = "GPU-89ab12cd-0000-1111-2222-333344445555"
)

// The table in both styles: with dashes, and with blank cells.
const (
	dashes = `GPU            Partition                             free   used   free  used  clients
                                                     chunk  chunk  SM    SM
GPU-89         -                                     2      13     16    104   -
GPU-89         ` + idA + `  -      7      -     56    No
GPU-89         ` + idB + `  -      6      -     48    Yes
GPU-c4         -                                     15     0      120   0     -
`
	blanks = `GPU            Partition                             free   used   free  used  clients
                                                     chunks chunks SM    SM
GPU-89                                               2      13     16    104
GPU-89         ` + idA + `         7            56    No
GPU-89         ` + idB + `         6            48    Yes
GPU-c4                                               15     0      120   0
`
)

func TestPartitions(t *testing.T) {
	t.Parallel()
	want := []mps.PartitionedDevice{
		{Device: "GPU-89", FreeChunks: 2, UsedChunks: 13, FreeSMs: 16, UsedSMs: 104, Partitions: []mps.SMPartition{
			{PartitionID: mps.PartitionID{Device: "GPU-89", ID: idA}, Chunks: 7, SMs: 56, Clients: "No"},
			{PartitionID: mps.PartitionID{Device: "GPU-89", ID: idB}, Chunks: 6, SMs: 48, Clients: "Yes"},
		}},
		{Device: "GPU-c4", FreeChunks: 15, FreeSMs: 120},
	}
	for name, reply := range map[string]string{"dashes": dashes, "blanks": blanks} {
		got, err := mps.New(saying(reply), mps.Options{}).Partitions(t.Context())
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	}

	const row = "GPU-89 - 2 13 16 104 -\n"
	for name, tc := range map[string]struct {
		reply   string
		clients string
	}{
		"a dash for clients":  {row + "GPU-89 " + idA + " - 7 - 56 -", ""},
		"blank for clients":   {row + "GPU-89 " + idA + " 7 56", ""},
		"an ID of digits":     {row + "GPU-89 111111111111111111111111111111111111 7 56 No", "No"},
		"styles in one table": {row + "GPU-89 " + idA + " 7 56 Yes", "Yes"},
	} {
		got, err := mps.New(saying(tc.reply), mps.Options{}).Partitions(t.Context())
		require.NoError(t, err, name)
		require.Len(t, got, 1, name)
		require.Len(t, got[0].Partitions, 1, name)
		assert.Equal(t, tc.clients, got[0].Partitions[0].Clients, name)
		assert.Equal(t, 56, got[0].Partitions[0].SMs, name)
	}
	for name, reply := range map[string]string{
		"a partition without its device": "GPU-89 " + idA + " - 7 - 56 No",
		"a device twice":                 row + row,
		"a count that is none":           "GPU-89 - 2 x 16 104 -",
		"a negative count":               "GPU-89 - 2 -1 16 104 -",
		"a cut row":                      row + "GPU-89 " + idA + " - 7",
		"nothing":                        "",
		"a blank line":                   "\n",
		"words":                          "static partitioning is off",
		"another word for clients":       row + "GPU-89 " + idA + " 7 56 Maybe",
		"a header in between":            row + "GPU Partition",
	} {
		_, err := mps.New(saying(reply), mps.Options{}).Partitions(t.Context())
		require.ErrorIs(t, err, mps.ErrUnparsed, name)
	}
	got, err := mps.New(saying("GPU Partition free\n"), mps.Options{}).Partitions(t.Context())
	require.NoError(t, err)
	assert.Empty(t, got)
}

func TestAddPartition(t *testing.T) {
	t.Parallel()
	full := device + "/" + idB
	made := mps.PartitionID{Device: device, ID: idB}
	add := func(replies ...string) (mps.SMPartition, *peer, error) {
		p := saying(replies...)
		got, err := mps.New(p, mps.Options{}).AddPartition(t.Context(), "GPU-89", 6)
		return got, p, err
	}
	for style, reply := range map[string]string{"observed": "Partition " + full + " created\n", "documented": full + "\n"} {
		for table, list := range map[string]string{"dashes": dashes, "blanks": blanks} {
			got, p, err := add(reply, list)
			require.NoError(t, err, style, table)
			assert.Equal(t, mps.SMPartition{PartitionID: made, Chunks: 6, SMs: 48, Clients: "Yes"}, got)
			assert.Equal(t, []string{"sm_partition add GPU-89 6", "lspart"}, p.sent())
			assert.Equal(t, full, got.String())
		}
	}
	// The list cannot be understood, or is of other devices: no proof either way.
	for _, list := range []string{"", "no table", "GPU-c4 - 15 0 120 0 -"} {
		got, _, err := add(full, list)
		require.NoError(t, err, list)
		assert.Equal(t, mps.SMPartition{PartitionID: made, Chunks: 6}, got)
	}
	// The list has the device without the partition, or with other chunks.
	for _, list := range []string{
		"GPU-89 - 2 13 16 104 -\nGPU-89 " + idA + " - 7 - 56 No", "GPU-89 2 13 16 104\nGPU-89 " + idB + " 7 56 No",
	} {
		got, _, err := add(full, list)
		require.ErrorIs(t, err, mps.ErrUnverified)
		assert.Equal(t, made, got.PartitionID)
	}
	// The list fails: the partition was made all the same.
	got, _, err := add(full, "Cannot find MPS control daemon process")
	require.ErrorIs(t, err, mps.ErrNoDaemon)
	assert.Equal(t, made, got.PartitionID)

	const short = "Failed to fulfill the requested SM partition of 6 chunks, error CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION\n"
	got, p, err := add(short)
	require.ErrorIs(t, err, mps.ErrRefused)
	assert.Equal(t, short, opError(t, err).Reply)
	assert.Zero(t, got)
	assert.Len(t, p.sent(), 1)
	for _, reply := range []string{"", "created", "Partition created", "Partition  " + idA + " created", full + " " + full, "GPU-89/"} {
		_, _, err := add(reply)
		require.ErrorIs(t, err, mps.ErrUnparsed, reply)
	}
}

func TestRemovePartition(t *testing.T) {
	t.Parallel()
	id := mps.PartitionID{Device: device, ID: "AAAA/gone+AAAA"}
	remove := func(id mps.PartitionID, replies ...string) (mps.Setting, error) {
		return mps.New(saying(replies...), mps.Options{}).RemovePartition(t.Context(), id)
	}
	s, err := remove(id, "", dashes)
	require.NoError(t, err)
	assert.True(t, s.Verified)
	s, err = remove(id, "removed", "")
	require.NoError(t, err)
	assert.False(t, s.Verified, "an empty list of an unknown shape proves nothing")
	assert.Equal(t, "removed", s.Reply)

	_, err = remove(id, "Partition %s in use. Terminate all clients before removing.\n")
	require.ErrorIs(t, err, mps.ErrInUse)
	assert.Zero(t, opError(t, err).Exit)
	for _, list := range []string{dashes, blanks} {
		_, err = remove(mps.PartitionID{Device: device, ID: idB}, "", list)
		require.ErrorIs(t, err, mps.ErrUnverified)
	}
	_, err = remove(id, "", "Unknown command")
	require.NoError(t, err, "removed; only the list is not known")
}

func TestParsePartitionID(t *testing.T) {
	t.Parallel()
	p, err := mps.ParsePartitionID(device + "/" + idB)
	require.NoError(t, err)
	assert.Equal(t, mps.PartitionID{Device: device, ID: idB}, p)
	assert.Equal(t, device+"/"+idB, p.String())
	for _, bad := range []string{"", "/", "GPU-1", "GPU-1/", "/" + idA, idA, "0/" + idA, "GPU-/" + idA, "GPU-1/a b", "GPU-1/a\n", "GPU-1/-", "GPU-1/ä"} {
		_, err := mps.ParsePartitionID(bad)
		require.ErrorIs(t, err, mps.ErrInput, bad)
	}
}

// The daemon of the list is the one that made the partition.
func TestAddPartitionOfOneDaemon(t *testing.T) {
	t.Parallel()
	pid := 5
	p := &peer{answer: func(_ context.Context, line string) (mps.Output, error) {
		if line == "lspart" {
			return mps.Output{Stdout: dashes}, nil
		}
		pid++
		return mps.Output{Stdout: device + "/" + idB}, nil
	}}
	c := mps.New(p, mps.Options{Identity: func() (mps.Identity, error) { return mps.Identity{PID: pid}, nil }})
	_, err := c.AddPartition(t.Context(), device, 6)
	require.ErrorIs(t, err, mps.ErrReplaced)
	assert.Len(t, p.sent(), 1)
	require.ErrorContains(t, err, fmt.Sprintf("daemon %d was followed by %d", 5, 6))
}
