package names

import (
	"fmt"
	"strings"

	"github.com/gpushare/gpushare/mig"
)

// ResourceGPU is the Kubernetes resource of whole GPUs, and of MIG devices where
// all of a node are alike and the strategy is "single".
const ResourceGPU = "nvidia.com/gpu"

const resourceMIG = "nvidia.com/mig-"

// Resource returns the Kubernetes resource that the device plugin advertises
// for a profile with the strategy "mixed": "nvidia.com/mig-1g.10gb", with "." for
// the "+" of an attribute, so "nvidia.com/mig-1g.10gb.me", while "-me" stays.
//
// A compute instance that does not fill its GPU instance has no resource, and
// neither has a list of attributes, since a comma cannot stand in a resource name:
// the error wraps ErrBadResource, or mig.ErrBadName.
func Resource(profile string) (string, error) {
	n, err := mig.ParseName(profile)
	if err != nil {
		return "", fmt.Errorf("mig/names: no resource: %w", err)
	}
	resource, err := resourceOf(n)
	if err != nil {
		return "", fmt.Errorf("mig/names: profile %q %w", profile, err)
	}
	return resource, nil
}

// resourceOf returns an error that goes on behind the name of the profile.
func resourceOf(n mig.Name) (string, error) {
	if n.ComputeSlices != n.GPUSlices {
		return "", fmt.Errorf("does not fill its GPU instance, so no resource stands for it: %w", ErrBadResource)
	}
	s := n.String()
	if strings.Contains(s, ",") {
		return "", fmt.Errorf("has two attributes, which no resource name can hold: %w", ErrBadResource)
	}
	return resourceMIG + strings.ReplaceAll(s, "+", "."), nil
}

// ParseResource returns the profile that a Kubernetes resource such as
// "nvidia.com/mig-1g.10gb.me" stands for: "1g.10gb+me". It undoes Resource,
// and so refuses what that never returns. Whether a model offers the profile is
// another question: see mig.Model.Profile. The error wraps ErrBadResource.
func ParseResource(s string) (string, error) {
	text, found := strings.CutPrefix(s, resourceMIG)
	if !found {
		return "", fmt.Errorf("mig/names: resource %q does not begin with %q: %w", s, resourceMIG, ErrBadResource)
	}
	// A dot behind the memory begins the attribute; one in it is its own.
	if i := strings.Index(text, "gb."); i >= 0 {
		text = text[:i] + "gb+" + text[i+len("gb."):]
	}
	name, err := mig.ParseName(text)
	if err != nil {
		return "", fmt.Errorf("mig/names: resource %q: %w: %w", s, ErrBadResource, err)
	}
	if again, err := resourceOf(name); err != nil || again != s {
		return "", fmt.Errorf("mig/names: resource %q is never advertised: %w", s, ErrBadResource)
	}
	return name.String(), nil
}

// Strategy is how a device plugin presents MIG devices.
type Strategy string

// The strategies.
const (
	StrategyNone   Strategy = "none"   // GPUs, cut or not
	StrategySingle Strategy = "single" // MIG devices, all alike, as if they were GPUs
	StrategyMixed  Strategy = "mixed"  // a resource for each profile
)

// NodeGPU is a GPU of a node as a device plugin sees it.
type NodeGPU struct {
	MIG bool // mode enabled
	// Devices are the profiles of the MIG devices, one for each compute instance.
	Devices []string
}

// Resources returns what a node advertises: how many there are of each Kubernetes
// resource. ResourceGPU is always among them, if with 0: a node keeps the last
// count of a resource that is no longer mentioned, so a plugin has to say 0 for
// what is gone.
//
// With "none" GPUs count whatever their mode, though no program can run on a cut
// one as a whole.
//
// The error wraps ErrStrategy and names what is in the way: with "single", two
// profiles, or a GPU that is cut beside one that is not; with "mixed", a compute
// instance that does not fill its GPU instance; with both, a GPU in MIG mode
// without a device, on which plugins stop, and devices on one that is not in MIG
// mode. Profiles are compared by name; a plugin compares their attributes, so one
// name on two models of GPU does not pass there with "single". It wraps
// mig.ErrBadName for a malformed profile.
func Resources(strategy Strategy, gpus []NodeGPU) (map[string]int, error) {
	switch strategy {
	case StrategyNone:
		return map[string]int{ResourceGPU: len(gpus)}, nil
	case StrategySingle, StrategyMixed:
	default:
		return nil, fmt.Errorf("mig/names: strategy %q is none of none, single, mixed: %w", strategy, ErrStrategy)
	}
	counts := map[string]int{ResourceGPU: 0}
	first, cut := "", 0
	for i, g := range gpus {
		if g.MIG {
			cut++
		} else {
			counts[ResourceGPU]++
		}
		if g.MIG != (len(g.Devices) > 0) {
			return nil, fmt.Errorf("mig/names: GPU %d has MIG mode %t and %d MIG devices: %w %q", i, g.MIG, len(g.Devices), ErrStrategy, strategy)
		}
		for _, d := range g.Devices {
			n, err := mig.ParseName(d)
			if err != nil {
				return nil, fmt.Errorf("mig/names: GPU %d: %w", i, err)
			}
			resource, err := advertise(strategy, n, &first)
			if err != nil {
				return nil, fmt.Errorf("mig/names: GPU %d: %w", i, err)
			}
			counts[resource]++
		}
	}
	if strategy == StrategySingle && cut != 0 && cut != len(gpus) {
		return nil, fmt.Errorf("mig/names: %d of %d GPUs are in MIG mode: %w %q", cut, len(gpus), ErrStrategy, strategy)
	}
	return counts, nil
}

// advertise returns the resource of one MIG device. first is the profile of the
// first one of the node.
func advertise(strategy Strategy, n mig.Name, first *string) (string, error) {
	if strategy != StrategySingle {
		resource, err := resourceOf(n)
		if err != nil {
			return "", fmt.Errorf("profile %q %w: %w %q", n, err, ErrStrategy, strategy)
		}
		return resource, nil
	}
	if *first == "" {
		*first = n.String()
	}
	if *first != n.String() {
		return "", fmt.Errorf("MIG devices of %s and of %s on one node: %w %q", *first, n, ErrStrategy, strategy)
	}
	return ResourceGPU, nil
}
