package timeslice

// Reach is how far a failure goes.
type Reach uint8

// What fails together. Time-slicing separates nobody: that an error of one process
// stays with it is not promised, and an error that the driver answers with a reset
// of the channel or the GPU ends all of them. MIG does: an instance has memory and
// engines of its own.
const (
	ReachDevice Reach = iota // an error of a program: all on the device, which may be a MIG instance
	ReachGPU                 // a reset, a memory error that takes the GPU down: all instances of it
)

// Domain is the replicas that fail together: those of one device.
type Domain struct {
	Device   string    // UUID
	GPU      string    // UUID of the physical GPU
	Replicas []Replica // in the order of their numbers
}

// Domains groups replicas by fault domain, in the order of the devices. Replicas
// of a client in two domains make it depend on both. The error wraps [ErrInput] for
// a replica that does not exist or stands there twice.
func Domains(devices []Device, replicas []Replica) ([]Domain, error) {
	at, err := newIndex(devices)
	if err != nil {
		return nil, err
	}
	lists, err := at.byDevice(devices, replicas, "replicas")
	if err != nil {
		return nil, err
	}
	var domains []Domain
	for i, numbers := range lists {
		if len(numbers) == 0 {
			continue
		}
		d := Domain{Device: devices[i].UUID, GPU: devices[i].GPU()}
		for _, n := range numbers {
			d.Replicas = append(d.Replicas, Replica{Device: d.Device, N: n})
		}
		domains = append(domains, d)
	}
	return domains, nil
}

// Affected is which replicas in use a failure at one of them reaches, itself
// included if it is among them; in the order of inUse. The error wraps [ErrInput]
// for a replica that does not exist.
func Affected(devices []Device, inUse []Replica, at Replica, reach Reach) ([]Replica, error) {
	find, err := newIndex(devices)
	if err != nil {
		return nil, err
	}
	origin, err := find.find(devices, at)
	if err != nil {
		return nil, err
	}
	var hit []Replica
	for _, r := range inUse {
		i, err := find.find(devices, r)
		if err != nil {
			return nil, err
		}
		if i == origin || reach == ReachGPU && devices[i].GPU() == devices[origin].GPU() {
			hit = append(hit, r)
		}
	}
	return hit, nil
}
