package openb

import (
	"fmt"
	"math/rand"
	"slices"
	"strconv"

	"github.com/gpushare/gpushare/placement"
)

// mostTasks bounds what tuning may make of a trace.
const mostTasks = 2_000_000

// tune brings the GPU that the offered tasks ask for to ratio times the
// capacity. Below it, copies of tasks drawn from the named ones (with
// replacement) are appended; above it, tasks drawn from the offered ones are
// taken out.
func tune(random *rand.Rand, offered, named []placement.Task, ratio float64, capacity int64) ([]placement.Task, error) {
	limit := ratio * float64(capacity)
	if !(limit > 0) || ratio > 1000 { // NaN too
		return nil, fmt.Errorf("openb: ratio %v: not above 0 and at most 1000: %w", ratio, ErrBadExperiment)
	}
	total := int64(0)
	for _, t := range named {
		total += t.Shape.TotalMilli()
	}
	if total == 0 {
		return nil, fmt.Errorf("openb: none of %d tasks asks for a GPU: %w", len(named), ErrBadExperiment)
	}
	if float64(total) < limit {
		for copies := 0; ; copies++ {
			t := named[random.Intn(len(named))]
			if exceedsByOneGPU(total, t, limit) {
				return offered, nil
			}
			if len(offered) == mostTasks {
				return nil, fmt.Errorf("openb: ratio %v: takes more than %d tasks: %w", ratio, mostTasks, ErrBadExperiment)
			}
			t.ID += "-tuned-" + strconv.Itoa(copies)
			total += t.Shape.TotalMilli()
			offered = append(offered, t)
		}
	}
	for float64(total) > limit {
		i := random.Intn(len(offered))
		total -= offered[i].Shape.TotalMilli()
		offered = slices.Delete(offered, i, i+1)
	}
	return offered, nil
}

// exceedsByOneGPU is the published end of the drawing, with its slip: it looks
// at the request on one GPU, so a task of several GPUs may pass the limit. The
// task that would pass it is not added, and no smaller one is tried.
func exceedsByOneGPU(total int64, t placement.Task, limit float64) bool {
	return float64(total+t.Shape.Milli) > limit
}
