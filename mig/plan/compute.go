package plan

import (
	"cmp"
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// rowOf returns the compute profile that an instance is of: the row with its name
// and index. An index of 0 beside a name that no row 0 has counts as not given, and
// where the table does not know the index, the name decides.
func rowOf(m *mig.Model, gpuInstance string, c mig.ComputeInstance) (mig.ComputeProfile, bool) {
	for p := range m.ComputeProfiles(gpuInstance) {
		if p.Index == c.Index && p.Name == c.Profile {
			return p, true
		}
	}
	p, err := m.ComputeProfile(gpuInstance, c.Profile)
	if err != nil || c.Index != 0 && p.Index != mig.NotKnown {
		return mig.ComputeProfile{}, false
	}
	return p, true
}

// whole returns the compute instances of a GPU instance that is not divided: one of
// full size.
func whole(m *mig.Model, gpuInstance string) ([]mig.ComputeInstance, error) {
	// Where only one row has the name there is no choice to make, which is most of
	// the time.
	var only mig.ComputeProfile
	rows := 0
	for p := range m.ComputeProfiles(gpuInstance) {
		if p.Name == gpuInstance {
			only = p
			rows++
		}
	}
	if rows != 1 || only.Starts == 0 {
		return m.ComputeLayout(gpuInstance)
	}
	return []mig.ComputeInstance{{Profile: only.Name, Start: only.Starts.Lowest(), Size: only.Size, Index: only.Index}}, nil
}

// isWhole reports whether exactly one compute instance stands there and takes all
// that the GPU instance has: it has its name, and no other profile is known to have
// more multiprocessors.
func isWhole(m *mig.Model, gpuInstance string, compute []mig.ComputeInstance) bool {
	if len(compute) != 1 || compute[0].Profile != gpuInstance {
		return false
	}
	mine, found := rowOf(m, gpuInstance, compute[0])
	if !found {
		return false
	}
	for p := range m.ComputeProfiles(gpuInstance) {
		if mine.SMs > 0 && p.SMs > mine.SMs {
			return false
		}
	}
	return true
}

// checkCompute checks the compute instances of a goal and fills them in.
func checkCompute(m *mig.Model, in Instance) ([]mig.ComputeInstance, error) {
	if in.Compute == nil {
		return whole(m, in.Profile)
	}
	asked := slices.Clone(in.Compute)
	for i, c := range asked {
		if row, found := rowOf(m, in.Profile, c); found && row.Index == mig.NotKnown {
			asked[i].Index = row.Index
		}
	}
	if err := m.ValidateCompute(in.Profile, asked...); err != nil {
		return nil, err
	}
	compute, _ := tidyCompute(m, in)
	return compute, nil
}

// tidyCompute returns the compute instances by start, with names, sizes and
// indices as the table has them, and their UUIDs, one for each, in the same order.
// What the table does not know stays as it is; nil becomes one of full size.
func tidyCompute(m *mig.Model, in Instance) ([]mig.ComputeInstance, []string) {
	given := in.Compute
	if given == nil {
		given, _ = whole(m, in.Profile) // of a profile that is none: nothing
	}
	compute, uuids := make([]mig.ComputeInstance, len(given)), []string(nil)
	if len(in.UUIDs) == len(given) {
		uuids = slices.Clone(in.UUIDs)
	}
	for i, c := range given {
		if row, found := rowOf(m, in.Profile, c); found {
			c.Profile, c.Size = row.Name, row.Size
			if row.Index != mig.NotKnown || c.Index == 0 {
				c.Index = row.Index
			}
		}
		// Insertion, so that the UUIDs follow.
		at := i
		for ; at > 0 && compareCompute(c, compute[at-1]) < 0; at-- {
			compute[at] = compute[at-1]
			if len(uuids) > 0 {
				uuids[at] = uuids[at-1]
			}
		}
		compute[at] = c
		if len(uuids) > 0 {
			uuids[at] = in.UUIDs[i]
		}
	}
	return compute, uuids
}

func compareCompute(a, b mig.ComputeInstance) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Profile, b.Profile))
}

// sameCompute reports whether two GPU instances of one profile hold the same:
// both one of full size, or the same profiles at the same starts. Both lists are
// tidy.
func sameCompute(m *mig.Model, gpuInstance string, a, b []mig.ComputeInstance) bool {
	return slices.Equal(a, b) || isWhole(m, gpuInstance, a) && isWhole(m, gpuInstance, b)
}
