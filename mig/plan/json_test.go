package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/plan"
)

// good is the text of a plan that is read.
const good = `{"schema":1,"model":"a100-40gb","fingerprint":"mig1-0","steps":[
	{"op":"destroy","profile":"1g.5gb","start":0,"size":1,"computeInstances":[]},
	{"op":"create","profile":"3g.20gb","start":0,"computeInstances":[{"profile":"1c.3g.20gb","start":0}]}
],"kept":[],"goal":[{"profile":"3g.20gb","start":0,"computeInstances":null}]}`

func TestDecode(t *testing.T) {
	t.Parallel()
	p, err := plan.Decode(strings.NewReader(good))
	require.NoError(t, err)
	assert.Equal(t, "destroy 1g.5gb@0, create 3g.20gb@0", p.String())

	for _, c := range []struct{ name, old, new, says string }{
		{"nothing", good, "", "the input is empty"},
		{"half of it", good, good[:40], "unexpected EOF"},
		{"a list", good, "[]", "cannot unmarshal array into Go value of type plan.object"},
		{"null", good, "null", "schema none"},
		{"text after it", good, good + "{}", "text after the plan"},
		{"no schema", `"schema":1,`, "", "schema none"},
		{"another schema", `"schema":1`, `"schema":2`, "schema 2"},
		{"a schema of another type", `"schema":1`, `"schema":"1"`, "schema"},
		{"no model", `"a100-40gb"`, `""`, "one is missing"},
		{"no fingerprint", `"mig1-0"`, `""`, "one is missing"},
		{"an unknown field", `"kept"`, `"held"`, "held"},
		{"an unknown operation", `"create"`, `"move"`, `steps[1]: operation "move"`},
		{"no operation", `"op":"destroy",`, ``, `steps[0]: operation ""`},
		{"no profile", `"profile":"1g.5gb",`, "", "steps[0]"},
		{"a malformed profile", `"profile":"3g.20gb","start":0,"computeInstances":null`, `"profile":"3g","start":0`, "goal[0]"},
		{"a start below zero", `"start":0,"size":1`, `"start":-1,"size":1`, "1g.5gb@-1"},
		{"a start beyond any GPU", `"start":0,"size":1`, `"start":16,"size":1`, "1g.5gb@16"},
		{"a size below zero", `"size":1`, `"size":-1`, "size -1"},
		{"a huge size", `"size":1`, `"size":17`, "size 17"},
		{"a malformed compute profile", `"1c.3g.20gb"`, `"4c.3g.20gb"`, "4c.3g.20gb"},
		{"a compute start below zero", `"1c.3g.20gb","start":0`, `"1c.3g.20gb","start":-1`, "1c.3g.20gb@-1"},
		{"a compute index below zero", `"1c.3g.20gb","start":0`, `"1c.3g.20gb","index":-2`, "index -2"},
		{"negative loss", `"op":"destroy"`, `"op":"destroy","lossSeconds":-1`, "-1 seconds"},
		{"UUIDs of nothing", `"op":"destroy"`, `"op":"destroy","uuids":["MIG-1"]`, "1 UUIDs for 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(good, c.old, c.new, 1)
			require.NotEqual(t, good, text)
			p, err := plan.Decode(strings.NewReader(text))
			require.ErrorIs(t, err, plan.ErrBadPlan)
			require.ErrorContains(t, err, c.says)
			assert.Zero(t, p)
		})
	}
}

// TestUnmarshalInside: a plan inside another document is checked too, and a failed
// call changes nothing.
func TestUnmarshalInside(t *testing.T) {
	t.Parallel()
	var record struct {
		Plan plan.Plan `json:"plan"`
	}
	require.NoError(t, json.Unmarshal([]byte(`{"plan":`+good+`}`), &record))
	before := record.Plan
	err := json.Unmarshal([]byte(`{"plan":{"schema":3}}`), &record)
	require.ErrorIs(t, err, plan.ErrBadPlan)
	assert.Equal(t, before, record.Plan)
}

// TestPlanJSON spells out the form, which other programs read.
func TestPlanJSON(t *testing.T) {
	t.Parallel()
	from := state(t, lookup(t, "a30-24gb"), "1g.6gb@0! 1g.6gb@3")
	from.GPU = "GPU-1"
	from.Instances[0].UUIDs = []string{"MIG-1"}
	from.Instances[1].LossSeconds = 5
	p, err := plan.Repartition(from, mig.Demand{"1g.6gb": 1, "2g.12gb": 1})
	require.NoError(t, err)
	text, err := json.Marshal(p)
	require.NoError(t, err)
	one := func(profile string, start, size, index int) string {
		in, err := json.Marshal(plan.Instance{
			Instance: mig.Instance{Profile: profile, Start: start, Size: size},
			Compute:  []mig.ComputeInstance{{Profile: profile, Size: size, Index: index}},
		})
		require.NoError(t, err)
		return strings.Trim(string(in), "{}")
	}
	assert.JSONEq(t, `{"schema":1,"model":"a30-24gb","gpu":"GPU-1","fingerprint":"`+plan.Fingerprint(from)+`","steps":[
		{"op":"destroy","profile":"1g.6gb","start":3,"size":1,"lossSeconds":5,
			"computeInstances":[{"profile":"1g.6gb","start":0,"size":1,"index":0}]},
		{"op":"create",`+one("2g.12gb", 2, 2, 1)+`}],
		"kept":[{`+one("1g.6gb", 0, 1, 0)+`,"uuids":["MIG-1"],"busy":true}],
		"goal":[{`+one("1g.6gb", 0, 1, 0)+`},{`+one("2g.12gb", 2, 2, 1)+`}]}`, string(text))

	nothing, err := plan.Repartition(plan.StateOf(lookup(t, "a30-24gb").Empty()), nil)
	require.NoError(t, err)
	text, err = json.Marshal(nothing)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"steps":[],"kept":[],"goal":[]`)
}
