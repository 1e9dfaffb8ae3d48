package mig_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
)

// reference is where a checkout may have the collected facts, with the source
// of every figure.
const reference = "../../shared/reference/mig/profiles.json"

type refModel struct {
	Key           string
	Model         string
	NVMLNames     []string `json:"nvml_names"`
	Architecture  string
	PCIDeviceIDs  []string `json:"pci_device_ids"`
	MemoryMiB     *int     `json:"memory_total_mib"`
	NameMemoryGB  int      `json:"name_memory_gb"`
	MemorySlices  *int     `json:"memory_slices"`
	ComputeSlices int      `json:"compute_slices"`
	Units         *int     `json:"placement_units"`
	SMs           *int     `json:"sm_total"`
	NeedsReset    *bool    `json:"mig_mode_change_needs_reset"`
	MinDriver     string   `json:"min_driver"`
	Confidence    string
	Sources       []string
	Profiles      []refProfile
}

type refProfile struct {
	Name            string
	Index           int  `json:"nvml_profile"`
	ID              *int `json:"profile_id"`
	GPUSlices       int  `json:"gpu_slices"`
	MaxInstances    int  `json:"max_instances"`
	MemoryMiB       *int `json:"memory_mib"`
	SMs             *int `json:"multiprocessors"`
	CopyEngines     *int `json:"copy_engines"`
	Decoders        *int
	Encoders        *int
	JPEG            *int
	OFA             *int
	Placements      *refPlacements
	Confidence      string
	FieldConfidence map[string]string `json:"field_confidence"`
	Compute         []refCompute      `json:"compute_instances"`
}

type refCompute struct {
	Name         string
	Index        int  `json:"nvml_profile"`
	ID           *int `json:"profile_id"`
	Slices       int
	MaxInstances int  `json:"max_instances"`
	SMs          *int `json:"multiprocessors"`
	Placements   *refPlacements
	Default      bool
	Confidence   string
}

type refPlacements struct {
	Starts []int
	Size   int
}

// TestTablesAgreeWithReference compares every figure of every table with the
// collected facts, and the list of models with those of which a profile is known.
func TestTablesAgreeWithReference(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(reference)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the collected facts are not in this checkout (%s); the tables are checked against their own rules only", reference)
	}
	require.NoError(t, err)
	var list []refModel
	require.NoError(t, json.Unmarshal(data, &list))
	byKey := map[string]refModel{}
	var known []string
	for _, r := range list {
		byKey[r.Key] = r
		if len(r.Profiles) > 0 {
			known = append(known, r.Key)
		}
	}
	var keys []string
	for m := range mig.Models() {
		keys = append(keys, m.Key())
	}
	assert.ElementsMatch(t, known, keys)
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		r, found := byKey[m.Key()]
		require.True(t, found, "no model of that key")
		got := m.Spec()
		want := r.spec(t)
		assert.ElementsMatch(t, want.Profiles, got.Profiles)
		assert.ElementsMatch(t, want.ComputeProfiles, got.ComputeProfiles)
		got.Profiles, got.ComputeProfiles, want.Profiles, want.ComputeProfiles = nil, nil, nil, nil
		assert.Equal(t, want, got)
	})
}

// spec writes the facts in the shape of a table.
func (r refModel) spec(t *testing.T) mig.Spec {
	t.Helper()
	require.Equal(t, r.Units, r.MemorySlices)
	s := mig.Spec{
		Key: r.Key, Description: r.Model, ProductNames: append([]string(nil), r.NVMLNames...), Architecture: r.Architecture,
		MemoryMiB: known(r.MemoryMiB), NameMemoryGB: r.NameMemoryGB, MemorySlices: known(r.MemorySlices),
		ComputeSlices: r.ComputeSlices, SMs: known(r.SMs), MinDriver: r.MinDriver,
		Confidence: confidence(r.Confidence), Sources: r.Sources,
	}
	if r.NeedsReset != nil {
		s.ModeNeedsReset, s.ModeNeedsResetKnown = *r.NeedsReset, true
	}
	for _, text := range r.PCIDeviceIDs {
		var id uint32
		_, err := fmt.Sscanf(text, "0x%X", &id)
		require.NoError(t, err)
		s.PCIDeviceIDs = append(s.PCIDeviceIDs, id)
	}
	for _, p := range r.Profiles {
		s.Profiles = append(s.Profiles, p.row(t))
		for _, c := range p.Compute {
			s.ComputeProfiles = append(s.ComputeProfiles, c.row(t, p.Name))
		}
	}
	return s
}

func (p refProfile) row(t *testing.T) mig.Profile {
	t.Helper()
	n, err := mig.ParseName(p.Name)
	require.NoError(t, err)
	row := mig.Profile{
		Name: p.Name, Index: p.Index, ID: count(p.ID), ComputeSlices: p.GPUSlices, MaxInstances: p.MaxInstances,
		MemoryMiB: known(p.MemoryMiB), SMs: known(p.SMs), Attrs: n.Attrs, Confidence: confidence(p.Confidence),
		Engines: mig.Engines{
			Copy: count(p.CopyEngines), Decoders: count(p.Decoders), Encoders: count(p.Encoders),
			JPEG: count(p.JPEG), OFA: count(p.OFA),
		},
	}
	if p.Placements != nil {
		row.Size, row.Starts = p.Placements.Size, mig.MaskOf(p.Placements.Starts...)
		row.Geometry = row.Confidence // unless the field has its own
		if own, found := p.FieldConfidence["placements"]; found {
			row.Geometry = confidence(own)
		}
	}
	return row
}

func (c refCompute) row(t *testing.T, gpuInstance string) mig.ComputeProfile {
	t.Helper()
	if c.ID != nil {
		require.Equal(t, c.Index, *c.ID, "the printed id is the index")
	}
	row := mig.ComputeProfile{
		GPUInstance: gpuInstance, Name: c.Name, Index: c.Index, Slices: c.Slices, MaxInstances: c.MaxInstances,
		SMs: known(c.SMs), Default: c.Default, Confidence: confidence(c.Confidence),
	}
	if c.Placements != nil {
		row.Size, row.Starts = c.Placements.Size, mig.MaskOf(c.Placements.Starts...)
	}
	return row
}

// known returns 0 for a figure that nobody has published.
func known(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// count is known for figures where zero is a count.
func count(n *int) int {
	if n == nil {
		return mig.NotKnown
	}
	return *n
}

func confidence(s string) mig.Confidence {
	switch {
	case strings.HasPrefix(s, "exact"):
		return mig.Exact
	case strings.HasPrefix(s, "derived"):
		return mig.Derived
	default:
		return mig.Unknown
	}
}
