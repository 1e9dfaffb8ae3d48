package mps_test

import (
	"strings"
	"testing"

	"github.com/gpushare/gpushare/mps"
)

// What a command costs without a child process; the baseline is the peer alone.
func BenchmarkCommand(b *testing.B) {
	p := saying("11803\n7447\n")
	p.lines = make([]string, 0, 1)
	b.Run("baseline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			p.lines = p.lines[:0]
			_, _ = p.Run(b.Context(), mps.Call{Input: "get_server_list\n"})
		}
	})
	for name, c := range map[string]*mps.Client{
		"client":   mps.New(p, mps.Options{}),
		"identity": mps.New(p, mps.Options{Identity: mps.PIDFile(pidFile(b))}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.lines = p.lines[:0]
				if _, err := c.Servers(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A reply of 1 MiB, understood or classified; the baseline reads it once.
func BenchmarkReply(b *testing.B) {
	const size = 1 << 20
	fill := func(s string) string { return strings.Repeat(s, size/len(s)+1)[:size] }
	pids := fill("11803\n")
	b.Run("baseline", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(size)
		for b.Loop() {
			if strings.Contains(pids, "no daemon") {
				b.Fatal("there is none")
			}
		}
	})
	for name, reply := range map[string]string{
		"pids":           pids[:len(pids)/6*6],
		"words":          fill("nothing that is known "),
		"nearly known":   fill("cannot find mps control daemo "),
		"failure at end": fill("lorem ipsum\n")[:size-16] + "Unknown command\n",
		"short lines":    fill("x\n"),
	} {
		b.Run(name, func(b *testing.B) {
			c := mps.New(leaving(mps.Output{Stdout: reply}), mps.Options{})
			b.ReportAllocs()
			b.SetBytes(size)
			for b.Loop() {
				if _, err := c.Servers(b.Context()); (err == nil) != (name == "pids") {
					b.Fatal(err)
				}
			}
		})
	}
}
