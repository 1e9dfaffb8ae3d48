package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/examples/internal/draw"
	"github.com/gpushare/gpushare/mig"
)

type layoutsAnswer struct {
	Schema               int              `json:"schema"`
	Model                string           `json:"model"`
	Profiles             []string         `json:"profiles"`
	PlacedSets           int              `json:"placedSets"`
	MaximalSets          int              `json:"maximalSets"`
	MaximalMultisets     int              `json:"maximalMultisets"`
	UndominatedMultisets int              `json:"undominatedMultisets"`
	Multisets            int              `json:"multisets"`
	Layouts              [][]mig.Instance `json:"layouts"`
}

// layouts lists the layouts that can be built of some profiles.
func layouts(inv *command.Invocation, args []string) error {
	model := inv.Flags.String("model", "", "")
	maximal := inv.Flags.Bool("maximal", false, "")
	names := inv.Flags.String("profiles", "", "")
	if err := inv.Parse(args, "model"); err != nil {
		return err
	}
	m, err := lookup(*model)
	if err != nil {
		return err
	}
	if !m.HasGeometry() {
		return fmt.Errorf("-model: %s: %w", m, mig.ErrUnknownGeometry)
	}
	selected := slices.Collect(m.PlainProfiles())
	if inv.Given("profiles") {
		if selected, err = parseProfiles(m, *names); err != nil {
			return fmt.Errorf("-profiles: %w", err)
		}
	}
	c := m.Census(selected)
	answer := layoutsAnswer{
		Schema: schema, Model: m.Key(), PlacedSets: c.PlacedSets, MaximalSets: c.MaximalSets,
		MaximalMultisets: c.MaximalMultisets, UndominatedMultisets: c.UndominatedMultisets,
		Multisets: c.Multisets, Layouts: [][]mig.Instance{},
	}
	for _, p := range selected {
		answer.Profiles = append(answer.Profiles, p.Name)
	}
	var list []mig.Layout
	for l := range m.Layouts(selected) {
		if !*maximal || l.Maximal(selected) {
			list = append(list, l)
			answer.Layouts = append(answer.Layouts, instances(l))
		}
	}
	return inv.Print(answer, func() string {
		return fmt.Sprintf("%s, layouts of %s\n\n%s\n%c unused  %c stranded\n\n"+
			"placed sets            %d\nmaximal sets           %d\nmaximal multisets      %d\n"+
			"undominated multisets  %d\nmultisets              %d\n",
			m, strings.Join(answer.Profiles, ", "), draw.Layouts(list...), draw.Unused, draw.Stranded,
			c.PlacedSets, c.MaximalSets, c.MaximalMultisets, c.UndominatedMultisets, c.Multisets)
	})
}

// parseProfiles reads "1g.5gb,2g.10gb", each profile once.
func parseProfiles(m *mig.Model, s string) ([]mig.Profile, error) {
	var selected []mig.Profile
	for i, name := range strings.Split(s, ",") {
		p, err := m.Profile(name)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		if !p.HasGeometry() {
			return nil, fmt.Errorf("item %d: %s of model %s: %w", i+1, p.Name, m, mig.ErrUnknownGeometry)
		}
		if slices.Contains(selected, p) {
			return nil, fmt.Errorf("item %d: profile %s stands there twice", i+1, p.Name)
		}
		selected = append(selected, p)
	}
	return selected, nil
}
