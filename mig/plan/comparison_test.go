package plan_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// tally sums what a way destroys over all questions.
type tally struct {
	destroyed int // instances
	cleared   int // questions in which nothing of what stood there is left
	more      int // questions in which it destroys more than the plan
	spared    int // (question, instance) in which that instance, if busy, stays
}

// row is the line of the table in doc.go.
func (w tally) row(name string, questions int) string {
	return fmt.Sprintf("%-17s %9d   %8.2f   %7d   %9d   %6d", name, w.destroyed, float64(w.destroyed)/float64(questions), w.cleared, w.more, w.spared)
}

func (w *tally) count(l mig.Layout, victims mig.Mask, fewest int) {
	n := victims.Len()
	w.destroyed += n
	w.spared += l.Len() - n
	if n > 0 && n == l.Len() {
		w.cleared++
	}
	if n > fewest {
		w.more++
	}
}

// TestComparison computes the table of doc.go: over all pairs of a state of an
// A100 and an undominated demand, what plans destroy against what two common ways
// destroy.
func TestComparison(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("figures only; slow with the race detector")
	}
	u := newUniverse(t, lookup(t, "a100-40gb"))
	wants := u.undominated()
	var ours, clearing, greedy tally
	pairs, instances := 0, 0
	for _, s := range u.sets {
		from := plan.StateOf(s.layout)
		for _, want := range wants {
			pairs++
			instances += s.layout.Len()
			p, err := plan.Repartition(from, want)
			require.NoError(t, err)
			var victims mig.Mask
			for _, step := range p.Steps {
				if step.Op == plan.Destroy {
					victims |= mig.MaskOf(step.Start)
				}
			}
			fewest := victims.Len()
			ours.count(s.layout, victims, fewest)
			clearing.count(s.layout, clearAndRebuild(s.layout, want), fewest)
			greedy.count(s.layout, greedyDiff(s.layout, want), fewest)
			// A plan may go another way to spare a busy instance.
			ours.spared -= s.layout.Len() - fewest
			for k := range from.Instances {
				from.Instances[k].Busy = true
				if _, err := plan.Repartition(from, want); err == nil {
					ours.spared++
				}
				from.Instances[k].Busy = false
			}
		}
	}
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	for _, line := range []string{
		ours.row("plan", pairs), greedy.row("greedy diff", pairs), clearing.row("clear and rebuild", pairs),
		fmt.Sprintf("%d pairs", pairs), fmt.Sprintf("of %d", instances),
	} {
		assert.Contains(t, string(text), line)
	}
}

// clearAndRebuild destroys everything unless the counts are right already. It
// returns the starts of what is destroyed.
func clearAndRebuild(l mig.Layout, want mig.Demand) (victims mig.Mask) {
	if l.Demand().String() == want.String() {
		return 0
	}
	return starts(l)
}

// greedyDiff keeps of each profile the wanted number, those with the lowest starts,
// destroys the rest, and creates what is missing, largest first, where the driver
// puts it. Where one finds no room it clears the GPU and starts again.
func greedyDiff(l mig.Layout, want mig.Demand) (victims mig.Mask) {
	all := starts(l)
	missing := maps.Clone(want)
	for in := range l.Instances() {
		if missing[in.Profile] > 0 {
			missing[in.Profile]--
			continue
		}
		victims |= mig.MaskOf(in.Start)
		l, _ = l.Without(in.Start)
	}
	bySize := func(a, b mig.Profile) int { return cmp.Compare(b.Size, a.Size) }
	for _, p := range slices.SortedStableFunc(l.Model().PlainProfiles(), bySize) {
		for range missing[p.Name] {
			start, ok := l.DefaultStart(p)
			if !ok {
				return all
			}
			l, _ = l.With(p, start)
		}
	}
	return victims
}

func starts(l mig.Layout) (all mig.Mask) {
	for in := range l.Instances() {
		all |= mig.MaskOf(in.Start)
	}
	return all
}
