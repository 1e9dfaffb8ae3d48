package fleet

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// limits returns the first limit that can be told without a search. Each is
// a count over all GPUs that offer something of the demand.
func limits(layouts []mig.Layout, want mig.Demand, items []string, need []int) error {
	gpus := len(layouts)
	no := func(limit mig.Limit, profile, format string, figures ...any) error {
		return &FitError{GPUs: gpus, Want: want, Limit: limit, Profile: profile, Detail: fmt.Sprintf(format, figures...)}
	}
	if len(items) == 0 {
		return nil
	}
	layouts = slices.Clone(layouts)
	layouts = slices.DeleteFunc(layouts, func(l mig.Layout) bool { return !cuttable(l) })
	switch len(layouts) {
	case 0:
		return no(mig.LimitMemory, "", "no GPU is cut")
	case 1:
		return oneGPU(gpus, layouts[0], want)
	}
	// A profile takes at least what it takes on the model where it is smallest.
	memory, compute := make([]int, len(items)), make([]int, len(items))
	allowed, free := make([]int, len(items)), make([]int, len(items))
	var unused mig.SliceCount
	media := 0
	seen := map[mig.Layout]*gpuRoom{}
	for _, l := range layouts {
		room := seen[l]
		if room == nil {
			room = roomOf(l, items)
			seen[l] = room
		}
		unused.Memory += room.unused.Memory
		unused.Compute += room.unused.Compute
		media += room.media
		for i, p := range room.profiles {
			if p.Name == "" {
				continue
			}
			if memory[i] == 0 || p.Size < memory[i] {
				memory[i] = p.Size
			}
			if compute[i] == 0 || p.ComputeSlices < compute[i] {
				compute[i] = p.ComputeSlices
			}
			allowed[i] += room.allowed[i]
			free[i] += room.free[i]
		}
	}
	var least mig.SliceCount
	for i, n := range need {
		least.Memory += n * memory[i]
		least.Compute += n * compute[i]
	}
	if least.Memory > unused.Memory {
		return no(mig.LimitMemory, "", "%d memory slices needed, %d unused on GPUs that offer the profiles", least.Memory, unused.Memory)
	}
	if least.Compute > unused.Compute {
		return no(mig.LimitCompute, "", "%d compute slices needed, %d unused on GPUs that offer the profiles", least.Compute, unused.Compute)
	}
	for i, n := range need {
		if n > allowed[i] {
			return no(mig.LimitCount, items[i], "%d of %s wanted, the driver allows %d more on all GPUs", n, items[i], allowed[i])
		}
	}
	exclusive := 0
	for i, name := range items {
		if n, err := mig.ParseName(name); err == nil && n.Attrs&(mig.MediaExtensions|mig.AllMedia) != 0 {
			exclusive += need[i]
		}
	}
	if exclusive > media {
		return no(mig.LimitMedia, "", "%d instances with all media engines wanted, %s can take one", exclusive, plural(media, "GPU"))
	}
	for i, n := range need {
		if n > free[i] {
			return no(mig.LimitPosition, items[i], "%d of %s wanted, legal starts are free for %d on all GPUs", n, items[i], free[i])
		}
	}
	return nil
}

// gpuRoom is what one GPU has left for the items of a demand.
type gpuRoom struct {
	profiles      []mig.Profile // without a name where it is not offered
	unused        mig.SliceCount
	allowed, free []int // more instances, by the driver's limit and by free starts
	media         int   // 1: one instance with the exclusive engines can be added
}

func roomOf(l mig.Layout, items []string) *gpuRoom {
	r := &gpuRoom{profiles: make([]mig.Profile, len(items)), allowed: make([]int, len(items)), free: make([]int, len(items))}
	for i, name := range items {
		p, offers := l.Model().Offers(name)
		if !offers {
			continue
		}
		r.profiles[i], r.unused = p, l.Unused()
		r.allowed[i], r.free[i] = p.MaxInstances, l.Remaining(p)
		for in := range l.Instances() {
			if in.Profile == name {
				r.allowed[i]--
			}
		}
		if p.Attrs&(mig.MediaExtensions|mig.AllMedia) != 0 && r.free[i] > 0 {
			r.media = 1
		}
	}
	return r
}

// oneGPU is the refusal of Layout.Fit as that of Fit.
func oneGPU(gpus int, l mig.Layout, want mig.Demand) error {
	_, err := l.Fit(want)
	var no *mig.FitError
	if !errors.As(err, &no) {
		return err
	}
	return &FitError{GPUs: gpus, Want: want, Limit: no.Limit, Detail: no.Detail}
}

// noPosition is the refusal that a search has proven.
func noPosition(layouts []mig.Layout, want mig.Demand, items []string, need []int) error {
	total := 0
	for _, n := range need {
		total += n
	}
	return &FitError{
		GPUs: len(layouts), Want: want, Limit: mig.LimitPosition,
		Detail: fmt.Sprintf("each of the %s has starts enough by itself, but no choice of legal starts holds all %d instances", plural(len(items), "profile"), total),
	}
}
