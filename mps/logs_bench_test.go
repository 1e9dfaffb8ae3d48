package mps_test

import (
	"testing"
	"time"

	"github.com/gpushare/gpushare/mps"
)

// The last text of the table, so that all others are tried first.
func BenchmarkParseLogLine(b *testing.B) {
	b.ReportAllocs()
	const line = "[2026-01-01 00:00:00.000 Server 11803] Device NVIDIA H100 80GB HBM3 (uuid GPU-74d43ed3) is associated"
	monitor := mps.NewLogMonitor(3, time.Minute)
	for b.Loop() {
		monitor.Add(mps.ParseLogLine(line))
	}
}
