package mps

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// V3Server is a server of protocol 3.
type V3Server struct {
	Name           string
	UID            int    // -1 if it is not told
	PID            int    // 0 while it does not run
	Status         string // as told; "Ready" is the one word that is documented
	PipeDirectory  string
	AllowedDevices []string // ordinals or UUIDs; none: all devices
	ContextIDs     string   // as told; the form is not documented
}

// V3Namespace is a part of a server. A named one inherits nothing from its server:
// what is not set there is not limited.
type V3Namespace struct {
	Name, Server, ServerStatus string

	PinnedMemoryLimit string  // as it was set, "4G"; empty for none
	Percentage        float64 // active thread percentage; 0 for none
	ClientPriority    int     // 0 or 1; -1 if it is not told
	PipeDirectory     string
}

// V3Client is a process that uses a server.
type V3Client struct {
	PID                                int // in the PID namespace of the daemon
	Server, Device, Namespace, Command string
}

// V3Device is a device as the daemon, or one server, counts them. It is the documented
// way to learn how many chunks a device has for SM partitions.
type V3Device struct {
	Ordinal                 int // after the daemon's own CUDA_VISIBLE_DEVICES
	Server, PCI, UUID, Name string
	SMs, Chunks             int // -1 if not told
	Attributes              string
}

// V3Partition is a static SM partition, or what is left of a device.
type V3Partition struct {
	Server           string // may be empty for what is left
	Device           string
	Name             string // empty for what is left
	Chunks, SMs      int    // -1 if not told, as with a partition that waits for its server
	IncludeRemainder bool
	Status           string // configured, created or unallocated
	VisibleUUID      string
}

// V3Feature is a behaviour that can be turned off.
type V3Feature struct {
	Name           string
	Enabled        bool
	Default        bool // it is as it was built
	Module, Covers string
}

var (
	v3Servers = v3List{
		columns: []string{"name", "uid", "pid", "status", "pipe-directory", "allowed-devices", "context-ids"},
		free:    5,
	}
	v3Namespaces = v3List{
		columns: []string{
			"name", "server", "server-status", "pinned-memory-limit", "active-thread-percentage",
			"client-priority", "pipe-directory",
		},
		free: 6,
	}
	v3Clients = v3List{columns: []string{"pid", "server", "device", "namespace", "cmd"}, free: 4, inOrder: true}
	v3Devices = v3List{
		columns: []string{"ordinal", "server", "pci-id", "device-uuid", "name", "total-sms", "total-chunks", "attributes"},
		free:    7,
	}
	v3Partitions = v3List{
		columns: []string{"server", "device", "name", "chunks", "sm-count", "include-remainder", "status", "visible-uuid"},
		free:    7,
	}
	v3Features = v3List{columns: []string{"feature", "state", "module", "covers"}, free: 3}
)

// Servers lists all servers.
func (v V3) Servers(ctx context.Context) ([]V3Server, error) {
	return v3Rows(ctx, v, parseV3Servers, "server", "list")
}

// Namespaces lists the namespaces of a server, or of all for an empty name.
func (v V3) Namespaces(ctx context.Context, server string) ([]V3Namespace, error) {
	args := []string{"namespace", "list"}
	if server != "" {
		if err := checkV3Name("server", server); err != nil {
			return nil, err
		}
		args = option(args, "server", server)
	}
	return v3Rows(ctx, v, parseV3Namespaces, args...)
}

// Clients lists the clients of a server, or of all for an empty name.
func (v V3) Clients(ctx context.Context, server string) ([]V3Client, error) {
	args := []string{"client", "list"}
	if server != "" {
		if err := checkV3Name("server", server); err != nil {
			return nil, err
		}
		args = option(args, "server", server)
	} else {
		args = append(args, "--all")
	}
	return v3Rows(ctx, v, parseV3Clients, args...)
}

// Devices lists the devices as a server counts them, or as all do for an empty name.
func (v V3) Devices(ctx context.Context, server string) ([]V3Device, error) {
	args := []string{"device", "list"}
	if server != "" {
		if err := checkV3Name("server", server); err != nil {
			return nil, err
		}
		args = option(args, "server", server)
	}
	return v3Rows(ctx, v, parseV3Devices, args...)
}

// Partitions lists the SM partitions and what is unallocated, of a server and of a
// device; an empty name stands for all.
func (v V3) Partitions(ctx context.Context, server, device string) ([]V3Partition, error) {
	if server != "" {
		if err := checkV3Name("server", server); err != nil {
			return nil, err
		}
	}
	if device != "" {
		if _, err := checkDevice(device); err != nil {
			return nil, err
		}
	}
	args := option(option([]string{"sm-partition", "list"}, "server", server), "device", device)
	return v3Rows(ctx, v, parseV3Partitions, append(args, "--all")...)
}

// Features lists what can be turned on and off.
func (v V3) Features(ctx context.Context) ([]V3Feature, error) {
	return v3Rows(ctx, v, parseV3Features, "feature", "describe")
}

// v3Rows runs a list in csv and parses it.
func v3Rows[T any](ctx context.Context, v V3, parse func(string) ([]T, error), args ...string) ([]T, error) {
	call, out, err := v.read(ctx, append(args, "--format=csv")...)
	if err != nil {
		return nil, err
	}
	list, err := parse(out.Stdout)
	if err != nil {
		return nil, replyError(call, out, err)
	}
	return list, nil
}

// parseV3Servers reads the reply of "server list", in csv with its header or as the
// table. So do the other functions of this kind for theirs.
func parseV3Servers(text string) ([]V3Server, error) {
	return parseRows(v3Servers, text, func(c *cells) V3Server {
		return V3Server{
			Name: c.word(0), UID: c.number(1, -1), PID: c.number(2, 0), Status: c.row[3],
			PipeDirectory: c.row[4], AllowedDevices: devices(c.row[5]), ContextIDs: c.row[6],
		}
	})
}

// parseV3Namespaces reads the reply of "namespace list".
func parseV3Namespaces(text string) ([]V3Namespace, error) {
	return parseRows(v3Namespaces, text, func(c *cells) V3Namespace {
		return V3Namespace{
			Name: c.word(0), Server: c.word(1), ServerStatus: c.row[2], PinnedMemoryLimit: c.row[3],
			Percentage: c.percentage(4), ClientPriority: c.number(5, -1), PipeDirectory: c.row[6],
		}
	})
}

// parseV3Clients reads the reply of "client list". Of its header only the order of the
// columns is documented.
func parseV3Clients(text string) ([]V3Client, error) {
	return parseRows(v3Clients, text, func(c *cells) V3Client {
		pid := c.number(0, -1)
		c.fail(pid < 0, 0)
		return V3Client{PID: pid, Server: c.word(1), Device: c.row[2], Namespace: c.row[3], Command: c.row[4]}
	})
}

// parseV3Devices reads the reply of "device list".
func parseV3Devices(text string) ([]V3Device, error) {
	return parseRows(v3Devices, text, func(c *cells) V3Device {
		ordinal := c.number(0, -1)
		c.fail(ordinal < 0, 0)
		return V3Device{
			Ordinal: ordinal, Server: c.row[1], PCI: c.row[2], UUID: c.row[3], Name: c.row[4],
			SMs: c.number(5, -1), Chunks: c.number(6, -1), Attributes: c.row[7],
		}
	})
}

// parseV3Partitions reads the reply of "sm-partition list".
func parseV3Partitions(text string) ([]V3Partition, error) {
	return parseRows(v3Partitions, text, func(c *cells) V3Partition {
		remainder := c.row[5]
		c.fail(remainder != "" && remainder != "true" && remainder != "false", 5)
		c.fail(c.row[0] == "" && c.row[2] != "", 0) // what is left may be of no server
		return V3Partition{
			Server: c.row[0], Device: c.word(1), Name: c.row[2], Chunks: c.number(3, -1), SMs: c.number(4, -1),
			IncludeRemainder: remainder == "true", Status: c.word(6), VisibleUUID: c.row[7],
		}
	})
}

// parseV3Features reads the reply of "feature describe".
func parseV3Features(text string) ([]V3Feature, error) {
	return parseRows(v3Features, text, func(c *cells) V3Feature {
		state, isDefault := strings.CutSuffix(c.row[1], "(default)")
		state = strings.TrimSpace(state)
		c.fail(state != "enabled" && state != "disabled", 1)
		return V3Feature{
			Name: c.word(0), Enabled: state == "enabled", Default: isDefault, Module: c.row[2], Covers: c.row[3],
		}
	})
}

// cells is a row being read; the first cell that does not fit is kept.
type cells struct {
	row []string
	bad int // -1 while there is none
}

func parseRows[T any](l v3List, text string, read func(*cells) T) ([]T, error) {
	rows, err := l.rows(text)
	if err != nil {
		return nil, err
	}
	list := make([]T, 0, len(rows))
	for i, row := range rows {
		c := &cells{row: row, bad: -1}
		one := read(c)
		if c.bad >= 0 {
			return nil, fmt.Errorf("row %d: %s is %.80q", i+1, l.columns[c.bad], row[c.bad])
		}
		list = append(list, one)
	}
	return list, nil
}

func (c *cells) fail(is bool, i int) {
	if is && c.bad < 0 {
		c.bad = i
	}
}

// word is a cell that must not be empty.
func (c *cells) word(i int) string {
	c.fail(c.row[i] == "", i)
	return c.row[i]
}

// number is a cell that holds a number from 0 on, or none.
func (c *cells) number(i, none int) int {
	if c.row[i] == "" {
		return none
	}
	n, err := strconv.ParseUint(c.row[i], 10, 32)
	c.fail(err != nil || int(n) < 0, i)
	return int(n)
}

// percentage is a cell that holds a percentage, or none.
func (c *cells) percentage(i int) float64 {
	if c.row[i] == "" {
		return 0
	}
	p, err := strconv.ParseFloat(strings.TrimSuffix(c.row[i], "%"), 64)
	c.fail(err != nil || !(p >= 0 && p <= 100), i)
	return p
}

// devices splits a cell that holds a list; what stands between is not documented.
func devices(cell string) []string {
	list := strings.FieldsFunc(cell, func(r rune) bool { return r == ',' || r == ';' || r == ' ' })
	if len(list) == 0 {
		return nil
	}
	return list
}
