// Package mpsfake is a control daemon of NVIDIA MPS to test against, with no GPU, no
// driver and no NVIDIA program. Use it to test what talks to MPS: a device plugin, a
// readiness check, a scheduler's agent, and above all what they do when the daemon
// misbehaves.
//
// A [Daemon] is the function in place of the program, on any OS: it is an
// [mps.Runner], takes a call and answers as the daemon would, and keeps state between
// calls. Its PIDFile is the [mps.IdentityFunc] beside it.
//
//	mps.Client ── Call ──► Daemon.Run ──► Output       commands of protocol 2 or 3
//	                          │
//	                          ├─ servers    one user at a time, or named ones (protocol 3)
//	                          ├─ clients    come and go by hooks: Connect, Disconnect
//	                          ├─ troubles   Fault, CrashServer, CrashStarts, Kill, Replace
//	                          ├─ rules      hang, slow, cut, exit 0 with a failure, replaced
//	                          └─ logs       control.log, server.log as text: LogFrom
//
// [Start] runs the same Daemon in a process of its own, behind a program in the place
// of nvidia-cuda-mps-control and a pipe directory with the real kinds of file; Linux
// only. It is for tests that have to cross a process boundary, or read the files.
//
//	mps.Exec ──► nvidia-cuda-mps-control ──► <pipe>/control ──► the daemon's process
//	              (a link to the test)         control_privileged, control_lock, log,
//	                                           nvidia-cuda-mps-control.pid
//	Process.Connect, Fault, AddRule, … ──► hooks ──► the same methods of its Daemon
//
// The program is the test binary itself under another name, see [Link], or what is
// built from the directory nvidia-cuda-mps-control. A client can only be the program:
// what goes over the sockets is the fake's own. The daemon ends with the process that
// started it.
//
// # What is real and what is not
//
// The effects are those that NVIDIA documents: a default reaches servers that start
// later, a server's value clients that connect later; a device of a limit is not
// checked until a server starts; another user waits until all clients of the first
// are gone; a fault reaches what clients link, and the whole server refuses until
// they have left; terminate_client leaves the process alive.
//
// Replies are of three sorts. Known ones are fixed. Where the documentation and
// drivers differ there is Config.Style. And what many commands say, all failures of
// protocol 3 among them, nobody has published: those are placeholders, and
// Config.Placeholders chooses one of four sets. The rule people get wrong: a
// placeholder proves nothing about NVIDIA's program. Code that works with one set and
// not with the others has learned the fake by heart; run tests with all of them.
//
// Names of commands that scripts use and no text of NVIDIA's has are refused. Not
// there: configuration files of protocol 3, the verbs of context-share, limits per
// context, and more than one context of a process. Servers and clients are no
// processes, even where the daemon is one: nothing may be sent a signal by their PIDs.
//
// # Time, concurrency, cost
//
// Nothing happens in the background. Time passes with calls: a server with
// Config.InitPolls is ready after so many, and Advance passes one without a call. Two
// runs with the same input leave the same replies, PIDs and logs. Everything is safe
// for concurrent use; calls that hang or are slow hold nobody else up. A command costs
// a few microseconds, one over the process boundary a few milliseconds. Check audits
// the state, for tests to ask after each step.
package mpsfake
