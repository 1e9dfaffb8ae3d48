package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gpushare/gpushare/mps"
)

type statusAnswer struct {
	Schema         int            `json:"schema"`
	Protocol       int            `json:"protocol"`
	PID            *int           `json:"pid"` // of the daemon; null: not known
	PipeDirectory  string         `json:"pipeDirectory"`
	LogDirectory   string         `json:"logDirectory"`
	Ready          bool           `json:"ready"` // new clients are taken
	Reason         *reason        `json:"reason"`
	DefaultPercent *float64       `json:"defaultPercent"` // protocol 2; null: not told
	Servers        []serverStatus `json:"servers"`
	Notes          []string       `json:"notes"`
}

type serverStatus struct {
	PID     *int    `json:"pid"` // null: it does not run
	Name    string  `json:"name,omitempty"`
	State   *string `json:"state"` // null: not told
	Clients *int    `json:"clients"`
}

// status says whether the daemon is there and takes new clients.
func status(ctx context.Context, inv *invocation, args []string) error {
	inv.reaches()
	if err := inv.parse(args); err != nil {
		return err
	}
	d, err := inv.open(ctx)
	if err != nil {
		return err
	}
	a := statusAnswer{
		Schema: schema, Protocol: d.protocol, Servers: []serverStatus{},
		PipeDirectory: d.directories.Pipe, LogDirectory: d.directories.Log,
	}
	if id, err := d.identity(); err == nil || errors.Is(err, mps.ErrStale) {
		a.PID = above(id.PID, 1)
	}
	var n notes
	if d.protocol == 3 {
		err = a.readV3(ctx, d)
	} else {
		err = a.readV2(ctx, d, &n)
	}
	if err != nil {
		return err
	}
	a.Notes, a.Ready = n.list(), a.Reason == nil
	return inv.Answer(a.Ready, a, a.text)
}

func (a *statusAnswer) readV2(ctx context.Context, d *daemon, n *notes) error {
	p, err := d.client.DefaultPercentage(ctx)
	if a.DefaultPercent, err = told(n, p, err); err != nil {
		return err
	}
	pids, err := d.client.Servers(ctx)
	if err != nil {
		return err
	}
	for _, pid := range pids {
		state, err := d.client.ServerStatus(ctx, pid)
		if errors.Is(err, mps.ErrRefused) {
			continue // gone since the list
		}
		word, err := told(n, state, err)
		if err != nil {
			return err
		}
		s := serverStatus{PID: &pid}
		if word != nil {
			text := word.String()
			s.State = &text
			if *word == mps.ServerFault {
				a.Reason = &reason{"fault", fmt.Sprintf("server %d handles a fatal fault: it refuses new clients until those that it reached have left", pid)}
			}
		}
		list, err := d.client.Clients(ctx, pid)
		if known, err := told(n, len(list), err); err != nil {
			return err
		} else if known != nil {
			s.Clients = known
		}
		a.Servers = append(a.Servers, s)
	}
	return nil
}

func (a *statusAnswer) readV3(ctx context.Context, d *daemon) error {
	list, err := d.v3().Servers(ctx)
	if err != nil {
		return err
	}
	clients, err := v3Clients(ctx, d, "")
	if err != nil {
		return err
	}
	for _, s := range list {
		pids := map[int]bool{} // a client is listed for each of its devices
		for _, c := range clients {
			if c.Server == s.Name {
				pids[c.PID] = true
			}
		}
		n := len(pids)
		row := serverStatus{Name: s.Name, PID: above(s.PID, 1), State: &s.Status, Clients: &n}
		if s.Status != "Ready" && s.PID > 0 {
			a.Reason = &reason{"not ready", fmt.Sprintf("server %s is %q; the one word known for taking clients is Ready", s.Name, s.Status)}
		}
		a.Servers = append(a.Servers, row)
	}
	return nil
}

func (a *statusAnswer) text() string {
	var b strings.Builder
	rows := [][]string{
		{"daemon", shown(a.PID)},
		{"protocol", strconv.Itoa(a.Protocol)},
		{"pipe directory", a.PipeDirectory},
		{"log directory", orDash(a.LogDirectory)},
	}
	if a.Protocol != 3 {
		rows = append(rows, []string{"default", percent(a.DefaultPercent) + " of the SMs"})
	}
	ready := "yes"
	if !a.Ready {
		ready = "no: " + a.Reason.Detail
	}
	b.WriteString(table(append(rows, []string{"takes clients", ready})...) + "\n")
	if len(a.Servers) == 0 {
		b.WriteString("no server: the daemon starts one for the first client\n")
		return b.String() + notes(a.Notes).text()
	}
	rows = [][]string{{"SERVER", "STATE", "CLIENTS"}}
	for _, s := range a.Servers {
		rows = append(rows, []string{serverName(s.Name, s.PID), shown(s.State), shown(s.Clients)})
	}
	return b.String() + table(rows...) + notes(a.Notes).text()
}

// serverName is the name of a server of protocol 3, else its pid.
func serverName(name string, pid *int) string {
	if name != "" {
		return name
	}
	return shown(pid)
}
