package fragmentation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/fragmentation"
)

// fillStates are nodes from idle to nearly full.
func fillStates() map[string]*fragmentation.State {
	return map[string]*fragmentation.State{
		"idle":   {CPU: 96000, Model: "G2", GPUs: uncut(1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000)},
		"half":   {CPU: 64000, Model: "G2", GPUs: uncut(1000, 190, 530, 1000, 0, 1000, 320, 750)},
		"nearly": {CPU: 20000, Model: "G2", GPUs: uncut(0, 190, 530, 190, 0, 0, 320, 190)},
		"full":   {CPU: 9000, Model: "G2", GPUs: uncut(0, 0, 0, 100, 0, 0, 0, 0)},
	}
}

// BenchmarkFill compares the tables with the definition, and with the values
// that look one task ahead.
func BenchmarkFill(b *testing.B) {
	needy := trace()
	needy[0].Shape.DeviceMemory = 8000
	options := fragmentation.FillOptions{Sequences: 64, Length: 40, Keep: 80}
	states := fillStates()
	for _, name := range []string{"idle", "half", "nearly", "full"} {
		s := states[name]
		for _, v := range []struct {
			name  string
			value fragmentation.Value
		}{
			{"fill", fillOf(b, trace(), options)},
			{"fill with memory", fillOf(b, needy, options)},
			{"capped", cappedOf(b, trace())},
			{"FGD", fgdOf(b, trace())},
		} {
			b.Run("node="+name+"/value="+v.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					v.value.Of(s)
				}
			})
		}
		b.Run("node="+name+"/value=fill by definition", func(b *testing.B) {
			sequences, weights, err := fragmentation.FillSequences(trace(), options)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				sum := int64(0)
				for k := range sequences {
					sum += weights[k] * naiveFill(s, sequences[k])
				}
			}
		})
	}
}

func BenchmarkNewFill(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		fillOf(b, trace(), fragmentation.FillOptions{})
	}
}
