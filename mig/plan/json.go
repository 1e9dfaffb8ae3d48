package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/gpushare/gpushare/mig"
)

// Decode reads one plan in JSON, and nothing after it. The error wraps ErrBadPlan:
// malformed JSON, an unknown field, another schema, an unknown operation, or a
// value that no plan has. Whether the plan can be carried out is what Check says.
func Decode(r io.Reader) (Plan, error) {
	var p Plan
	d := json.NewDecoder(r)
	if err := d.Decode(&p); err != nil {
		if errors.Is(err, ErrBadPlan) {
			return Plan{}, err
		}
		if errors.Is(err, io.EOF) {
			return Plan{}, fmt.Errorf("plan: no JSON, the input is empty: %w", ErrBadPlan)
		}
		return Plan{}, fmt.Errorf("plan: %w: %w", ErrBadPlan, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Plan{}, fmt.Errorf("plan: text after the plan: %w", ErrBadPlan)
	}
	return p, nil
}

// UnmarshalJSON reads a plan as Decode does. A failed call changes nothing.
func (p *Plan) UnmarshalJSON(data []byte) error {
	type plain Plan // without this method
	type object struct {
		Schema *int `json:"schema"`
	}
	var version object
	if err := json.Unmarshal(data, &version); err != nil {
		return fmt.Errorf("plan: %w: %w", ErrBadPlan, err)
	}
	if version.Schema == nil || *version.Schema != Schema {
		found := "none"
		if version.Schema != nil {
			found = fmt.Sprint(*version.Schema)
		}
		return fmt.Errorf("plan: schema %s, this package reads %d: %w", found, Schema, ErrBadPlan)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var q plain
	if err := d.Decode(&q); err != nil {
		return fmt.Errorf("plan: %w: %w", ErrBadPlan, err)
	}
	if err := (*Plan)(&q).checkValues(); err != nil {
		return err
	}
	*p = Plan(q)
	return nil
}

// checkValues checks what was read, and makes missing lists empty ones.
func (p *Plan) checkValues() error {
	if p.Model == "" || p.Fingerprint == "" {
		return fmt.Errorf("plan: model %q, fingerprint %q: one is missing: %w", p.Model, p.Fingerprint, ErrBadPlan)
	}
	if p.Steps == nil {
		p.Steps = []Step{}
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Op != Destroy && s.Op != Create {
			return fmt.Errorf("plan: steps[%d]: operation %q: %w", i, s.Op, ErrBadPlan)
		}
		if err := s.checkValues(); err != nil {
			return fmt.Errorf("plan: steps[%d]: %w: %w", i, err, ErrBadPlan)
		}
	}
	for _, part := range []struct {
		name string
		list *[]Instance
	}{{"kept", &p.Kept}, {"goal", &p.Goal}} {
		if *part.list == nil {
			*part.list = []Instance{}
		}
		for i := range *part.list {
			if err := (*part.list)[i].checkValues(); err != nil {
				return fmt.Errorf("plan: %s[%d]: %w: %w", part.name, i, err, ErrBadPlan)
			}
		}
	}
	return nil
}

func (in *Instance) checkValues() error {
	if _, err := mig.ParseName(in.Profile); err != nil {
		return err
	}
	if in.Start < 0 || in.Start >= mig.MaxUnits || in.Size < 0 || in.Size > mig.MaxUnits {
		return fmt.Errorf("%s with size %d: no GPU has such slices", in.Instance, in.Size)
	}
	if in.LossSeconds < 0 || in.LossSeconds > MaxLossSeconds {
		return fmt.Errorf("%s has %d seconds of work to lose", in.Instance, in.LossSeconds)
	}
	for _, c := range in.Compute {
		if _, err := mig.ParseName(c.Profile); err != nil {
			return fmt.Errorf("%s: %w", in.Instance, err)
		}
		if c.Start < 0 || c.Start >= mig.MaxUnits || c.Size < 0 || c.Size > mig.MaxUnits || c.Index < mig.NotKnown {
			return fmt.Errorf("%s: %s with size %d and index %d: no GPU instance has such", in.Instance, c, c.Size, c.Index)
		}
	}
	if len(in.UUIDs) == 0 {
		in.UUIDs = nil
	} else if len(in.UUIDs) != len(in.Compute) {
		return fmt.Errorf("%s: %d UUIDs for %d compute instances", in.Instance, len(in.UUIDs), len(in.Compute))
	}
	return nil
}
