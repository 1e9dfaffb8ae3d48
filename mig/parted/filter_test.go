package parted_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig/parted"
)

func TestParseID(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		id   parted.ID
	}{
		{"0x20B010DE", parted.ID{PCI: 0x20B010DE}},
		{"0x20b010de", parted.ID{PCI: 0x20B010DE}},
		{"548409566", parted.ID{PCI: 548409566}},
		{"0x20B510DE:0x153310DE", parted.ID{PCI: 0x20B510DE, Subsystem: 0x153310DE, HasSubsystem: true}},
		{"0x20B510DE:0", parted.ID{PCI: 0x20B510DE, HasSubsystem: true}},
	} {
		id, err := parted.ParseID(c.text)
		require.NoError(t, err, c.text)
		assert.Equal(t, c.id, id)
	}
	for _, text := range []string{"", "junk", "20B010DE", "0x20B010DE0", "-1", "0x20B010DE:", ":0x20B010DE", "0x1:0x2:0x3", " 0x1", "0x20B010DE, 0x1"} {
		id, err := parted.ParseID(text)
		require.ErrorIs(t, err, parted.ErrFormat, text)
		assert.Zero(t, id)
	}
}

func TestIDRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := genID(t)
		back, err := parted.ParseID(id.String())
		require.NoError(t, err)
		require.Equal(t, id, back)
	})
}

func TestFilterMatches(t *testing.T) {
	t.Parallel()
	gpu := parted.GPU{PCI: 0x20B510DE, Subsystem: 0x153310DE}
	for text, want := range map[string]bool{
		"0x20B510DE":            true,
		"0x20b510de":            true,
		"0x20B510DE:0x153310DE": true,
		"0x20B510DE:0x147F10DE": false,
		"0x20B010DE:0x153310DE": false,
		"0x10DE20B5":            false,
		"junk":                  false,
		"":                      false,
	} {
		assert.Equal(t, want, parted.Filter{Text: text}.Matches(gpu), text)
	}
	assert.False(t, parted.Filter{Text: "junk"}.Matches(parted.GPU{}), "not even a GPU without an id")
}
