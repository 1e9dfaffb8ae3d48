package churn

// departure is an instance that leaves.
type departure struct {
	at    float64
	bay   int32
	gpu   int32
	start int8
}

// departures is a heap, the earliest first.
type departures []departure

func (h *departures) push(d departure) {
	s := append(*h, d)
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if s[up].at <= d.at {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = d
	*h = s
}

func (h *departures) pop() departure {
	s := *h
	top, last := s[0], s[len(s)-1]
	s = s[:len(s)-1]
	for i := 0; len(s) > 0; {
		down := 2*i + 1
		if down >= len(s) {
			s[i] = last
			break
		}
		if down+1 < len(s) && s[down+1].at < s[down].at {
			down++
		}
		if last.at <= s[down].at {
			s[i] = last
			break
		}
		s[i] = s[down]
		i = down
	}
	*h = s
	return top
}
