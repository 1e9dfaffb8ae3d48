package mpsfake

import (
	"strings"

	"github.com/gpushare/gpushare/mps"
)

var (
	serverColumns    = [...]string{"name", "uid", "pid", "status", "pipe-directory", "allowed-devices", "context-ids"}
	namespaceColumns = [...]string{
		"name", "server", "server-status", "pinned-memory-limit", "active-thread-percentage", "client-priority",
		"pipe-directory",
	}
	clientColumns = [...]string{"pid", "server", "device", "namespace", "cmd"}
	deviceColumns = [...]string{
		"Ordinal", "Server", "PCI ID", "Device UUID", "Name", "Total SMs", "Total Chunks", "Attributes",
	}
	partitionColumns = [...]string{
		"server", "device", "name", "chunks", "sm-count", "include-remainder", "status", "visible-uuid",
	}
	featureColumns = [...]string{"FEATURE", "STATE", "MODULE", "COVERS"}
)

// list answers a list in the format that is asked for.
func (d *Daemon) list(r *request, columns []string, rows [][]string) mps.Output {
	format, header := "table", true
	if f, ok := r.take("format"); ok {
		var rest string
		format, rest, ok = strings.Cut(f, ",")
		header = !ok
		if format != "table" && format != "csv" || ok && rest != "noheader" {
			return d.refuse("Invalid format %.100s", f)
		}
	}
	return mps.Output{Stdout: d.render(columns, rows, format, header)}
}

// render is a table in one of the formats. How a csv header spells its columns, and
// how a cell with a comma is written, is unknown.
func (d *Daemon) render(columns []string, rows [][]string, format string, header bool) string {
	if format == "table" || d.cfg.Placeholders == Wordy {
		upper := make([]string, len(columns))
		for i, c := range columns {
			upper[i] = strings.ToUpper(strings.ReplaceAll(c, "-", " "))
		}
		columns = upper
	}
	if header {
		rows = append([][]string{columns}, rows...)
	}
	if format == "table" {
		return aligned(rows)
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				b.WriteByte(',')
			}
			if strings.ContainsAny(cell, ",\"") {
				cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
			}
			b.WriteString(cell)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// aligned pads cells to columns two blanks apart.
func aligned(rows [][]string) string {
	var width []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", width[i]-len(cell)+2))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
