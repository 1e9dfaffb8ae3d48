package mps

import (
	"fmt"
	"slices"
)

// FaultServer is an MPS server, with the devices it drives and the clients on it.
type FaultServer struct {
	Name    string
	Devices []string
	Clients []FaultClient
}

// FaultClient is a client and the devices on which it has a context.
type FaultClient struct {
	Name    string
	Devices []string
}

// FaultReach is what a fatal fault does to one server. The whole server is in state
// FAULT and takes no new client, on its healthy devices neither, until every client in
// Clients has left.
type FaultReach struct {
	Server  string
	Devices []string // whose contexts are rebuilt, in the server's order
	Clients []string // get the error, whichever of them caused it
	Spared  []string // go on
}

// FaultDomain tells what a fatal fault on a device reaches, one answer for each server
// that drives it, in order.
//
// A client on two devices joins them: the fault spreads to every device that clients
// link to the first, and to all clients there. A fault that a client causes stays in
// that client's server; give only this one. Static partitions contain some faults
// better from driver 610 on, which is not counted here. The error wraps ErrInput: a
// device or server named twice, a client on a device that its server does not drive, a
// device that nobody drives.
func FaultDomain(servers []FaultServer, device string) ([]FaultReach, error) {
	if err := checkServers(servers); err != nil {
		return nil, err
	}
	var reach []FaultReach
	for _, s := range servers {
		start := slices.Index(s.Devices, device)
		if start < 0 {
			continue
		}
		groups := s.groups()
		r := FaultReach{Server: s.Name}
		for i, d := range s.Devices {
			if groups[i] == groups[start] {
				r.Devices = append(r.Devices, d)
			}
		}
		for _, c := range s.Clients {
			if len(c.Devices) > 0 && slices.Contains(r.Devices, c.Devices[0]) {
				r.Clients = append(r.Clients, c.Name)
			} else {
				r.Spared = append(r.Spared, c.Name)
			}
		}
		reach = append(reach, r)
	}
	if reach == nil {
		return nil, fmt.Errorf("%w: no server drives device %q", ErrInput, device)
	}
	return reach, nil
}

// Separation is the advice to give each group of a server's devices a server of its
// own, which takes a control daemon and pipe directory for each.
type Separation struct {
	Server string
	Groups []FaultServer // the same devices and clients, one for each server to be

	// Idle are clients without a context yet: any group will do.
	Idle []string
}

// OneServerPerGPU advises to split the servers of several devices, since a fault on one
// makes them refuse clients on all. Devices that a client uses together stay together;
// a server whose devices are all so joined, or that has one, is not listed. The error
// is as for FaultDomain.
func OneServerPerGPU(servers []FaultServer) ([]Separation, error) {
	if err := checkServers(servers); err != nil {
		return nil, err
	}
	var advice []Separation
	for _, s := range servers {
		groups := s.groups()
		sep := Separation{Server: s.Name}
		place := map[int]int{} // group to its place in sep.Groups
		for i, d := range s.Devices {
			at, found := place[groups[i]]
			if !found {
				at = len(sep.Groups)
				place[groups[i]] = at
				sep.Groups = append(sep.Groups, FaultServer{Name: s.Name})
			}
			sep.Groups[at].Devices = append(sep.Groups[at].Devices, d)
		}
		if len(sep.Groups) < 2 {
			continue
		}
		for _, c := range s.Clients {
			if len(c.Devices) == 0 {
				sep.Idle = append(sep.Idle, c.Name)
				continue
			}
			at := place[groups[slices.Index(s.Devices, c.Devices[0])]]
			sep.Groups[at].Clients = append(sep.Groups[at].Clients, FaultClient{c.Name, slices.Clone(c.Devices)})
		}
		advice = append(advice, sep)
	}
	return advice, nil
}

// groups numbers the devices of the server: two have one number if clients link them.
func (s FaultServer) groups() []int {
	group := make([]int, len(s.Devices))
	for i := range group {
		group[i] = i
	}
	for _, c := range s.Clients {
		for _, d := range c.Devices {
			from, to := group[slices.Index(s.Devices, d)], group[slices.Index(s.Devices, c.Devices[0])]
			for i, g := range group {
				if g == from {
					group[i] = to
				}
			}
		}
	}
	return group
}

func checkServers(servers []FaultServer) error {
	for i, s := range servers {
		for _, other := range servers[:i] {
			if s.Name == other.Name {
				return fmt.Errorf("%w: server %q is there twice", ErrInput, s.Name)
			}
		}
		if d, twice := repeated(s.Devices); twice {
			return fmt.Errorf("%w: server %q: device %q is there twice", ErrInput, s.Name, d)
		}
		for _, c := range s.Clients {
			for _, d := range c.Devices {
				if !slices.Contains(s.Devices, d) {
					return fmt.Errorf("%w: server %q: client %q is on device %q, which the server does not drive",
						ErrInput, s.Name, c.Name, d)
				}
			}
		}
	}
	return nil
}

// repeated finds a text that is in the list twice.
func repeated(list []string) (string, bool) {
	for i, s := range list {
		if slices.Contains(list[:i], s) {
			return s, true
		}
	}
	return "", false
}
