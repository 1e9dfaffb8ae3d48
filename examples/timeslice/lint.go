package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/timeslice/pluginconfig"
)

const lintUsage = `timeslice lint says what is wrong with a device plugin's sharing config, and what the
plugin does to it when it starts without saying so.

Usage:
  timeslice lint -f FILE [-json]

-f - is standard input; YAML or JSON. An error is what the plugin refuses or nobody
can tell the meaning of, a warning what it takes and does otherwise, a note what it
does and many do not expect. Exit status 1 says that there is an error.
`

type lintAnswer struct {
	Schema   int                    `json:"schema"`
	Findings []pluginconfig.Finding `json:"findings"`
}

// lint says what is wrong with a config.
func lint(_ context.Context, inv *invocation, args []string) error {
	file := inv.Flags.String("f", "", "")
	if err := inv.parse(args, 0, "f"); err != nil {
		return err
	}
	_, findings, name, err := inv.config(*file)
	if err != nil {
		return err
	}
	return inv.Answer(!hasError(findings), lintAnswer{schema, findings}, func() string { return lintText(name, findings) })
}

// config reads a config; it is nil if there is an error among the findings.
func (inv *invocation) config(file string) (c *pluginconfig.Config, findings []pluginconfig.Finding, name string, err error) {
	data, err := inv.Read(file)
	if err != nil {
		return nil, nil, "", fmt.Errorf("-f: %w", err)
	}
	name = file
	if file == "-" {
		name = "stdin"
	}
	c, findings = pluginconfig.Lint(data, name)
	return c, findings, name, nil
}

func hasError(findings []pluginconfig.Finding) bool {
	return slices.ContainsFunc(findings, func(f pluginconfig.Finding) bool { return f.Severity == pluginconfig.Error })
}

// lintText writes a line for each finding, as compilers do, and the counts.
func lintText(name string, findings []pluginconfig.Finding) string {
	if len(findings) == 0 {
		return name + ": clean\n"
	}
	var b strings.Builder
	counts := map[pluginconfig.Severity]int{}
	for _, f := range findings {
		counts[f.Severity]++
		colon := ":"
		if f.Line == 0 { // not known
			colon = ": "
		}
		b.WriteString(name + colon + f.String() + "\n")
	}
	fmt.Fprintf(&b, "%s, %s, %s\n", count(counts[pluginconfig.Error], "error"), count(counts[pluginconfig.Warning], "warning"), count(counts[pluginconfig.Note], "note"))
	return b.String()
}
