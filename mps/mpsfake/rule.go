package mpsfake

import (
	"fmt"
	"strings"
	"time"
)

// Trouble is what goes wrong with a call.
type Trouble uint8

// The troubles.
const (
	Hang        Trouble = iota // no answer until the context ends, nothing done
	HangAfter                  // carried out, and then no answer until the context ends
	Slow                       // carried out, answered Delay later
	Truncate                   // carried out, the reply cut to its first Keep bytes
	Say                        // nothing done, Text on standard output, exit status 0
	Replace                    // another daemon has taken over before the call; it answers
	Die                        // the daemon is gone before the call
	DieAfter                   // the daemon answers, and is gone
	OnStderr                   // carried out, the reply on standard error
	lastTrouble = OnStderr
)

var troubleNames = [...]string{
	"hang", "hang after", "slow", "truncate", "say", "replace", "die", "die after", "on stderr",
}

// String is the trouble in words.
func (t Trouble) String() string {
	if int(t) >= len(troubleNames) {
		return fmt.Sprintf("Trouble(%d)", uint8(t))
	}
	return troubleNames[t]
}

// Rule is a fault as data. Of the rules that match a call the first applies; every
// matching rule counts the call.
type Rule struct {
	Command string // beginning of the command line, or of the arguments joined by blanks; "": every call
	Nth     int    // the how-manieth matching call, from 1; 0: 1
	Always  bool   // that call and every matching one after it
	Trouble Trouble
	Delay   time.Duration // of Slow
	Keep    int           // of Truncate
	Text    string        // of Say
}

func (r Rule) check() error {
	if r.Trouble > lastTrouble || r.Nth < 0 || r.Delay < 0 || r.Keep < 0 {
		return fmt.Errorf("%w: %+v", ErrInput, r)
	}
	return nil
}

// applies counts the call and tells whether the rule is due.
func (r Rule) applies(command string, count *int) bool {
	if !strings.HasPrefix(command, r.Command) {
		return false
	}
	*count++
	nth := max(r.Nth, 1)
	return *count == nth || r.Always && *count > nth
}
