package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpushare/gpushare/examples/internal/command"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/parted"
)

type lintAnswer struct {
	Schema   int              `json:"schema"`
	Findings []parted.Finding `json:"findings"`
}

// lint says what is wrong with a mig-parted file.
func lint(inv *command.Invocation, args []string) error {
	file := inv.Flags.String("f", "", "")
	list := inv.Flags.String("model", "", "")
	if err := inv.Parse(args, "f"); err != nil {
		return err
	}
	var models []*mig.Model
	if inv.Given("model") {
		for i, name := range strings.Split(*list, ",") {
			m, err := mig.Lookup(name)
			if err != nil {
				return fmt.Errorf("-model: item %d: %w", i+1, err)
			}
			if slices.Contains(models, m) {
				return fmt.Errorf("-model: item %d: model %s stands there twice", i+1, m)
			}
			models = append(models, m)
		}
	}
	data, err := inv.Read(*file)
	if err != nil {
		return fmt.Errorf("-f: %w", err)
	}
	name := *file
	if name == "-" {
		name = "stdin"
	}
	answer := lintAnswer{Schema: schema, Findings: parted.LintFile(data, name, models...)}
	works := !slices.ContainsFunc(answer.Findings, func(f parted.Finding) bool { return f.Severity == parted.Error })
	return inv.Answer(works, answer, func() string { return lintText(name, answer.Findings) })
}

// lintText writes a line for each finding, as compilers do, and the counts.
func lintText(name string, findings []parted.Finding) string {
	if len(findings) == 0 {
		return name + ": clean\n"
	}
	var b strings.Builder
	counts := map[parted.Severity]int{}
	for _, f := range findings {
		counts[f.Severity]++
		b.WriteString(name)
		for _, n := range []int{f.Line, f.Column} { // 0: not known
			if n > 0 {
				b.WriteString(":" + strconv.Itoa(n))
			}
		}
		f.Line = 0 // so that its text does not name it again
		fmt.Fprintf(&b, ": %s\n", f)
	}
	fmt.Fprintf(&b, "%s, %s\n", count(counts[parted.Error], "error"), count(counts[parted.Warning], "warning"))
	return b.String()
}
