package mps

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// V3Limits are the limits of a namespace. A zero field is left as it is.
type V3Limits struct {
	MemoryMiB  int64   // pinned device memory
	Percentage float64 // active thread percentage, 1 to 100
	Priority   *int    // of clients: 0 normal, 1 below normal
}

// V3ServerOptions are what a server is made with.
type V3ServerOptions struct {
	UID             *int     // who owns it; nil: who runs the program
	AllowedDevices  []string // ordinals or UUIDs; none: all devices. One that is not there is taken, and the server dies of it
	LocalityDomains *bool
}

// V3ServerSettings are what can be changed of a server. A zero field is left as it is.
// The limits are those of its namespace "default" only.
type V3ServerSettings struct {
	Limits          V3Limits
	UID             *int
	LocalityDomains *bool
}

func (l V3Limits) check() error {
	switch {
	case l.MemoryMiB < 0 || l.MemoryMiB > math.MaxInt64>>20:
		return fmt.Errorf("%w: memory limit of %d MiB", ErrInput, l.MemoryMiB)
	case l.Percentage != 0 && !(l.Percentage >= 1 && l.Percentage <= 100):
		return fmt.Errorf("%w: active thread percentage %v, want 1 to 100", ErrInput, l.Percentage)
	case l.Priority != nil && *l.Priority != 0 && *l.Priority != 1:
		return fmt.Errorf("%w: client priority %d, want 0 or 1", ErrInput, *l.Priority)
	}
	return nil
}

func (l V3Limits) isZero() bool { return l.MemoryMiB == 0 && l.Percentage == 0 && l.Priority == nil }

func (l V3Limits) options(args []string) []string {
	if l.MemoryMiB != 0 {
		args = option(args, "pinned-memory-limit", strconv.FormatInt(l.MemoryMiB, 10)+"M")
	}
	if l.Percentage != 0 {
		args = option(args, "active-thread-percentage", strconv.FormatFloat(l.Percentage, 'f', -1, 64))
	}
	return optionInt(args, "client-priority", l.Priority)
}

// look compares the limits with what the namespace has.
func (l V3Limits) look(ctx context.Context, v V3, name, server string) (proof, error) {
	all := shown
	ask := func(field string, same func(string) (bool, error)) error {
		value, err := v.get(ctx, "namespace", "get", name, server, field)
		if err != nil {
			return err
		}
		is, err := same(value)
		switch {
		case err != nil:
			all = min(all, untold)
		case !is:
			all = disputed
		}
		return nil
	}
	if l.MemoryMiB != 0 {
		err := ask("pinned-memory-limit", func(s string) (bool, error) {
			bytes, err := v3Bytes(s)
			return err == nil && bytes == l.MemoryMiB<<20, err
		})
		if err != nil || all == disputed {
			return all, err
		}
	}
	if l.Percentage != 0 {
		err := ask("active-thread-percentage", func(s string) (bool, error) {
			p, err := strconv.ParseFloat(s, 64)
			return samePercentage(l.Percentage, p), err
		})
		if err != nil || all == disputed {
			return all, err
		}
	}
	if l.Priority != nil {
		err := ask("client-priority", func(s string) (bool, error) {
			n, err := strconv.Atoi(s)
			return n == *l.Priority, err
		})
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// v3Bytes reads a limit as it is echoed: a whole number of G, M or K.
func v3Bytes(s string) (int64, error) {
	shift, found := map[byte]uint{'K': 10, 'M': 20, 'G': 30}[(s + " ")[max(len(s)-1, 0)]]
	if !found {
		return 0, fmt.Errorf("limit %.40q has no unit", s)
	}
	n, err := strconv.ParseUint(s[:len(s)-1], 10, 63-int(shift))
	return int64(n) << shift, err
}

// CreateServer makes a server. The name may be empty if the options name a UID.
func (v V3) CreateServer(ctx context.Context, name string, o V3ServerOptions) (V3Reply, error) {
	args := []string{"server", "create"}
	if name != "" {
		if err := checkV3Name("server", name); err != nil {
			return V3Reply{}, err
		}
		args = append(args, name)
	} else if o.UID == nil {
		return V3Reply{}, fmt.Errorf("%w: a server needs a name or a UID", ErrInput)
	}
	if err := checkUID(o.UID); err != nil {
		return V3Reply{}, err
	}
	for _, d := range o.AllowedDevices {
		if _, err := checkDevice(d); err != nil {
			return V3Reply{}, err
		}
	}
	args = optionInt(args, "uid", o.UID)
	args = option(args, "allowed-devices", strings.Join(o.AllowedDevices, ","))
	args = optionBool(args, "locality-domains", o.LocalityDomains)
	return v.write(ctx, args, func(ctx context.Context, v V3) (proof, error) {
		servers, err := v.Servers(ctx)
		for _, s := range servers {
			if name != "" && s.Name == name {
				// The rest of it may still be on its way, so only what contradicts counts.
				return agree(o.UID == nil || s.UID == -1 || s.UID == *o.UID), err
			}
			if name == "" && s.UID == *o.UID {
				return shown, err
			}
		}
		return disputed, err
	})
}

// DeleteServer ends a server. Without force it is refused while clients remain; with
// it they are terminated.
func (v V3) DeleteServer(ctx context.Context, name string, force bool) (V3Reply, error) {
	if err := checkV3Name("server", name); err != nil {
		return V3Reply{}, err
	}
	return v.write(ctx, forced([]string{"server", "delete", name}, force), func(ctx context.Context, v V3) (proof, error) {
		servers, err := v.Servers(ctx)
		for _, s := range servers {
			if s.Name == name {
				return disputed, err
			}
		}
		return shown, err
	})
}

// SetServer changes a server. Nothing reads locality domains back: with them Verified
// stays false.
func (v V3) SetServer(ctx context.Context, name string, s V3ServerSettings) (V3Reply, error) {
	if err := errors.Join(checkV3Name("server", name), s.Limits.check(), checkUID(s.UID)); err != nil {
		return V3Reply{}, err
	}
	if s.Limits.isZero() && s.UID == nil && s.LocalityDomains == nil {
		return V3Reply{}, fmt.Errorf("%w: nothing to set of server %s", ErrInput, name)
	}
	args := optionInt([]string{"server", "set", name}, "uid", s.UID)
	args = optionBool(s.Limits.options(args), "locality-domains", s.LocalityDomains)
	return v.write(ctx, args, func(ctx context.Context, v V3) (proof, error) {
		found, err := s.Limits.look(ctx, v, "default", name)
		if err != nil || found == disputed {
			return found, err
		}
		if s.UID != nil {
			uid, err := v.ServerField(ctx, name, "uid")
			if err != nil {
				return untold, err
			}
			if uid != strconv.Itoa(*s.UID) {
				return disputed, nil
			}
		}
		if s.LocalityDomains != nil {
			return untold, nil
		}
		return found, nil
	})
}

// ServerField is one value of a server as told: name, uid, pid, status,
// pipe-directory or allowed-devices.
func (v V3) ServerField(ctx context.Context, name, field string) (string, error) {
	err := errors.Join(
		checkV3Name("server", name),
		checkV3Field(field, "name", "uid", "pid", "status", "pipe-directory", "allowed-devices"),
	)
	if err != nil {
		return "", err
	}
	return v.get(ctx, "server", "get", name, field)
}

func agree(same bool) proof {
	if same {
		return shown
	}
	return disputed
}

func forced(args []string, force bool) []string {
	if force {
		return append(args, "--force")
	}
	return args
}

func checkUID(uid *int) error {
	if uid != nil && (*uid < 0 || int64(*uid) >= math.MaxUint32) { // the largest means none
		return fmt.Errorf("%w: UID %d", ErrInput, *uid)
	}
	return nil
}
