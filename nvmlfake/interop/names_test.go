package interop_test

import (
	"testing"

	nvlib "github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
)

// vendor is go-nvlib without a library below it: enough for names.
func vendor() nvlib.Interface { return nvlib.New(nil, nvlib.WithVerifySymbols(false)) }

// vendorMemory is the memory number by go-nvlib.
func vendorMemory(t require.TestingT, instanceMiB, totalMiB int) int {
	p, err := vendor().NewMigProfile(0, 0, 0, uint64(instanceMiB), uint64(totalMiB)<<20)
	require.NoError(t, err)
	return p.GetInfo().GB
}

// For every profile whose memory was published, go-nvlib makes the name of the
// table from that memory and the total.
func TestNamesFromPublishedMemory(t *testing.T) {
	t.Parallel()
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		total := m.Spec().MemoryMiB
		if total == 0 {
			total = m.Spec().NameMemoryGB * 1024 // the rule only needs whole GiB, rounded up
		}
		compared, published := 0, false
		for p := range m.Profiles() {
			if p.MemoryMiB == 0 {
				continue
			}
			published = true
			for c := range m.ComputeProfiles(p.Name) {
				got, err := vendor().NewMigProfile(p.Index, c.Index, 0, uint64(p.MemoryMiB), uint64(total)<<20)
				require.NoError(t, err)
				assert.Equal(t, c.Name, got.String())
				compared++
			}
		}
		assert.Equal(t, published, compared > 0)
	})
}

func TestMemoryNumber(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name            string
		instance, total int // MiB
		want            int // GB
	}{
		{"A100 40GB 1g", 4864, 40960, 5},
		{"A100 40GB 3g, older driver", 20096, 40960, 20},
		{"A100 80GB 7g, total rounded up", 80896, 81920, 80},
		{"H100 1g", 9984, 81559, 10},
		{"nominal size with a real total", 10240, 81559, 20},
		{"GB200 with 186 GiB, 1g", 23552, 189471, 23},
		{"RTX PRO 6000 1g", 24192, 97887, 24},
		{"RTX PRO 6000 1g, other driver", 23680, 97887, 24},
		{"half rounds away from zero", 1, 20 * 1024, 3},
		{"one MiB of one MiB", 1, 1, 1},
		{"everything", 97887, 97887, 96},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, mig.MemoryGB(tt.instance, tt.total))
			assert.Equal(t, tt.want, vendorMemory(t, tt.instance, tt.total))
		})
	}
}

func TestMemoryNumberOfAnyPair(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(1, 1<<20).Draw(t, "total MiB")
		instance := rapid.IntRange(1, total).Draw(t, "instance MiB")
		if rapid.Bool().Draw(t, "on an eighth") {
			instance = max(1, total/8*rapid.IntRange(1, 8).Draw(t, "eighths"))
		}
		require.Equal(t, vendorMemory(t, instance, total), mig.MemoryGB(instance, total))
	})
}

// Names that both parsers take, neither takes, or only the vendor's: mig is
// stricter, since it knows what a driver can ever print.
func TestStrictness(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		ours, theirs bool
	}{
		{"1g.5gb", true, true},
		{"1c.1g.5gb", true, true},
		{"7g.80gb", true, true},
		{"2c.3g.20gb", true, true},
		{"1g.5gb+me", true, true},
		{"1g.5gb-me", true, true},
		{"1g.5gb+me.all", true, true},
		{"1g.24gb+gfx", true, true},
		{"1g.24gb+me,gfx", true, true},
		{"1g.24gb+gfx,me", true, true},
		{"1g.0gb", true, true},

		{"", false, false},
		{"1g", false, false},
		{"g.5gb", false, false},
		{"1g.gb", false, false},
		{"1g.5", false, false},
		{"1g.5GB", false, false},
		{" 1g.5gb", false, false},
		{"1g.5gb ", false, false},
		{"1g.5gb+", false, false},
		{"1g.5gb+me,me", false, false},
		{"1g.5gb+me,", false, false},
		{"1g.5gb+me-me", false, false},
		{"1g.5gb+1me", false, false},
		{"1c.f1g.5gb", false, false},
		{"1r.1g.5gb", false, false},
		{"1c.1c.1g.5gb", false, false},
		{"MIG 1g.5gb", false, false},

		{"0g.0gb", false, true},             // no slices
		{"9g.80gb", false, true},            // more than NVML has a constant for
		{"0c.1g.5gb", false, true},          // no compute slices
		{"2c.1g.5gb", false, true},          // more compute slices than GPU slices
		{"01g.5gb", false, true},            // leading zeros
		{"1g.05gb", false, true},            //
		{"1g.123456gb", false, true},        // no GPU has that
		{"1g.5gb+you", false, true},         // attributes that no driver knows
		{"1g.5gb+me,you,them", false, true}, //
		{"1g.5gb-gfx", false, true},         //
		{"1g.5gb+ME", false, true},          //
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := mig.ParseName(tt.name)
			assert.Equal(t, tt.ours, err == nil, "mig: %v", err)
			err = vendor().AssertValidMigProfileFormat(tt.name)
			assert.Equal(t, tt.theirs, err == nil, "go-nvlib: %v", err)
		})
	}
}

// same reports whether go-nvlib reads a text as the name that mig read.
func same(n mig.Name, text string) bool {
	p := nvlib.MigProfileInfo{C: n.ComputeSlices, G: n.GPUSlices, GB: n.MemoryGB}
	for _, a := range []struct {
		attr mig.Attrs
		word string
	}{{mig.MediaExtensions, "me"}, {mig.AllMedia, "me.all"}, {mig.Graphics, "gfx"}} {
		if n.Attrs&a.attr != 0 {
			p.Attributes = append(p.Attributes, a.word)
		}
	}
	if n.Attrs&mig.NoMedia != 0 {
		p.NegAttributes = []string{"me"}
	}
	return p.Matches(text) && p.Matches(n.String())
}

// Whatever text mig reads, go-nvlib reads the same.
func TestNoNameIsReadDifferently(t *testing.T) {
	t.Parallel()
	read := 0
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.StringMatching(`([0-9]{1,2}c\.)?[0-9]{1,2}g\.[0-9]{1,4}gb([+-](me|me\.all|gfx|you)(,(me|me\.all|gfx))?)?`),
			rapid.StringMatching(`[0-9cgb.+\-, me]{0,12}`),
		).Draw(t, "text")
		n, err := mig.ParseName(text)
		if err != nil {
			return
		}
		read++
		require.NoError(t, vendor().AssertValidMigProfileFormat(text))
		require.True(t, same(n, text), "%q is %+v by mig", text, n)
	})
	assert.Positive(t, read)
}

// go-nvlib finds every name of a table on a GPU of that model, and no other
// model's.
func TestLookupOfNames(t *testing.T) {
	t.Parallel()
	forEachModel(t, func(t *testing.T, m *mig.Model) {
		lib := libOf(t, m.Key())
		for other := range mig.Models() {
			for p := range other.Profiles() {
				ours, err := m.Profile(p.Name)
				theirs, vendorErr := lib.ParseMigProfile(p.Name)
				require.Equal(t, err == nil, vendorErr == nil, "%s on %s", p.Name, m)
				if err == nil {
					assert.Equal(t, ours.Name, theirs.String())
					assert.Equal(t, ours.Index, theirs.GetInfo().GIProfileID)
				}
			}
		}
	})
}
