package draw_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/examples/internal/draw"
	"github.com/gpushare/gpushare/mig"
)

// TestRowsWithoutNamesAndMarks: over all layouts of all models, they look as
// Layouts draws them.
func TestRowsWithoutNamesAndMarks(t *testing.T) {
	t.Parallel()
	for m := range mig.Models() {
		for l := range m.Layouts(nil) {
			require.Equal(t, draw.Layouts(l, m.Empty()),
				draw.Rows(draw.Row{Layout: l}, draw.Row{Layout: m.Empty()}), "%s %s", m, l)
		}
	}
	assert.Empty(t, draw.Rows())
}

// TestMarks: over all layouts of all models, a mark stands before the name of the
// instance that begins there and changes nothing else.
func TestMarks(t *testing.T) {
	t.Parallel()
	for m := range mig.Models() {
		for l := range m.Layouts(nil) {
			plain := draw.Layout(l)
			marks := map[int]rune{}
			for in := range l.Instances() {
				marks[in.Start] = draw.Destroyed
			}
			picture := draw.Rows(draw.Row{Layout: l, Marks: marks})
			require.Equal(t, l.Len(), strings.Count(picture, string(draw.Destroyed)), picture)
			require.Equal(t, plain, strings.ReplaceAll(picture, string(draw.Destroyed), " "))
		}
	}
}

func TestMarkWhereNothingBegins(t *testing.T) {
	t.Parallel()
	a30, err := mig.Lookup("a30-24gb")
	require.NoError(t, err)
	l, err := a30.Layout(mig.Instance{Profile: "2g.12gb", Start: 2})
	require.NoError(t, err)
	row := draw.Row{Layout: l, Marks: map[int]rune{0: draw.Busy, 3: draw.Busy, 9: draw.Busy}}
	assert.Equal(t, draw.Layout(l), draw.Rows(row))
}

func TestRowsOfSeveralModels(t *testing.T) {
	t.Parallel()
	a30, err := mig.Lookup("a30-24gb")
	require.NoError(t, err)
	a100, err := mig.Lookup("a100-40gb")
	require.NoError(t, err)
	picture := draw.Rows(
		draw.Row{Name: "0"},
		draw.Row{Name: "1", Layout: a30.Empty()},
		draw.Row{Name: "10", Layout: a30.Empty()},
		draw.Row{Layout: a100.Empty()},
	)
	assert.Equal(t, `0  not cut
    0       1       2       3
   ┌───────┬───────┬───────┬───────┐
1  │·······│·······│·······│·······│
10 │·······│·······│·······│·······│
   └───────┴───────┴───────┴───────┘
    0       1       2       3       4       5       6       7
   ┌───────┬───────┬───────┬───────┬───────┬───────┬───────┬───────┐
   │·······│·······│·······│·······│·······│·······│·······│·······│
   └───────┴───────┴───────┴───────┴───────┴───────┴───────┴───────┘
`, picture)
}

func ExampleRows() {
	m, err := mig.Lookup("a30-24gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	before, err := m.Layout(mig.Instance{Profile: "1g.6gb", Start: 0}, mig.Instance{Profile: "2g.12gb", Start: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	after, err := m.Layout(mig.Instance{Profile: "2g.12gb", Start: 0}, mig.Instance{Profile: "2g.12gb", Start: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(draw.Rows(
		draw.Row{Name: "before", Layout: before, Marks: map[int]rune{0: draw.Destroyed, 2: draw.Busy}},
		draw.Row{Name: "after", Layout: after, Marks: map[int]rune{0: draw.Created, 2: draw.Busy}},
	))
	// Output:
	//         0       1       2       3
	//        ┌───────┬───────┬───────────────┐
	// before │✗1g.6gb│·······│!2g.12gb       │
	// after  │+2g.12gb       │!2g.12gb       │
	//        └───────────────┴───────────────┘
}
