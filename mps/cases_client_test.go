package mps_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
)

// What went wrong elsewhere between a client and the daemon.
func TestClientCases(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T){
		"63 nobody listens: one error, from any command and either stream": func(t *testing.T) {
			t.Helper()
			for _, out := range []mps.Output{
				{Stdout: "Cannot find MPS control daemon process", Exit: 1},
				{Stderr: "Cannot find MPS control daemon process\n", Exit: 1},
			} {
				c := mps.New(leaving(out), mps.Options{})
				servers, err := c.Servers(t.Context())
				require.ErrorIs(t, err, mps.ErrNoDaemon)
				require.ErrorContains(t, err, "exit status 1")
				require.ErrorContains(t, err, "get_server_list")
				assert.Nil(t, servers)
				_, err = c.DefaultPercentage(t.Context())
				require.ErrorIs(t, err, mps.ErrNoDaemon)
				require.NoError(t, c.Quit(t.Context(), 0), "to stop one that is not there is no error")
			}
		},
		"65 servers of two users": func(t *testing.T) {
			t.Helper()
			for _, reply := range []string{"11803\n7447\n", " 11803 \n7447\n\n", "11803\n7447"} {
				servers, err := mps.New(saying(reply), mps.Options{}).Servers(t.Context())
				require.NoError(t, err)
				assert.Equal(t, []int{11803, 7447}, servers)
			}
			_, err := mps.New(saying("11803\n7447 (exiting)\n"), mps.Options{}).Servers(t.Context())
			require.ErrorIs(t, err, mps.ErrUnparsed)
			require.ErrorContains(t, err, "7447 (exiting)")
		},
		"66 the default is of the next server": func(t *testing.T) {
			t.Helper()
			c := mps.New(percentages(map[string]string{"default": "50.0", "100": "50.0"}), mps.Options{})
			s, err := c.SetDefaultPercentage(t.Context(), 100)
			require.NoError(t, err)
			assert.True(t, s.Verified, "verified is the default, not what runs")
			running, err := c.Percentage(t.Context(), 100)
			require.NoError(t, err)
			assert.InDelta(t, 50, running, 0)
			byDefault, err := c.DefaultPercentage(t.Context())
			require.NoError(t, err)
			assert.InDelta(t, 100, byDefault, 0)

			s, err = c.SetPercentage(t.Context(), 100, 100)
			require.NoError(t, err)
			assert.True(t, s.Verified)
			running, err = c.Percentage(t.Context(), 100)
			require.NoError(t, err)
			assert.InDelta(t, 100, running, 0)
		},
		"74 a limit by UUID is taken and ignored": func(t *testing.T) {
			t.Helper()
			p := saying("", "4606M\n")
			s, err := mps.New(p, mps.Options{}).SetDefaultPinnedLimit(t.Context(), "GPU-5ba9d0b5", 4606)
			require.NoError(t, err)
			assert.Contains(t, s.Warning, "ignore")
			assert.Equal(t, "get_default_device_pinned_mem_limit GPU-5ba9d0b5", p.sent()[1], "asked for under the same text")

			p = saying("", "4606M\n")
			s, err = mps.New(p, mps.Options{}).SetDefaultPinnedLimit(t.Context(), "1", 4606)
			require.NoError(t, err)
			assert.Empty(t, s.Warning)
			assert.True(t, s.Verified)

			// No complaint is no proof.
			s, err = mps.New(saying("", ""), mps.Options{}).SetDefaultPinnedLimit(t.Context(), "1", 4606)
			require.NoError(t, err)
			assert.False(t, s.Verified)
			_, err = mps.New(saying("", "16384M"), mps.Options{}).SetDefaultPinnedLimit(t.Context(), "1", 4606)
			require.ErrorIs(t, err, mps.ErrUnverified)
		},
		"78 a daemon that answers has no limits yet": func(t *testing.T) {
			t.Helper()
			c := mps.New(percentages(map[string]string{"default": "100.0"}), mps.Options{})
			p, err := c.DefaultPercentage(t.Context())
			require.NoError(t, err)
			assert.InDelta(t, 100, p, 0, "that there is an answer says nothing: its value does")
			s, err := c.SetDefaultPercentage(t.Context(), 10)
			require.NoError(t, err)
			assert.True(t, s.Verified)
		},
		"79 a socket path of 107 bytes is the longest": func(t *testing.T) {
			t.Helper()
			for bytes, ok := range map[int]bool{106: true, 107: true, 108: false, 300: false} {
				d := mps.Directories{Pipe: "/" + strings.Repeat("p", bytes-len("//control"))}
				require.Len(t, d.Control(), bytes)
				_, err := mps.Open(d, mps.Options{})
				if ok {
					require.NoError(t, err)
					continue
				}
				require.ErrorIs(t, err, mps.ErrInput)
				require.ErrorContains(t, err, fmt.Sprint(bytes))
				require.ErrorContains(t, err, "107")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// percentages is a peer with an active thread percentage under each key, "default" or
// the pid of a server.
func percentages(values map[string]string) *peer {
	return &peer{answer: func(_ context.Context, line string) (mps.Output, error) {
		words := strings.Fields(line)
		key, args := "default", words[1:]
		if !strings.Contains(words[0], "_default_") {
			key, args = args[0], args[1:]
		}
		if len(args) == 1 {
			values[key] = args[0] + ".0"
		}
		return mps.Output{Stdout: values[key] + "\n"}, nil
	}}
}
