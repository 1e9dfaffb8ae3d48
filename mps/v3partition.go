package mps

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// V3PartitionSpec is the SM partition to make. The chunks of a device are in Devices.
type V3PartitionSpec struct {
	Server, Name     string
	Device           string // ordinal or UUID of a GPU or a MIG device
	Chunks           int    // at least 1
	IncludeRemainder bool   // the last partition also gets the SMs that make no chunk
}

// V3NewPartition is what came of it.
type V3NewPartition struct {
	V3Reply

	Device string // UUID; empty while the partition waits for its server to start
	SMs    int
	ID     string // for CUDA_MPS_SM_PARTITION of clients; it means nothing to protocol 2
}

// CreatePartition makes an SM partition: at once if the server runs, else when it
// starts. It is refused while the device has clients, with locality domains, and if
// chunks are short.
func (v V3) CreatePartition(ctx context.Context, s V3PartitionSpec) (V3NewPartition, error) {
	if err := checkPartition(s.Server, s.Device, s.Name); err != nil {
		return V3NewPartition{}, err
	}
	if s.Chunks < 1 {
		return V3NewPartition{}, fmt.Errorf("%w: partition %s of %d chunks", ErrInput, s.Name, s.Chunks)
	}
	args := partitionArgs("create", s.Server, s.Device, s.Name)
	args = append(args, "--chunks="+strconv.Itoa(s.Chunks))
	if s.IncludeRemainder {
		args = append(args, "--include-remainder=true")
	}
	reply, err := v.write(ctx, args, func(ctx context.Context, v V3) (proof, error) {
		list, err := v.Partitions(ctx, s.Server, s.Device)
		for _, p := range list {
			if p.Name == s.Name && p.Server == s.Server {
				return agree(p.Chunks == s.Chunks || p.Chunks == -1), err
			}
		}
		return disputed, err
	})
	made := V3NewPartition{V3Reply: reply}
	if err == nil {
		made.parse(s.Name)
	}
	return made, err
}

// DeletePartition removes an SM partition.
func (v V3) DeletePartition(ctx context.Context, server, device, name string) (V3Reply, error) {
	if err := checkPartition(server, device, name); err != nil {
		return V3Reply{}, err
	}
	return v.write(ctx, partitionArgs("delete", server, device, name), func(ctx context.Context, v V3) (proof, error) {
		list, err := v.Partitions(ctx, server, device)
		for _, p := range list {
			if p.Name == name && p.Server == server {
				return disputed, err
			}
		}
		return shown, err
	})
}

// parse takes what the documented reply says; another reply leaves the fields empty.
func (p *V3NewPartition) parse(name string) {
	for line := range strings.Lines(p.Raw) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "SM partition '"+name+"' created on device "); ok {
			device, count, _ := strings.Cut(rest, " (sm-count=")
			if n, err := strconv.ParseUint(strings.TrimSuffix(count, ")"), 10, 31); err == nil {
				p.Device, p.SMs = device, int(n)
			}
		}
		if id, ok := strings.CutPrefix(line, "CUDA_MPS_SM_PARTITION="); ok {
			p.ID = id
		}
	}
}

func checkPartition(server, device, name string) error {
	_, err := checkDevice(device)
	return errors.Join(checkV3Name("server", server), checkV3Name("partition", name), err)
}

func partitionArgs(verb, server, device, name string) []string {
	return option(option([]string{"sm-partition", verb, name}, "server", server), "device", device)
}
