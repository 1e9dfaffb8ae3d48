package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gpushare/gpushare/mig"
)

func TestLayouts(t *testing.T) {
	t.Parallel()
	const five = "1g.5gb,2g.10gb,3g.20gb,4g.20gb,7g.40gb"
	got := answer[layoutsAnswer](t, "layouts", "-model", "a100-40gb", "-profiles", five)
	assert.Equal(t, []string{"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}, got.Profiles)
	assert.Len(t, got.Layouts, 297)
	assert.Equal(t, []int{297, 19, 14, 12, 37}, counts(got))

	got = answer[layoutsAnswer](t, "layouts", "-model", "a100-40gb", "-profiles", five, "-maximal")
	assert.Len(t, got.Layouts, 19)
	assert.Equal(t, []int{297, 19, 14, 12, 37}, counts(got), "the counts are over all layouts")
	assert.Contains(t, got.Layouts, []mig.Instance{
		{Profile: "2g.10gb", Start: 0, Size: 2},
		{Profile: "2g.10gb", Start: 2, Size: 2},
		{Profile: "3g.20gb", Start: 4, Size: 4},
	})

	got = answer[layoutsAnswer](t, "layouts", "-model", "a100-40gb")
	assert.Equal(t, []int{722, 78, 38, 28, 77}, counts(got))
	assert.Len(t, got.Profiles, 6, "the plain profiles")
	got = answer[layoutsAnswer](t, "layouts", "-model", "a30-24gb")
	assert.Equal(t, []int{25, 5, 4, 4, 9}, counts(got))
}

func counts(a layoutsAnswer) []int {
	return []int{a.PlacedSets, a.MaximalSets, a.MaximalMultisets, a.UndominatedMultisets, a.Multisets}
}

func TestLayoutsText(t *testing.T) {
	t.Parallel()
	status, out, errs := call(t, "layouts", "-model", "a30-24gb", "-maximal", "-profiles", "2g.12gb,1g.6gb")
	assert.Equal(t, exitDone, status)
	assert.Empty(t, errs)
	assert.Equal(t, `a30-24gb, layouts of 2g.12gb, 1g.6gb

 0       1       2       3
┌───────┬───────┬───────┬───────┐
│ 1g.6gb│ 1g.6gb│ 1g.6gb│ 1g.6gb│
│ 1g.6gb│ 1g.6gb│ 2g.12gb       │
│ 2g.12gb       │ 1g.6gb│ 1g.6gb│
│ 2g.12gb       │ 2g.12gb       │
└───────────────┴───────────────┘

· unused  ░ stranded

placed sets            24
maximal sets           4
maximal multisets      3
undominated multisets  3
multisets              8
`, out)
}
