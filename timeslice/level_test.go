package timeslice_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/timeslice"
)

func TestLevelJSON(t *testing.T) {
	t.Parallel()
	type config struct {
		Interval timeslice.Level `json:"interval"`
	}
	for text, want := range map[string]timeslice.Level{
		`{"interval": "Default"}`: timeslice.LevelDefault,
		`{"interval": "Long"}`:    timeslice.LevelLong,
		`{"interval": null}`:      timeslice.LevelDefault,
		`{}`:                      timeslice.LevelDefault,
	} {
		var c config
		require.NoError(t, json.Unmarshal([]byte(text), &c), text)
		assert.Equal(t, want, c.Interval, text)
	}
	for _, text := range []string{`{"interval": "long"}`, `{"interval": ""}`, `{"interval": 1}`} {
		c := config{timeslice.LevelMedium}
		require.Error(t, json.Unmarshal([]byte(text), &c), text)
		assert.Equal(t, timeslice.LevelMedium, c.Interval, "unchanged")
	}
	for _, l := range timeslice.Levels() {
		text, err := json.Marshal(config{l})
		require.NoError(t, err)
		var back config
		require.NoError(t, json.Unmarshal(text, &back))
		assert.Equal(t, l, back.Interval)
	}
	_, err := json.Marshal(config{4})
	require.ErrorIs(t, err, timeslice.ErrInput)
	assert.Equal(t, "level(4)", timeslice.Level(4).String())
}

func TestLengths(t *testing.T) {
	t.Parallel()
	lengths := timeslice.Lengths{timeslice.KernelSlice, 500_000, 0, -1}
	got, err := lengths.Of(timeslice.LevelShort)
	require.NoError(t, err)
	assert.Equal(t, int64(500_000), got)
	_, err = lengths.Of(timeslice.LevelMedium)
	require.ErrorIs(t, err, timeslice.ErrUnknownLevel)
	_, err = lengths.Of(timeslice.LevelLong)
	require.ErrorIs(t, err, timeslice.ErrInput)
	_, err = lengths.Of(4)
	require.ErrorIs(t, err, timeslice.ErrInput)
}
