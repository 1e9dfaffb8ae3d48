package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gpushare/gpushare/mps"
)

type partitionAdded struct {
	Schema    int           `json:"schema"`
	Protocol  int           `json:"protocol"`
	Done      bool          `json:"done"`
	Partition partitionInfo `json:"partition"`
	Env       string        `json:"env,omitempty"` // for its clients
	Verified  bool          `json:"verified"`      // the list has it
	Reply     string        `json:"reply,omitempty"`
}

type partitionRemoved struct {
	Schema    int    `json:"schema"`
	Protocol  int    `json:"protocol"`
	Done      bool   `json:"done"`
	Partition string `json:"partition"`
	Verified  bool   `json:"verified"` // the list no longer has it
	Reply     string `json:"reply"`
}

// place is where a partition is, or shall be.
type place struct{ server, device, name, id string }

func (inv *invocation) places() *place {
	p := &place{}
	inv.Flags.StringVar(&p.server, "server", "", "")
	inv.Flags.StringVar(&p.device, "device", "", "")
	inv.Flags.StringVar(&p.name, "name", "", "")
	return p
}

// for3 returns an error unless the flags fit the protocol of the daemon.
func (inv *invocation) for3(d *daemon, needed ...string) error {
	if d.protocol == 3 {
		return inv.Require(needed...)
	}
	for _, name := range []string{"server", "name", "remainder"} {
		if inv.Given(name) {
			return fmt.Errorf("-%s is for protocol 3, and the daemon speaks protocol 2", name)
		}
	}
	return nil
}

// partitionAdd makes a partition.
func partitionAdd(ctx context.Context, inv *invocation, args []string) error {
	inv.reaches()
	at := inv.places()
	chunks := inv.Flags.String("chunks", "", "")
	remainder := inv.Flags.Bool("remainder", false, "")
	if err := inv.parse(args, "device", "chunks"); err != nil {
		return err
	}
	n, err := chunkFlag(*chunks)
	if err != nil {
		return err
	}
	d, err := inv.openStatic(ctx)
	if err != nil {
		return err
	}
	if err := inv.for3(d, "server", "name"); err != nil {
		return err
	}
	a := partitionAdded{Schema: schema, Protocol: d.protocol, Done: true}
	if d.protocol == 3 {
		p, err := d.v3().CreatePartition(ctx, mps.V3PartitionSpec{
			Server: at.server, Name: at.name, Device: at.device, Chunks: n, IncludeRemainder: *remainder,
		})
		if err != nil {
			return err
		}
		a.Partition = partitionInfo{Device: p.Device, ID: p.ID, Name: at.name, Server: at.server, Chunks: &n, SMs: above(p.SMs, 1)}
		a.Verified, a.Reply = p.Verified, strings.TrimSpace(p.Raw)
	} else {
		p, err := d.client.AddPartition(ctx, at.device, n)
		switch {
		case err != nil && p.ID != "":
			return &noError{"not verified", fmt.Errorf("%s was made, but the list does not show it: %w", p, err)}
		case err != nil:
			return err
		}
		a.Partition, a.Verified = v2Partition(p), p.SMs > 0
	}
	if a.Partition.ID != "" {
		a.Env = "CUDA_MPS_SM_PARTITION=" + a.Partition.ID
	}
	return inv.Print(a, a.text)
}

func (a *partitionAdded) text() string {
	name, verified := a.Partition.ID, "the list has it"
	if a.Partition.Name != "" {
		name = a.Partition.Name
	}
	if !a.Verified {
		verified = "not verified: the list cannot be read"
	}
	text := fmt.Sprintf("%s: made of %s, %s SMs; %s\n", name, count(*a.Partition.Chunks, "chunk"), shown(a.Partition.SMs), verified)
	if a.Env == "" {
		return text + "its id is known when its server runs\n"
	}
	return text + "for its clients: " + a.Env + "\n"
}

// partitionRemove gives the chunks of a partition back.
func partitionRemove(ctx context.Context, inv *invocation, args []string) error {
	inv.reaches()
	at := inv.places()
	inv.Flags.StringVar(&at.id, "id", "", "")
	if err := inv.parse(args); err != nil {
		return err
	}
	if inv.Given("id") == inv.Given("name") {
		return errors.New("one of -id (protocol 2) and -name (protocol 3) says which partition")
	}
	var id mps.PartitionID
	if inv.Given("id") {
		var err error
		if id, err = mps.ParsePartitionID(at.id); err != nil {
			return fmt.Errorf("-id: %w", err)
		}
	}
	d, err := inv.openStatic(ctx)
	if err != nil {
		return err
	}
	if err := inv.for3(d, "name", "server", "device"); err != nil {
		return err
	}
	a := partitionRemoved{Schema: schema, Protocol: d.protocol, Done: true, Partition: at.name}
	if d.protocol == 3 {
		r, err := d.v3().DeletePartition(ctx, at.server, at.device, at.name)
		if err != nil {
			return err
		}
		a.Verified, a.Reply = r.Verified, strings.TrimSpace(r.Raw)
	} else {
		s, err := d.client.RemovePartition(ctx, id)
		if err != nil {
			return err
		}
		a.Partition, a.Verified, a.Reply = id.String(), s.Verified, s.Reply
	}
	return inv.Print(a, func() string {
		verified := "the list no longer has it"
		if !a.Verified {
			verified = "not verified: the list cannot be read"
		}
		return fmt.Sprintf("%s: removed; %s\n", a.Partition, verified)
	})
}
