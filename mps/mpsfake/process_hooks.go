package mpsfake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
)

// hookCall is an order to a daemon: a method of Daemon, and its arguments.
type hookCall struct {
	Do      string
	PID     int     `json:",omitempty"`
	Client  *Client `json:",omitempty"`
	Rule    *Rule   `json:",omitempty"`
	Devices []int   `json:",omitempty"`
}

// The orders.
const (
	hookAdvance     = "advance"
	hookCheck       = "check"
	hookClient      = "client"
	hookConnect     = "connect"
	hookCrash       = "crash"
	hookCrashStarts = "crash starts"
	hookDie         = "die"
	hookDisconnect  = "disconnect"
	hookFault       = "fault"
	hookPID         = "pid"
	hookQuit        = "quit"
	hookReady       = "ready"
	hookRule        = "rule"
)

type hookReply struct {
	Attachment Attachment
	PID        int
	Known      bool   // of client
	Error      string `json:",omitempty"`
	Input      bool   `json:",omitempty"` // the error is an ErrInput
}

// obey carries an order out.
func (d *Daemon) obey(c hookCall) (r hookReply) {
	var err error
	switch c.Do {
	case hookAdvance:
		d.Advance()
	case hookCheck:
		err = d.Check()
	case hookClient:
		r.Attachment, r.Known = d.Client(c.PID)
	case hookConnect:
		if c.Client == nil {
			c.Client = &Client{}
		}
		r.Attachment, err = d.Connect(*c.Client)
	case hookCrash:
		err = d.CrashServer(c.PID)
	case hookCrashStarts:
		d.CrashStarts(c.PID)
	case hookDisconnect:
		err = d.Disconnect(c.PID)
	case hookFault:
		err = d.Fault(c.PID, c.Devices...)
	case hookReady:
		err = d.ServerReady(c.PID)
	case hookRule:
		if c.Rule == nil {
			c.Rule = &Rule{}
		}
		err = d.AddRule(*c.Rule)
	default:
		err = fmt.Errorf("%w: order %q", ErrInput, c.Do)
	}
	if err != nil {
		r.Error, r.Input = err.Error(), errors.Is(err, ErrInput)
	}
	return r
}

// hookError is an error that came from another process.
type hookError struct {
	text  string
	input bool
}

func (e *hookError) Error() string { return e.text }

func (e *hookError) Is(target error) bool { return e.input && target == ErrInput }

// order has a daemon carry something out.
func order(ctx context.Context, hooks string, c hookCall) (hookReply, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", hooks)
	if err != nil {
		return hookReply{}, err
	}
	defer conn.Close()                                      //nolint:errcheck // everything was read
	defer context.AfterFunc(ctx, func() { conn.Close() })() //nolint:errcheck // it ends the reading
	if err := json.NewEncoder(conn).Encode(c); err != nil {
		return hookReply{}, err
	}
	var r hookReply
	if err := json.NewDecoder(conn).Decode(&r); err != nil {
		return r, errors.Join(err, ctx.Err())
	}
	if r.Error != "" {
		return r, &hookError{r.Error, r.Input}
	}
	return r, nil
}
