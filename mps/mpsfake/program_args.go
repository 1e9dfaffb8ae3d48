package mpsfake

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gpushare/gpushare/mps"
)

// Invoked tells whether the first word of a command line asks for the program: whether
// its name is mps.Program.
func Invoked(argv0 string) bool { return filepath.Base(argv0) == mps.Program }

const defaultLog = "/var/log/nvidia-mps"

// defaultPipe is the pipe directory of NVIDIA's program. Protocol 3 has another one for
// root.
func defaultPipe(protocol, uid int) string {
	if protocol == 3 && uid == 0 {
		return "/run/nvidia-mps"
	}
	return "/tmp/nvidia-mps"
}

// invocation is a command line and an environment, read.
type invocation struct {
	daemon, foreground bool
	version            bool
	static, multiUser  bool
	protocol           int // 2 or 3; 0: nothing says
	pipe, log          string
	call               []string // what goes to the daemon
	wrong              string   // the option that is none
}

// readInvocation takes the program's own options from the front of args; from the first
// other word on all belongs to the daemon's commands. The variable for the protocol
// wins over the flag.
func readInvocation(args []string, env map[string]string, uid int) invocation {
	var in invocation
	for in.wrong == "" && len(args) > 0 && strings.HasPrefix(args[0], "-") {
		taken := 1
		switch args[0] {
		case "-d", "--daemon":
			in.daemon = true
		case "-f", "--foreground":
			in.daemon, in.foreground = true, true
		case "-v":
			in.version = true
		case "-S", "--static-partitioning":
			in.static = true
		case "-M", "-m", "-multiuser-server", "--multiuser-server", "--multiuser":
			in.multiUser = true
		case "-p", "--protocol":
			if len(args) < 2 || !in.setProtocol(args[1]) {
				in.wrong = args[0]
			}
			taken = 2
		case "-q", "--quit", "-h", "--help", "-a", "--apply":
			in.call = args
			taken = len(args)
		default:
			if in.wrong = args[0]; strings.HasPrefix(in.wrong, "--protocol=") &&
				in.setProtocol(strings.TrimPrefix(in.wrong, "--protocol=")) {
				in.wrong = ""
			}
		}
		args = args[min(taken, len(args)):]
	}
	if in.call == nil {
		in.call = args
	}
	in.setProtocol(env["CUDA_MPS_PROTOCOL_VERSION"])
	in.pipe, in.log = env["CUDA_MPS_PIPE_DIRECTORY"], env["CUDA_MPS_LOG_DIRECTORY"]
	if in.pipe == "" {
		in.pipe = defaultPipe(in.protocol, uid)
	}
	if in.log == "" {
		in.log = defaultLog
	}
	return in
}

func (in *invocation) setProtocol(text string) bool {
	n, err := strconv.Atoi(text)
	if err != nil || n < 2 || n > 3 {
		return false
	}
	in.protocol = n
	return true
}

// environment is an environment as a map; the last of two wins.
func environment(env []string) map[string]string {
	m := make(map[string]string, len(env))
	for _, e := range env {
		if key, value, ok := strings.Cut(e, "="); ok {
			m[key] = value
		}
	}
	return m
}
