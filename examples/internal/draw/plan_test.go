package draw_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/examples/internal/draw"
	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// divided is an A30 with an idle instance and one in use.
func divided() (plan.State, error) {
	m, err := mig.Lookup("a30-24gb")
	if err != nil {
		return plan.State{}, err
	}
	l, err := m.Layout(mig.Instance{Profile: "1g.6gb", Start: 0}, mig.Instance{Profile: "2g.12gb", Start: 2})
	if err != nil {
		return plan.State{}, err
	}
	s := plan.StateOf(l)
	s.Instances[1].Busy = true
	return s, nil
}

func TestPlanWithoutMarks(t *testing.T) {
	t.Parallel()
	m, err := mig.Lookup("a30-24gb")
	require.NoError(t, err)
	s := plan.StateOf(m.Empty())
	p, err := plan.Repartition(s, mig.Demand{})
	require.NoError(t, err)
	got, err := draw.Plan(s, p)
	require.NoError(t, err)
	rows := draw.Rows(draw.Row{Name: "before", Layout: m.Empty()}, draw.Row{Name: "after", Layout: m.Empty()})
	assert.Equal(t, rows, got, "and no legend")
	got, err = draw.State("", s)
	require.NoError(t, err)
	assert.Equal(t, draw.Layout(m.Empty()), got)
}

func TestPlanThatIsNotPossible(t *testing.T) {
	t.Parallel()
	s, err := divided()
	require.NoError(t, err)
	taken := plan.Plan{Steps: []plan.Step{{Op: plan.Create, Instance: plan.Instance{Instance: mig.Instance{Profile: "1g.6gb", Start: 0}}}}}
	_, err = draw.Plan(s, taken)
	require.ErrorIs(t, err, plan.ErrBadPlan)
	for _, no := range []plan.State{{}, {Model: s.Model, Instances: append(s.Instances, s.Instances...)}} {
		_, err = draw.Plan(no, plan.Plan{})
		require.Error(t, err)
		_, err = draw.State("now", no)
		require.Error(t, err)
	}
}

func ExamplePlan() {
	s, err := divided()
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := plan.Repartition(s, mig.Demand{"2g.12gb": 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := draw.Plan(s, p)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(text)
	// Output:
	//         0       1       2       3
	//        ┌───────┬───────┬───────────────┐
	// before │✗1g.6gb│·······│!2g.12gb       │
	// after  │+2g.12gb       │!2g.12gb       │
	//        └───────────────┴───────────────┘
	//
	// ✗ destroyed   + created   ! in use
}

func ExampleState() {
	s, err := divided()
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := draw.State("now", s)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(text)
	// Output:
	//      0       1       2       3
	//     ┌───────┬───────┬───────────────┐
	// now │ 1g.6gb│·······│!2g.12gb       │
	//     └───────┴───────┴───────────────┘
	//
	// ! in use
}
