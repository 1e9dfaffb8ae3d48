package device

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// small is a 3g.20gb at 4 with compute instances of one slice at some starts, and
// their UUIDs.
func small(uuids string, starts ...int) plan.Instance {
	in := plan.Instance{Instance: mig.Instance{Profile: "3g.20gb", Start: 4, Size: 4}}
	for i, s := range starts {
		in.Compute = append(in.Compute, mig.ComputeInstance{Profile: "1c.3g.20gb", Start: s})
		if uuids != "" {
			in.UUIDs = append(in.UUIDs, uuids[i:i+1])
		}
	}
	return in
}

// Who owns what stands at one place, by what the records say.
func TestLedger(t *testing.T) {
	t.Parallel()
	old, made := small("ab", 0, 1), small("", 0, 1)
	done, half := small("cd", 0, 1), small("c", 0)
	destroy := func(p Phase, left *plan.Instance) Record {
		return Record{Phase: p, Step: &plan.Step{Op: plan.Destroy, Instance: old}, Left: left}
	}
	create := func(p Phase, in plan.Instance, left *plan.Instance) Record {
		return Record{Phase: p, Step: &plan.Step{Op: plan.Create, Instance: in}, Left: left}
	}
	gone := State{}
	type verdict struct{ former, rest, bare, created, another bool }
	tests := []struct {
		name    string
		before  []plan.Instance
		records []Record
		prune   *State
		live    verdict
		later   verdict
	}{
		{name: "nothing", live: verdict{}, later: verdict{}},
		{name: "stood there before", before: []plan.Instance{old}, live: verdict{former: true, rest: true}, later: verdict{former: true, rest: true}},
		{
			name: "destruction has begun", before: []plan.Instance{old}, records: []Record{destroy(PhaseBegin, nil)},
			live: verdict{former: true, rest: true, bare: true}, later: verdict{former: true, rest: true, bare: true},
		},
		{
			name: "destruction has failed", before: []plan.Instance{old}, records: []Record{destroy(PhaseBegin, nil), destroy(PhaseFailed, &plan.Instance{})},
			live: verdict{former: true, rest: true, bare: true}, later: verdict{former: true, rest: true, bare: true},
		},
		{name: "destroyed", before: []plan.Instance{old}, records: []Record{destroy(PhaseBegin, nil), destroy(PhaseDone, nil)}},
		{
			name: "creation has begun", records: []Record{create(PhaseBegin, made, nil)},
			// Nobody has read its UUIDs: all that fits is taken for it.
			live: verdict{true, true, true, true, true}, later: verdict{true, true, true, true, true},
		},
		{
			name: "created", records: []Record{create(PhaseBegin, made, nil), create(PhaseDone, done, nil)},
			live: verdict{created: true}, later: verdict{created: true},
		},
		{
			name: "creation has failed, taken back", records: []Record{create(PhaseBegin, made, nil), create(PhaseFailed, made, nil)},
			later: verdict{bare: true},
		},
		{
			name: "creation has failed, a part is left", records: []Record{create(PhaseBegin, made, nil), create(PhaseFailed, made, &half)},
			live: verdict{true, true, true, true, true}, later: verdict{true, true, true, true, true},
		},
		{
			name: "a part was left, and is gone", records: []Record{create(PhaseBegin, made, nil), create(PhaseFailed, made, &half)}, prune: &gone,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLedger(tt.before)
			for _, r := range tt.records {
				l.note(r)
			}
			if tt.prune != nil {
				l.prune(*tt.prune)
			}
			ask := func(w way) verdict {
				return verdict{
					l.owns(old, w), l.owns(small("b", 1), w), l.owns(small(""), w), l.owns(done, w), l.owns(small("xy", 0, 1), w),
				}
			}
			assert.Equal(t, tt.live, ask(live), "in the run itself")
			assert.Equal(t, tt.later, ask(wayOn), "in a later one")
			assert.Equal(t, tt.later, ask(wayBack), "in a later one, back")
			for _, w := range []way{live, wayOn, wayBack} {
				assert.False(t, l.owns(small("x", 2), w), "what no step was to make")
				other := small("ab", 0, 1)
				other.Start = 0
				assert.False(t, l.owns(other, w), "another place")
			}
		})
	}
}
