package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpushare/gpushare/timeslice"
)

// span is a time in ns that is written as "2ms".
type span int64

func (s span) String() string { return time.Duration(s).String() }

// MarshalText writes it so that it can be read without loss.
func (s span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes, and what people write.
func (s *span) UnmarshalText(text []byte) error { return s.Set(string(text)) }

// Set makes it a flag.
func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is no time such as 2ms", text)
	}
	*s = span(d)
	return nil
}

// within returns an error unless the time lies in low to high ns.
func (s span) within(low, high int64) error {
	if int64(s) < low || int64(s) > high {
		return fmt.Errorf("%s is not from %s to %s", s, span(low), span(high))
	}
	return nil
}

// short writes a time with four digits at most, as tables do.
func short(ns int64) string {
	d := time.Duration(ns)
	for unit := time.Duration(1); unit < time.Hour; unit *= 10 {
		if d < 10_000*unit {
			return d.Round(unit).String()
		}
	}
	return d.Round(time.Second).String()
}

// percent writes thousandths: "33.3 %".
func percent(m int64) string { return fmt.Sprintf("%d.%d %%", m/10, m%10) }

// hundredths writes thousandths with two digits behind the point: "1.95".
func hundredths(m int64) string { return fmt.Sprintf("%d.%02d", m/1000, m%1000/10) }

// milli returns a ratio in thousandths, nil where it is not known.
func milli(r timeslice.Ratio) *int64 {
	if r.Den <= 0 {
		return nil
	}
	m := r.Milli()
	return &m
}

// decimal reads a number above 0 with as many as three digits behind the point,
// in thousandths.
func decimal(text string) (int64, error) {
	whole, part, _ := strings.Cut(text, ".")
	if n := len(part); n <= 3 {
		digits := whole + part + "000"[n:]
		if v, err := strconv.ParseUint(digits, 10, 63); err == nil && v > 0 {
			return int64(v), nil
		}
	}
	return 0, fmt.Errorf("%q is no number above 0 with at most three digits behind the point", text)
}

// count writes a number of things: "1 error", "2 errors".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
