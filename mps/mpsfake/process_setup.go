package mpsfake

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"
)

// Setup is what the program needs to know beyond what NVIDIA's takes: plain data that
// travels in one variable of the environment.
type Setup struct {
	// Config is the daemon's. The program's own command line and environment win over
	// it: the protocol, the directories, the flags for static partitions and several
	// users, and each variable of Env. Without GPUs there is one H100. Clock does not
	// travel: the program has the clock of the machine. PID 0 is the real one.
	Config Config

	Stderr    bool          // the program complains on standard error
	BindDelay time.Duration // from the return of -d to the sockets
	QuitDelay time.Duration // from the answer to quit to the end

	// Hooks is the Unix socket at which the daemon takes orders from Attach. On Linux
	// a name that begins with @ needs no file.
	Hooks string

	// Owner is a process with which the daemon ends; 0: none.
	Owner int
}

const setupVar = "MPSFAKE_SETUP"

// Environ is the setup as environment variables, to be added to those of the program.
// A client needs them only for Stderr.
func (s Setup) Environ() []string {
	data, err := json.Marshal(sent{Setup: s, Config: sentConfig{Config: s.Config}})
	if err != nil {
		return []string{setupVar + "=" + err.Error()} // which the program then complains of
	}
	return []string{setupVar + "=" + string(data)}
}

// sent is a Setup without its clock.
type sent struct {
	Setup
	Config sentConfig
}

type sentConfig struct {
	Config
	Clock *struct{} `json:",omitempty"` // in front of the function of this name
}

// readSetup reads what Environ wrote. Without any there is a daemon of who runs it.
func readSetup(env map[string]string, uid int) (Setup, error) {
	var s sent
	if text := env[setupVar]; text == "" {
		s.Config.UID = uid
	} else if err := json.Unmarshal([]byte(text), &s); err != nil {
		return Setup{}, fmt.Errorf("%w: %s: %w", ErrInput, setupVar, err)
	}
	s.Setup.Config = s.Config.Config
	if len(s.Setup.Config.GPUs) == 0 {
		s.Setup.Config.GPUs = []GPU{defaultGPU()}
	}
	return s.Setup, nil
}

// defaultGPU is the device of a program that was told of none. A GPU of this kind
// was seen to have fewer chunks than fit in its SMs.
func defaultGPU() GPU {
	return GPU{
		UUID: "GPU-3f5b7c91-26d8-4e0a-9b14-c8d7a6e5f201", Name: "NVIDIA H100 80GB HBM3",
		SMs: 132, MemoryMiB: 81559, ChunkSMs: 8, Chunks: 15,
	}
}

// config is the configuration of the daemon that was started like this.
func (s Setup) config(in invocation, env map[string]string, pid int, clock func() time.Time) Config {
	c := s.Config
	if in.protocol != 0 {
		c.Protocol = in.protocol
	}
	c.StaticPartitioning = c.StaticPartitioning || in.static
	c.MultiUser = c.MultiUser || in.multiUser
	c.Env = maps.Clone(c.Env)
	if c.Env == nil {
		c.Env = map[string]string{}
	}
	maps.Copy(c.Env, env)
	c.PipeDirectory, c.Stopped, c.Clock = in.pipe, false, clock
	fill(&c.PID, pid)
	return c
}

// How the program can go wrong on its way to the daemon or back, whatever the daemon
// does: what a caller has to survive. Each is a variable for the environment of a client
// of the program.
const (
	MisbehaveHang   = misbehaveVar + "=hang"   // reads its input, then neither answers nor minds a polite signal
	MisbehaveChatty = misbehaveVar + "=chatty" // writes without end
	MisbehaveSplit  = misbehaveVar + "=split"  // answers byte by byte
	MisbehaveChild  = misbehaveVar + "=child"  // answers, and leaves a child that holds its outputs open until the daemon ends
)

const misbehaveVar = "MPSFAKE_MISBEHAVE"
