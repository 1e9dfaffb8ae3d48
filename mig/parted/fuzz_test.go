package parted_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig/parted"
)

// FuzzParse: whatever comes, there is a configuration or an error that says where,
// Lint accepts both, and what was read can be written and read again.
func FuzzParse(f *testing.F) {
	all, err := os.ReadFile("testdata/all-models.yaml")
	require.NoError(f, err)
	f.Add(all[:2048])
	for _, s := range []string{
		"", "version: v1\n", "{}",
		`{"version":"v1","mig-configs":{"a":[{"devices":"all","mig-enabled":false}]}}`,
		label("  - {devices: [0, 1], device-filter: [\"0x20B010DE:0x147F10DE\", junk], mig-enabled: yes, mig-devices: {1c.3g.20gb: 4, 1g.5gb: 0}}\n"),
		label("  - &a {devices: all, mig-enabled: on, mig-devices: {}}\n  - {<<: [*a], devices: [1]}\n"),
		"version: v1\nmig-configs: &a {x: *a, <<: *a, ~: 1, ? [b] : 2}\n---\n...\n",
		"version: v1\nmig-configs: {\"\\u0085\": [{devices: all, mig-enabled: !!bool \"y\"}], 0x1F: [], .inf: [], 2001-01-01: []}\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parted.Parse(data, "f")
		found := parted.LintFile(data, "f")
		if err != nil {
			require.ErrorIs(t, err, parted.ErrFormat)
			assert.Nil(t, c)
			assert.NotEmpty(t, found)
			return
		}
		requireRoundTrip(t, c)
		for i := range c.Labels {
			l, err := c.Label(c.Labels[i].Name)
			if c.Labels[i].Name == "" && len(c.Labels) > 1 {
				require.ErrorIs(t, err, parted.ErrUnknownLabel)
				continue
			}
			require.NoError(t, err)
			assert.Same(t, &c.Labels[i], l)
			for j := range l.Entries {
				for name, n := range l.Entries[j].Demand() {
					require.Positive(t, n, name)
				}
			}
		}
	})
}

func FuzzParseID(f *testing.F) {
	for _, s := range []string{"0x20B010DE", "0x20B010DE:0x147F10DE", "548409566", "0b1", "0_1", "", ":", "junk"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := parted.ParseID(s)
		gpu := parted.GPU{PCI: id.PCI, Subsystem: id.Subsystem}
		if err != nil {
			require.ErrorIs(t, err, parted.ErrFormat)
			assert.Zero(t, id)
			assert.False(t, parted.Filter{Text: s}.Matches(gpu))
			return
		}
		assert.True(t, parted.Filter{Text: s}.Matches(gpu))
		back, err := parted.ParseID(id.String())
		require.NoError(t, err)
		assert.Equal(t, id, back)
	})
}

// FuzzWriteLabel: a label may be any text, and stays it.
func FuzzWriteLabel(f *testing.F) {
	for _, s := range []string{
		"all-1g.5gb.me", "yes", "1", "a\nb", "\u0085", "\ufeff", "\U0001F600", "\x7f", "\xff", "<<",
		strings.Repeat("\x00", 170), strings.Repeat("\u0085", 400), "a" + strings.Repeat("#", 1100),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := &parted.Config{Labels: []parted.Label{{Name: s, Entries: []parted.Entry{{All: true}}}}}
		var b bytes.Buffer
		if err := parted.Write(&b, c); err != nil {
			require.ErrorIs(t, err, parted.ErrFormat)
			return
		}
		requireRoundTrip(t, c)
	})
}
