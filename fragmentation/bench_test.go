package fragmentation_test

import (
	"testing"

	"github.com/gpushare/gpushare/fragmentation"
)

// trace returns the target mix of the public trace: 35 shapes that make up 95 %
// of its tasks, as CPU, GPUs, milli-GPU and count.
func trace() fragmentation.Mix {
	var mix fragmentation.Mix
	for _, e := range [][4]int64{
		{3152, 1, 810, 1047},
		{11300, 1, 1000, 874},
		{11400, 1, 1000, 599},
		{3152, 1, 1000, 470},
		{11908, 1, 470, 388},
		{12500, 0, 0, 366},
		{8000, 1, 470, 360},
		{12000, 1, 1000, 326},
		{32000, 0, 0, 290},
		{18708, 1, 1000, 255},
		{11908, 1, 650, 237},
		{4000, 1, 320, 232},
		{9810, 1, 1000, 195},
		{8000, 0, 0, 185},
		{8000, 1, 1000, 164},
		{4000, 1, 1000, 159},
		{15700, 1, 1000, 158},
		{11908, 1, 1000, 153},
		{16000, 1, 1000, 150},
		{4000, 1, 230, 122},
		{15400, 0, 0, 120},
		{6000, 1, 460, 120},
		{16500, 0, 0, 95},
		{14200, 1, 1000, 93},
		{24200, 1, 1000, 84},
		{3152, 1, 590, 75},
		{8000, 1, 320, 72},
		{4152, 1, 550, 72},
		{11900, 1, 1000, 55},
		{4000, 1, 160, 54},
		{4152, 1, 370, 45},
		{4000, 1, 220, 43},
		{8200, 1, 1000, 41},
		{15200, 1, 1000, 36},
		{4152, 1, 810, 31},
	} {
		mix = append(mix, fragmentation.Entry{Shape: whole(e[0], int(e[1]), e[2]), Count: e[3]})
	}
	return mix
}

// BenchmarkFGD compares what a decision needs with the full breakdown, on a
// node with eight GPUs and a mix of 35 shapes.
func BenchmarkFGD(b *testing.B) {
	v := fgdOf(b, trace())
	s := &fragmentation.State{CPU: 64000, Model: "G2", GPUs: uncut(1000, 190, 530, 1000, 0, 1000, 320, 750)}
	b.Run("sum=value", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v.Of(s)
		}
	})
	b.Run("sum=amounts", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v.Amounts(s)
		}
	})
}

// BenchmarkMIGFGD compares the value of eight cut GPUs with the plain
// definition.
func BenchmarkMIGFGD(b *testing.B) {
	v := migFGDOf(b, mixed())
	a100 := lookup(b, "a100-40gb")
	s := &fragmentation.State{}
	for range 4 {
		s.GPUs = append(s.GPUs,
			fragmentation.GPU{Layout: layout(b, a100, "1g.5gb@6", "2g.10gb@0")},
			fragmentation.GPU{Layout: layout(b, a100, "3g.20gb@4")},
		)
	}
	b.Run("by=masks", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v.Of(s)
		}
	})
	b.Run("by=definition", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			naiveMIGFragment(mixed(), s)
		}
	})
}
