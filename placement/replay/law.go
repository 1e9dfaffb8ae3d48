package replay

import (
	"math"
	"math/rand/v2"
)

// source draws random numbers whose every bit is the same on every platform:
// only operations that IEEE 754 defines to the last bit, and conversions that
// keep a compiler from fusing them.
type source struct{ bits rand.Source }

// uniform returns a number above 0 and below 1.
func (s source) uniform() float64 {
	return (float64(s.bits.Uint64()>>12) + 0.5) / (1 << 52)
}

// exponential returns a number with mean 1.
func (s source) exponential() float64 { return -ln(s.uniform()) }

// logNormal returns a number with mean 1.
func (s source) logNormal(sigma float64) float64 {
	return exp(float64(sigma*s.normal()) - float64(sigma*sigma)/2)
}

// normal returns a standard normal number, by the polar method.
func (s source) normal() float64 {
	for {
		x, y := 2*s.uniform()-1, 2*s.uniform()-1
		if r := float64(x*x) + float64(y*y); r > 0 && r < 1 {
			return x * math.Sqrt(float64(-2*ln(r))/r)
		}
	}
}

// ln is the natural logarithm of a positive number.
func ln(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	// With t = (m-1)/(m+1), at most 0.172: ln m = 2 (t + t^3/3 + t^5/5 + ...).
	t := (m - 1) / (m + 1)
	square, sum := float64(t*t), 0.0
	for k := 21; k > 0; k -= 2 {
		sum = float64(sum*square) + 1/float64(k)
	}
	return float64(2*float64(t*sum)) + float64(float64(e)*math.Ln2)
}

// exp is e to the x.
func exp(x float64) float64 {
	halvings := math.Floor(x/math.Ln2 + 0.5)
	r := x - float64(halvings*math.Ln2) // at most 0.347
	sum := 1.0
	for k := 16; k > 0; k-- {
		sum = 1 + float64(sum*r)/float64(k)
	}
	return math.Ldexp(sum, int(halvings))
}

// mostDrawn bounds one gap or lifetime, in means.
const mostDrawn = 100_000

// ticks returns x times the mean, to the nearest whole number.
func ticks(x float64, mean int64) int64 {
	return int64(float64(min(x, mostDrawn)*float64(mean)) + 0.5)
}
