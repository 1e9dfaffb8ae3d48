package fragmentation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
)

func TestModelsAccept(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		models fragmentation.Models
		model  string
		accept bool
	}{
		{"no wish", "", "T4", true},
		{"no wish, node without model", "", "", true},
		{"bars alone are no wish", "||", "T4", true},
		{"one", "T4", "T4", true},
		{"one of two", "V100M16|V100M32", "V100M32", true},
		{"empty parts are dropped", "|T4|", "T4", true},
		{"part of a name", "V100M32", "V100", false},
		{"prefix of a name", "V100", "V100M32", false},
		{"case counts", "t4", "T4", false},
		{"node without model", "T4", "", false},
		{"empty part does not accept a node without model", "T4|", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.accept, tt.models.Accept(tt.model))
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"", "T4", "G2", "T", "4"})
		list := fragmentation.Models(strings.Join(rapid.SliceOfN(part, 0, 5).Draw(t, "parts"), "|"))
		model := part.Draw(t, "model")
		assert.Equal(t, naiveAccept(list, model), list.Accept(model))
	})
}

func FuzzModelsAccept(f *testing.F) {
	f.Add("T4|G2", "G2")
	f.Add("|", "")
	f.Fuzz(func(t *testing.T, list, model string) {
		assert.Equal(t, naiveAccept(fragmentation.Models(list), model), fragmentation.Models(list).Accept(model))
	})
}

func TestAnyOf(t *testing.T) {
	t.Parallel()
	assert.Equal(t, fragmentation.Models("A100|T4"), fragmentation.AnyOf("T4", "A100"), "sorted")
	assert.Equal(t, fragmentation.Models("A100|T4"), fragmentation.AnyOf("", "T4", "A100", "T4", ""), "each once, no empty names")
	assert.Equal(t, fragmentation.Models("A100|T4"), fragmentation.AnyOf("T4|A100", "|T4"), "lists count as their parts")
	assert.Empty(t, fragmentation.AnyOf())
	assert.Empty(t, fragmentation.AnyOf("", "|"))
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"", "T4", "G2", "V100", "T4|G2"}), 0, 6).Draw(t, "names")
		list := fragmentation.AnyOf(names...)
		assert.Equal(t, list, fragmentation.AnyOf(rapid.Permutation(slices.Clone(names)).Draw(t, "order")...), "the order does not matter")
		assert.Equal(t, list, fragmentation.AnyOf(strings.Split(string(list), "|")...), "a list is one already")
		for _, model := range []string{"", "T4", "G2", "V100", "other"} {
			assert.Equal(t, fragmentation.Models(strings.Join(names, "|")).Accept(model), list.Accept(model), "%q", model)
		}
	})
}
