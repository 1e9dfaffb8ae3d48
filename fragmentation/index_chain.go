package fragmentation

import "math"

// chain is one GPU alone, with everything that can happen in a state laid out for
// the iteration. Every product is converted, so that no compiler fuses it with
// the addition that follows: the values are the same on every platform.
type chain struct {
	h, next []float64
	rate    float64 // L: at least the rate of what happens in any state
	reward  float64 // of the largest request

	arrivals   []arrival
	arriveFrom []int32 // by state, into arrivals; one more at the end
	to         []int32 // targets of arrivals
	leaves     []int32 // targets of departures
	leaveFrom  []int32 // by state, into leaves; one more at the end
}

// arrival is a kind of request that fits in a state.
type arrival struct {
	rate, reward float64
	from, end    int32 // into chain.to
}

func newChain(s *States, weights []float64, params IndexParams) *chain {
	compute, memory := 0.0, 0.0
	for k, w := range weights {
		p := &s.kinds[k]
		compute += float64(w * (float64(p.ComputeSlices) / float64(s.model.ComputeSlices())))
		memory += float64(w * (float64(p.Size) / float64(s.units)))
	}
	c := &chain{h: make([]float64, s.Len()), next: make([]float64, s.Len())}
	rates, rewards := make([]float64, len(weights)), make([]float64, len(weights))
	for k, w := range weights {
		rates[k] = float64(params.Alpha*w) / max(compute, memory)
		rewards[k] = power(16*float64(s.kinds[k].Size)/float64(s.units), params.Gamma)
		c.rate += rates[k]
		c.reward = max(c.reward, rewards[k])
	}
	most := 0
	for state := range s.layouts {
		c.arriveFrom = append(c.arriveFrom, int32(len(c.arrivals)))
		c.leaveFrom = append(c.leaveFrom, int32(len(c.leaves)))
		for k := range s.kinds {
			free := s.Starts(state, k)
			if free == 0 || rates[k] == 0 {
				continue
			}
			a := arrival{rate: rates[k], reward: rewards[k], from: int32(len(c.to))}
			for start := range free.All() {
				c.to = append(c.to, int32(s.With(state, k, start)))
			}
			a.end = int32(len(c.to))
			c.arrivals = append(c.arrivals, a)
		}
		for start := range s.units {
			if before := s.Without(state, start); before >= 0 {
				c.leaves = append(c.leaves, int32(before))
			}
		}
		most = max(most, s.layouts[state].Len())
	}
	c.arriveFrom = append(c.arriveFrom, int32(len(c.arrivals)))
	c.leaveFrom = append(c.leaveFrom, int32(len(c.leaves)))
	c.rate += float64(most)
	return c
}

const (
	// mostSweeps ends an iteration that does not settle; usual are some hundreds.
	mostSweeps = 100_000
	// settled is the spread of the gain over the states at which the iteration
	// ends, relative to the largest reward: far below what is kept of a value.
	settled = 1e-12
)

// solve iterates until the gain is the same in all states, and reports whether it
// is.
func (c *chain) solve() bool {
	for range mostSweeps {
		if c.sweep() <= settled*c.reward*c.rate {
			return true
		}
	}
	return false
}

// sweep takes one step from h and returns the spread of the gain.
func (c *chain) sweep() float64 {
	least, most := math.Inf(1), math.Inf(-1)
	for state, h := range c.h {
		gain := 0.0
		for i := c.arriveFrom[state]; i < c.arriveFrom[state+1]; i++ {
			a := &c.arrivals[i]
			best := math.Inf(-1)
			for _, to := range c.to[a.from:a.end] {
				if v := c.h[to]; v > best {
					best = v
				}
			}
			gain += float64(a.rate * (a.reward + best - h))
		}
		for _, to := range c.leaves[c.leaveFrom[state]:c.leaveFrom[state+1]] {
			gain += c.h[to] - h
		}
		least, most = min(least, gain), max(most, gain)
		c.next[state] = h + gain/c.rate
	}
	empty := c.next[0]
	for i := range c.next {
		c.next[i] -= empty
	}
	c.h, c.next = c.next, c.h
	return most - least
}

// power returns a positive number to the power of gamma, which is taken in steps
// of 1/256, by multiplications and square roots alone: math.Pow differs between
// platforms in the last bit.
func power(x, gamma float64) float64 {
	steps := int(math.Round(gamma * 256))
	result := 1.0
	for range steps / 256 {
		result = float64(result * x)
	}
	root := x
	for bit := 128; bit > 0; bit /= 2 {
		root = math.Sqrt(root)
		if steps&bit != 0 {
			result = float64(result * root)
		}
	}
	return result
}
