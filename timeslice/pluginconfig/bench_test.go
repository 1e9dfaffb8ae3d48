package pluginconfig_test

import (
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/gpushare/gpushare/timeslice/pluginconfig"
)

// The baseline is the YAML library alone.
func BenchmarkLint(b *testing.B) {
	text := []byte(shared("rename: nvidia.com/mine", "devices: [0, 1, 2, 3]"))
	b.Run("way=lint", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if c, _ := pluginconfig.Lint(text, ""); c == nil {
				b.Fatal("refused")
			}
		}
	})
	b.Run("way=yaml", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var n yaml.Node
			if err := yaml.Unmarshal(text, &n); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAdvertise(b *testing.B) {
	c, _ := pluginconfig.Lint([]byte("flags: {migStrategy: mixed}\n"+shared()), "")
	inv := cut(a100s(8), "1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb", "1g.10gb")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := pluginconfig.Advertise(c, inv, pluginconfig.AsPlugin); err != nil {
			b.Fatal(err)
		}
	}
}
