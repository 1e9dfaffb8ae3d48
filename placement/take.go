package placement

import (
	"errors"
	"fmt"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/mig"
)

// take books a shape at a spot, in place. Every check comes before the first
// change, so the state is unchanged when an error is returned.
func take(s *fragmentation.State, shape *fragmentation.Shape, spot Spot) error {
	if err := canTake(s, shape, spot); err != nil {
		return err
	}
	apply(s, shape, spot)
	return nil
}

// apply books a shape at a spot that can take it.
func apply(s *fragmentation.State, shape *fragmentation.Shape, spot Spot) {
	s.CPU -= shape.CPU
	s.Memory -= shape.Memory
	applyGPUs(s, shape, spot)
}

// applyGPUs is apply without CPU and main memory.
func applyGPUs(s *fragmentation.State, shape *fragmentation.Shape, spot Spot) {
	for set := spot.GPUs; set != 0; set &= set - 1 {
		g := &s.GPUs[set.First()]
		switch {
		case shape.Profile != "":
			if p, ok := offer(g, shape); ok {
				g.Layout, _ = g.Layout.With(p, spot.Start)
			}
		case shape.Milli == fragmentation.Whole:
			g.Milli, g.Memory = 0, 0
		default:
			g.Milli -= shape.Milli
			g.Memory -= shape.DeviceMemory
		}
	}
}

func canTake(s *fragmentation.State, shape *fragmentation.Shape, spot Spot) error {
	if spot.GPUs.Len() != shape.GPUs {
		return fmt.Errorf("spot names %d GPUs (%s), the task takes %d: %w", spot.GPUs.Len(), spot.GPUs, shape.GPUs, ErrBadSpot)
	}
	if shape.Profile == "" && spot.Start != 0 {
		return fmt.Errorf("start %d without a MIG profile: %w", spot.Start, ErrBadSpot)
	}
	for i := range spot.GPUs.All() {
		if i >= len(s.GPUs) {
			return fmt.Errorf("GPU %d of %d: %w", i, len(s.GPUs), ErrBadSpot)
		}
	}
	if kind := nodeRefusal(s, shape); kind != None {
		return &RefusedError{Kind: kind, GPU: -1}
	}
	for i := range spot.GPUs.All() {
		if err := canTakeGPU(&s.GPUs[i], shape, spot.Start, i); err != nil {
			return err
		}
	}
	return nil
}

func canTakeGPU(g *fragmentation.GPU, shape *fragmentation.Shape, start, i int) error {
	if shape.Profile == "" {
		switch {
		case g.Cut():
			return &RefusedError{Kind: NoGPU, GPU: i}
		case g.Milli < shape.Milli:
			return &RefusedError{Kind: LackGPU, GPU: i}
		case g.Memory < shape.DeviceMemory:
			return &RefusedError{Kind: LackDevice, GPU: i}
		}
		return nil
	}
	if !g.Cut() {
		return &RefusedError{Kind: NoGPU, GPU: i}
	}
	p, ok := g.Layout.Model().Offers(shape.Profile)
	switch {
	case !ok:
		return &RefusedError{Kind: UnknownProfile, GPU: i}
	case int64(p.MemoryMiB) < shape.DeviceMemory:
		return &RefusedError{Kind: LackDevice, GPU: i}
	}
	switch _, err := g.Layout.With(p, start); {
	case errors.Is(err, mig.ErrIllegalStart):
		return fmt.Errorf("GPU %d: %w: %w", i, ErrBadSpot, err)
	case err != nil:
		return fmt.Errorf("%w: %w", &RefusedError{Kind: NoStart, GPU: i}, err)
	}
	return nil
}

// give undoes take, in place.
func give(s *fragmentation.State, shape *fragmentation.Shape, spot Spot, full []fragmentation.GPU) {
	s.CPU += shape.CPU
	s.Memory += shape.Memory
	for i := range spot.GPUs.All() {
		g := &s.GPUs[i]
		switch {
		case shape.Profile != "":
			if l, err := g.Layout.Without(spot.Start); err == nil {
				g.Layout = l
			}
		case shape.Milli == fragmentation.Whole:
			*g = full[i]
		default:
			g.Milli += shape.Milli
			g.Memory += shape.DeviceMemory
		}
	}
}
