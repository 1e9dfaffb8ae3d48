package mps

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Process is a row of the daemon's list of clients.
type Process struct {
	PID       int    // in the daemon's namespace
	ID        string // given by the server
	Server    int    // pid
	Device    string // the start of the UUID
	Namespace string // the PID namespace of the client, by its inode
	Command   string
}

// Clients are the pids of the clients of a server, in the daemon's namespace.
func (c *Client) Clients(ctx context.Context, server int) ([]int, error) {
	if err := checkPID("server", server); err != nil {
		return nil, err
	}
	return ask(ctx, c, fmt.Sprintf("get_client_list %d", server), parsePIDs)
}

// Processes are the clients of a server with the device and the command of each; of
// all servers if server is 0.
func (c *Client) Processes(ctx context.Context, server int) ([]Process, error) {
	if err := checkOptionalPID("server", server); err != nil {
		return nil, err
	}
	line := "ps"
	if server != 0 {
		line += " -p " + strconv.Itoa(server)
	}
	return ask(ctx, c, line, parseProcesses)
}

const processHeader = "PID ID SERVER DEVICE NAMESPACE COMMAND"

// parseProcesses reads the table of ps. Whether there is a header when there are no
// clients is not known.
func parseProcesses(reply string) ([]Process, error) {
	var processes []Process
	header := false
	for line := range strings.Lines(reply) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			continue
		case !header:
			if got := strings.Join(strings.Fields(line), " "); got != processHeader {
				return nil, fmt.Errorf("%.80q is not the header of ps", line)
			}
			header = true
			continue
		}
		p, ok := parseProcess(line)
		if !ok {
			return nil, fmt.Errorf("%.80q is not a row of ps", line)
		}
		processes = append(processes, p)
	}
	return processes, nil
}

// parseProcess reads a row; the command is all that follows the fifth column.
func parseProcess(line string) (p Process, ok bool) {
	var fields [5]string
	rest := line
	for i := range fields {
		rest = strings.TrimLeft(rest, " \t")
		end := strings.IndexAny(rest, " \t")
		if end < 0 {
			end = len(rest)
		}
		fields[i], rest = rest[:end], rest[end:]
		if fields[i] == "" {
			return Process{}, false
		}
	}
	pid, err1 := parsePID(fields[0])
	server, err2 := parsePID(fields[2])
	return Process{
		PID: pid, ID: fields[1], Server: server, Device: fields[3], Namespace: fields[4],
		Command: strings.TrimSpace(rest),
	}, err1 == nil && err2 == nil
}

// DeviceClients are the clients that have enumerated a device.
type DeviceClients struct {
	Device string
	PIDs   []int
}

// DeviceClientList is the answer to DeviceClients. Its format is not published:
// Devices are read from lines of a device followed by pids, and nil if the reply is
// anything else; Reply is what came.
type DeviceClientList struct {
	Devices []DeviceClients
	Reply   string
}

// DeviceClients are the devices with their clients; of all servers if server is 0.
func (c *Client) DeviceClients(ctx context.Context, server int) (DeviceClientList, error) {
	if err := checkOptionalPID("server", server); err != nil {
		return DeviceClientList{}, err
	}
	line := "get_device_client_list"
	if server != 0 {
		line += " " + strconv.Itoa(server)
	}
	devices, reply, err := list(ctx, c, line, parseDeviceClients)
	return DeviceClientList{Devices: devices, Reply: reply}, err
}

// parseDeviceClients reads lines of a UUID and pids, with or without a colon.
func parseDeviceClients(reply string) []DeviceClients {
	var list []DeviceClients
	for line := range strings.Lines(reply) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		device, rest, _ := strings.Cut(line, " ")
		device = strings.TrimSuffix(device, ":")
		pids, err := parsePIDs(rest)
		if !isDeviceUUID(device) || err != nil {
			return nil
		}
		list = append(list, DeviceClients{Device: device, PIDs: pids})
	}
	return list
}
