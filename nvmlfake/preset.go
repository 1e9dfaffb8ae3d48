package nvmlfake

import (
	"fmt"
	"slices"
	"strings"
)

type preset struct {
	name, model string
	gpus        int
}

// presets returns the machines there are, in the order of Presets. A DGX A100
// was sold with GPUs of either size.
func presets() []preset {
	return []preset{
		{"dgx-a100", "a100-80gb", 8},
		{"dgx-a100-40gb", "a100-40gb", 8},
		{"dgx-h100", "h100-80gb-sxm5", 8},
		{"dgx-b200", "b200-180gb", 8},
	}
}

// Presets returns the names that Preset takes. The slice is the caller's.
func Presets() []string {
	var names []string
	for _, p := range presets() {
		names = append(names, p.name)
	}
	return names
}

// Preset returns the GPUs of a machine on the market: "dgx-a100" (8 GPUs of 80
// GB), "dgx-a100-40gb", "dgx-h100" or "dgx-b200". MIG is on and no instance
// there, on all GPUs: as delivered it would be off, but who takes a preset wants
// to cut. The error wraps ErrUnknownPreset and names the presets there are.
func Preset(name string) (Config, error) {
	for _, p := range presets() {
		if p.name == name {
			return Config{GPUs: slices.Repeat([]GPU{{Model: p.model, MIG: true}}, p.gpus)}, nil
		}
	}
	return Config{}, fmt.Errorf("nvmlfake: %q: %w (known: %s)", name, ErrUnknownPreset, strings.Join(Presets(), ", "))
}
