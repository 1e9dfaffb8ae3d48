package placement_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/fragmentation"
	"github.com/gpushare/gpushare/placement"
)

// naiveKind says why a shape fits on no spot of a state, asking every question
// by trying all spots of a shape that asks for less.
func naiveKind(n *placement.Node, shape fragmentation.Shape) placement.Kind {
	free := func(s fragmentation.Shape) bool { return len(freeSpots(n, s)) > 0 }
	if free(shape) {
		return placement.None
	}
	if shape.Validate() != nil {
		return placement.BadShape
	}
	anyGPU, offered := false, shape.Profile == ""
	for _, g := range n.Spec().GPUs {
		if (g.MIG != nil) == (shape.Profile != "") {
			anyGPU = true
		}
		if g.MIG != nil {
			_, err := g.MIG.Profile(shape.Profile)
			offered = offered || err == nil
		}
	}
	noMemory := shape
	noMemory.DeviceMemory = 0
	s := n.State()
	switch {
	case shape.GPUs > 0 && !anyGPU:
		return placement.NoGPU
	case shape.GPUs > 0 && !accepts(shape.Models, s.Model):
		return placement.WrongModel
	case !offered:
		return placement.UnknownProfile
	case shape.CPU > s.CPU:
		return placement.LackCPU
	case shape.Memory > s.Memory:
		return placement.LackMemory
	case shape.Profile == "" && free(noMemory):
		return placement.LackDevice
	case shape.Profile == "":
		return placement.LackGPU
	case tooSmall(n, shape):
		return placement.LackDevice
	default:
		return placement.NoStart
	}
}

// tooSmall reports whether no GPU's profile has the device memory.
func tooSmall(n *placement.Node, shape fragmentation.Shape) bool {
	for _, g := range n.Spec().GPUs {
		if g.MIG == nil {
			continue
		}
		if p, err := g.MIG.Profile(shape.Profile); err == nil && int64(p.MemoryMiB) >= shape.DeviceMemory {
			return false
		}
	}
	return true
}

func TestFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := genNode(t, "node")
		shape := genShapeFor(t, n.Spec())
		got := fits(n, shape)
		assert.Equal(t, naiveKind(n, shape), got.Kind, "%s", got)
		alone := feasible(n.Spec(), nil, []fragmentation.Shape{shape})
		assert.Equal(t, got.Kind != placement.None && alone, got.Evictable, "%s", got)
	})
}

// A smaller need never fits worse, and one task less never makes a task fit
// worse.
func TestFitsIsMonotone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := genNode(t, "node")
		shape := genShapeFor(t, n.Spec())
		if fits(n, shape).Kind != placement.None {
			return
		}
		less := shape
		less.CPU, less.Memory, less.DeviceMemory = shape.CPU/2, 0, 0
		assert.Equal(t, placement.Refusal{}, fits(n, less))
		for _, a := range assignments(n) {
			if a.Spot.Anywhere || floats(n) {
				continue // the others may move to where the task would go
			}
			assert.Equal(t, placement.Refusal{}, fits(n.Without(a.Task.ID), shape))
		}
	})
}

func floats(n *placement.Node) bool {
	_, floating := split(assignments(n))
	return len(floating) > 0
}

func TestFitsKinds(t *testing.T) {
	t.Parallel()
	shared := with(t, newNode(t, uncut("n", 2)), at("a", fraction(700), 0), at("b", fraction(600), 1))
	mixed := cut(t, "n", "a100-40gb", 1)
	mixed.GPUs = append(mixed.GPUs, cut(t, "", "a30-24gb", 1).GPUs...)
	mixed.Model = "A100"
	twoSizes := cut(t, "n", "a100-40gb", 1) // its 1g.10gb has 9856 MiB, that of the other 9728
	twoSizes.GPUs = append(twoSizes.GPUs, cut(t, "", "a100-80gb", 1).GPUs...)
	memory := func(s fragmentation.Shape, need int64) fragmentation.Shape {
		s.DeviceMemory = need
		return s
	}
	wants := func(s fragmentation.Shape, m fragmentation.Models) fragmentation.Shape {
		s.Models = m
		return s
	}
	tests := []struct {
		name  string
		node  *placement.Node
		shape fragmentation.Shape
		want  placement.Refusal
	}{
		{"fits", shared, fraction(400), placement.Refusal{}},
		{"no share of 500 left", shared, fraction(500), placement.Refusal{Kind: placement.LackGPU, Evictable: true}},
		{"sum of both is no GPU", shared, whole(1), placement.Refusal{Kind: placement.LackGPU, Evictable: true}},
		{"never three of two", shared, whole(3), placement.Refusal{Kind: placement.LackGPU}},
		{"device memory full", with(t, newNode(t, uncut("n", 1)), at("a", memory(fraction(100), 16000), 0)), memory(fraction(100), 1000), placement.Refusal{Kind: placement.LackDevice, Evictable: true}},
		{"device memory of no GPU", shared, memory(fraction(100), 16385), placement.Refusal{Kind: placement.LackDevice}},
		{"other model", shared, wants(fraction(100), "A100|H100"), placement.Refusal{Kind: placement.WrongModel}},
		{"CPU", shared, fragmentation.Shape{CPU: 63000}, placement.Refusal{Kind: placement.LackCPU, Evictable: true}},
		{"more CPU than there is", shared, fragmentation.Shape{CPU: 64001}, placement.Refusal{Kind: placement.LackCPU}},
		{"memory", shared, fragmentation.Shape{Memory: 262145}, placement.Refusal{Kind: placement.LackMemory}},
		{"instance on uncut GPUs", shared, instance("1g.5gb"), placement.Refusal{Kind: placement.NoGPU}},
		{"no GPU at all", newNode(t, uncut("n", 0)), fraction(1), placement.Refusal{Kind: placement.NoGPU}},
		{"fraction of cut GPUs", newNode(t, mixed), fraction(1), placement.Refusal{Kind: placement.NoGPU}},
		{"profile of the second model", with(t, newNode(t, mixed), instanceAt("a", "7g.40gb", 0, 0)), instance("2g.12gb"), placement.Refusal{}},
		{"profile of neither", newNode(t, mixed), instance("3g.40gb"), placement.Refusal{Kind: placement.UnknownProfile}},
		{"profile of neither, though CPU is short too", newNode(t, mixed), fragmentation.Shape{CPU: 99000, GPUs: 1, Profile: "3g.40gb"}, placement.Refusal{Kind: placement.UnknownProfile}},
		{"no start", with(t, newNode(t, mixed), instanceAt("a", "1g.5gb", 0, 0)), instance("7g.40gb"), placement.Refusal{Kind: placement.NoStart, Evictable: true}},
		{"no start where there is memory, and memory where there is a start", with(t, newNode(t, twoSizes), instanceAt("a", "7g.40gb", 0, 0)), memory(instance("1g.10gb"), 9800), placement.Refusal{Kind: placement.NoStart, Evictable: true}},
		{"instance too small", newNode(t, mixed), memory(instance("1g.5gb"), 5000), placement.Refusal{Kind: placement.LackDevice}},
		{"one and a half", shared, fraction(1500), placement.Refusal{Kind: placement.BadShape}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, fits(tt.node, tt.shape))
		})
	}
}

// Refusals of many nodes are counted by text, so the text has no figures.
func TestRefusalText(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for k := placement.None; k <= placement.NoStart; k++ {
		text := placement.Refusal{Kind: k}.String()
		assert.Equal(t, k.String(), text)
		assert.NotRegexp(t, `\d`, text)
		assert.NotEmpty(t, text)
		seen[text] = true
	}
	assert.Len(t, seen, int(placement.NoStart)+1)
	assert.Equal(t, "kind 200", placement.Kind(200).String())
}
