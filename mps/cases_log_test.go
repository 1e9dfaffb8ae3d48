package mps_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/gpushare/gpushare/mps"
)

// What went wrong elsewhere with logs.
func TestLogCases(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		lines   []string
		health  mps.Health
		servers []int
		client  mps.LogEvent // the first client, as far as it is told
	}{
		{
			"80 the line about credentials stands in healthy logs",
			[]string{
				"[2026-01-01 00:00:00.000 Control  9001] Accepting connection...",
				"[2026-01-01 00:00:00.001 Control  9001] User did not send valid credentials",
				"[2026-01-01 00:00:00.002 Control  9001] NEW CLIENT 11801 from user 1000: Server is not ready, push client to pending list",
				"[2026-01-01 00:00:00.003 Control  9001] Starting new server 11803 for user 1000",
				"[2026-01-01 00:00:00.400 Control  9001] NEW SERVER 11803: Ready",
			},
			mps.HealthReady,
			[]int{11803},
			mps.LogEvent{Client: 11801, UID: 1000},
		},
		{
			"65 servers of two users",
			[]string{
				"Starting new server 11803 for user 1000", "NEW SERVER 11803: Ready",
				"Starting new server 7447 for user 0", "NEW SERVER 7447: Ready",
			},
			mps.HealthReady,
			[]int{7447, 11803},
			mps.LogEvent{},
		},
		{
			"80 the credentials line alone says nothing",
			[]string{"User did not send valid credentials", "User did not send valid credentials"},
			mps.HealthIdle, nil,
			mps.LogEvent{},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := mps.NewLogMonitor(1, time.Minute)
			var client mps.LogEvent
			health := mps.HealthIdle
			for _, line := range test.lines {
				e := mps.ParseLogLine(line)
				health = m.Add(e)
				if e.Kind == mps.LogClientPending && client.Client == 0 {
					client = mps.LogEvent{Client: e.Client, UID: e.UID}
				}
			}
			assert.Equal(t, test.health, health)
			assert.Equal(t, test.servers, m.Servers())
			assert.Equal(t, test.client, client)
			assert.Zero(t, m.Failures())
		})
	}
}
