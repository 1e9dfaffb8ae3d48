package device

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gpushare/gpushare/mig/plan"
)

// JournalSchema is the version of the form of a journal.
const JournalSchema = 1

// A line of a journal has at most so many bytes, and a journal so many lines: far
// more than any plan needs.
const (
	maxRecord = 1 << 20
	maxLines  = 1 << 16
)

// Phase is what a record or an event tells of a step or of a transaction.
type Phase string

// The phases. The first three are of a step.
const (
	PhaseBegin  Phase = "begin"
	PhaseDone   Phase = "done"
	PhaseFailed Phase = "failed"

	PhaseBack   Phase = "back"   // the roll back begins
	PhaseResume Phase = "resume" // a second run begins
	PhaseEnd    Phase = "end"    // with the outcome
)

// Journal is the record of a transaction. Its file is lines of JSON: a header,
// then a record before and after each step. Each line is written, and flushed
// where the writer has a method Sync, before the next call that changes the GPU.
type Journal struct {
	Schema int             `json:"schema"`
	GPU    string          `json:"gpu"`   // UUID
	Model  string          `json:"model"` // key
	Plan   plan.Plan       `json:"plan"`  // with the fingerprint of the state before
	Before []plan.Instance `json:"before"`

	Records []Record `json:"-"`

	// Torn says that the last line was cut off, as by a crash. It is not among the
	// records.
	Torn bool `json:"-"`

	unended bool // the file does not end with a line's end
}

// Record is a line of a journal after the first.
type Record struct {
	Phase   Phase          `json:"phase"`
	Step    *plan.Step     `json:"step,omitempty"` // of a creation that is done: with the UUIDs
	Left    *plan.Instance `json:"left,omitempty"` // what a failed step has left of its instance
	Outcome Outcome        `json:"outcome,omitempty"`
	Error   string         `json:"error,omitempty"`
}

// Outcome returns how the last run that has ended did. It is empty where none has
// ended, as after a crash.
func (j Journal) Outcome() Outcome {
	for _, r := range slices.Backward(j.Records) {
		if r.Phase == PhaseEnd {
			return r.Outcome
		}
		if r.Phase == PhaseResume {
			break
		}
	}
	return ""
}

// ReadJournal reads what a transaction has written. A last line that was cut off
// is left out, since what it would have told of had not begun; so is one that was
// gone on after, by a second run or by the way back. Everything else must be right:
// the error wraps ErrJournal and names the line. Where that is the first one, cut
// off, the transaction has changed nothing.
func ReadJournal(r io.Reader) (Journal, error) {
	var j Journal
	in := bufio.NewReader(r)
	n, torn, ended := 0, 0, false // lines; the one that could not be read
	var why error
	refuse := func(line int, cause error) (Journal, error) {
		return Journal{}, fmt.Errorf("mig/device: journal, line %d: %w: %w", line, ErrJournal, cause)
	}
	for !ended {
		n++
		line, err := readLine(in)
		ended = errors.Is(err, io.EOF)
		if err != nil && !ended {
			return refuse(n, err)
		}
		if n > maxLines {
			return refuse(n, fmt.Errorf("more than %d lines", maxLines))
		}
		j.unended = ended && len(line) > 0
		if line = bytes.TrimSpace(line); len(line) == 0 && n > 1 {
			continue
		}
		anew, bad := j.add(line, n == 1)
		switch {
		case bad != nil && n == 1:
			return refuse(n, bad)
		case torn > 0 && !anew && !errors.Is(bad, io.ErrUnexpectedEOF): // which is cut off, too
			return refuse(torn, why)
		case bad != nil:
			torn, why = n, bad
		default:
			torn = 0
		}
	}
	j.Torn = torn > 0
	return j, nil
}

// readLine reads up to the end of a line or of the input.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxRecord {
			return nil, fmt.Errorf("longer than %d bytes", maxRecord)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// add reads a line. It reports whether something begins with it: a second run, or
// the way back.
func (j *Journal) add(line []byte, first bool) (anew bool, err error) {
	if first {
		if err := strictly(line, j); err != nil {
			return false, err
		}
		switch {
		case j.Schema != JournalSchema:
			return false, fmt.Errorf("schema %d, not %d", j.Schema, JournalSchema)
		case j.GPU == "" || j.Model == "":
			return false, errors.New("no GPU or no model")
		}
		return false, nil
	}
	var r Record
	if err := strictly(line, &r); err != nil {
		return false, err
	}
	switch r.Phase {
	case PhaseBegin, PhaseDone, PhaseFailed:
		if r.Step == nil || r.Step.Op != plan.Create && r.Step.Op != plan.Destroy {
			return false, fmt.Errorf("phase %q without a step", r.Phase)
		}
	case PhaseBack, PhaseResume, PhaseEnd:
		if r.Step != nil {
			return false, fmt.Errorf("phase %q with a step", r.Phase)
		}
	default:
		return false, fmt.Errorf("unknown phase %q", r.Phase)
	}
	j.Records = append(j.Records, r)
	return r.Phase == PhaseResume || r.Phase == PhaseBack, nil
}

// strictly reads one JSON value without unknown fields.
func strictly(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the value")
	}
	return nil
}

// scribe writes a journal. Without a writer it does nothing.
type scribe struct {
	w    io.Writer
	torn bool // the last line may have been cut off
}

func (s *scribe) write(v any) error {
	if s.w == nil {
		return nil
	}
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	text := string(line) + "\n"
	if r, _ := v.(Record); s.torn && r.Phase != PhaseResume && r.Phase != PhaseBack {
		text = `{"phase":"back"}` + "\n" + text // only with these a reader forgives what is before
	}
	if s.torn {
		text = "\n" + text
	}
	s.torn = true
	if _, err = s.w.Write([]byte(text)); err == nil {
		if file, ok := s.w.(interface{ Sync() error }); ok {
			err = file.Sync()
		}
	}
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	s.torn = false
	return nil
}
