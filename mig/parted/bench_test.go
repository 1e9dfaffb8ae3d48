package parted_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/parted"
)

// largeFile returns a file with 200 labels, each with an entry for an A30, an A100
// 40GB and an A100 80GB.
func largeFile(b *testing.B) []byte {
	b.Helper()
	var demands [][]mig.Demand
	keys := []string{"a30-24gb", "a100-40gb", "a100-80gb"}
	for _, key := range keys {
		var list []mig.Demand
		for l := range lookup(b, key).Layouts(nil) {
			list = append(list, l.Demand())
		}
		demands = append(demands, list)
	}
	c := &parted.Config{}
	for i := range 200 {
		l := parted.Label{Name: fmt.Sprintf("label-%d", i)}
		for k, key := range keys {
			e := parted.Entry{All: true, Enabled: true}
			for _, id := range lookup(b, key).Spec().PCIDeviceIDs {
				e.Filters = append(e.Filters, parted.Filter{Text: parted.ID{PCI: id}.String()})
			}
			d := demands[k][(i*7)%len(demands[k])]
			for p := range lookup(b, key).PlainProfiles() {
				if d[p.Name] > 0 {
					e.Instances = append(e.Instances, parted.Count{Profile: p.Name, Count: d[p.Name]})
				}
			}
			l.Entries = append(l.Entries, e)
		}
		c.Labels = append(c.Labels, l)
	}
	var out bytes.Buffer
	require.NoError(b, parted.Write(&out, c))
	return out.Bytes()
}

func BenchmarkFile(b *testing.B) {
	data := largeFile(b)
	c, err := parted.Parse(data, "")
	require.NoError(b, err)
	require.Empty(b, parted.Lint(c))
	b.Run("do=parse/labels=200", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := parted.Parse(data, ""); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("do=parse-by-library/labels=200", func(b *testing.B) { // YAML alone, nothing checked
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			var v any
			if err := yaml.Unmarshal(data, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("do=lint/labels=200", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if len(parted.Lint(c)) > 0 {
				b.Fatal("not clean")
			}
		}
	})
	b.Run("do=write/labels=200", func(b *testing.B) {
		b.ReportAllocs()
		var out bytes.Buffer
		for b.Loop() {
			out.Reset()
			if err := parted.Write(&out, c); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAssert(b *testing.B) {
	m := lookup(b, "a100-40gb")
	var states []parted.State
	for i := range 8 {
		states = append(states, parted.State{
			GPU:     parted.GPU{Index: i, PCI: m.Spec().PCIDeviceIDs[0], Model: m, Capable: true},
			Enabled: true, Instances: mig.Demand{"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2},
		})
	}
	c, err := parted.Export(states, "")
	require.NoError(b, err)
	b.Run("gpus=8", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r, err := c.Assert("", states, nil)
			if err != nil || !r.Strict() {
				b.Fatal(r, err)
			}
		}
	})
}
