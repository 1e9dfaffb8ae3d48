package yaml11_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/gpushare/gpushare/internal/yaml11"
)

func TestDocument(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text         string
		line, column int
		message      string
	}{
		"not UTF-8":         {"a: 1\nü: \xff\n", 2, 4, "not UTF-8"},
		"UTF-16":            {"\xff\xfea\x00", 1, 1, "not UTF-8"},
		"a tab":             {"a: 1\n\tb: 2\n", 2, 1, "tab"},
		"a tab first":       {"\ta: 1\n", 1, 1, "a tab, where YAML wants blanks"},
		"not YAML":          {"a: [1, 2\nb: 3\n", 2, 1, "did not find expected"},
		"a second document": {"a: 1\n---\n\nb: 2\n", 4, 1, "a second document, which nobody does not read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, fault := yaml11.Document([]byte(tt.text), "nobody")
			assert.Nil(t, root)
			require.NotNil(t, fault)
			assert.Equal(t, []int{tt.line, tt.column}, []int{fault.Line, fault.Column})
			assert.Contains(t, fault.Message, tt.message)
		})
	}
	for _, text := range []string{"", "# nothing\n", "---\n---\n", "~\n"} {
		root, fault := yaml11.Document([]byte(text), "nobody")
		assert.Nil(t, root, text)
		assert.Nil(t, fault, text)
	}
	root, fault := yaml11.Document([]byte("---\n---\na: 1\n"), "nobody")
	assert.Nil(t, fault)
	assert.Equal(t, yaml.MappingNode, root.Kind)
}

func TestScalars(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		key      string
		isKey    bool
		value    bool
		isBool   bool
		number   int
		isInt    bool
		describe string
	}{
		"yes":        {key: "true", isKey: true, value: true, isBool: true, describe: `the text "yes"`},
		"off":        {key: "false", isKey: true, isBool: true, describe: `the text "off"`},
		`"yes"`:      {key: "yes", isKey: true, describe: `the text "yes"`},
		"true":       {key: "true", isKey: true, value: true, isBool: true, describe: "bool true"},
		"0x10":       {key: "16", isKey: true, number: 16, isInt: true, describe: "int 0x10"},
		"7.0":        {key: "7", isKey: true, number: 7, isInt: true, describe: "float 7.0"},
		"7.5":        {key: "7.5", isKey: true, describe: "float 7.5"},
		"1e300":      {key: "1e+300", isKey: true, describe: "float 1e300"},
		"~":          {describe: "nothing"},
		"[1]":        {describe: "a list"},
		"{a: 1}":     {describe: "a map"},
		"2001-01-01": {key: "2001-01-01", isKey: true, describe: "timestamp 2001-01-01"},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			var doc yaml.Node
			require.NoError(t, yaml.Unmarshal([]byte(text), &doc))
			n := doc.Content[0]
			key, isKey := yaml11.Key(n)
			value, isBool := yaml11.Bool(n)
			number, isInt := yaml11.Int(n)
			got := []any{key, isKey, value, isBool, number, isInt, yaml11.Describe(n)}
			assert.Equal(t, []any{want.key, want.isKey, want.value, want.isBool, want.number, want.isInt, want.describe}, got)
			assert.Equal(t, text == "~", yaml11.IsNull(n))
		})
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `"a\n"`, yaml11.Quote("a\n"))
	assert.Equal(t, `"`+strings.Repeat("ü", 80)+`…"`, yaml11.Quote(strings.Repeat("ü", 81)))
}
