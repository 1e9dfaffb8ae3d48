package replay

import (
	"fmt"
	"math"
)

// Interval is a figure over seeds with its 95 % interval: Mean - Half to
// Mean + Half. Half is infinite for a single seed.
type Interval struct {
	Mean, Half float64
}

// Above reports whether the whole interval is above x.
func (i Interval) Above(x float64) bool { return i.Mean-i.Half > x }

// Below reports whether the whole interval is below x.
func (i Interval) Below(x float64) bool { return i.Mean+i.Half < x }

// String returns the form "4.61 ± 0.11", and the mean alone where nothing is
// known about its spread.
func (i Interval) String() string {
	if math.IsInf(i.Half, 0) || math.IsNaN(i.Half) {
		return fmt.Sprintf("%.2f", i.Mean)
	}
	return fmt.Sprintf("%.2f ± %.2f", i.Mean, i.Half)
}

// Mean returns the mean of a figure over seeds, by Student's t. Of no figures it
// is zero with an infinite Half.
func Mean(figures []float64) Interval {
	n := float64(len(figures))
	if n == 0 {
		return Interval{Half: math.Inf(1)}
	}
	sum := 0.0
	for _, x := range figures {
		sum += x
	}
	mean, squares := sum/n, 0.0
	for _, x := range figures {
		squares += (x - mean) * (x - mean)
	}
	return Interval{mean, half(squares, len(figures))}
}

// Change returns by which share of the base a figure differs from it, over
// paired seeds: -0.2 is a fifth less. It is the change of the sums, so that a
// seed whose base is next to nothing does not rule the mean, and its interval is
// that of a ratio of paired sums. Where the base is 0 throughout, it is 0 if the
// figures are too, and else infinite.
func Change(figures, base []float64) Interval {
	n := min(len(figures), len(base))
	sum, sumBase := 0.0, 0.0
	for i := range n {
		sum += figures[i]
		sumBase += base[i]
	}
	switch {
	case n == 0:
		return Interval{Half: math.Inf(1)}
	case sumBase == 0 && sum == 0:
		return Interval{}
	case sumBase == 0:
		return Interval{Mean: math.Inf(1), Half: math.Inf(1)}
	}
	ratio, squares := sum/sumBase, 0.0
	for i := range n {
		d := figures[i] - ratio*base[i]
		squares += d * d
	}
	return Interval{ratio - 1, half(squares, n) / math.Abs(sumBase/float64(n))}
}

// half returns the half width of an interval for a mean of n figures, from the
// sum of their squared distances.
func half(squares float64, n int) float64 {
	if n < 2 {
		return math.Inf(1)
	}
	return student(n-1) * math.Sqrt(squares/float64(n-1)/float64(n))
}

// student returns the 97.5 % quantile of Student's t, for degrees of freedom that
// the table lacks that of the next lower one, so that intervals err on the wide
// side.
func student(freedom int) float64 {
	table := [...]float64{
		12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
		2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
	}
	switch {
	case freedom <= len(table):
		return table[freedom-1]
	case freedom < 60:
		return table[len(table)-1]
	case freedom < 120:
		return 2.000
	default:
		return 1.980
	}
}
