package mpsfake

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/gpushare/gpushare/mps"
)

// What client and daemon say to each other over the control socket. It is this fake's
// own: what NVIDIA's programs say there is not published, so nothing but this client
// can talk to this daemon.
//
// Each packet is one letter and the bytes behind it: parts of the call as JSON, its
// end, then parts of the two outputs and the exit status.
const (
	packetCall   = 'c'
	packetEnd    = '.'
	packetStdout = 'o'
	packetStderr = 'e'
	packetExit   = 'x'

	packetBytes = 16 << 10
)

// errLost is a connection that ended in the middle.
var errLost = errors.New("the connection ended early")

func sendParts(conn net.Conn, kind byte, data []byte) error {
	for len(data) > 0 {
		n := min(len(data), packetBytes)
		if err := sendPacket(conn, kind, data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func sendPacket(conn net.Conn, kind byte, data []byte) error {
	_, err := conn.Write(append([]byte{kind}, data...))
	return err
}

// readPacket needs a buffer of packetBytes+1.
func readPacket(conn net.Conn, buf []byte) (kind byte, data []byte, err error) {
	n, err := conn.Read(buf)
	switch {
	case errors.Is(err, io.EOF), err == nil && n == 0:
		return 0, nil, errLost
	case err != nil:
		return 0, nil, err
	}
	return buf[0], buf[1:n], nil
}

func sendCall(conn net.Conn, c mps.Call) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := sendParts(conn, packetCall, data); err != nil {
		return err
	}
	return sendPacket(conn, packetEnd, nil)
}

func readCall(conn net.Conn) (c mps.Call, err error) {
	var data bytes.Buffer
	for buf := make([]byte, packetBytes+1); ; {
		switch kind, part, err := readPacket(conn, buf); {
		case err != nil:
			return c, err
		case kind == packetCall:
			data.Write(part)
		case kind == packetEnd:
			return c, json.Unmarshal(data.Bytes(), &c)
		default:
			return c, fmt.Errorf("packet %q in a call", kind)
		}
	}
}

func sendOutput(conn net.Conn, out mps.Output) error {
	return errors.Join(
		sendParts(conn, packetStdout, []byte(out.Stdout)),
		sendParts(conn, packetStderr, []byte(out.Stderr)),
		sendPacket(conn, packetExit, []byte(strconv.Itoa(out.Exit))),
	)
}

// readOutput passes on what comes as it comes, and gives the exit status.
func readOutput(conn net.Conn, stdout, stderr io.Writer) (exit int, err error) {
	for buf := make([]byte, packetBytes+1); ; {
		kind, part, err := readPacket(conn, buf)
		if err != nil {
			return 1, err
		}
		switch kind {
		case packetStdout:
			_, err = stdout.Write(part)
		case packetStderr:
			_, err = stderr.Write(part)
		case packetExit:
			return strconv.Atoi(string(part))
		default:
			err = fmt.Errorf("packet %q in an answer", kind)
		}
		if err != nil {
			return 1, err
		}
	}
}

// relay has the other side answer the call, and passes its packets on.
func relay(to, from net.Conn, c mps.Call) {
	if sendCall(from, c) != nil {
		return
	}
	for buf := make([]byte, packetBytes+1); ; {
		kind, part, err := readPacket(from, buf)
		if err != nil || sendPacket(to, kind, part) != nil || kind == packetExit {
			return
		}
	}
}
