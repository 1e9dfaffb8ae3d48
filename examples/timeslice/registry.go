package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gpushare/gpushare/timeslice"
)

const registryUsage = `timeslice registry explains the driver's registry key RmPVMRL, the vGPU scheduler of a
host, and says what to write there.

Usage:
  timeslice registry VALUE [-max-vgpus N] [-json]
        what a value such as 0x00030001 means: by the driver's header and, where the
        vendor's guide reads it otherwise, by that
  timeslice registry -policy P [flags] [-json]
        the value for a setting that has one reading only

  -policy P          besteffort, equal or fixed
  -slice TIME        with adaptive round robin off; whole ms
  -frequency HZ      with it on
  -factor N          its averaging factor
  -arr on|off        on where not given, off with -slice
  -max-vgpus N       how many vGPUs of the type fit on the GPU: it decides what is
                     default (8)
`

// registryAnswer is a value and what it means; null stands for none.
type registryAnswer struct {
	Schema   int             `json:"schema"`
	Value    string          `json:"value"`
	Header   registryReading `json:"header"`
	Weights  bool            `json:"weights"`
	Guide    *registryMeant  `json:"guide"` // the other reading
	Warnings []string        `json:"warnings"`
}

type registryReading struct {
	setting
	Effective setting `json:"effective"` // defaults and bounds put in
	SliceNs   int64   `json:"sliceNs"`   // length of a turn; 0: not published
}

// registryMeant is the reading of the guide with the value that has no other.
type registryMeant struct {
	registryReading
	Value string `json:"value"`
}

// setting is a vGPU scheduler's; what is 0 is left to the default.
type setting struct {
	Policy    string `json:"policy"`
	ARR       string `json:"arr"`
	Frequency uint32 `json:"frequency"` // Hz
	Factor    uint32 `json:"factor"`
	Slice     span   `json:"slice"`
}

func settingOf(s timeslice.VGPUScheduler) setting {
	return setting{s.Policy.String(), s.ARR.String(), s.Frequency, s.Factor, span(s.Slice)}
}

func registry(_ context.Context, inv *invocation, args []string) error {
	var ask settingFlags
	ask.define(inv)
	most := inv.Flags.Int("max-vgpus", timeslice.FewVGPUs, "")
	if err := inv.parse(args, 1); err != nil {
		return err
	}
	if *most < 1 || *most > timeslice.MaxVGPUsPerGPU {
		return fmt.Errorf("-max-vgpus: %d is not from 1 to %d", *most, timeslice.MaxVGPUsPerGPU)
	}
	var value timeslice.PVMRL
	switch asked := ask.given(inv); {
	case len(inv.args) == 0 && !inv.Given("policy"):
		return errors.New("a value or -policy is missing (-h explains)")
	case len(inv.args) == 1 && asked != "":
		return fmt.Errorf("-%s and a value exclude each other", asked)
	case len(inv.args) == 1:
		v, err := strconv.ParseUint(inv.args[0], 0, 32)
		if err != nil {
			return fmt.Errorf("%q is no number of 32 bits such as 0x00030001", inv.args[0])
		}
		value = timeslice.PVMRL(v)
	default:
		s, err := ask.setting()
		if err == nil {
			value, err = timeslice.EncodePVMRL(s)
		}
		if err != nil {
			return err
		}
	}
	answer, err := registryAnswerOf(value, *most)
	if err != nil {
		return err
	}
	return inv.Print(answer, answer.text)
}

func registryAnswerOf(value timeslice.PVMRL, maxVGPUs int) (*registryAnswer, error) {
	r := value.Decode()
	read := func(s timeslice.VGPUScheduler) registryReading {
		return registryReading{settingOf(s), settingOf(s.Effective(maxVGPUs)), s.SliceLength(maxVGPUs)}
	}
	a := &registryAnswer{
		Schema: schema, Value: hex(value), Header: read(r.Scheduler), Weights: r.Weights,
		Warnings: append([]string{}, r.Warnings...),
	}
	if r.Guide != nil {
		meant, err := timeslice.EncodePVMRL(*r.Guide)
		if err != nil && r.Guide.Policy != timeslice.VGPUUnknown {
			return nil, err
		}
		a.Guide = &registryMeant{registryReading: read(*r.Guide)}
		if err == nil {
			a.Guide.Value = hex(meant)
		}
	}
	return a, nil
}

func hex(v timeslice.PVMRL) string { return fmt.Sprintf("0x%08x", uint32(v)) }

func (a *registryAnswer) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "RmPVMRL %s\n  by the header: %s\n", a.Value, a.Header)
	if a.Guide != nil {
		fmt.Fprintf(&b, "  by the guide:  %s", a.Guide.registryReading)
		if a.Guide.Value != "" {
			fmt.Fprintf(&b, "; %s says that alone", a.Guide.Value)
		}
		b.WriteString("\n")
	}
	for _, w := range a.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

// String names the setting, with what the driver makes of it in brackets.
func (r registryReading) String() string {
	text := r.setting.String()
	if e := r.Effective.String(); e != text {
		text += " (" + e + ")"
	}
	if r.SliceNs > 0 {
		text += ", turns of " + short(r.SliceNs)
	}
	return text
}

// String names the policy and what is not left to the default.
func (s setting) String() string {
	text := s.Policy
	if s.ARR != timeslice.ARRDefault.String() {
		text += ", ARR " + s.ARR
	}
	if s.Frequency > 0 {
		text += fmt.Sprintf(", %d Hz", s.Frequency)
	}
	if s.Factor > 0 {
		text += fmt.Sprintf(", factor %d", s.Factor)
	}
	if s.Slice > 0 {
		text += ", slice " + s.Slice.String()
	}
	return text
}
