package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/mig"
)

type profilesAnswer struct {
	Schema   int           `json:"schema"`
	Model    string        `json:"model"`
	Profiles []profileInfo `json:"profiles"`
}

type profileInfo struct {
	Name          string `json:"name"`
	GIProfileID   *int   `json:"giProfileId"` // null: unknown
	ComputeSlices int    `json:"computeSlices"`
	MemoryMiB     *int   `json:"memoryMiB"` // null: unknown
	SMs           *int   `json:"sms"`       // null: unknown
	MaxInstances  int    `json:"maxInstances"`
	Starts        []int  `json:"starts"` // null: unknown
	Size          *int   `json:"size"`   // null: unknown
	Confidence    string `json:"confidence"`
	Placements    string `json:"placementConfidence"`
}

// profiles lists what a model can be cut into.
func profiles(inv *command.Invocation, args []string) error {
	model := inv.Flags.String("model", "", "")
	if err := inv.Parse(args, "model"); err != nil {
		return err
	}
	m, err := lookup(*model)
	if err != nil {
		return err
	}
	answer := profilesAnswer{Schema: schema, Model: m.Key()}
	for p := range m.Profiles() {
		answer.Profiles = append(answer.Profiles, infoOf(p))
	}
	return inv.Print(answer, func() string { return profileTable(m) })
}

func infoOf(p mig.Profile) profileInfo {
	return profileInfo{
		Name: p.Name, GIProfileID: profileID(p), ComputeSlices: p.ComputeSlices,
		MemoryMiB: known(p.MemoryMiB), SMs: known(p.SMs), MaxInstances: p.MaxInstances,
		Starts: slices.Collect(p.Starts.All()), Size: known(p.Size),
		Confidence: p.Confidence.String(), Placements: p.Geometry.String(),
	}
}

// profileID returns the printed id, or nil where it is unknown: 0 is one.
func profileID(p mig.Profile) *int {
	if p.ID == mig.NotKnown {
		return nil
	}
	return &p.ID
}

// profileTable draws the legal placements beside the figures of each profile.
func profileTable(m *mig.Model) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %d memory slices, %d compute slices\n\n",
		m, m.Spec().Description, m.MemorySlices(), m.ComputeSlices())
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PROFILE\tID\tCOMPUTE\tMEMORY\tSMS\tMAX\tKNOWN\tPLACEMENTS")
	for p := range m.Profiles() {
		id := "unknown"
		if n := profileID(p); n != nil {
			id = fmt.Sprint(*n)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%d\t%s\t%s\n", p.Name, id, p.ComputeSlices,
			figure(p.MemoryMiB, "MiB"), figure(p.SMs, ""), p.MaxInstances, p.Confidence, placements(m, p))
	}
	t.Flush()
	fmt.Fprintf(&b, "\nsources:\n  %s\n", strings.Join(m.Spec().Sources, "\n  "))
	return b.String()
}

// placements draws where instances of a profile may stand, two columns a
// memory slice: "[==][==][==]....".
func placements(m *mig.Model, p mig.Profile) string {
	if !p.HasGeometry() {
		return "unknown"
	}
	row := bytes.Repeat([]byte("."), 2*m.MemorySlices())
	end := 0
	for start := range p.Starts.All() {
		if start < end { // they overlap: no picture of all of them at once
			return strings.Trim(fmt.Sprint(slices.Collect(p.Starts.All())), "[]")
		}
		end = start + p.Size
		copy(row[2*start:2*end], "["+strings.Repeat("=", 2*p.Size-2)+"]")
	}
	return string(row)
}
