package parted

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gpushare/gpushare/mig"
)

// fits says whether an empty GPU of the model can hold what an entry wants, which
// may name compute instances.
func fits(m *mig.Model, want mig.Demand) error {
	if err := offers(m, want); err != nil {
		return err
	}
	instances, err := gpuInstances(m, want)
	if err != nil {
		return err
	}
	_, err = m.Empty().Fit(instances)
	var no *mig.FitError
	if errors.As(err, &no) {
		return &mig.FitError{Have: no.Have, Want: want, Limit: no.Limit, Detail: no.Detail} // in the words of the entry
	}
	if !unsure(err) {
		return err
	}
	// Where an instance may begin is unknown; how many there can be is not.
	for _, name := range slices.Sorted(maps.Keys(instances)) {
		p, known := m.Offers(name)
		if known && p.MaxInstances > 0 && instances[name] > p.MaxInstances {
			return &mig.FitError{Have: m.Empty(), Want: want, Limit: mig.LimitCount, Detail: fmt.Sprintf(
				"%d of %s needed in all, the driver allows %d", instances[name], name, p.MaxInstances,
			)}
		}
	}
	return err
}

// unsure reports whether an error of fits means that nobody knows.
func unsure(err error) bool { return errors.Is(err, mig.ErrUnknownGeometry) }

// offers says whether the model has every profile, the first missing one named.
func offers(m *mig.Model, want mig.Demand) error {
	if hasAll(m, want) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !has(m, name) {
			return &mig.ProfileError{Model: m, Profile: name}
		}
	}
	return nil
}

func hasAll(m *mig.Model, want mig.Demand) bool {
	for name := range want {
		if !has(m, name) {
			return false
		}
	}
	return true
}

// has reports whether the model has a profile, or the compute profile, where the
// name is that of one. Which compute profiles there are can be unknown.
func has(m *mig.Model, name string) bool {
	if _, found := m.Offers(name); found {
		return true
	}
	instance, smaller := whole(name)
	if _, found := m.Offers(instance); !found || !smaller {
		return found
	}
	known := false
	for c := range m.ComputeProfiles(instance) {
		if c.Name == name {
			return true
		}
		known = true
	}
	return !known
}

// gpuInstances returns the GPU instances that a demand needs.
func gpuInstances(m *mig.Model, want mig.Demand) (mig.Demand, error) {
	plain := true
	for name := range want {
		instance, smaller := whole(name)
		if !smaller {
			continue
		}
		plain = false
		known := false
		for range m.ComputeProfiles(instance) {
			known = true
			break
		}
		if !known {
			return nil, fmt.Errorf("compute instances of %s on %s: %w", instance, m, mig.ErrUnknownGeometry)
		}
	}
	if plain {
		return want, nil
	}
	furnished, err := m.Furnish(want)
	if err != nil {
		return nil, err
	}
	d := mig.Demand{}
	for _, f := range furnished {
		d[f.Profile]++
	}
	return d, nil
}

// reason puts an error of fits into a few words: the model is named elsewhere.
func reason(err error) string {
	var no *mig.FitError
	if errors.As(err, &no) {
		return fmt.Sprintf("%s does not fit: %s: %s", no.Want, no.Limit, no.Detail)
	}
	return err.Error()
}
