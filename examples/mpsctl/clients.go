package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/gpushare/gpushare/mps"
)

type clientsAnswer struct {
	Schema   int          `json:"schema"`
	Protocol int          `json:"protocol"`
	Clients  []clientInfo `json:"clients"` // one for each device of a client
	Notes    []string     `json:"notes"`
}

type clientInfo struct {
	PID       int    `json:"pid"` // in the daemon's PID namespace
	ID        string `json:"id,omitempty"`
	Server    string `json:"server"`
	Device    string `json:"device"`
	Namespace string `json:"namespace"` // protocol 2: the PID namespace; 3: the namespace of the server
	Command   string `json:"command"`
}

// clients lists who uses the servers.
func clients(ctx context.Context, inv *invocation, args []string) error {
	inv.reaches()
	server := inv.Flags.String("server", "", "")
	if err := inv.parse(args); err != nil {
		return err
	}
	if inv.Given("server") && inv.protocol == 2 { // before the daemon is asked for its protocol
		if _, err := inv.pidFlag("server", *server); err != nil {
			return err
		}
	}
	d, err := inv.open(ctx)
	if err != nil {
		return err
	}
	a := clientsAnswer{Schema: schema, Protocol: d.protocol, Clients: []clientInfo{}}
	var n notes
	if d.protocol == 3 {
		a.Clients, err = v3Clients(ctx, d, *server)
	} else {
		pid := 0
		if inv.Given("server") {
			if pid, err = inv.pidFlag("server", *server); err != nil {
				return err
			}
		}
		a.Clients, err = v2Clients(ctx, d, pid, &n)
	}
	if err != nil {
		return err
	}
	a.Notes = n.list()
	return inv.Print(a, a.text)
}

// v2Clients asks for all that is told of the clients, and on a driver that does not
// tell for their pids. A server of 0 means all.
func v2Clients(ctx context.Context, d *daemon, server int, n *notes) ([]clientInfo, error) {
	list := []clientInfo{}
	processes, err := d.client.Processes(ctx, server)
	known, err := told(n, processes, err)
	switch {
	case err != nil:
		return nil, err
	case known != nil:
		for _, p := range *known {
			list = append(list, clientInfo{p.PID, p.ID, strconv.Itoa(p.Server), p.Device, p.Namespace, p.Command})
		}
		return list, nil
	}
	pids := []int{server}
	if server == 0 {
		if pids, err = d.client.Servers(ctx); err != nil {
			return nil, err
		}
	}
	for _, s := range pids {
		clients, err := d.client.Clients(ctx, s)
		if errors.Is(err, mps.ErrRefused) && server == 0 {
			continue // gone since the list
		} else if err != nil {
			return nil, err
		}
		for _, pid := range clients {
			list = append(list, clientInfo{PID: pid, Server: strconv.Itoa(s)})
		}
	}
	return list, nil
}

// v3Clients are the clients of a server of protocol 3, or of all.
func v3Clients(ctx context.Context, d *daemon, server string) ([]clientInfo, error) {
	list := []clientInfo{}
	clients, err := d.v3().Clients(ctx, server)
	for _, c := range clients {
		list = append(list, clientInfo{PID: c.PID, Server: c.Server, Device: c.Device, Namespace: c.Namespace, Command: c.Command})
	}
	return list, err
}

func (a *clientsAnswer) text() string {
	if len(a.Clients) == 0 {
		return "no client\n" + notes(a.Notes).text()
	}
	rows := [][]string{{"CLIENT", "SERVER", "DEVICE", "NAMESPACE", "COMMAND"}}
	for _, c := range a.Clients {
		rows = append(rows, []string{strconv.Itoa(c.PID), c.Server, orDash(c.Device), orDash(c.Namespace), orDash(c.Command)})
	}
	return table(rows...) + notes(a.Notes).text()
}
