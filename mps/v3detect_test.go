package mps_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

func TestDetect(t *testing.T) {
	t.Parallel()
	allPlaceholders(t, func(t *testing.T, p mpsfake.Placeholders) {
		t.Helper()
		for _, protocol := range []int{2, 3} {
			fake := fakeDaemon(t, mpsfake.Config{Protocol: protocol, Placeholders: p})
			c := mps.New(fake, mps.Options{Identity: fake.PIDFile})
			for _, servers := range []int{0, 1} {
				if servers == 1 {
					_, err := fake.Connect(mpsfake.Client{PID: 7, UID: 1000})
					require.NoError(t, err)
				}
				got, err := c.Detect(t.Context())
				require.NoError(t, err)
				assert.Equal(t, protocol, got.Protocol)
				assert.NotEmpty(t, got.Reply)
			}
			fake.Kill()
			_, err := c.Detect(t.Context())
			require.ErrorIs(t, err, mps.ErrNoDaemon)
		}
	})
	for name, test := range map[string]struct {
		replies map[string]string
		want    int
	}{
		"silent":             {map[string]string{"": ""}, 0},
		"a sentence for all": {map[string]string{"": "try help\n"}, 0},
		"refuses for all":    {map[string]string{"": "invalid command\n"}, 0},
		"old, without servers": {map[string]string{
			"server list --format=csv": "", "get_server_list": "", "get_default_active_thread_percentage": "100.0\n",
		}, 2},
		"old, with servers": {map[string]string{"server list --format=csv": "usage: …\n", "get_server_list": "17\n20\n"}, 2},
		"new":               {map[string]string{"server list --format=csv": serverCSV}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := mps.New(scripted(test.replies), mps.Options{}).Detect(t.Context())
			assert.Equal(t, test.want, got.Protocol)
			if test.want == 0 {
				require.ErrorIs(t, err, mps.ErrUnparsed)
			} else {
				require.NoError(t, err)
			}
		})
	}
}
