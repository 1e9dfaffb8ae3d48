package mps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SMPartition is a static SM partition.
type SMPartition struct {
	PartitionID
	Chunks  int
	SMs     int    // 0 if it was not told
	Clients string // whether there are any: "Yes", "No", or "" if it was not told
}

// PartitionedDevice is a device of the list of partitions.
type PartitionedDevice struct {
	Device     string // the shortest start of the UUID that no other device has
	FreeChunks int
	UsedChunks int
	FreeSMs    int
	UsedSMs    int
	Partitions []SMPartition
}

// Partitions lists the devices with their static SM partitions, in the daemon's order.
// The daemon must have been started with static partitioning. FreeChunks and
// UsedChunks are what can be partitioned: less than the SMs divided by those of a
// chunk, as a chunk does not cross a GPC.
func (c *Client) Partitions(ctx context.Context) ([]PartitionedDevice, error) {
	return ask(ctx, c, "lspart", parsePartitions)
}

// AddPartition reserves chunks of a device, given by its UUID or a start of it that no
// other device has. The answer has the ID that clients need in CUDA_MPS_SM_PARTITION;
// the SMs come from the list that is read afterwards, and are 0 if that cannot be
// understood. With an error comes the partition if it was made: then it is the list
// that failed, or that does not have it (ErrUnverified).
func (c *Client) AddPartition(ctx context.Context, device string, chunks int) (SMPartition, error) {
	if err := checkUUID(device); err != nil {
		return SMPartition{}, err
	}
	if chunks < 1 {
		return SMPartition{}, fmt.Errorf("%w: partition of %d chunks", ErrInput, chunks)
	}
	line := fmt.Sprintf("sm_partition add %s %d", device, chunks)
	end, err := c.begin(ctx, line)
	if err != nil {
		return SMPartition{}, err
	}
	defer end()
	c = c.pin()
	id, err := ask(ctx, c, line, parseAdded)
	if err != nil {
		return SMPartition{}, err
	}
	p := SMPartition{PartitionID: id, Chunks: chunks}
	listed, found, err := c.findPartition(ctx, id)
	switch {
	case err != nil:
		return p, err
	case found != nil:
		p.SMs, p.Clients = found.SMs, found.Clients
		if found.Chunks == chunks {
			return p, nil
		}
		fallthrough
	case listed:
		return p, &OpError{Kind: Unverified, Command: line, Err: fmt.Errorf("the list does not have %s with %d chunks", id, chunks)}
	}
	return p, nil
}

// RemovePartition gives the chunks of a partition back. While clients are attached the
// daemon refuses (ErrInUse). The list is read afterwards.
func (c *Client) RemovePartition(ctx context.Context, id PartitionID) (Setting, error) {
	if err := id.check(); err != nil {
		return Setting{}, err
	}
	line := fmt.Sprintf("sm_partition rm %s %s", id.Device, id.ID)
	end, err := c.begin(ctx, line)
	if err != nil {
		return Setting{}, err
	}
	defer end()
	c = c.pin()
	var s Setting
	if s.Reply, err = c.tell(ctx, line); err != nil {
		return s, err
	}
	listed, found, err := c.findPartition(ctx, id)
	switch {
	case err != nil:
		return s, err
	case found != nil:
		return s, &OpError{Kind: Unverified, Command: line, Reply: s.Reply, Err: fmt.Errorf("%s is still listed", id)}
	}
	s.Verified = listed
	return s, nil
}

// findPartition looks a partition up in the list. listed is false if the list could
// not be understood, or does not have the device; that is no error.
func (c *Client) findPartition(ctx context.Context, id PartitionID) (listed bool, found *SMPartition, err error) {
	call := Call{Input: "lspart\n"}
	out, err := c.do(ctx, call)
	if err != nil {
		return false, nil, err
	}
	if err := judge(call, out); err != nil {
		return false, nil, err
	}
	devices, err := parsePartitions(out.Stdout)
	if err != nil {
		return false, nil, nil //nolint:nilerr // not understood, see above
	}
	for _, d := range devices {
		if !strings.HasPrefix(id.Device, d.Device) && !strings.HasPrefix(d.Device, id.Device) {
			continue
		}
		listed = true
		for _, p := range d.Partitions {
			if p.ID == id.ID {
				return true, &p, nil
			}
		}
	}
	return listed, nil, nil
}

// parseAdded reads the ID of a new partition: documented is the ID alone, drivers were
// seen to write a sentence around it.
func parseAdded(reply string) (PartitionID, error) {
	fields := strings.Fields(reply)
	if len(fields) == 3 && fields[0] == "Partition" && fields[2] == "created" {
		fields = fields[1:2]
	}
	if len(fields) != 1 {
		return PartitionID{}, fmt.Errorf("%.80q names no partition", strings.TrimSpace(reply))
	}
	id, err := ParsePartitionID(fields[0])
	if err != nil {
		return PartitionID{}, fmt.Errorf("%.80q names no partition", strings.TrimSpace(reply)) // not the caller's ErrInput
	}
	return id, nil
}

// parsePartitions reads the table of lspart, with a dash or nothing in the cells that
// do not apply: a row for each device, and after it one for each of its partitions.
func parsePartitions(reply string) ([]PartitionedDevice, error) {
	var devices []PartitionedDevice
	header := false
	bad := func(line string) error { return fmt.Errorf("%.120q is not a row of lspart", strings.TrimSpace(line)) }
	for line := range strings.Lines(reply) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(devices) == 0 && isPartitionHeader(fields) {
			header = true
			continue
		}
		if !isDeviceUUID(fields[0]) || strings.Contains(fields[0], "/") {
			return nil, bad(line)
		}
		at := slices.IndexFunc(devices, func(d PartitionedDevice) bool { return d.Device == fields[0] })
		if device, ok := parseDeviceRow(fields); ok && at < 0 {
			devices = append(devices, device)
			continue
		}
		p, ok := parsePartitionRow(fields)
		if !ok || at < 0 {
			return nil, bad(line)
		}
		devices[at].Partitions = append(devices[at].Partitions, p)
	}
	if !header && len(devices) == 0 {
		return nil, errors.New("no table") // silence is no list of no devices
	}
	return devices, nil
}

// isPartitionHeader tells a line of the header by its words.
func isPartitionHeader(fields []string) bool {
	for _, f := range fields {
		switch strings.ToLower(f) {
		case "gpu", "partition", "free", "used", "clients", "chunk", "chunks", "sm", "sms":
		default:
			return false
		}
	}
	return true
}

// parseDeviceRow reads "GPU - fc uc fs us -" or "GPU fc uc fs us".
func parseDeviceRow(f []string) (PartitionedDevice, bool) {
	if len(f) == 7 && f[1] == "-" && f[6] == "-" {
		f = append([]string{f[0]}, f[2:6]...)
	}
	if len(f) != 5 {
		return PartitionedDevice{}, false
	}
	n, ok := parseCounts(f[1:]...)
	if !ok {
		return PartitionedDevice{}, false
	}
	return PartitionedDevice{Device: f[0], FreeChunks: n[0], UsedChunks: n[1], FreeSMs: n[2], UsedSMs: n[3]}, true
}

// parsePartitionRow reads "GPU id - chunks - sms x" or "GPU id chunks sms x", where x
// is Yes, No, a dash or nothing.
func parsePartitionRow(f []string) (SMPartition, bool) {
	if len(f) == 7 && f[2] == "-" && f[4] == "-" {
		f = []string{f[0], f[1], f[3], f[5], f[6]}
	}
	if len(f) == 4 {
		f = append(f[:4:4], "-")
	}
	if len(f) != 5 || !isPartitionPart(f[1]) {
		return SMPartition{}, false
	}
	n, ok := parseCounts(f[2:4]...)
	if !ok || f[4] != "Yes" && f[4] != "No" && f[4] != "-" {
		return SMPartition{}, false
	}
	p := SMPartition{PartitionID: PartitionID{Device: f[0], ID: f[1]}, Chunks: n[0], SMs: n[1], Clients: f[4]}
	if p.Clients == "-" {
		p.Clients = ""
	}
	return p, true
}

// parseCounts reads numbers of 0 and more.
func parseCounts(fields ...string) ([]int, bool) {
	counts := make([]int, len(fields))
	for i, f := range fields {
		n, err := strconv.ParseUint(f, 10, 31)
		if err != nil {
			return nil, false
		}
		counts[i] = int(n)
	}
	return counts, true
}
