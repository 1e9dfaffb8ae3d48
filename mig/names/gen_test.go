package names_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/names"
)

const (
	idA = "4cf8db2d-06c0-7d70-1a51-e59b25b2c16c"
	idB = "3eb87630-93d5-b2b6-b8ff-9b359caf4ee2"
)

// lookup returns a model that must exist.
func lookup(t testing.TB, key string) *mig.Model {
	t.Helper()
	m, err := mig.Lookup(key)
	require.NoError(t, err)
	return m
}

// forEachModel runs a parallel subtest for every model.
func forEachModel(t *testing.T, f func(t *testing.T, m *mig.Model)) {
	t.Helper()
	for m := range mig.Models() {
		t.Run(m.Key(), func(t *testing.T) {
			t.Parallel()
			f(t, m)
		})
	}
}

// eight is the UUIDs of a node with eight GPUs.
func eight() []string {
	var uuids []string
	for i := range 8 {
		uuids = append(uuids, fmt.Sprintf("GPU-%08x-0000-0000-0000-000000000000", 0x9e8d35e3+i<<20))
	}
	return uuids
}

func genUUID(t *rapid.T) names.UUID {
	u := names.UUID{
		Kind: rapid.SampledFrom([]names.UUIDKind{names.UUIDOfGPU, names.UUIDOfMIG, names.UUIDOfMIGOld}).Draw(t, "kind"),
		ID:   rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`).Draw(t, "id"),
	}
	if u.Kind == names.UUIDOfMIGOld {
		u.GPUInstance = rapid.IntRange(0, 999).Draw(t, "GPU instance")
		u.ComputeInstance = rapid.IntRange(0, 999).Draw(t, "compute instance")
	}
	return u
}
