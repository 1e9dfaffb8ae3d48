package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// An upgrade of the binding that adds, removes or changes a method makes this
// test fail until go generate is run, which is the moment to look at what is
// new.
func TestCommittedFilesAreUpToDate(t *testing.T) {
	t.Parallel()
	for path, generate := range map[string]func() ([]byte, error){
		"base_gen.go":       generate,
		"fault/wrap_gen.go": generateWrap,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			want, err := generate()
			require.NoError(t, err)
			got, err := os.ReadFile("../../" + path)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got), "run: go generate ./nvmlfake")
		})
	}
}
