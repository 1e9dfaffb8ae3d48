package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadme runs what the README shows, and wants what it shows.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	_, block, found := strings.Cut(string(readme), "```console\n$ go run ./examples/migplan ")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	command, want, _ := strings.Cut(block, "\n")
	status, out, errs := call(t, strings.Fields(command)...)
	require.Equal(t, exitDone, status, errs)
	assert.Equal(t, want, out)
}
