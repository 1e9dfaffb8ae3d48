package names

import (
	"fmt"
	"strings"

	"github.com/gpushare/gpushare/mig"
)

// DRA is what the name of a device in Kubernetes' dynamic resource
// allocation says: "gpu-0", or "gpu-0-mig-1g24gb-me-20-5". The profile's text in
// the middle is not part of it: "+me" and "-me" are both written "-me" there, and
// the driver's own identity is (GPU, profile id, start).
type DRA struct {
	Minor     int // minor number of the GPU's device node
	MIG       bool
	ProfileID int // mig.Profile.ID of that GPU; only of a MIG device
	Start     int // first memory slice; only of a MIG device
}

// ParseDRA reads a device name of NVIDIA's DRA driver, of a GPU or of a MIG
// device. Numbers are from 0 to 999 without leading zeros. The error wraps
// ErrBadDevice.
func ParseDRA(s string) (DRA, error) {
	bad := func(format string, args ...any) (DRA, error) {
		return DRA{}, fmt.Errorf("mig/names: DRA device %q: %s: %w", s, fmt.Sprintf(format, args...), ErrBadDevice)
	}
	rest, found := strings.CutPrefix(s, "gpu-")
	if !found {
		return bad("does not begin with gpu-")
	}
	minor, rest, isMIG := strings.Cut(rest, "-mig-")
	d := DRA{MIG: isMIG}
	var err error
	if d.Minor, err = parseCount(minor); err != nil {
		return bad("minor number %q %v", minor, err)
	}
	if !isMIG {
		return d, nil
	}
	parts := strings.Split(rest, "-")
	last := len(parts) - 1
	if last < 2 {
		return bad("%q is not a profile, its id and a start", rest)
	}
	if d.Start, err = parseCount(parts[last]); err != nil {
		return bad("start %q %v", parts[last], err)
	}
	if d.ProfileID, err = parseCount(parts[last-1]); err != nil {
		return bad("profile id %q %v", parts[last-1], err)
	}
	if text := strings.Join(parts[:last-1], "-"); !isDRAProfile(text) {
		return bad("%q is not the text of a profile", text)
	}
	return d, nil
}

// isDRAProfile reports whether a text has the shape of a profile name without dots
// and with "-" for "+". Which attributes there are does not matter.
func isDRAProfile(s string) bool {
	size, attrs, more := strings.Cut(s, "-")
	if strings.Trim(size, "0123456789gb") != "" {
		return false
	}
	if _, err := mig.ParseName(strings.Replace(size, "g", "g.", 1)); err != nil {
		return false
	}
	if !more {
		return true
	}
	for word := range strings.SplitSeq(attrs, "-") {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
			return false
		}
	}
	return true
}

// FormatDRA returns the name that NVIDIA's DRA driver gives to the MIG device of an
// instance on a GPU of the model with that minor number. The profile id is that of
// the table; a live device can have another for the same name. The error is that of
// mig.Model.Validate, or wraps ErrBadDevice for a minor number that is not from 0 to
// 999, mig.ErrUnknownProfile where the table has no id, mig.ErrUnknownModel without
// a model.
func FormatDRA(m *mig.Model, minor int, in mig.Instance) (string, error) {
	if minor < 0 || minor > 999 {
		return "", fmt.Errorf("mig/names: minor number %d of a GPU is not from 0 to 999: %w", minor, ErrBadDevice)
	}
	if m == nil {
		return "", fmt.Errorf("mig/names: DRA device of %s without a model: %w", in, mig.ErrUnknownModel)
	}
	p, err := validate(m, in)
	if err != nil {
		return "", fmt.Errorf("mig/names: DRA device of %s: %w", in, err)
	}
	if p.ID < 0 {
		return "", fmt.Errorf("mig/names: model %s: the profile id of %s is not known: %w", m, p.Name, mig.ErrUnknownProfile)
	}
	text := strings.Map(func(r rune) rune {
		switch r {
		case '.':
			return -1
		case '+', ',':
			return '-'
		default:
			return r
		}
	}, p.Name)
	return fmt.Sprintf("gpu-%d-mig-%s-%d-%d", minor, text, p.ID, in.Start), nil
}

func validate(m *mig.Model, in mig.Instance) (mig.Profile, error) {
	if err := m.Validate(in); err != nil {
		return mig.Profile{}, err
	}
	return m.Profile(in.Profile)
}

// Instance returns the instance that the name of a MIG device means on a GPU of
// the model. The profile is found by its id alone. The error wraps ErrBadDevice
// for a GPU that is not cut, mig.ErrUnknownProfile, mig.ErrUnknownModel without a
// model, or what mig.Model.Validate returns.
func (d DRA) Instance(m *mig.Model) (mig.Instance, error) {
	if !d.MIG {
		return mig.Instance{}, fmt.Errorf("mig/names: gpu-%d is a GPU, not a MIG device: %w", d.Minor, ErrBadDevice)
	}
	if m == nil {
		return mig.Instance{}, fmt.Errorf("mig/names: DRA device on gpu-%d without a model: %w", d.Minor, mig.ErrUnknownModel)
	}
	for p := range m.Profiles() {
		if p.ID != d.ProfileID {
			continue
		}
		in := mig.Instance{Profile: p.Name, Start: d.Start, Size: p.Size}
		if err := m.Validate(in); err != nil {
			return mig.Instance{}, fmt.Errorf("mig/names: DRA device on gpu-%d: %w", d.Minor, err)
		}
		return in, nil
	}
	return mig.Instance{}, fmt.Errorf("mig/names: model %s has no profile with id %d: %w", m, d.ProfileID, mig.ErrUnknownProfile)
}
