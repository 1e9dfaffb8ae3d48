package draw_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/examples/internal/draw"
	"github.com/gpushare/gpushare/mig"
)

// TestEveryLayout checks, over all layouts of all models, that every line has
// one width, that each instance is named and that the hatched slices are as
// many as the library says are stranded.
func TestEveryLayout(t *testing.T) {
	t.Parallel()
	for m := range mig.Models() {
		t.Run(m.Key(), func(t *testing.T) {
			t.Parallel()
			seen := map[string]mig.Layout{}
			for l := range m.Layouts(nil) {
				picture := draw.Layout(l)
				before, twice := seen[picture]
				require.False(t, twice, "%s and %s look the same", before, l)
				seen[picture] = l

				lines := strings.Split(picture, "\n")
				require.Len(t, lines, 5, picture)
				for _, line := range lines[2:4] {
					require.Equal(t, utf8.RuneCountInString(lines[1]), utf8.RuneCountInString(line), picture)
				}
				stranded, unused := 0, 0
				for field := range strings.SplitSeq(strings.Trim(lines[2], "│"), "│") {
					switch {
					case strings.Trim(field, string(draw.Stranded)) == "":
						stranded++
					case strings.Trim(field, string(draw.Unused)) == "":
						unused++
					}
				}
				require.Equal(t, l.Stranded().Memory, stranded, "%s\n%s", l, picture)
				require.Equal(t, l.Unused().Memory, stranded+unused, "%s\n%s", l, picture)
			}
		})
	}
}

func TestLayoutsOfSeveralModels(t *testing.T) {
	t.Parallel()
	a30, err := mig.Lookup("a30-24gb")
	require.NoError(t, err)
	assert.Empty(t, draw.Layouts())
	assert.Equal(t, "not cut\n", draw.Layout(mig.Layout{}))
	assert.Equal(t, draw.Layout(mig.Layout{})+draw.Layout(a30.Empty()), draw.Layouts(mig.Layout{}, a30.Empty()))
}

func ExampleLayouts() {
	m, err := mig.Lookup("a30-24gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	one, err := m.Layout(mig.Instance{Profile: "2g.12gb", Start: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(draw.Layouts(one, m.Empty()))
	// Output:
	//  0       1       2       3
	// ┌───────┬───────┬───────────────┐
	// │·······│·······│ 2g.12gb       │
	// │·······│·······│·······│·······│
	// └───────┴───────┴───────┴───────┘
}
