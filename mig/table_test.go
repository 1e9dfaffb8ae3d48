package mig_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
)

// TestTablesAreSound checks what every table must keep, whatever its source.
func TestTablesAreSound(t *testing.T) {
	t.Parallel()
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		s := m.Spec()
		assert.Regexp(t, `^[a-z0-9]+(-[a-z0-9]+)*$`, s.Key)
		assert.NotEmpty(t, s.Description)
		if s.NameMemoryGB > 0 { // not the memory of the CPU
			assert.NotEmpty(t, s.ProductNames)
			assert.NotEmpty(t, s.PCIDeviceIDs)
		}
		assert.NotEmpty(t, s.Sources)
		assert.NotEqual(t, mig.Unknown, s.Confidence)
		assert.LessOrEqual(t, s.MemorySlices, mig.MaxUnits)
		for _, id := range s.PCIDeviceIDs {
			assert.EqualValues(t, 0x10DE, id&0xFFFF, "the vendor is in the low half")
		}
		if s.MemoryMiB > 0 {
			assert.Equal(t, s.NameMemoryGB, (s.MemoryMiB+1023)/1024)
		}
		names, ids, indices := map[string]bool{}, map[int]bool{}, map[int]bool{}
		for _, p := range s.Profiles {
			assert.False(t, names[p.Name] || ids[p.ID] || indices[p.Index], "%s has the name, id or index of another", p.Name)
			names[p.Name], ids[p.ID], indices[p.Index] = true, p.ID != mig.NotKnown, true
			checkProfile(t, s, p)
		}
		for _, c := range s.ComputeProfiles {
			assert.True(t, names[c.GPUInstance], "%s is of no profile", c.Name)
		}
	})
}

// checkProfile checks one row of a table.
func checkProfile(t *testing.T, s mig.Spec, p mig.Profile) {
	t.Helper()
	n, err := mig.ParseName(p.Name)
	require.NoError(t, err)
	assert.Equal(t, p.Name, n.String(), "the name is canonical")
	assert.Equal(t, p.ComputeSlices, n.GPUSlices, p.Name)
	assert.Equal(t, p.ComputeSlices, n.ComputeSlices, p.Name)
	assert.Equal(t, p.Attrs, n.Attrs, p.Name)
	assert.NotEqual(t, mig.Unknown, p.Confidence, p.Name)

	require.Equal(t, s.MemorySlices > 0, p.HasGeometry(), p.Name)
	assert.Equal(t, p.HasGeometry(), p.Geometry != mig.Unknown, p.Name)
	end := 0
	for start := range p.Starts.All() {
		assert.Zero(t, start%p.Size, "%s at %d", p.Name, start)
		assert.GreaterOrEqual(t, start, end, "%s: its own placements overlap", p.Name)
		end = start + p.Size
	}
	assert.LessOrEqual(t, end, s.MemorySlices, p.Name)

	if p.Attrs&(mig.MediaExtensions|mig.AllMedia) != 0 {
		assert.Equal(t, 1, p.MaxInstances, p.Name)
	} else if p.HasGeometry() {
		assert.Equal(t, p.Starts.Len(), p.MaxInstances, p.Name)
	}

	// The memory of a row gives the number in its name.
	total := s.MemoryMiB
	if total == 0 {
		total = s.NameMemoryGB * 1024
	}
	if p.MemoryMiB > 0 {
		assert.Equal(t, n.MemoryGB, mig.MemoryGB(p.MemoryMiB, total), p.Name)
	}
	if s.SMs > 0 {
		assert.LessOrEqual(t, p.SMs, s.SMs, p.Name)
	}
}

// TestVariantsTakeTheSlicesOfThePlainProfile: media attributes change engines
// and counts, never geometry, memory or SMs.
func TestVariantsTakeTheSlicesOfThePlainProfile(t *testing.T) {
	t.Parallel()
	for m := range mig.Models() {
		for p := range m.Profiles() {
			base, err := m.Profile(strings.FieldsFunc(p.Name, func(r rune) bool { return r == '+' || r == '-' })[0])
			require.NoError(t, err)
			assert.Equal(t, base.Size, p.Size, "%s %s", m, p.Name)
			assert.Equal(t, base.Starts, p.Starts, "%s %s", m, p.Name)
			assert.Equal(t, base.MemoryMiB, p.MemoryMiB, "%s %s", m, p.Name)
			assert.Equal(t, base.SMs, p.SMs, "%s %s", m, p.Name)
			assert.Equal(t, base.ComputeSlices, p.ComputeSlices, "%s %s", m, p.Name)
		}
	}
}

// TestComputeSlicesNeverBindAlone: with the legal starts no packing exceeds the
// compute slices, so overlap and counts are the whole rule.
func TestComputeSlicesNeverBindAlone(t *testing.T) {
	t.Parallel()
	forEachGeometry(t, func(t *testing.T, m *mig.Model) {
		most := 0
		for _, l := range newUniverse(m, true).layouts {
			used := 0
			for _, p := range placedOf(l) {
				used += p.profile.ComputeSlices
			}
			most = max(most, used)
		}
		assert.Equal(t, m.ComputeSlices(), most)
	})
}

// TestComputeProfiles checks the compute-instance rows: c of 1, 2, 3, 4, 7
// slices with c the whole or at most half of the GPU instance, rounded up, and
// one row that takes the whole.
func TestComputeProfiles(t *testing.T) {
	t.Parallel()
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		assert.Empty(t, slices.Collect(m.ComputeProfiles("5g.25gb")))
		if len(m.Spec().ComputeProfiles) == 0 {
			return // none is published
		}
		for p := range m.Profiles() {
			defaults, sizes := 0, map[int]bool{}
			for c := range m.ComputeProfiles(p.Name) {
				sizes[c.Slices] = true
				n, err := mig.ParseName(c.Name)
				require.NoError(t, err)
				assert.Equal(t, c.Name, n.String())
				assert.Equal(t, c.Slices, n.ComputeSlices, c.Name)
				assert.Equal(t, p.ComputeSlices, n.GPUSlices, c.Name)
				assert.Equal(t, p.Attrs, n.Attrs, c.Name)
				assert.LessOrEqual(t, c.MaxInstances, c.Starts.Len(), c.Name)
				assert.LessOrEqual(t, slices.Max(slices.Collect(c.Starts.All()))+c.Size, p.ComputeSlices, c.Name)
				if p.SMs > 0 {
					assert.LessOrEqual(t, c.SMs*c.MaxInstances, p.SMs, "%s of %s", c.Name, p.Name)
				}
				if c.Default {
					defaults++
					assert.Equal(t, p.Name, c.Name)
					assert.Equal(t, p.SMs, c.SMs, c.Name)
				}
			}
			assert.Equal(t, 1, defaults, "%s: one row takes the whole", p.Name)
			for _, c := range []int{1, 2, 3, 4, 7} {
				want := c == p.ComputeSlices || 2*c <= p.ComputeSlices+1
				assert.Equal(t, want, sizes[c], "%dc of %s", c, p.Name)
			}
			assert.NotContains(t, sizes, 5)
			assert.NotContains(t, sizes, 6)
		}
	})
}

// twice is the one product name that two models report.
const twice = "NVIDIA GB200"

// TestOneModelPerDevice: a PCI id together with the total memory names one
// model, and so does a product name, but for one.
func TestOneModelPerDevice(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for m := range mig.Models() {
		s := m.Spec()
		keys := []string{strings.ToLower(s.Key)}
		for _, name := range s.ProductNames {
			if name != twice {
				keys = append(keys, strings.ToLower(name))
			}
		}
		for _, id := range s.PCIDeviceIDs {
			keys = append(keys, fmt.Sprintf("%#x with %d GiB", id, s.NameMemoryGB))
		}
		for _, key := range keys {
			assert.Empty(t, seen[key], "%s names %s and %s", key, seen[key], m)
			seen[key] = m.Key()
		}
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	for m := range mig.Models() {
		for _, name := range append(m.Spec().ProductNames, m.Key()) {
			if name == twice {
				continue
			}
			for _, spelling := range []string{name, strings.ToUpper(name), strings.ToLower(name)} {
				got, err := mig.Lookup(spelling)
				require.NoError(t, err)
				assert.Same(t, m, got, spelling)
			}
		}
	}
	for _, name := range []string{"", "a100", "NVIDIA A100", "a100-40gb ", "NVIDIA Graphics Device", "Graphics Device", "GPU"} {
		got, err := mig.Lookup(name)
		require.ErrorIs(t, err, mig.ErrUnknownModel, name)
		assert.Nil(t, got)
		require.ErrorContains(t, err, fmt.Sprintf("%q", name))
		assert.ErrorContains(t, err, "a100-40gb, a100-80gb", "the keys that exist")
	}
}

// TestLookupDoesNotGuess: two models report one product name and one PCI id; the
// total memory tells them apart.
func TestLookupDoesNotGuess(t *testing.T) {
	t.Parallel()
	got, err := mig.Lookup("nvidia gb200")
	require.ErrorIs(t, err, mig.ErrAmbiguousModel)
	require.NotErrorIs(t, err, mig.ErrUnknownModel)
	assert.Nil(t, got)
	require.EqualError(t, err, `mig: "nvidia gb200": more than one GPU model (the total memory tells: gb200-186gb, gb200-189gb)`)
	for key, totalMiB := range map[string]int{"gb200-186gb": 189471, "gb200-189gb": 189 * 1024} {
		got, err := mig.LookupPCI(0x294110DE, totalMiB)
		require.NoError(t, err)
		assert.Same(t, lookup(t, key), got)
	}
}

// TestUnpublishedModels: a PCI id of which no table is public names no model, nor
// does the placeholder that stands for a product name there.
func TestUnpublishedModels(t *testing.T) {
	t.Parallel()
	for _, id := range []uint32{0x20B810DE, 0x307F10DE} {
		for gib := range 512 {
			_, err := mig.LookupPCI(id, gib*1024)
			require.ErrorIs(t, err, mig.ErrUnknownModel)
		}
	}
	for m := range mig.Models() {
		for _, name := range m.Spec().ProductNames {
			assert.NotContains(t, strings.ToLower(name), "graphics device")
		}
	}
}

func TestLookupPCI(t *testing.T) {
	t.Parallel()
	for m := range mig.Models() {
		s := m.Spec()
		for _, id := range s.PCIDeviceIDs {
			for _, total := range []int{s.NameMemoryGB * 1024, s.NameMemoryGB*1024 - 1023, s.MemoryMiB} {
				if total == 0 {
					continue // unknown
				}
				got, err := mig.LookupPCI(id, total)
				require.NoError(t, err)
				assert.Same(t, m, got, "%#x with %d MiB", id, total)
			}
			for _, total := range []int{s.NameMemoryGB*1024 + 1, s.NameMemoryGB*1024 - 1024, 0, -1} {
				got, err := mig.LookupPCI(id, total)
				require.ErrorIs(t, err, mig.ErrUnknownModel)
				assert.Nil(t, got)
				require.ErrorContains(t, err, fmt.Sprint(total))
			}
		}
	}
	_, err := mig.LookupPCI(0x20B010DF, 40960)
	require.ErrorIs(t, err, mig.ErrUnknownModel)
	assert.ErrorContains(t, err, "0x20b010df")
}

// TestSpecIsACopy: what a caller writes into a Spec does not reach the table.
func TestSpecIsACopy(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	s := m.Spec()
	s.Profiles[0].Name, s.ProductNames[0], s.PCIDeviceIDs[0], s.Sources[0] = "x", "x", 0, "x"
	s.ComputeProfiles[0].Name = "x"
	fresh := m.Spec()
	assert.NotEqual(t, s.Profiles[0], fresh.Profiles[0])
	assert.NotEqual(t, s.ProductNames[0], fresh.ProductNames[0])
	assert.NotEqual(t, s.PCIDeviceIDs[0], fresh.PCIDeviceIDs[0])
	assert.NotEqual(t, s.Sources[0], fresh.Sources[0])
	assert.NotEqual(t, s.ComputeProfiles[0], fresh.ComputeProfiles[0])
}

func TestModelProfile(t *testing.T) {
	t.Parallel()
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		for p := range m.Profiles() {
			got, err := m.Profile(p.Name)
			require.NoError(t, err)
			assert.Equal(t, p, got)
			got, found := m.Offers(p.Name)
			assert.True(t, found)
			assert.Equal(t, p, got)
			withCompute := fmt.Sprintf("%dc.%s", p.ComputeSlices, p.Name)
			got, err = m.Profile(withCompute)
			require.NoError(t, err)
			assert.Equal(t, p, got, withCompute)
			_, found = m.Offers(withCompute)
			assert.False(t, found, "%s is not canonical", withCompute)
		}
		_, err := m.Profile("5g.25gb")
		var unknown *mig.ProfileError
		require.ErrorAs(t, err, &unknown)
		assert.Equal(t, &mig.ProfileError{Model: m, Profile: "5g.25gb"}, unknown)
		for p := range m.Profiles() {
			assert.ErrorContains(t, err, p.Name, "the names that exist")
		}
	})
	_, err := lookup(t, "a100-40gb").Profile("1c.3g.20gb")
	require.ErrorIs(t, err, mig.ErrUnknownProfile, "a compute instance is no GPU instance")
	_, err = lookup(t, "a100-40gb").Profile("3g")
	assert.ErrorIs(t, err, mig.ErrBadName)
}

func TestIterationStopsEarly(t *testing.T) {
	t.Parallel()
	m := lookup(t, "a100-40gb")
	for p := range m.PlainProfiles() {
		assert.Equal(t, "1g.5gb", p.Name)
		break
	}
	for c := range m.ComputeProfiles("2g.10gb") {
		assert.Equal(t, "1c.2g.10gb", c.Name)
		break
	}
}

// TestZeroModel: a Model that was not obtained from this package knows no
// placements and says so.
func TestZeroModel(t *testing.T) {
	t.Parallel()
	var m mig.Model
	require.ErrorIs(t, m.Validate(), mig.ErrUnknownGeometry)
	_, err := m.Layout()
	require.ErrorIs(t, err, mig.ErrUnknownGeometry)
	_, err = m.Empty().Fit(mig.Demand{"1g.5gb": 1})
	require.ErrorIs(t, err, mig.ErrUnknownGeometry)
	assert.Zero(t, m.Census(nil))
	_, err = m.Profile("1g.5gb")
	assert.ErrorIs(t, err, mig.ErrUnknownProfile)
}

// TestUnknownGeometry: where nobody has published the placements, every question
// about layouts says so, or returns the empty value of its comment.
func TestUnknownGeometry(t *testing.T) {
	t.Parallel()
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		if m.HasGeometry() {
			return
		}
		l := m.Empty()
		for p := range m.Profiles() {
			assert.False(t, p.HasGeometry())
			in := mig.Instance{Profile: p.Name}
			require.ErrorIs(t, m.Validate(in), mig.ErrUnknownGeometry)
			_, err := m.Layout(in)
			require.ErrorIs(t, err, mig.ErrUnknownGeometry)
			with, err := l.With(p, 0)
			require.ErrorIs(t, err, mig.ErrUnknownGeometry)
			assert.Equal(t, l, with)
			_, err = l.Fit(mig.Demand{p.Name: 1})
			require.ErrorIs(t, err, mig.ErrUnknownGeometry)
			require.NotErrorIs(t, err, mig.ErrNoFit, "nobody knows")
			gpu, _, err := mig.Best([]mig.Layout{l, {}}, mig.Demand{p.Name: 1})
			require.ErrorIs(t, err, mig.ErrUnknownGeometry)
			assert.Equal(t, -1, gpu)
			assert.Zero(t, l.FreeStarts(p))
			assert.Zero(t, l.Remaining(p))
			_, room := l.DefaultStart(p)
			assert.False(t, room)
		}
		_, err := l.Fit(nil)
		require.ErrorIs(t, err, mig.ErrUnknownGeometry)
		_, err = l.Without(0)
		require.ErrorIs(t, err, mig.ErrNoInstance)
		assert.Empty(t, slices.Collect(m.Layouts(nil)))
		assert.Zero(t, m.Census(nil))
		assert.False(t, l.Maximal(nil))
		assert.Zero(t, l.FreePairs())
		assert.Zero(t, l.Unused())
		assert.Zero(t, l.Stranded())
		assert.Equal(t, "empty", l.String())
	})
}
