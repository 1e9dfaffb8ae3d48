package main

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/gpushare/gpushare/mps"
)

type serversAnswer struct {
	Schema   int          `json:"schema"`
	Protocol int          `json:"protocol"`
	Servers  []serverInfo `json:"servers"`
	Devices  []deviceInfo `json:"devices"` // as clients count them
	Notes    []string     `json:"notes"`
}

type serverInfo struct {
	serverStatus
	UID           *int     `json:"uid"` // protocol 3
	Percent       *float64 `json:"percent"`
	PipeDirectory string   `json:"pipeDirectory,omitempty"` // protocol 3
	Devices       []string `json:"allowedDevices"`          // protocol 3; none: all
}

type deviceInfo struct {
	Ordinal int    `json:"ordinal"`
	Server  string `json:"server,omitempty"`
	UUID    string `json:"uuid"`
	Name    string `json:"name"`
	SMs     *int   `json:"sms"`
	Chunks  *int   `json:"chunks"` // for static partitions
}

// servers lists the servers and the devices that they drive.
func servers(ctx context.Context, inv *invocation, args []string) error {
	inv.reaches()
	if err := inv.parse(args); err != nil {
		return err
	}
	d, err := inv.open(ctx)
	if err != nil {
		return err
	}
	a := serversAnswer{Schema: schema, Protocol: d.protocol, Servers: []serverInfo{}, Devices: []deviceInfo{}}
	var n notes
	if d.protocol == 3 {
		err = a.readV3(ctx, d)
	} else {
		err = a.readV2(ctx, d, &n)
	}
	if err != nil {
		return err
	}
	a.Notes = n.list()
	return inv.Print(a, a.text)
}

func (a *serversAnswer) readV2(ctx context.Context, d *daemon, n *notes) error {
	var state statusAnswer
	if err := state.readV2(ctx, d, n); err != nil {
		return err
	}
	for _, s := range state.Servers {
		info := serverInfo{serverStatus: s, Devices: []string{}}
		p, err := d.client.Percentage(ctx, *s.PID)
		if info.Percent, err = told(n, p, err); errors.Is(err, mps.ErrRefused) {
			continue // gone since the list
		} else if err != nil {
			return err
		}
		a.Servers = append(a.Servers, info)
	}
	devices, err := d.client.QueryDevices(ctx, 0)
	known, err := told(n, devices, err)
	if err != nil || known == nil {
		return err
	}
	for _, q := range known.Devices {
		a.Devices = append(a.Devices, deviceInfo{Ordinal: q.Ordinal, UUID: q.UUID, Name: q.Name, SMs: above(q.SMs, 0), Chunks: above(q.Chunks, 0)})
	}
	return nil
}

func (a *serversAnswer) readV3(ctx context.Context, d *daemon) error {
	var state statusAnswer
	if err := state.readV3(ctx, d); err != nil {
		return err
	}
	list, err := d.v3().Servers(ctx)
	if err != nil {
		return err
	}
	namespaces, err := d.v3().Namespaces(ctx, "")
	if err != nil {
		return err
	}
	for _, s := range list {
		info := serverInfo{PipeDirectory: s.PipeDirectory, UID: above(s.UID, 0), Devices: append([]string{}, s.AllowedDevices...)}
		for _, row := range state.Servers {
			if row.Name == s.Name {
				info.serverStatus = row
			}
		}
		if info.Name == "" {
			continue // came since
		}
		for _, ns := range namespaces {
			if ns.Server == s.Name && ns.Name == "default" {
				info.Percent = above(ns.Percentage, 1)
			}
		}
		a.Servers = append(a.Servers, info)
	}
	devices, err := d.v3().Devices(ctx, "")
	if err != nil {
		return err
	}
	for _, v := range devices {
		a.Devices = append(a.Devices, deviceInfo{
			Ordinal: v.Ordinal, Server: v.Server, UUID: v.UUID, Name: v.Name,
			SMs: above(v.SMs, 0), Chunks: above(v.Chunks, 0),
		})
	}
	return nil
}

func (a *serversAnswer) text() string {
	if len(a.Servers) == 0 {
		return "no server: the daemon starts one for the first client\n" + notes(a.Notes).text()
	}
	rows := [][]string{{"SERVER", "STATE", "CLIENTS", "LIMIT"}}
	if a.Protocol == 3 {
		rows = [][]string{{"SERVER", "STATE", "CLIENTS", "LIMIT", "PID", "UID", "DEVICES", "PIPE DIRECTORY"}}
	}
	for _, s := range a.Servers {
		row := []string{serverName(s.Name, s.PID), shown(s.State), shown(s.Clients), percent(s.Percent)}
		if a.Protocol == 3 {
			if s.Percent == nil {
				row[3] = "none"
			}
			devices := "all"
			if len(s.Devices) > 0 {
				devices = strings.Join(s.Devices, ",")
			}
			row = append(row, shown(s.PID), shown(s.UID), devices, s.PipeDirectory)
		}
		rows = append(rows, row)
	}
	text := table(rows...)
	if len(a.Devices) > 0 {
		rows = [][]string{{"DEVICE", "UUID", "NAME", "SMS", "CHUNKS"}}
		for _, v := range a.Devices {
			rows = append(rows, []string{strconv.Itoa(v.Ordinal), v.UUID, v.Name, shown(v.SMs), shown(v.Chunks)})
		}
		text += "\n" + table(rows...)
	}
	return text + notes(a.Notes).text()
}
