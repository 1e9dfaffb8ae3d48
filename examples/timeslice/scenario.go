package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/timeslice"
)

// scenario is what simulate is asked for, and the form of its file.
type scenario struct {
	Schema   int          `json:"schema"`
	Policies []string     `json:"policies"`
	Slice    span         `json:"slice"`
	Switch   span         `json:"switch"`
	For      span         `json:"for"`
	Slots    int          `json:"slots,omitzero"`
	Factor   int64        `json:"factor,omitzero"`
	Linger   span         `json:"linger,omitzero"`
	Seed     uint64       `json:"seed"`
	Clients  []clientSpec `json:"clients"`
}

func newScenario() scenario {
	return scenario{
		Schema: schema, Policies: []string{"roundrobin"},
		Slice: 2_000_000, Switch: 40_000, For: 1_000_000_000, Seed: 1,
	}
}

// policyNames are the disciplines as they are asked for, in the order of their
// values.
var policyNames = [...]string{
	timeslice.RoundRobin:     "roundrobin",
	timeslice.BestEffort:     "besteffort",
	timeslice.EqualShare:     "equal",
	timeslice.FixedShare:     "fixed",
	timeslice.StrictFraction: "strict",
	timeslice.FairFraction:   "fair",
	timeslice.ExclusiveTurn:  "turn",
}

// disciplineOf reads a policy, by the short name or the library's.
func disciplineOf(name string) (timeslice.Discipline, error) {
	if i := slices.Index(policyNames[:], name); i >= 0 {
		return timeslice.Discipline(i), nil
	}
	if d, err := timeslice.ParseDiscipline(name); err == nil {
		return d, nil
	}
	return 0, fmt.Errorf("policy %q is none of %s", name, strings.Join(policyNames[:], ", "))
}

// parsePolicies reads "equal,fixed" or "all".
func parsePolicies(list string) []string {
	if list == "all" {
		return slices.Clone(policyNames[:]) // what is checked is rewritten
	}
	return strings.Split(list, ",")
}

// readScenario reads a file as -json writes it: a scenario, or an answer that has
// one.
func readScenario(text []byte) (scenario, error) {
	var outer struct {
		Schema   *int            `json:"schema"`
		Scenario json.RawMessage `json:"scenario"`
	}
	s := newScenario()
	if err := json.Unmarshal(text, &outer); err != nil {
		return s, place(text, err)
	}
	if outer.Schema == nil || *outer.Schema != schema {
		return s, fmt.Errorf("no \"schema\": %d: not a file of this program", schema)
	}
	if outer.Scenario != nil {
		text = outer.Scenario
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return s, place(text, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return s, errors.New("more than one JSON value")
	}
	for i := range s.Clients {
		if err := s.Clients[i].check(); err != nil {
			return s, fmt.Errorf("clients[%d] %q: %w", i, s.Clients[i].Name, err)
		}
	}
	return s, nil
}

// place adds the line to an error about JSON where it is known.
func place(text []byte, err error) error {
	at := int64(-1)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = syntax.Offset
	case errors.As(err, &kind):
		at = kind.Offset
	}
	if at < 0 || at > int64(len(text)) {
		return err
	}
	return fmt.Errorf("line %d: %w", 1+bytes.Count(text[:at], []byte("\n")), err)
}

// check refuses what cannot be simulated and says where it stands.
func (s *scenario) check() error {
	for _, t := range []struct {
		name string
		span
		low int64
	}{{"slice", s.Slice, 1}, {"switch", s.Switch, 0}, {"for", s.For, 1}, {"linger", s.Linger, 0}} {
		if err := t.within(t.low, timeslice.MaxTime); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	if len(s.Clients) == 0 {
		return errors.New("no clients")
	}
	names := map[string]bool{}
	for i, c := range s.Clients {
		if err := checkName(c.Name); err != nil {
			return fmt.Errorf("client %d: %w", i+1, err)
		}
		if names[c.Name] {
			return fmt.Errorf("client %d: the name %q stands there twice", i+1, c.Name)
		}
		names[c.Name] = true
	}
	if len(s.Policies) == 0 {
		return errors.New("no policies")
	}
	for i, name := range s.Policies {
		d, err := disciplineOf(name)
		if err != nil {
			return err
		}
		s.Policies[i] = policyNames[d]
		if slices.Contains(s.Policies[:i], s.Policies[i]) {
			return fmt.Errorf("policy %s stands there twice", s.Policies[i])
		}
		if err := s.sim(d).Validate(); err != nil {
			return fmt.Errorf("policy %s: %w", s.Policies[i], err)
		}
	}
	return nil
}

// sim returns what the simulator runs under one discipline. Clients without a
// fraction have equal parts of what the others leave.
func (s *scenario) sim(d timeslice.Discipline) timeslice.Sim {
	out := timeslice.Sim{
		Discipline: d, Horizon: int64(s.For), Slice: int64(s.Slice), Switch: int64(s.Switch),
		Slots: s.Slots, Factor: s.Factor, Linger: int64(s.Linger), Seed: s.Seed,
	}
	left, without := int64(1000), int64(0)
	for _, c := range s.Clients {
		if c.Fraction == nil {
			without++
		} else if *c.Fraction > 0 {
			left -= min(*c.Fraction, 1000)
		}
	}
	part := int64(0)
	if without > 0 {
		part = max(left, 0) / without
	}
	for i := range s.Clients {
		out.Clients = append(out.Clients, s.Clients[i].client(part))
	}
	return out
}
