package mpsfake

import (
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gpushare/gpushare/mps"
)

// misbehaveHold is the child of MisbehaveChild.
const misbehaveHold = misbehaveVar + "=hold"

// misbehaving gives the output to write the answer to; done means that there is no more
// to do.
func misbehaving(how, pipe string, stdout io.Writer) (out io.Writer, done bool) {
	switch misbehaveVar + "=" + how {
	case MisbehaveHang:
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		time.Sleep(10 * time.Minute)
		return stdout, true
	case MisbehaveChatty:
		for line := strings.Repeat("Accepting connection...\n", 256); ; {
			if _, err := io.WriteString(stdout, line); err != nil {
				return stdout, true
			}
		}
	case MisbehaveSplit:
		return bytewise{stdout}, false
	case MisbehaveChild:
		child := exec.Cmd{
			Path: "/proc/self/exe", Args: []string{mps.Program},
			Env:    []string{misbehaveHold, "CUDA_MPS_PIPE_DIRECTORY=" + pipe},
			Stdout: os.Stdout, Stderr: os.Stderr,
		}
		child.Start() //nolint:errcheck // then there is none
	case misbehaveHold:
		if conn, err := net.Dial("unixpacket", filepath.Join(pipe, controlName)); err == nil {
			conn.Read(make([]byte, 1)) //nolint:errcheck // the daemon says nothing, and ends some day
		}
		return stdout, true
	}
	return stdout, false
}

// bytewise writes one byte at a time, each a write of its own.
type bytewise struct{ to io.Writer }

func (b bytewise) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := b.to.Write(p[i : i+1]); err != nil {
			return i, err
		}
		time.Sleep(100 * time.Microsecond)
	}
	return len(p), nil
}
