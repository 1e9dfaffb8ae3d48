package mpsfake_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

// BenchmarkCommand is one command from the client's method to its answer, without a
// child process; "bare" is what of it is the fake's.
func BenchmarkCommand(b *testing.B) {
	d, err := mpsfake.New(mpsfake.Config{GPUs: gpus(8)})
	require.NoError(b, err)
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := d.Run(b.Context(), mps.Call{Input: "get_server_list\n"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("client", func(b *testing.B) {
		b.ReportAllocs()
		c := mps.New(d, mps.Options{Identity: d.PIDFile})
		for b.Loop() {
			if _, err := c.Servers(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
