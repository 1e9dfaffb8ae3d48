package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gpushare/gpushare/mps"
)

type planAnswer struct {
	Schema int       `json:"schema"`
	Split  mps.Split `json:"split"`
	Plan   mps.Plan  `json:"plan"`
}

// plan prints what a container runtime has to set up for clients that share a device.
func plan(_ context.Context, inv *invocation, args []string) error {
	f := inv.splits()
	uuid := inv.Flags.String("uuid", "", "")
	pipe := inv.Flags.String("pipe", "", "")
	log := inv.Flags.String("log", "", "")
	clientPipe := inv.Flags.String("client-pipe", "", "")
	shm := inv.Flags.String("shm", "", "")
	most := inv.Flags.String("max-clients", "48", "")
	connections := inv.Flags.String("max-connections", "0", "")
	if err := inv.Parse(args, "uuid"); err != nil {
		return err
	}
	c, _, split, err := f.split(inv)
	if err != nil {
		return err
	}
	mig := strings.HasPrefix(*uuid, "MIG-")
	if mig != inv.Given("profile") && inv.Given("model") {
		return errors.New("-uuid, -profile: a MIG instance has both a UUID that begins with MIG- and a profile")
	}
	// Shares exist from compute capability 7.0 on, and MIG from 8.0 on.
	limit := mps.ClientLimitQuery{ComputeMajor: 7, InstanceSize: c.instance, DeviceSize: c.device}
	if mig {
		limit.ComputeMajor = 8
	}
	if limit.FromVolta, err = number(*most, 1, 1<<16); err != nil {
		return fmt.Errorf("-max-clients: %w", err)
	}
	if limit.MaxConnections, err = number(*connections, 0, 32); err != nil {
		return fmt.Errorf("-max-connections: %w", err)
	}
	o := mps.PlanOptions{
		UUID: *uuid, Split: split, Limit: limit, ClientPipe: *clientPipe, SharedMemory: *shm,
		Directories: mps.Directories{Pipe: "/run/mps/" + *uuid, Log: "/var/log/mps/" + *uuid},
	}
	if inv.Given("pipe") {
		o.Directories.Pipe = *pipe
	}
	if inv.Given("log") {
		o.Directories.Log = *log
	}
	p, err := mps.NewPlan(o)
	if err != nil {
		return err
	}
	return inv.Print(planAnswer{schema, split, p}, func() string { return planText(p) })
}

func planText(p mps.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "one daemon for %s\n", p.Device)
	process(&b, p.Daemon)
	fmt.Fprintf(&b, "  set and read back, before the first client:\n    set_default_active_thread_percentage %d\n", p.DefaultPercent)
	for _, l := range p.DefaultLimits {
		fmt.Fprintf(&b, "    set_default_device_pinned_mem_limit %s %dM\n", l.Device, l.MiB)
	}
	for i, c := range p.Clients {
		fmt.Fprintf(&b, "\nclient %s: %d %%, %d SMs, %d MiB\n", strconv.Itoa(i), c.Percent, c.SMs, c.MemoryMiB)
		process(&b, c.PlanProcess)
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "\nwarning: %s\n", w)
	}
	return b.String()
}

func process(b *strings.Builder, p mps.PlanProcess) {
	for _, e := range p.Env {
		fmt.Fprintf(b, "  env    %s\n", e)
	}
	for _, m := range p.Mounts {
		fmt.Fprintf(b, "  mount  %s at %s\n", m.Source, m.Target)
	}
}
