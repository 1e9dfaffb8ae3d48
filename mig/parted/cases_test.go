package parted_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/parted"
)

// Reports that people filed in public, and traps of the format, with the right
// answers. The numbers are those of the collection.

// TestCasesSelect: what each GPU of a node gets.
func TestCasesSelect(t *testing.T) {
	t.Parallel()
	eight := node(a100x80, a100x80, a100x80, a100x80, a100x80, a100x80, a100x80, a100x80)
	mixed := []parted.GPU{node(a100x40)[0], {Index: 1, PCI: t4}}
	twoA30 := node(a30, a30)
	for _, c := range []struct {
		name    string
		entries string
		gpus    []parted.GPU
		want    map[int]string // by index; GPUs that are not there keep their state
		err     error
		message []string
	}{
		{
			name: "17 the name that rounds down instead of up", entries: "  - {devices: all, mig-enabled: true, mig-devices: {7g.79gb: 1}}\n",
			gpus: node(a100x80), err: mig.ErrUnknownProfile, message: []string{"7g.79gb", "7g.80gb"},
		},
		{
			name: "17 the name that the driver prints", entries: "  - {devices: all, mig-enabled: true, mig-devices: {7g.80gb: 1}}\n",
			gpus: node(a100x80), want: map[int]string{0: "7g.80gb=1"},
		},
		{
			name: "23 profiles of the smaller board", entries: "  - {devices: all, mig-enabled: true, mig-devices: {2g.10gb: 3}}\n",
			gpus: node(a100x80), err: mig.ErrUnknownProfile, message: []string{"GPU 0", "2g.10gb", "a100-80gb", "2g.20gb"},
		},
		{
			name: "24 the second of two boards", entries: "  - {devices: [1], mig-enabled: true, mig-devices: {1g.6gb: 4}}\n",
			gpus: twoA30, want: map[int]string{1: "1g.6gb=4"},
		},
		{
			name: "26 all is narrowed by the filter",
			entries: `  - {device-filter: ["0x20B210DE", "0x20B510DE"], devices: all, mig-enabled: true, mig-devices: {1g.10gb: 7}}
  - {device-filter: ["0x20B010DE", "0x20F110DE"], devices: all, mig-enabled: true, mig-devices: {1g.10gb: 4}}
`,
			gpus: node(a100x40, a100x80, a30), want: map[int]string{0: "1g.10gb=4", 1: "1g.10gb=7"},
		},
		{
			name:    "27 the filter leaves out the boards of the node",
			entries: "  - {device-filter: [\"0x232110DE\", \"0x2BB510DE\"], devices: all, mig-enabled: true, mig-devices: {1g.24gb: 4}}\n",
			gpus:    []parted.GPU{{PCI: 0x234210DE, Capable: true}}, err: parted.ErrNoMatch, message: []string{"none of 1 GPU"},
		},
		{
			name: "27 without the filter", entries: "  - {devices: all, mig-enabled: true, mig-devices: {1g.24gb: 4}}\n",
			gpus: []parted.GPU{{PCI: 0x234210DE, Capable: true}}, want: map[int]string{0: "1g.24gb=4"},
		},
		{
			name:    "33 GPUs that are not listed keep their state",
			entries: "  - {devices: [4, 5, 6, 7], mig-enabled: true, mig-devices: {1g.10gb: 2, 2g.20gb: 1, 3g.40gb: 1}}\n",
			gpus:    eight,
			want: map[int]string{
				4: "1g.10gb=2,2g.20gb=1,3g.40gb=1", 5: "1g.10gb=2,2g.20gb=1,3g.40gb=1",
				6: "1g.10gb=2,2g.20gb=1,3g.40gb=1", 7: "1g.10gb=2,2g.20gb=1,3g.40gb=1",
			},
		},
		{
			name: "35 an index names a GPU that cannot do MIG", entries: "  - {devices: [1], mig-enabled: true, mig-devices: {1g.5gb: 7}}\n",
			gpus: mixed, err: parted.ErrNotCapable, message: []string{"GPU 1"},
		},
		{
			name: "35 all passes it over", entries: "  - {devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}\n",
			gpus: mixed, want: map[int]string{0: "1g.5gb=7"},
		},
		{
			name: "35 off is what it is", entries: "  - {devices: [1], mig-enabled: false}\n",
			gpus: mixed, want: map[int]string{1: ""},
		},
		{
			name: "36 one GPU in two entries",
			entries: `  - {devices: [0], mig-enabled: true, mig-devices: {1g.5gb: 7}}
  - {devices: all, mig-enabled: true, mig-devices: {2g.10gb: 3}}
`,
			gpus: node(a100x40), err: parted.ErrOverlap, message: []string{"GPU 0", "entry 1 (line 4)", "entry 2 (line 5)"},
		},
		{
			name: "36 filters that exclude each other",
			entries: `  - {devices: [0], device-filter: "0x20B710DE", mig-enabled: true, mig-devices: {1g.6gb: 4}}
  - {devices: all, device-filter: "0x20B010DE", mig-enabled: true, mig-devices: {2g.10gb: 3}}
`,
			gpus: node(a100x40), want: map[int]string{0: "2g.10gb=3"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := parse(t, label(c.entries)).Select("x", c.gpus, nil)
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
				for _, part := range c.message {
					require.ErrorContains(t, err, part)
				}
				assert.Zero(t, s)
				return
			}
			require.NoError(t, err)
			got := map[int]string{}
			for _, target := range s.Targets {
				if target.Entry != nil {
					got[target.GPU.Index] = target.Entry.Demand().String()
				}
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// TestCasesOverlapLastWins: "36 as mig-parted does it".
func TestCasesOverlapLastWins(t *testing.T) {
	t.Parallel()
	c := parse(t, label(`  - {devices: [0], mig-enabled: true, mig-devices: {1g.5gb: 7}}
  - {devices: all, mig-enabled: true, mig-devices: {2g.10gb: 3}}
`))
	s, err := c.Select("", node(a100x40), &parted.SelectOptions{LastWins: true})
	require.NoError(t, err)
	assert.Equal(t, mig.Demand{"2g.10gb": 3}, s.Targets[0].Entry.Demand())
	assert.Contains(t, strings.Join(messages(parted.Lint(c)), "\n"), "5:5: warning: label \"x\": a GPU can match entry 2 and entry 1 (line 4)")
}

// TestCasesRequiredFields: entries that somebody wrote who expected a default.
func TestCasesRequiredFields(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		message    string // of the error; empty: accepted
	}{
		{"30 no mode", label("  - {devices: all}\n"), `missing field "mig-enabled"`},
		{"30 no devices", label("  - {mig-enabled: false}\n"), `missing field "devices"`},
		{"30 on without instances", label("  - {devices: all, mig-enabled: true}\n"), "mig-devices: missing"},
		{"30 off with instances", label("  - {devices: all, mig-enabled: false, mig-devices: {1g.5gb: 1}}\n"), "not allowed where mig-enabled is false"},
		{"30 fewer than none", label("  - {devices: all, mig-enabled: true, mig-devices: {1g.5gb: -1}}\n"), "1g.5gb: count -1 is negative"},
		{"30 zeroes only", label("  - {devices: all, mig-enabled: true, mig-devices: {1g.5gb: 0}}\n"), "all counts are zero"},
		{"30 on and empty", label("  - {devices: all, mig-enabled: true, mig-devices: {}}\n"), ""},
		{"30 an unknown field", label("  - {devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}, bogus: 1}\n"), `unexpected field "bogus"`},
		{"30 no version", "mig-configs: {x: [{devices: all, mig-enabled: false}]}\n", `missing field "version"`},
		{"30 another version", "version: v2\n", `"v2" instead of "v1"`},
		{"30 no label", "version: v1\nmig-configs: {}\n", "at least one label"},
		{"30 version alone", "version: v1\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := parted.Parse([]byte(c.text), "f.yaml")
			if c.message == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, parted.ErrFormat)
			require.ErrorContains(t, err, c.message)
		})
	}
}

// TestCasesAssert: states that are as the file says, and are not found so.
func TestCasesAssert(t *testing.T) {
	t.Parallel()
	eight := node(a100x80, a100x80, a100x80, a100x80, a100x80, a100x80, a100x80, a100x80)
	var half []parted.State
	for i, g := range eight {
		s := parted.State{GPU: g, Enabled: i >= 4}
		if s.Enabled {
			s.Instances = mig.Demand{"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}
		}
		half = append(half, s)
	}
	for _, c := range []struct {
		name      string
		entries   string
		states    []parted.State
		satisfied bool
		uncovered []int
	}{
		{
			"32 a count of zero is no difference", "  - {devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7, 2g.10gb: 0}}\n",
			[]parted.State{on(node(a100x40)[0], mig.Demand{"1g.5gb": 7})},
			true,
			[]int{},
		},
		{
			"34 GPUs that are not listed may be as they like",
			"  - {devices: [4, 5, 6, 7], mig-enabled: true, mig-devices: {1g.10gb: 2, 2g.20gb: 1, 3g.40gb: 1}}\n",
			half, true,
			[]int{0, 1, 2, 3},
		},
		{
			"35 a GPU that cannot do MIG is off", "  - {devices: all, mig-enabled: false}\n",
			[]parted.State{{GPU: parted.GPU{PCI: t4}}},
			true,
			[]int{},
		},
		{
			"35 all does not mean it", "  - {devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}\n",
			[]parted.State{on(node(a100x40)[0], mig.Demand{"1g.5gb": 7}), {GPU: parted.GPU{Index: 1, PCI: t4}}},
			true,
			[]int{},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := parse(t, label(c.entries)).Assert("x", c.states, nil)
			require.NoError(t, err)
			assert.Equal(t, c.satisfied, r.Satisfied(), fmt.Sprint(r.Differences))
			assert.Equal(t, c.uncovered, r.Uncovered)
			assert.Equal(t, len(c.uncovered) == 0, r.Strict())
		})
	}
}
