package mpsfake

import (
	"fmt"
	"strconv"

	"github.com/gpushare/gpushare/mps"
)

// The texts below stand where the real ones are unknown: placeholders, chosen by
// Config.Placeholders. What is known is written where it is answered.

// done is the reply after something was carried out.
func (d *Daemon) done(format string, args ...any) mps.Output {
	if d.cfg.Placeholders == Wordy {
		return say(format, args...)
	}
	return mps.Output{}
}

// refuse is the reply when something was not.
func (d *Daemon) refuse(format string, args ...any) mps.Output {
	text := fmt.Sprintf(format, args...)
	switch d.cfg.Placeholders {
	case Wordy:
		return say("error: the request was not carried out. %s.", text)
	case Failing:
		return mps.Output{Stderr: text + "\n", Exit: 1}
	case Silent:
		return mps.Output{}
	default:
		return say("%s", text)
	}
}

// value is a value whose form is unknown; "" is none.
func (d *Daemon) value(name, v string) mps.Output {
	switch {
	case d.cfg.Placeholders == Wordy && v == "":
		return say("%s: not set", name)
	case d.cfg.Placeholders == Wordy:
		return say("%s: %s", name, v)
	case d.cfg.Placeholders == Failing && v == "":
		return mps.Output{Stderr: name + " is not set\n", Exit: 1}
	case v == "":
		return mps.Output{}
	default:
		return say("%s", v)
	}
}

// say is one line on standard output, exit status 0.
func say(format string, args ...any) mps.Output {
	return mps.Output{Stdout: fmt.Sprintf(format, args...) + "\n"}
}

func itoa(n int) string { return strconv.Itoa(n) }

// number reads a decimal number that is not negative.
func number(s string) (int, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}
