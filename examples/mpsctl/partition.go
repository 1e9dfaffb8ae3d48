package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/gpushare/gpushare/mps"
)

type partitionsAnswer struct {
	Schema     int             `json:"schema"`
	Protocol   int             `json:"protocol"`
	Partitions []partitionInfo `json:"partitions"`
	Free       []freeInfo      `json:"free"` // by device, what is in no partition
}

type partitionInfo struct {
	Device  string `json:"device"`
	ID      string `json:"id,omitempty"`      // <device>/<id>, for CUDA_MPS_SM_PARTITION
	Name    string `json:"name,omitempty"`    // protocol 3
	Server  string `json:"server,omitempty"`  // protocol 3
	Status  string `json:"status,omitempty"`  // protocol 3
	Clients string `json:"clients,omitempty"` // protocol 2: Yes or No
	Chunks  *int   `json:"chunks"`
	SMs     *int   `json:"sms"` // null: not told
}

type freeInfo struct {
	Device string `json:"device"`
	Server string `json:"server,omitempty"` // protocol 3
	Chunks *int   `json:"chunks"`
	SMs    *int   `json:"sms"`
}

// partition is the commands about static SM partitions.
func partition(ctx context.Context, inv *invocation, args []string) error {
	verb, rest, err := word(args, "list", "add", "remove")
	if err != nil {
		return err
	}
	switch verb {
	case "add":
		return partitionAdd(ctx, inv, rest)
	case "remove":
		return partitionRemove(ctx, inv, rest)
	}
	return partitionList(ctx, inv, rest)
}

// partitionList shows the partitions and what is free.
func partitionList(ctx context.Context, inv *invocation, args []string) error {
	inv.reaches()
	server := inv.Flags.String("server", "", "")
	device := inv.Flags.String("device", "", "")
	if err := inv.parse(args); err != nil {
		return err
	}
	d, err := inv.openStatic(ctx)
	if err != nil {
		return err
	}
	a := partitionsAnswer{Schema: schema, Protocol: d.protocol, Partitions: []partitionInfo{}, Free: []freeInfo{}}
	if d.protocol == 3 {
		err = a.readV3(ctx, d, *server, *device)
	} else if *server != "" || *device != "" {
		return errors.New("-server, -device: protocol 2 lists all partitions")
	} else {
		err = a.readV2(ctx, d)
	}
	if err != nil {
		return err
	}
	return inv.Print(a, a.text)
}

func (a *partitionsAnswer) readV2(ctx context.Context, d *daemon) error {
	devices, err := d.client.Partitions(ctx)
	for _, v := range devices {
		a.Free = append(a.Free, freeInfo{Device: v.Device, Chunks: &v.FreeChunks, SMs: &v.FreeSMs})
		for _, p := range v.Partitions {
			a.Partitions = append(a.Partitions, v2Partition(p))
		}
	}
	return err
}

func v2Partition(p mps.SMPartition) partitionInfo {
	return partitionInfo{Device: p.Device, ID: p.String(), Clients: p.Clients, Chunks: &p.Chunks, SMs: above(p.SMs, 1)}
}

func (a *partitionsAnswer) readV3(ctx context.Context, d *daemon, server, device string) error {
	list, err := d.v3().Partitions(ctx, server, device)
	for _, p := range list {
		if p.Name == "" {
			a.Free = append(a.Free, freeInfo{Device: p.Device, Server: p.Server, Chunks: above(p.Chunks, 0), SMs: above(p.SMs, 0)})
			continue
		}
		a.Partitions = append(a.Partitions, partitionInfo{
			Device: p.Device, ID: p.VisibleUUID, Name: p.Name, Server: p.Server, Status: p.Status,
			Chunks: above(p.Chunks, 0), SMs: above(p.SMs, 0),
		})
	}
	return err
}

func (a *partitionsAnswer) text() string {
	rows := [][]string{{"PARTITION", "CHUNKS", "SMS", "CLIENTS"}}
	if a.Protocol == 3 {
		rows = [][]string{{"PARTITION", "CHUNKS", "SMS", "STATUS", "SERVER", "ID"}}
	}
	for _, p := range a.Partitions {
		if a.Protocol == 3 {
			rows = append(rows, []string{p.Name, shown(p.Chunks), shown(p.SMs), p.Status, p.Server, orDash(p.ID)})
			continue
		}
		rows = append(rows, []string{p.ID, shown(p.Chunks), shown(p.SMs), orDash(p.Clients)})
	}
	text := "no partition\n"
	if len(a.Partitions) > 0 {
		text = table(rows...)
	}
	rows = [][]string{{"FREE ON", "CHUNKS", "SMS"}}
	for _, f := range a.Free {
		row := []string{f.Device, shown(f.Chunks), shown(f.SMs)}
		if a.Protocol == 3 {
			row[0] += " (" + f.Server + ")"
		}
		rows = append(rows, row)
	}
	return text + "\n" + table(rows...)
}

// chunkFlag reads a number of chunks.
func chunkFlag(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 1<<16 {
		return 0, fmt.Errorf("-chunks: %q is no number of chunks", s)
	}
	return n, nil
}
