package parted_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig/parted"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	c := &parted.Config{Labels: []parted.Label{
		{Name: "off", Entries: []parted.Entry{{All: true}}},
		{Name: "yes", Entries: []parted.Entry{
			{
				Filters: []parted.Filter{{Text: "0x20B010DE"}, {Text: "0x20B210DE"}}, Devices: []int{0, 1}, Enabled: true,
				Instances: []parted.Count{{Profile: "3g.20gb", Count: 1}, {Profile: "1g.5gb+me", Count: 1}},
			},
			{Filters: []parted.Filter{{Text: "0x20B710DE"}}, All: true, Enabled: true},
		}},
	}}
	var b bytes.Buffer
	require.NoError(t, parted.Write(&b, c))
	assert.Equal(t, `version: v1
mig-configs:
  "off":
    - devices: all
      mig-enabled: false
  "yes":
    - device-filter: ["0x20B010DE", "0x20B210DE"]
      devices: [0, 1]
      mig-enabled: true
      mig-devices:
        "3g.20gb": 1
        "1g.5gb+me": 1
    - device-filter: "0x20B710DE"
      devices: all
      mig-enabled: true
      mig-devices: {}
`, b.String())

	b.Reset()
	require.NoError(t, parted.WriteJSON(&b, &parted.Config{Labels: c.Labels[1:]}))
	want := `{
  "version": "v1",
  "mig-configs": {
    "yes": [
      {
        "device-filter": ["0x20B010DE", "0x20B210DE"],
        "devices": [0, 1],
        "mig-enabled": true,
        "mig-devices": {
          "3g.20gb": 1,
          "1g.5gb+me": 1
        }
      },
      {
        "device-filter": "0x20B710DE",
        "devices": "all",
        "mig-enabled": true,
        "mig-devices": {}
      }
    ]
  }
}
`
	assert.Equal(t, want, b.String(), "in the order of the file, lists on one line")
}

func TestWriteRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := genConfig(t)
		var b bytes.Buffer
		require.NoError(t, parted.Write(&b, c))
		back, err := parted.Parse(b.Bytes(), c.Name)
		require.NoError(t, err, b.String())
		requireSame(t, c, back)

		b.Reset()
		require.NoError(t, parted.WriteJSON(&b, c))
		require.True(t, json.Valid(b.Bytes()), b.String())
		back, err = parted.Parse(b.Bytes(), c.Name)
		require.NoError(t, err, b.String())
		requireSame(t, c, back)
	})
}

// requireSame compares without positions, and without the difference between nil
// and an empty list.
func requireSame(t require.TestingT, a, b *parted.Config) {
	if h, ok := t.(interface{ Helper() }); ok {
		h.Helper()
	}
	for _, c := range []*parted.Config{a, b} {
		bare(c)
		for i := range c.Labels {
			for j := range c.Labels[i].Entries {
				e := &c.Labels[i].Entries[j]
				if len(e.Devices) == 0 {
					e.Devices = nil
				}
				if len(e.Instances) == 0 {
					e.Instances = nil
				}
			}
		}
	}
	require.Equal(t, a, b)
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	one := func(e parted.Entry) *parted.Config {
		return &parted.Config{Labels: []parted.Label{{Name: "x", Entries: []parted.Entry{e}}}}
	}
	for name, c := range map[string]*parted.Config{
		"a label without entries":     {Labels: []parted.Label{{Name: "x"}}},
		"a label twice":               {Labels: []parted.Label{one(parted.Entry{All: true}).Labels[0], one(parted.Entry{All: true}).Labels[0]}},
		"a label that is not UTF-8":   {Labels: []parted.Label{{Name: "\xff", Entries: []parted.Entry{{All: true}}}}},
		"instances with the mode off": one(parted.Entry{All: true, Instances: []parted.Count{{Profile: "1g.5gb", Count: 1}}}),
		"all and indices":             one(parted.Entry{All: true, Devices: []int{1}}),
		"a malformed profile":         one(parted.Entry{All: true, Enabled: true, Instances: []parted.Count{{Profile: "1g", Count: 1}}}),
		"a negative count":            one(parted.Entry{All: true, Enabled: true, Instances: []parted.Count{{Profile: "1g.5gb", Count: -1}}}),
		"only zero counts":            one(parted.Entry{All: true, Enabled: true, Instances: []parted.Count{{Profile: "1g.5gb"}}}),
		"a profile twice": one(parted.Entry{All: true, Enabled: true, Instances: []parted.Count{
			{Profile: "1g.5gb", Count: 1}, {Profile: "1g.5gb", Count: 1},
		}}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			require.ErrorIs(t, parted.Write(&b, c), parted.ErrFormat)
			require.ErrorIs(t, parted.WriteJSON(&b, c), parted.ErrFormat)
			assert.Empty(t, b.String(), "nothing is written")
		})
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestWriteFails(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	require.ErrorIs(t, parted.Write(brokenWriter{full}, &parted.Config{}), full)
}

// requireRoundTrip writes and reads in both forms. JSON may refuse a label that
// is long once its escapes are counted: see TestWriteLongLabel.
func requireRoundTrip(t require.TestingT, c *parted.Config) {
	if h, ok := t.(interface{ Helper() }); ok {
		h.Helper()
	}
	long := slices.ContainsFunc(c.Labels, func(l parted.Label) bool {
		return len(`\u0000`)*utf8.RuneCountInString(l.Name) > 1000
	})
	for i, write := range []func(io.Writer, *parted.Config) error{parted.Write, parted.WriteJSON} {
		var b bytes.Buffer
		err := write(&b, c)
		if i == 1 && long && err != nil {
			require.ErrorIs(t, err, parted.ErrFormat)
			assert.Empty(t, b.Bytes())
			continue
		}
		require.NoError(t, err)
		back, err := parted.Parse(b.Bytes(), c.Name)
		require.NoError(t, err, b.String())
		requireSame(t, c, back)
	}
}

// TestWriteLongLabel: a key of JSON, which is read as YAML, has at most 1,024
// characters as it is written, so six for one that must be escaped. One of YAML is
// written so that it may have more.
func TestWriteLongLabel(t *testing.T) {
	t.Parallel()
	for name, long := range map[string]string{
		"characters": "a" + strings.Repeat("#", 1100),
		"escapes":    strings.Repeat("\x00", 200),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &parted.Config{Labels: []parted.Label{{Name: long, Entries: []parted.Entry{{All: true}}}}}
			var b bytes.Buffer
			require.ErrorIs(t, parted.WriteJSON(&b, c), parted.ErrFormat)
			assert.Empty(t, b.Bytes())
			require.NoError(t, parted.Write(&b, c))
			back, err := parted.Parse(b.Bytes(), "")
			require.NoError(t, err)
			assert.Equal(t, long, back.Labels[0].Name)
		})
	}
}
