package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/mig"
)

type modelsAnswer struct {
	Schema int         `json:"schema"`
	Models []modelInfo `json:"models"`
}

type modelInfo struct {
	Model         string   `json:"model"`
	Description   string   `json:"description"`
	ProductNames  []string `json:"productNames"`
	Architecture  string   `json:"architecture"`
	MemoryMiB     *int     `json:"memoryMiB"` // null: unknown
	SMs           *int     `json:"sms"`       // null: unknown
	MemorySlices  int      `json:"memorySlices"`
	ComputeSlices int      `json:"computeSlices"`
	MinDriver     string   `json:"minDriver"`
	Profiles      []string `json:"profiles"`
}

// models lists the known GPU models.
func models(inv *command.Invocation, args []string) error {
	if err := inv.Parse(args); err != nil {
		return err
	}
	answer := modelsAnswer{Schema: schema}
	for m := range mig.Models() {
		s := m.Spec()
		info := modelInfo{
			Model: s.Key, Description: s.Description, ProductNames: append([]string{}, s.ProductNames...),
			Architecture: s.Architecture, MemoryMiB: known(s.MemoryMiB), SMs: known(s.SMs),
			MemorySlices: s.MemorySlices, ComputeSlices: s.ComputeSlices, MinDriver: s.MinDriver,
		}
		for _, p := range s.Profiles {
			info.Profiles = append(info.Profiles, p.Name)
		}
		answer.Models = append(answer.Models, info)
	}
	return inv.Print(answer, func() string {
		var b strings.Builder
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "MODEL\tARCHITECTURE\tMEMORY\tSLICES\tPLAIN PROFILES")
		for m := range mig.Models() {
			var names []string
			for p := range m.PlainProfiles() {
				names = append(names, p.Name)
			}
			s := m.Spec()
			fmt.Fprintf(t, "%s\t%s\t%s\t%d memory, %d compute\t%s\n", s.Key, s.Architecture,
				figure(s.MemoryMiB, "MiB"), s.MemorySlices, s.ComputeSlices, strings.Join(names, " "))
		}
		t.Flush()
		return b.String()
	})
}
