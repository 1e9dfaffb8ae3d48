package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMeasured: the commands above the tables of docs/measured.md run what the
// tables show.
func TestMeasured(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "measured.md"))
	require.NoError(t, err)
	var o sweepOptions
	commands, tables := 0, 0
	for line := range strings.Lines(string(data)) {
		if _, command, found := strings.Cut(line, "`go run ./examples/fleet sweep "); found {
			command, _, _ = strings.Cut(command, "`")
			o, err = parseSweep(strings.Fields(strings.ReplaceAll(command, `-mixes ""`, "-mixes=")))
			require.NoError(t, err, command)
			commands++
		}
		columns := strings.Split(strings.Trim(line, "| \n"), " | ")
		switch columns[0] {
		case "trace":
			assert.Equal(t, o.policies, columns[2:], "after command %d", commands)
			tables++
		case "GPUs":
			if columns[1] == "load" {
				for _, mix := range columns[4 : len(columns)-2] {
					assert.Contains(t, o.mixes, mix, "after command %d", commands)
				}
				tables++
			}
		}
	}
	assert.Equal(t, 11, commands)
	assert.Equal(t, 18, tables)
}
