package mps

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// EnvEffect is what an environment does that its author hardly wants.
type EnvEffect uint8

// The effects, the worst first.
const (
	LimitsDropped EnvEffect = iota // every pinned memory limit, the server's too, stops to count
	WithoutMPS                     // the client runs outside MPS, without any limit, and does not say so
	NoContext                      // the client cannot create a context
	MayBeIgnored                   // some drivers take it and do nothing
	FewerClients                   // the server takes fewer clients than it could
	NoEffect                       // understood, and changes nothing
	NotKnown                       // what it does is not published
)

// String is the effect in words.
func (w EnvEffect) String() string {
	names := [...]string{
		"all memory limits dropped", "runs without MPS", "no context", "may be ignored", "fewer clients", "no effect", "not known",
	}
	if int(w) < len(names) {
		return names[w]
	}
	return fmt.Sprintf("EnvEffect(%d)", uint8(w))
}

// EnvWarning is something in a client's environment that does not do what it seems to.
type EnvWarning struct {
	Effect   EnvEffect
	Variable string
	Text     string
}

// String is the warning in one line.
func (w EnvWarning) String() string { return w.Variable + ": " + w.Effect.String() + ": " + w.Text }

// DaemonView is what is known of the daemon that a client is meant for. What is not
// known stays zero; no warning is made from it.
type DaemonView struct {
	PipeDirectory string        // as the client sees it
	Protocol      int           // 2 or 3; 0: not known, taken as 2
	Devices       []string      // UUIDs of the devices that the daemon shows its clients, by ordinal
	Static        bool          // started with static SM partitioning
	Percent       float64       // of the server, or with protocol 3 of the namespace
	PinnedLimits  []DeviceLimit // of the server or the namespace
	Capacity      Capacity      // of the device, for what a percentage comes to
}

// Check warns of what a valid environment does not do, in a fixed order. Run Env first:
// what it refuses is not judged here.
func (e ClientEnv) Check(d DaemonView) []EnvWarning {
	var c envCheck
	if d.PipeDirectory != "" && e.PipeDirectory != d.PipeDirectory {
		where := "this is another directory"
		if e.PipeDirectory == "" {
			where = "not set, and the defaults differ between protocols"
		}
		c.warn(WithoutMPS, pipeVariable, "%s: the daemon's is %s", where, d.PipeDirectory)
	}
	c.percent(e, d)
	count, seen := c.visible(e, d)
	c.limits(e, d, count, seen)
	c.partition(e, d, seen)
	if e.MaxConnections > defaultMaxConnections {
		c.warn(FewerClients, maxConnectionsVariable, "%d connections where 2 are the default", e.MaxConnections)
	}
	for _, name := range e.Other {
		text := "no documentation that is known names it"
		if name == "CUDA_MPS_DEVICE_MEM_LIMIT" {
			text = "named once in an example, believed a slip for " + pinnedLimitVariable
		}
		c.warn(NotKnown, name, "%s", text)
	}
	return c.warnings
}

type envCheck struct{ warnings []EnvWarning }

func (c *envCheck) warn(effect EnvEffect, variable, format string, args ...any) {
	c.warnings = append(c.warnings, EnvWarning{effect, variable, fmt.Sprintf(format, args...)})
}

func (c *envCheck) percent(e ClientEnv, d DaemonView) {
	if e.Percent == 0 {
		return
	}
	if d.Static {
		c.warn(NoEffect, percentVariable, "the daemon partitions SMs, percentages do not count")
		return
	}
	if d.Capacity.SMs != 0 {
		percent := e.Percent
		switch {
		case d.Percent <= 0:
		case d.Protocol == 3:
			percent = d.Percent
		default:
			percent = min(percent, d.Percent)
		}
		if _, err := d.Capacity.EffectiveSMs(percent); err != nil {
			c.warn(NoContext, percentVariable, "%v", err)
		}
	}
	switch {
	case d.Percent == 0:
	case d.Protocol == 3:
		c.warn(NoEffect, percentVariable, "with protocol 3 the %v %% of the namespace count instead", d.Percent)
	case e.Percent > d.Percent:
		c.warn(NoEffect, percentVariable, "%v %%: the server's %v %% are the cap", e.Percent, d.Percent)
	}
	if e.Percent != math.Trunc(e.Percent) {
		c.warn(NotKnown, percentVariable, "whether fractions such as %v are taken is not published", e.Percent)
	}
}

// visible returns how many devices the client sees, -1 if that is not known, and
// their UUIDs if they are known.
func (c *envCheck) visible(e ClientEnv, d DaemonView) (count int, seen []string) {
	switch {
	case e.VisibleDevices == nil && d.Devices == nil:
		return -1, nil
	case e.VisibleDevices == nil:
		return len(d.Devices), d.Devices
	case len(e.VisibleDevices) == 0:
		c.warn(NoContext, visibleVariable, "shows no device")
		return 0, []string{}
	case d.Devices == nil:
		if slices.ContainsFunc(e.VisibleDevices, isOrdinal) {
			c.warn(NotKnown, visibleVariable, "ordinals count among the devices that the daemon shows, which are not known here: prefer UUIDs")
			return len(e.VisibleDevices), nil
		}
		return len(e.VisibleDevices), e.VisibleDevices
	}
	seen, err := VisibleDevices(d.Devices, strings.Join(e.VisibleDevices, ","))
	if err != nil {
		c.warn(NoContext, visibleVariable, "%v; the daemon shows %d devices, numbered anew from 0", err, len(d.Devices))
		return -1, nil
	}
	return len(seen), seen
}

func (c *envCheck) limits(e ClientEnv, d DaemonView, count int, seen []string) {
	for _, l := range e.PinnedLimits {
		byUUID := !isOrdinal(l.Device)
		switch {
		case byUUID && seen != nil && !seesKey(seen, l.Device), !byUUID && count >= 0 && !seesOrdinal(count, l.Device):
			c.warn(LimitsDropped, pinnedLimitVariable, "device %s is none of the %d that the client sees", l.Device, count)
		case byUUID && seen == nil:
			c.warn(NotKnown, pinnedLimitVariable, "whether the client sees %s: if not, every limit is dropped", l.Device)
		}
		if byUUID {
			c.warn(MayBeIgnored, pinnedLimitVariable, "device %s: servers of some drivers ignore limits by UUID; ordinals work", l.Device)
		}
		for _, s := range d.PinnedLimits {
			if l.MiB > s.MiB && sameDevice(d.Devices, s.Device, seen, l.Device) {
				c.warn(NoEffect, pinnedLimitVariable, "device %s: %d MiB: the server's %d MiB are the cap", l.Device, l.MiB, s.MiB)
			}
		}
	}
}

func (c *envCheck) partition(e ClientEnv, d DaemonView, seen []string) {
	switch {
	case d.Static && e.SMPartition == (PartitionID{}):
		c.warn(NoContext, partitionVariable, "not set, and the daemon partitions SMs: every client needs one")
	case e.SMPartition != (PartitionID{}):
		if gpu := e.SMPartition.Device; seen != nil && !seesKey(seen, gpu) {
			c.warn(NotKnown, partitionVariable, "it is one of %s, which the client does not see", gpu)
		}
		if !d.Static && d.Protocol == 2 {
			c.warn(NotKnown, partitionVariable, "the daemon was started without static partitioning")
		}
	}
}

// seesKey tells whether a UUID or its beginning may be one of the devices, which may
// be beginnings themselves.
func seesKey(seen []string, key string) bool {
	for _, s := range seen {
		if sameKey(s, key) {
			return true
		}
	}
	return false
}

func seesOrdinal(count int, ordinal string) bool {
	_, err := DeviceOrdinal(make([]string, count), ordinal)
	return err == nil
}

// sameDevice tells whether the daemon's key and the client's are known to be one device.
func sameDevice(daemon []string, daemonKey string, client []string, clientKey string) bool {
	at, err := DeviceOrdinal(daemon, daemonKey)
	if err != nil {
		return false
	}
	of, err := DeviceOrdinal(client, clientKey)
	return err == nil && strings.EqualFold(daemon[at], client[of])
}
