package pluginconfig

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gpushare/gpushare/timeslice"
)

// Inventory is the GPUs of a node, in the order of their indices.
type Inventory []GPU

// GPU is a GPU of a node.
type GPU struct {
	UUID       string // empty: "GPU-0" for the first
	Product    string // "NVIDIA A100-SXM4-80GB"; empty: not known, and in no label
	Memory     int64  // MiB; 0: not known
	Capability string // CUDA compute capability, such as "8.0"; empty: not known
	MIGCapable bool
	MIGEnabled bool        // implies MIGCapable
	MIG        []MIGDevice // in the order of their indices; none where the mode is off
}

// MIGDevice is a MIG device of a GPU.
type MIGDevice struct {
	UUID    string // empty: "MIG-0:1" for the second of the first GPU
	Profile string // "1g.10gb+me"
	Memory  int64  // MiB; 0: not known
}

// device is a GPU or a MIG device with what it is called.
type device struct {
	timeslice.Device
	index   string // "0", "0:1"
	product string // of the GPU
	profile string // of a MIG device
	gpu     int
	place   int // on the GPU
}

// profileName is a profile as drivers print it.
var (
	profileName = regexp.MustCompile(`^([0-9]+c\.)?[0-9]+g\.[0-9]+gb([+-][a-z0-9.,]+)*$`)
	capability  = regexp.MustCompile(`^[0-9]{1,3}\.[0-9]{1,3}$`)
)

// check returns the GPUs, with the missing UUIDs filled in.
func (inv Inventory) check() (Inventory, error) {
	full := make(Inventory, len(inv))
	seen := map[string]bool{}
	unique := func(uuid string) error {
		if seen[uuid] || strings.Contains(uuid, "::") || strings.HasSuffix(uuid, ":") {
			return fmt.Errorf("pluginconfig: UUID %q: repeated or malformed: %w", uuid, ErrInventory)
		}
		seen[uuid] = true
		return nil
	}
	for i, g := range inv {
		if g.UUID == "" {
			g.UUID = "GPU-" + itoa(i)
		}
		if err := unique(g.UUID); err != nil {
			return nil, err
		}
		if g.Memory < 0 || g.Capability != "" && !capability.MatchString(g.Capability) {
			return nil, fmt.Errorf("pluginconfig: GPU %d: %d MiB, compute capability %q: %w", i, g.Memory, g.Capability, ErrInventory)
		}
		if !g.MIGEnabled && len(g.MIG) > 0 {
			return nil, fmt.Errorf("pluginconfig: GPU %d has %s with MIG off: %w", i, plural(len(g.MIG), "MIG device"), ErrInventory)
		}
		migs := make([]MIGDevice, len(g.MIG))
		for j, m := range g.MIG {
			if m.UUID == "" {
				m.UUID = "MIG-" + itoa(i) + ":" + itoa(j)
			}
			if err := unique(m.UUID); err != nil {
				return nil, err
			}
			if m.Memory < 0 || !profileName.MatchString(m.Profile) {
				return nil, fmt.Errorf("pluginconfig: MIG device %d:%d: profile %q, %d MiB: %w", i, j, m.Profile, m.Memory, ErrInventory)
			}
			migs[j] = m
		}
		g.MIG, g.MIGCapable = migs, g.MIGCapable || g.MIGEnabled
		full[i] = g
	}
	return full, nil
}

// served is which devices are advertised as what, before anything is shared.
type served struct {
	names   []string // in the order of the first device
	devices map[string][]device
}

func (s *served) add(name string, d device) {
	if _, there := s.devices[name]; !there {
		s.names = append(s.names, name)
	}
	s.devices[name] = append(s.devices[name], d)
}

// order is where a device stands: by GPU, and by its index on the GPU.
func (s *served) order() map[string]int {
	var all []device
	for _, name := range s.names {
		all = append(all, s.devices[name]...)
	}
	slices.SortStableFunc(all, func(a, b device) int { return cmp.Or(cmp.Compare(a.gpu, b.gpu), cmp.Compare(a.place, b.place)) })
	at := make(map[string]int, len(all))
	for i, d := range all {
		at[d.UUID] = i
	}
	return at
}

// serve gives each device the name of the first pattern that matches it.
func (inv Inventory) serve(strategy MIGStrategy, patterns []Pattern) (*served, error) {
	s := &served{devices: map[string][]device{}}
	var cut, whole int
	for i, g := range inv {
		if g.MIGEnabled {
			cut++
			if strategy != MIGNone {
				continue
			}
		} else {
			whole++
		}
		name := resourceGPU
		for _, p := range patterns {
			if !p.MIG && matches(p.Pattern, g.Product) {
				name = p.Name
				break
			}
		}
		s.add(name, device{
			Device: timeslice.Device{UUID: g.UUID, Memory: g.Memory}, index: itoa(i), product: g.Product, gpu: i,
		})
	}
	if strategy == MIGNone {
		return s, nil
	}
	if strategy == MIGSingle {
		if err := inv.uniform(cut, whole); err != nil {
			return nil, err
		}
	}
	for i, g := range inv {
		for j, m := range g.MIG {
			name, err := migName(strategy, patterns, m.Profile)
			if err != nil {
				return nil, fmt.Errorf("MIG device %d:%d: %w", i, j, err)
			}
			s.add(name, device{
				Device: timeslice.Device{UUID: m.UUID, Parent: g.UUID, Memory: m.Memory},
				index:  itoa(i) + ":" + itoa(j), product: g.Product, profile: m.Profile, gpu: i, place: j,
			})
		}
	}
	return s, nil
}

// uniform checks what the strategy single wants.
func (inv Inventory) uniform(cut, whole int) error {
	if cut == 0 {
		return nil
	}
	var first *MIGDevice
	for i := range inv {
		if inv[i].MIGEnabled && len(inv[i].MIG) == 0 {
			return fmt.Errorf("pluginconfig: migStrategy single: GPU %d has MIG on and no MIG device: %w", i, ErrRefused)
		}
		for j := range inv[i].MIG {
			m := &inv[i].MIG[j]
			if first == nil {
				first = m
			}
			if m.Profile != first.Profile || m.Memory != first.Memory && m.Memory != 0 && first.Memory != 0 {
				return fmt.Errorf("pluginconfig: migStrategy single: %s and %s are two kinds of MIG device: %w",
					first.Profile, m.Profile, ErrRefused)
			}
		}
	}
	if whole > 0 {
		return fmt.Errorf("pluginconfig: migStrategy single: %s with MIG on and %s with it off: %w", plural(cut, "GPU"), plural(whole, "GPU"), ErrRefused)
	}
	return nil
}

func migName(strategy MIGStrategy, patterns []Pattern, profile string) (string, error) {
	for _, p := range patterns {
		if p.MIG && matches(p.Pattern, profile) {
			return p.Name, nil
		}
	}
	if strategy == MIGSingle {
		return resourceGPU, nil
	}
	name := prefix + "mig-" + strings.ReplaceAll(profile, "+", ".")
	if strings.Contains(profile, "c.") || badName(name) != "" {
		return "", fmt.Errorf("pluginconfig: migStrategy mixed has no resource for %s: %w", profile, ErrRefused)
	}
	return name, nil
}

// matches compares with a pattern in which "*" stands for any text.
func matches(pattern, s string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	if !strings.HasPrefix(s, head) {
		return false
	}
	s = s[len(head):]
	parts := strings.Split(rest, "*")
	for _, part := range parts[:len(parts)-1] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, parts[len(parts)-1])
}
