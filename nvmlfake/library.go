package nvmlfake

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// What the fake's driver calls itself.
const (
	driverVersion = "580.105.08"
	nvmlVersion   = "13.580.105.08"
	cudaVersion   = 13000
)

// libraryHandle is the library: initialisation, the system, and the ways to a
// device. The base forwards functions that take a handle to its methods.
type libraryHandle struct{ libraryBase }

func (l libraryHandle) server() *Server { return l.srv }
func (l libraryHandle) valid() bool     { return true }

// Init counts up; each Init wants its Shutdown.
func (l libraryHandle) Init() nvml.Return { return l.InitWithFlags(0) }

// InitWithFlags is Init: the flags change nothing that is modelled.
func (l libraryHandle) InitWithFlags(uint32) nvml.Return {
	l.srv.mu.Lock()
	defer l.srv.mu.Unlock()
	if l.srv.refs == 0 {
		for _, g := range l.srv.gpus {
			maps.DeleteFunc(g.lastSeen, func(_ int, ci *ciState) bool { return ci.gone })
		}
	}
	l.srv.refs++
	return nvml.SUCCESS
}

// Shutdown counts down; instances live on, they are the driver's.
func (l libraryHandle) Shutdown() nvml.Return {
	_, ret := call(l, func() (any, nvml.Return) {
		l.srv.refs--
		return nil, nvml.SUCCESS
	})
	return ret
}

func (l libraryHandle) ErrorString(r nvml.Return) string { return r.Error() }

func (l libraryHandle) SystemGetDriverVersion() (string, nvml.Return) {
	return call(l, func() (string, nvml.Return) { return driverVersion, nvml.SUCCESS })
}

func (l libraryHandle) SystemGetNVMLVersion() (string, nvml.Return) {
	return call(l, func() (string, nvml.Return) { return nvmlVersion, nvml.SUCCESS })
}

func (l libraryHandle) SystemGetCudaDriverVersion() (int, nvml.Return) {
	return call(l, func() (int, nvml.Return) { return cudaVersion, nvml.SUCCESS })
}

func (l libraryHandle) SystemGetCudaDriverVersion_v2() (int, nvml.Return) { //nolint:revive // NVML's name
	return l.SystemGetCudaDriverVersion()
}

func (l libraryHandle) DeviceGetCount() (int, nvml.Return) {
	return call(l, func() (int, nvml.Return) { return len(l.srv.gpus), nvml.SUCCESS })
}

// device returns the handle of a GPU; that of none is invalid.
func (s *Server) device(g *gpuState) nvml.Device { return deviceHandle{deviceBase{s}, g} }

// toDevice runs a look-up. On failure the client holds an invalid handle, not
// nil, as with the real library.
func (l libraryHandle) toDevice(f func() (nvml.Device, nvml.Return)) (nvml.Device, nvml.Return) {
	d, ret := call(l, f)
	if d == nil {
		d = l.srv.device(nil)
	}
	return d, ret
}

func (l libraryHandle) DeviceGetHandleByIndex(index int) (nvml.Device, nvml.Return) {
	return l.toDevice(func() (nvml.Device, nvml.Return) {
		g, err := l.srv.gpu(index)
		if err != nil {
			return nil, nvml.ERROR_INVALID_ARGUMENT
		}
		return l.srv.device(g), nvml.SUCCESS
	})
}

// DeviceGetHandleByUUID takes the UUID of a GPU or of a MIG device, the latter
// in the new form or in that of drivers before R470. What has neither form is
// invalid; what has, but is not here, is not found. A shortened UUID has
// neither: NVML does not complete it.
func (l libraryHandle) DeviceGetHandleByUUID(uuid string) (nvml.Device, nvml.Return) {
	return l.toDevice(func() (nvml.Device, nvml.Return) {
		oldGPU, oldGI, oldCI, isOld := oldMIGUUID(uuid)
		if kind, rest, _ := strings.Cut(uuid, "-"); !isOld && (kind != "GPU" && kind != "MIG" || !isUUID(rest)) {
			return nil, nvml.ERROR_INVALID_ARGUMENT
		}
		for _, g := range l.srv.gpus {
			if g.uuid == uuid {
				return l.srv.device(g), nvml.SUCCESS
			}
			ci := g.find(func(ci *ciState) bool {
				return ci.uuid == uuid || isOld && g.uuid == oldGPU && ci.gi.id == oldGI && ci.id == oldCI
			})
			if ci != nil {
				return l.srv.migDevice(ci), nvml.SUCCESS
			}
		}
		return nil, nvml.ERROR_NOT_FOUND
	})
}

func (l libraryHandle) DeviceGetHandleByPciBusId(id string) (nvml.Device, nvml.Return) { //nolint:revive // NVML's name
	return l.toDevice(func() (nvml.Device, nvml.Return) {
		address, ok := parseBusID(id)
		if !ok {
			return nil, nvml.ERROR_INVALID_ARGUMENT
		}
		for _, g := range l.srv.gpus {
			if g.busID() == address {
				return l.srv.device(g), nvml.SUCCESS
			}
		}
		return nil, nvml.ERROR_NOT_FOUND
	})
}

func (l libraryHandle) Extensions() nvml.ExtendedInterface { return l }

// LookupSymbol says whether the library has a C function: all that the binding
// knows, with or without a version suffix, less those whose result would lead
// the binding into the real library.
func (l libraryHandle) LookupSymbol(symbol string) error {
	l.srv.mu.Lock()
	defer l.srv.mu.Unlock()
	if l.srv.refs == 0 {
		return fmt.Errorf("nvmlfake: symbol %q: %w", symbol, nvml.ERROR_UNINITIALIZED)
	}
	if name, ok := strings.CutPrefix(symbol, "nvml"); ok && !denied(name) {
		if _, exact := slices.BinarySearch(functions[:], name); exact {
			return nil
		}
		if at := strings.LastIndex(name, "_v"); at > 0 && !denied(name[:at]) {
			if _, found := slices.BinarySearch(functions[:], name[:at]); found {
				return nil
			}
		}
	}
	return fmt.Errorf("nvmlfake: symbol %q: %w", symbol, nvml.ERROR_FUNCTION_NOT_FOUND)
}

// denied reports whether a function is one of those that cannot be faked. The
// two of the metrics interface have another name in C.
func denied(name string) bool {
	_, found := slices.BinarySearch(driverBound[:], name)
	return found || name == "GpmMetricsGet" || name == "GpmQueryDeviceSupport"
}
