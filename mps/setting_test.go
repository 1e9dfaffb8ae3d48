package mps_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

func TestSetting(t *testing.T) {
	t.Parallel()
	percentage := func(p float64) func(ctx context.Context, c *mps.Client) (mps.Setting, error) {
		return func(ctx context.Context, c *mps.Client) (mps.Setting, error) { return c.SetPercentage(ctx, 7, p) }
	}
	limit := func(mib int64) func(ctx context.Context, c *mps.Client) (mps.Setting, error) {
		return func(ctx context.Context, c *mps.Client) (mps.Setting, error) {
			return c.SetDefaultPinnedLimit(ctx, "0", mib)
		}
	}
	priority := func(ctx context.Context, c *mps.Client) (mps.Setting, error) {
		return c.SetDefaultClientPriority(ctx, 1)
	}
	for _, tc := range []struct {
		name     string
		set      func(ctx context.Context, c *mps.Client) (mps.Setting, error)
		replies  []string // to the set, to the question
		verified bool
		want     error
	}{
		{"one decimal", percentage(25), []string{"25.0\n", "25.0\n"}, true, nil},
		{"silent set", percentage(25), []string{"", "25.0\n"}, true, nil},
		{"no decimal", percentage(25), []string{"", "25"}, true, nil},
		{"two decimals", percentage(33.33), []string{"", "33.33\n"}, true, nil},
		{"a third, rounded down", percentage(100.0 / 3), []string{"", "33.3\n"}, true, nil},
		{"two thirds, rounded up", percentage(200.0 / 3), []string{"", "66.7\n"}, true, nil},
		{"two thirds, rounded down", percentage(200.0 / 3), []string{"", "66.6\n"}, true, nil},
		{"another value", percentage(25), []string{"25.0\n", "100.0\n"}, false, mps.ErrUnverified},
		{"close and not the same", percentage(25), []string{"", "25.1\n"}, false, mps.ErrUnverified},
		{"a third, an integer", percentage(100.0 / 3), []string{"", "33\n"}, false, mps.ErrUnverified},
		{"an answer that nobody knows", percentage(25), []string{"25.0\n", "limit is 25.0 percent\n"}, false, nil},
		{"no answer", percentage(25), []string{"25.0\n", ""}, false, nil},
		{"not a number", percentage(25), []string{"", "NaN\n"}, false, nil},
		{"an unknown command for an answer", percentage(25), []string{"", "Unknown command\n"}, false, mps.ErrUnsupported},
		{"refused with status 0", percentage(25), []string{"Invalid percentage\n", "25.0\n"}, false, mps.ErrRefused},

		{"MiB", limit(5120), []string{"", "5120M\n"}, true, nil},
		{"GiB", limit(5120), []string{"", "5G\n"}, true, nil},
		{"other MiB", limit(5120), []string{"", "5121M\n"}, false, mps.ErrUnverified},
		{"nothing set", limit(5120), []string{"", "\n"}, false, nil},
		{"no unit", limit(5120), []string{"", "5120\n"}, false, nil},
		{"overflow", limit(5120), []string{"", "9999999999999999999G\n"}, false, nil},

		{"priority", priority, []string{"", "1\n"}, true, nil},
		{"other priority", priority, []string{"", "0\n"}, false, mps.ErrUnverified},
		{"priority in words", priority, []string{"", "below normal\n"}, false, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := saying(tc.replies...)
			s, err := tc.set(t.Context(), mps.New(p, mps.Options{}))
			require.ErrorIs(t, err, tc.want)
			assert.Equal(t, tc.verified, s.Verified)
			if len(p.sent()) == 2 {
				assert.Equal(t, tc.replies[1], s.Read)
				assert.NotEmpty(t, p.sent()[1])
			}
			assert.Empty(t, s.Warning)
		})
	}
}

func TestSettingByUUIDWarns(t *testing.T) {
	t.Parallel()
	c := mps.New(saying("", "100M"), mps.Options{})
	s, err := c.SetDefaultPinnedLimit(t.Context(), "GPU-12ab", 100)
	require.NoError(t, err)
	assert.True(t, s.Verified)
	assert.Contains(t, s.Warning, "ordinal")
	s, err = mps.New(saying("", "100M"), mps.Options{}).SetPinnedLimit(t.Context(), 7, "MIG-12ab", 100)
	require.NoError(t, err)
	assert.NotEmpty(t, s.Warning)
	s, err = c.SetPinnedLimit(t.Context(), 7, "0", 100)
	require.NoError(t, err)
	assert.Empty(t, s.Warning)
}

// What was set stays set: the caller learns that the question is what failed.
func TestSetAndThenNoAnswer(t *testing.T) {
	t.Parallel()
	n := 0
	p := &peer{answer: func(context.Context, string) (mps.Output, error) {
		if n++; n == 1 {
			return mps.Output{Stdout: "25.0\n"}, nil
		}
		return mps.Output{Stderr: "Cannot find MPS control daemon process", Exit: 1}, nil
	}}
	s, err := mps.New(p, mps.Options{}).SetDefaultPercentage(t.Context(), 25)
	require.ErrorIs(t, err, mps.ErrNoDaemon)
	assert.Equal(t, "get_default_active_thread_percentage", opError(t, err).Command)
	assert.Equal(t, "25.0", s.Reply)
	assert.False(t, s.Verified)
}
