package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/gpushare/gpushare/mps"
)

type limitsAnswer struct {
	Schema   int         `json:"schema"`
	Protocol int         `json:"protocol"`
	Limits   []limitInfo `json:"limits"`
	Notes    []string    `json:"notes"`
}

// limitInfo are the limits of clients that connect from now on.
type limitInfo struct {
	Scope     string       `json:"scope"` // "default" (later servers), "server", "namespace"
	Server    string       `json:"server,omitempty"`
	Namespace string       `json:"namespace,omitempty"`
	Percent   *float64     `json:"percent"`  // null: not told, or no limit in a namespace
	Priority  *int         `json:"priority"` // null: not told
	Memory    []memoryInfo `json:"memory"`
}

type memoryInfo struct {
	Device string `json:"device"`    // the text that was set; "*": every device
	MiB    *int64 `json:"memoryMiB"` // null: none is told
}

// limits is the commands about limits.
func limits(ctx context.Context, inv *invocation, args []string) error {
	verb, rest, err := word(args, "get", "set")
	if err != nil {
		return err
	}
	if verb == "set" {
		return limitsSet(ctx, inv, rest)
	}
	return limitsGet(ctx, inv, rest)
}

// limitsGet shows the limits.
func limitsGet(ctx context.Context, inv *invocation, args []string) error {
	inv.reaches()
	server := inv.Flags.String("server", "", "")
	device := inv.Flags.String("device", "0", "")
	if err := inv.parse(args); err != nil {
		return err
	}
	d, err := inv.open(ctx)
	if err != nil {
		return err
	}
	a := limitsAnswer{Schema: schema, Protocol: d.protocol}
	var n notes
	if d.protocol == 3 {
		if inv.Given("device") {
			return fmt.Errorf("-device is for protocol 2: a limit of protocol 3 is for every device")
		}
		a.Limits, err = v3LimitsOf(ctx, d, *server, &n)
	} else {
		var one limitInfo
		one, err = v2Limits(ctx, inv, d, *server, strings.Split(*device, ","), &n)
		a.Limits = []limitInfo{one}
	}
	if err != nil {
		return err
	}
	a.Notes = n.list()
	return inv.Print(a, a.text)
}

// v2Limits are what servers start with, or those of one server.
func v2Limits(ctx context.Context, inv *invocation, d *daemon, server string, devices []string, n *notes) (limitInfo, error) {
	l := limitInfo{Scope: "default", Memory: []memoryInfo{}}
	pid := 0
	var err error
	if inv.Given("server") {
		if pid, err = inv.pidFlag("server", server); err != nil {
			return l, err
		}
		l.Scope, l.Server = "server", server
	}
	var p float64
	if pid == 0 {
		p, err = d.client.DefaultPercentage(ctx)
	} else {
		p, err = d.client.Percentage(ctx, pid)
	}
	if l.Percent, err = told(n, p, err); err != nil {
		return l, err
	}
	if pid == 0 { // a server has none of its own
		p, err := d.client.DefaultClientPriority(ctx)
		if l.Priority, err = told(n, p, err); err != nil {
			return l, err
		}
	}
	for _, device := range devices {
		var amount int64
		if pid == 0 {
			amount, err = d.client.DefaultPinnedLimit(ctx, device)
		} else {
			amount, err = d.client.PinnedLimit(ctx, pid, device)
		}
		known, err := told(n, amount, err)
		if err != nil {
			return l, fmt.Errorf("-device: %w", err)
		}
		if known != nil {
			known = above(*known, 1)
		}
		l.Memory = append(l.Memory, memoryInfo{device, known})
	}
	return l, nil
}

// v3LimitsOf are those of the namespaces of a server, or of all.
func v3LimitsOf(ctx context.Context, d *daemon, server string, n *notes) ([]limitInfo, error) {
	list := []limitInfo{}
	namespaces, err := d.v3().Namespaces(ctx, server)
	for _, ns := range namespaces {
		l := limitInfo{
			Scope: "namespace", Server: ns.Server, Namespace: ns.Name,
			Percent: above(ns.Percentage, 0.01), Priority: above(ns.ClientPriority, 0), Memory: []memoryInfo{},
		}
		if ns.PinnedMemoryLimit != "" {
			m := memoryInfo{Device: "*"}
			if amount, err := mps.ParseLimit(ns.PinnedMemoryLimit); err == nil {
				m.MiB = &amount
			} else {
				*n = append(*n, fmt.Sprintf("namespace %s of %s: a memory limit of %q", ns.Name, ns.Server, ns.PinnedMemoryLimit))
			}
			l.Memory = append(l.Memory, m)
		}
		list = append(list, l)
	}
	return list, err
}

func (a *limitsAnswer) text() string {
	if a.Protocol == 3 {
		rows := [][]string{{"SERVER", "NAMESPACE", "SMS", "MEMORY", "PRIORITY"}}
		for _, l := range a.Limits {
			row := []string{l.Server, l.Namespace, "no limit", "no limit", "not told"}
			if l.Percent != nil {
				row[2] = percent(l.Percent)
			}
			if len(l.Memory) > 0 {
				row[3] = mib(l.Memory[0].MiB)
			}
			if l.Priority != nil {
				row[4] = strconv.Itoa(*l.Priority)
			}
			rows = append(rows, row)
		}
		return table(rows...) + notes(a.Notes).text()
	}
	l := a.Limits[0]
	text := "of servers that start from now on\n"
	if l.Server != "" {
		text = "of clients that connect to server " + l.Server + " from now on\n"
	}
	rows := [][]string{{"SMs", percent(l.Percent)}}
	for _, m := range l.Memory {
		rows = append(rows, []string{"memory of device " + m.Device, mib(m.MiB)})
	}
	if l.Server == "" {
		rows = append(rows, []string{"client priority", shown(l.Priority)})
	}
	return text + table(rows...) + notes(a.Notes).text()
}
