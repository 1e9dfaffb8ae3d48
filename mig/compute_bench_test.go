package mig_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
)

// BenchmarkComputeLayout places five compute instances in a GPU instance that has
// all slices: by the search, and by listing all sets first.
func BenchmarkComputeLayout(b *testing.B) {
	m := lookup(b, "a100-40gb")
	want := []string{"1c.7g.40gb", "1c.7g.40gb", "1c.7g.40gb", "2c.7g.40gb", "2c.7g.40gb"}
	b.Run("way=search", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := m.ComputeLayout("7g.40gb", want...); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("way=enumerate", func(b *testing.B) {
		rows := slices.Collect(m.ComputeProfiles("7g.40gb"))
		b.ReportAllocs()
		for b.Loop() {
			if !slices.ContainsFunc(computeSets(rows), func(set []mig.ComputeInstance) bool {
				return names(set) == "1c.7g.40gb 1c.7g.40gb 1c.7g.40gb 2c.7g.40gb 2c.7g.40gb"
			}) {
				b.Fatal("not found")
			}
		}
	})
}

// BenchmarkComputeLayoutFullSize is the one of full size, as every plain GPU
// instance has it.
func BenchmarkComputeLayoutFullSize(b *testing.B) {
	m := lookup(b, "a100-40gb")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.ComputeLayout("3g.20gb"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFurnish finds the fewest GPU instances for compute instances of three
// profiles.
func BenchmarkFurnish(b *testing.B) {
	m := lookup(b, "a100-40gb")
	want, err := mig.ParseDemand("1c.3g.20gb=2,2c.3g.20gb=2,1g.5gb=1")
	require.NoError(b, err)
	plain := mig.Demand{"3g.20gb": 1, "2g.10gb": 1, "1g.5gb": 2}
	for name, d := range map[string]mig.Demand{"want=compute": want, "want=plain": plain} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Furnish(d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
