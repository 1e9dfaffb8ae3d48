package mps

import (
	"context"
	"encoding/csv"
	"strconv"
	"strings"
)

// DeviceQuery is the answer to QueryDevices. The format in protocol 2 is not published:
// Devices are read if the header has the columns that protocol 3 documents, and nil
// otherwise; Reply is what came.
type DeviceQuery struct {
	Devices []V3Device
	Reply   string
}

// QueryDevices asks for the devices of a server, or of the daemon if server is 0.
// Older drivers do not know the command (ErrUnsupported); it is said to be new in CUDA
// 13.1.
func (c *Client) QueryDevices(ctx context.Context, server int) (DeviceQuery, error) {
	if err := checkOptionalPID("server", server); err != nil {
		return DeviceQuery{}, err
	}
	line := "device_query "
	if server != 0 {
		line += strconv.Itoa(server) + " "
	}
	devices, reply, err := list(ctx, c, line+"--csv", parseDeviceQuery)
	return DeviceQuery{Devices: devices, Reply: reply}, err
}

// The columns of a device list, in lower case; the first four must be there.
const (
	columnOrdinal = iota
	columnUUID
	columnSMs
	columnChunks
	columnServer
	columnPCI
	columnName
	columnAttributes
)

var deviceColumns = [...]string{
	"ordinal", "device uuid", "total sms", "total chunks", "server", "pci id", "name", "attributes",
}

// parseDeviceQuery reads comma-separated values with a header; nil if they are not.
func parseDeviceQuery(reply string) []V3Device {
	reader := csv.NewReader(strings.NewReader(reply))
	reader.TrimLeadingSpace = true
	rows, err := reader.ReadAll() // all rows as long as the header
	if err != nil || len(rows) == 0 {
		return nil
	}
	var at [len(deviceColumns)]int
	for i, name := range deviceColumns {
		at[i] = -1
		for j, cell := range rows[0] {
			cell = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(cell)), "-", " ")
			if strings.ReplaceAll(cell, "_", " ") == name {
				at[i] = j
			}
		}
		if at[i] < 0 && i <= columnChunks {
			return nil
		}
	}
	var devices []V3Device
	for _, row := range rows[1:] {
		cell := func(column int) string {
			if at[column] < 0 {
				return ""
			}
			return strings.TrimSpace(row[at[column]])
		}
		var numbers [3]int
		for i, column := range [...]int{columnOrdinal, columnSMs, columnChunks} {
			n, err := strconv.ParseUint(cell(column), 10, 31)
			if err != nil {
				return nil
			}
			numbers[i] = int(n)
		}
		devices = append(devices, V3Device{
			Ordinal: numbers[0], SMs: numbers[1], Chunks: numbers[2],
			UUID: cell(columnUUID), Server: cell(columnServer), PCI: cell(columnPCI),
			Name: cell(columnName), Attributes: cell(columnAttributes),
		})
	}
	return devices
}
