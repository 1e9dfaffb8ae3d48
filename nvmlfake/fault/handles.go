package fault

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// gpu is who a handle belongs to. There is one for each GPU in a Rules, so that
// handles can be compared.
type gpu struct {
	index int
	uuid  string
}

// origin is where a handle comes from: the zero value is nowhere.
type origin struct {
	rules *Rules
	gpu   *gpu // nil: the library's own, or unknown
}

// The wrappers hold what they wrap as an embedded field, by which the binding
// finds its own handle where one is passed as an argument. A wrapper of nothing
// is an invalid handle. The generated methods hide all embedded ones.
type (
	library struct {
		nvml.Interface
		from origin
	}
	device struct {
		nvml.Device
		from origin
		mig  bool
	}
	gpuInstance struct {
		nvml.GpuInstance
		from origin
	}
	computeInstance struct {
		nvml.ComputeInstance
		from origin
	}
	eventSet struct {
		nvml.EventSet
		from origin
	}
)

func (o origin) wholeGPU(d nvml.Device) nvml.Device  { return device{d, o, false} }
func (o origin) migDevice(d nvml.Device) nvml.Device { return device{d, o, true} }

func (o origin) gpuInstance(gi nvml.GpuInstance) nvml.GpuInstance { return gpuInstance{gi, o} }

func (o origin) computeInstance(ci nvml.ComputeInstance) nvml.ComputeInstance {
	return computeInstance{ci, o}
}

func (o origin) eventSet(s nvml.EventSet) nvml.EventSet { return eventSet{s, o} }

// resolved wraps a device of which nothing is known. It asks whether it is a MIG
// device, and the GPU for its index and UUID; one that does not answer matches
// rules for any GPU only.
func (o origin) resolved(d nvml.Device) nvml.Device {
	if d == nil {
		return device{from: o}
	}
	if w, ok := d.(device); ok && w.from.rules == o.rules {
		return w
	}
	isMIG, ret := d.IsMigDeviceHandle()
	isMIG = isMIG && ret == nvml.SUCCESS
	parent := d
	if isMIG {
		if parent, ret = d.GetDeviceHandleFromMigDeviceHandle(); ret != nvml.SUCCESS {
			return device{d, origin{rules: o.rules}, true}
		}
	}
	index, ret := parent.GetIndex()
	if ret != nvml.SUCCESS {
		return device{d, origin{rules: o.rules}, isMIG}
	}
	uuid, ret := parent.GetUUID()
	if ret != nvml.SUCCESS {
		return device{d, origin{rules: o.rules}, isMIG}
	}
	return device{d, origin{o.rules, o.rules.gpu(index, uuid)}, isMIG}
}

// gpu returns the one value for a GPU.
func (r *Rules) gpu(index int, uuid string) *gpu {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.gpus[uuid]
	if g == nil {
		g = &gpu{index, uuid}
		if r.gpus == nil {
			r.gpus = map[string]*gpu{}
		}
		r.gpus[uuid] = g
	}
	return g
}

// found is resolved for a look-up: it does not find a GPU that is lost.
func (o origin) found(d nvml.Device, ret nvml.Return) (nvml.Device, nvml.Return) {
	if ret != nvml.SUCCESS {
		return device{d, origin{rules: o.rules}, false}, ret
	}
	w := o.resolved(d)
	at := w.(device).from
	at.rules.mu.Lock()
	defer at.rules.mu.Unlock()
	if set := at.rules.set.Load(); set != nil && set.lost[at.gpu] {
		return device{from: at}, nvml.ERROR_GPU_IS_LOST
	}
	return w, ret
}

func (o origin) gpuInstanceInfo(i nvml.GpuInstanceInfo) nvml.GpuInstanceInfo {
	i.Device = o.wholeGPU(i.Device)
	return i
}

func (o origin) computeInstanceInfo(i nvml.ComputeInstanceInfo) nvml.ComputeInstanceInfo {
	i.Device, i.GpuInstance = o.migDevice(i.Device), o.gpuInstance(i.GpuInstance)
	return i
}

func (o origin) eventData(e nvml.EventData) nvml.EventData {
	if e.Device != nil {
		e.Device = o.resolved(e.Device)
	}
	return e
}

// The own functions return the wrapper of a handle that a client passes to a
// function of the library. An invalid one answers as such.
func (o origin) ownDevice(d nvml.Device) nvml.Device { return o.resolved(d) }

func (o origin) ownGpuInstance(gi nvml.GpuInstance) nvml.GpuInstance {
	if _, ok := gi.(gpuInstance); ok {
		return gi
	}
	return o.gpuInstance(gi)
}

func (o origin) ownComputeInstance(ci nvml.ComputeInstance) nvml.ComputeInstance {
	if _, ok := ci.(computeInstance); ok {
		return ci
	}
	return o.computeInstance(ci)
}

func (o origin) ownEventSet(s nvml.EventSet) nvml.EventSet {
	if _, ok := s.(eventSet); ok {
		return s
	}
	return o.eventSet(s)
}

// method returns the place of a method in the list, by the kind of device.
func (d device) method(m int) int {
	if d.mig {
		return migDeviceMethods + m
	}
	return deviceMethods + m
}

// each wraps what is in a slice.
func each[T any](in []T, wrap func(T) T) []T {
	if in == nil {
		return nil
	}
	out := make([]T, len(in))
	for i, x := range in {
		out[i] = wrap(x)
	}
	return out
}

// bareDevice returns what a wrapper holds and whether that is anything; what is no wrapper is as it is.
func bareDevice(d nvml.Device) (nvml.Device, bool) {
	if w, ok := d.(device); ok {
		return w.Device, w.Device != nil
	}
	return d, true
}

func bareEventSet(s nvml.EventSet) (nvml.EventSet, bool) {
	if w, ok := s.(eventSet); ok {
		return w.EventSet, w.EventSet != nil
	}
	return s, true
}

func bareGpuInstance(gi nvml.GpuInstance) (nvml.GpuInstance, bool) {
	if w, ok := gi.(gpuInstance); ok {
		return w.GpuInstance, w.GpuInstance != nil
	}
	return gi, true
}
