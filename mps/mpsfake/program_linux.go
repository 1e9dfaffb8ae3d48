package mpsfake

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/gpushare/gpushare/mps"
)

const supported = true

// What the program says when it fails before a daemon could answer. Which of the two
// outputs NVIDIA's program takes is not known; Setup.Stderr has the other one.
const (
	textNoDaemon = "Cannot find MPS control daemon process"
	textRunning  = "An instance of this daemon is already running"
)

// Main is the program: the daemon with -d or -f, otherwise its client, which hands the
// rest of args or, without any, all of stdin to the daemon that owns the pipe directory
// and prints its answer. The result is the exit status.
//
// args does not have the program's name. env is the whole environment: the directories
// and the protocol, as NVIDIA's program takes them, and what Setup.Environ adds. With -d
// the running executable is started again under mps.Program, so it must call Main when
// Invoked says so.
//
// With -f, Main returns when the daemon has ended. It is meant for a process of its own:
// the lock of a pipe directory belongs to the process.
func Main(args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	vars := environment(env)
	in := readInvocation(args, vars, os.Geteuid())
	setup, err := readSetup(vars, os.Geteuid())
	if err != nil {
		fmt.Fprintln(stderr, err) //nolint:errcheck // there is nobody left to tell
		return 2
	}
	say := func(text string) int {
		if setup.Stderr {
			stdout = stderr
		}
		fmt.Fprintln(stdout, text) //nolint:errcheck // there is nobody left to tell
		return 1
	}
	switch {
	case in.wrong != "":
		return say("Unrecognized option: " + in.wrong) // a placeholder: the real text is not known
	case in.version:
		version := setup.Config.Version
		fill(&version, defaultVersion)
		// A placeholder, in the form of the log's line.
		fmt.Fprintln(stdout, "CUDA MPS Control binary version:", version) //nolint:errcheck // there is nobody left to tell
		return 0
	case in.daemon && vars[detachedVar] != "":
		answer := os.NewFile(3, "answer")
		tell := func(text string) int {
			io.WriteString(answer, text) //nolint:errcheck // the starter may be gone
			return 1
		}
		held := func() {
			tell(detachedOK)
			answer.Close() //nolint:errcheck // it was written
		}
		return runDaemon(started{in, setup, args, env}, tell, held)
	case in.foreground:
		return runDaemon(started{in, setup, args, env}, say, func() {})
	case in.daemon:
		return detach(args, env, in, say)
	}
	return ask(in, vars[misbehaveVar], stdin, stdout, stderr, say)
}

// detachedVar marks the process that becomes the daemon: it has the writing end of a
// pipe as file 3, on which it says detachedOK, or why it cannot be one.
const (
	detachedVar = "MPSFAKE_DETACHED"
	detachedOK  = "+"
)

// detach starts the daemon in a session of its own and returns when it holds the
// directory. It may not answer yet, and may die without ever having answered.
func detach(args, env []string, in invocation, say func(string) int) int {
	read, write, err := os.Pipe()
	if err != nil {
		return say(err.Error())
	}
	defer read.Close() //nolint:errcheck // only read
	cmd := exec.Cmd{
		Path: "/proc/self/exe",
		Args: append([]string{mps.Program}, args...),
		Env: append(slices.Clip(env), detachedVar+"=1",
			"CUDA_MPS_PIPE_DIRECTORY="+absolute(in.pipe), "CUDA_MPS_LOG_DIRECTORY="+absolute(in.log)),
		Dir:         "/",
		ExtraFiles:  []*os.File{write},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	err = cmd.Start()
	write.Close() //nolint:errcheck // the daemon has its own
	if err != nil {
		return say(err.Error())
	}
	text, err := io.ReadAll(read)
	switch {
	case err != nil:
		return say(err.Error())
	case string(text) == detachedOK:
		return 0
	}
	cmd.Wait() //nolint:errcheck // it says why on the pipe
	return say(string(text))
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// ask is the client.
func ask(in invocation, misbehave string, stdin io.Reader, stdout, stderr io.Writer, say func(string) int) int {
	call := mps.Call{Args: in.call}
	if len(in.call) == 0 {
		input, err := io.ReadAll(stdin)
		if err != nil {
			return say(err.Error())
		}
		call.Input = string(input)
	}
	stdout, done := misbehaving(misbehave, in.pipe, stdout)
	if done {
		return 1
	}
	path := filepath.Join(in.pipe, controlName)
	conn, err := net.DialTimeout("unixpacket", path, time.Minute)
	if err != nil {
		return say(textNoDaemon)
	}
	defer conn.Close() //nolint:errcheck // everything was read
	if err := sendCall(conn, call); err != nil {
		return say(textNoDaemon)
	}
	exit, err := readOutput(conn, stdout, stderr)
	if err != nil {
		return say(err.Error()) // a placeholder: the daemon died while it was answering
	}
	return exit
}
