// Package command is the frame of a program: the first argument that names a
// command, the flags, an answer as text or as one JSON object, and the exit status.
//
//	status       means
//	Done         0    done; the answer is yes
//	No           1    the question was answered, with no: ErrNo
//	Bad          2    bad usage or input: any other error, on one line of stderr
//	Interrupted  130  a signal ended it, where it listens to one
//
// A Program chooses a Command and hands it an Invocation, which parses the flags
// and prints the answer. A program without commands takes Interruptible and Ended
// alone. Check the input before anything is printed: a reader of standard output
// shall find nothing there if the input was bad. Nothing here needs cgo.
//
// Run, and all of one Invocation, belong to one goroutine.
package command

import "errors"

// The exit statuses.
const (
	Done        = 0
	No          = 1
	Bad         = 2
	Interrupted = 130 // as a shell reports it
)

// ErrNo says that the question was answered, with no: the answer is printed.
var ErrNo = errors.New("the answer is no")
