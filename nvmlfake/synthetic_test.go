package nvmlfake_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/nvmlfake"
)

// Memory of every profile, synthetic or not, gives the profile its name.
func TestMemoryGivesTheName(t *testing.T) {
	t.Parallel()
	for _, m := range models() {
		t.Run(m.Key(), func(t *testing.T) {
			t.Parallel()
			_, d := startGPU(t, m.Key())
			total := int(must(d.GetMemoryInfo()).Total >> 20)
			for p := range m.Profiles() {
				name, err := mig.ParseName(p.Name)
				require.NoError(t, err)
				info := infoOf(t, d, m.Key(), p.Name)
				assert.Equal(t, name.MemoryGB, mig.MemoryGB(int(info.MemorySizeMB), total), p.Name)
			}
		})
	}
}

// What is not named as synthetic is the table's figure, and what the table has
// is not named.
func TestSyntheticNamesTheGaps(t *testing.T) {
	t.Parallel()
	for _, m := range models() {
		t.Run(m.Key(), func(t *testing.T) {
			t.Parallel()
			_, d := startGPU(t, m.Key())
			for p := range m.Profiles() {
				info := infoOf(t, d, m.Key(), p.Name)
				synthetic := nvmlfake.Synthetic(m, p.Name)
				for field, row := range map[string]struct{ table, none, fake int }{
					"MultiprocessorCount": {p.SMs, 0, int(info.MultiprocessorCount)},
					"MemorySizeMB":        {p.MemoryMiB, 0, int(info.MemorySizeMB)},
					"CopyEngineCount":     {p.Engines.Copy, mig.NotKnown, int(info.CopyEngineCount)},
					"DecoderCount":        {p.Engines.Decoders, mig.NotKnown, int(info.DecoderCount)},
					"EncoderCount":        {p.Engines.Encoders, mig.NotKnown, int(info.EncoderCount)},
					"JpegCount":           {p.Engines.JPEG, mig.NotKnown, int(info.JpegCount)},
					"OfaCount":            {p.Engines.OFA, mig.NotKnown, int(info.OfaCount)},
				} {
					if row.table == row.none {
						assert.Contains(t, synthetic, field, p.Name)
					} else {
						assert.NotContains(t, synthetic, field, p.Name)
						assert.Equal(t, row.table, row.fake, "%s %s", p.Name, field)
					}
				}
			}
		})
	}
}

// A figure is plausible: it grows with the profile and never exceeds the GPU.
func TestSyntheticFigures(t *testing.T) {
	t.Parallel()
	m, err := mig.Lookup("b200-180gb")
	require.NoError(t, err)
	gap := []string{"MultiprocessorCount", "DecoderCount", "JpegCount", "MemorySizeMB"}
	assert.Empty(t, nvmlfake.Synthetic(m, ""))
	assert.Empty(t, nvmlfake.Synthetic(m, "1g.23gb"))
	assert.Empty(t, nvmlfake.Synthetic(m, "no such profile"))
	_, d := startGPU(t, "b200-180gb")
	last := infoOf(t, d, "b200-180gb", "2g.45gb")
	for _, name := range []string{"3g.90gb", "4g.90gb", "7g.180gb"} {
		assert.Equal(t, gap, nvmlfake.Synthetic(m, name))
		info := infoOf(t, d, "b200-180gb", name)
		assert.GreaterOrEqual(t, info.MemorySizeMB, last.MemorySizeMB)
		assert.LessOrEqual(t, info.MemorySizeMB, uint64(183359))
		assert.Greater(t, info.MultiprocessorCount, last.MultiprocessorCount)
		assert.LessOrEqual(t, info.MultiprocessorCount, uint32(148))
		assert.Equal(t, info.SliceCount, info.DecoderCount)
		last = info
	}
	assert.Equal(t, uint32(148), last.MultiprocessorCount)

	h200, err := mig.Lookup("h200-141gb")
	require.NoError(t, err)
	assert.Equal(t, []string{"Memory.Total"}, nvmlfake.Synthetic(h200, ""))
	assert.Equal(t, []string{"MemorySizeMB"}, nvmlfake.Synthetic(h200, "7g.141gb"))
}

// Compute instances: none has more multiprocessors than its GPU instance, the
// one of full size has all, and the table's figures stand.
func TestComputeFigures(t *testing.T) {
	t.Parallel()
	for _, m := range models() {
		t.Run(m.Key(), func(t *testing.T) {
			t.Parallel()
			for p := range m.Profiles() {
				_, d := startGPU(t, m.Key())
				whole := infoOf(t, d, m.Key(), p.Name)
				gi := must(d.CreateGpuInstance(whole))
				for c := range m.ComputeProfiles(p.Name) {
					sms := must(gi.GetComputeInstanceProfileInfo(c.Index, 0)).MultiprocessorCount
					assert.Positive(t, sms, "%s %s", p.Name, c.Name)
					assert.LessOrEqual(t, sms, whole.MultiprocessorCount, "%s %s", p.Name, c.Name)
					switch {
					case c.SMs != 0:
						assert.Equal(t, uint32(c.SMs), sms, "%s %s", p.Name, c.Name)
					case c.Name != p.Name:
						assert.Equal(t, []string{"MultiprocessorCount"}, nvmlfake.Synthetic(m, c.Name), c.Name)
					}
					if c.Default {
						assert.Equal(t, whole.MultiprocessorCount, sms, "%s %s", p.Name, c.Name)
					}
				}
				assert.Equal(t, nvml.SUCCESS, gi.Destroy())
			}
		})
	}
}
