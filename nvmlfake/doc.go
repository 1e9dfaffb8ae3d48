// Package nvmlfake is an NVML in memory that behaves: it keeps state, and it
// refuses what hardware refuses, with the code that hardware gives.
//
// Use it to test a client of NVML's Go binding (a device plugin, a driver, a
// repartitioning tool) without a GPU:
//
//	server, err := nvmlfake.New(nvmlfake.Config{
//		GPUs: []nvmlfake.GPU{{Model: "a100-40gb", MIG: true}},
//	})
//	lib := server.NVML() // an nvml.Interface for the client
//
// Other ways to a server: [Preset] has machines on the market, and [Restore]
// brings back a [Snapshot], which can be a small JSON file written by hand. To
// make calls fail on purpose, wrap the library: see package fault.
//
// A server is a machine. What a client holds are handles; what the driver
// knows stands behind them, once:
//
//	Server ── GPU ── GPU instance ── compute instance ═ MIG device
//	           │     (a mig.Profile   (slices of the    (a handle like
//	           │      at a start)      GPU instance)     a GPU's)
//	           ├─ MIG mode: current, and pending until activated
//	           └─ holders: processes, monitors, kernel modules; of each of the three
//
// The rule people get wrong: an id is not a place, and a handle is not an id.
// Ids of GPU instances come from a range by size, ids and MIG device indices
// are used again, and handles die with their instance: every call on a dead one
// answers ERROR_INVALID_ARGUMENT, also when a new instance has the old id. A
// MIG device that is created again has another UUID. And a call that failed
// leaves an invalid handle, not nil, as the binding does.
//
// # What is modelled
//
//   - initialisation with its count, and ERROR_UNINITIALIZED without it; the
//     versions of driver, NVML and CUDA; handles by index, UUID and PCI address
//   - of a GPU: name, UUID, index, minor number, brand, architecture, compute
//     capability, memory, PCI information
//   - MIG mode, current and pending; [Server.Reset] and [Server.Reboot]
//   - who holds a GPU ([Server.Hold]) or an instance ([Server.HoldInstance],
//     [Server.HoldCompute]): what that keeps in use, the lists of processes, the
//     names of processes, the memory they use; and hidden holders, whom no list
//     shows
//   - GPU instances: profiles, possible placements, remaining capacity, creation
//     with and without placement, lists, look-ups, destruction
//   - compute instances, the same
//   - MIG devices: by index and UUID (both forms), attributes, memory, ids
//   - on a vGPU host ([GPU].VGPUHost): the schedulers of vGPUs, on a GPU and, for
//     GB20x, in a GPU instance: state, capabilities and log in both versions of the
//     calls, with their different unions; vGPUs that run ([Server.RunVGPU]), during
//     which nothing can be set; entries of the log ([Server.LogVGPU])
//
// Tables come from package mig, or are given ([GPU]). Where a table has a gap the
// fake has a figure that [Synthetic] names; without placements there is no GPU.
// The caller is taken to be root.
//
// # What is derived
//
// Not everything was read from a device; where the sources leave a choice, the
// fake takes the one that asks more of a client. Derived are: the placement
// that the driver chooses (mig.Layout.DefaultStart, and the like for compute
// instances); that an Ampere GPU never resets itself; that an instance without
// a process keeps MIG mode in use; the mode after a reboot on Hopper and later;
// the code for a MIG device's handle where a GPU's is wanted
// (ERROR_NOT_SUPPORTED) and the reverse (ERROR_INVALID_ARGUMENT); that arguments
// are checked before the mode; that a compute instance of kind 1_SLICE_REV1
// stands alone in its GPU instance; that a holder delays a change of mode on
// Hopper and later as it does on Ampere; that who holds the whole GPU does not
// keep instances from being created and destroyed, and who holds a GPU instance
// does not keep its compute instances; that a process in two MIG devices is
// listed twice by the GPU.
//
// Derived of vGPUs: the code for a number that a scheduler does not take
// (ERROR_INVALID_ARGUMENT; the registry key's value is moved to the bound
// instead); that averaging factor and slice are 0 while no vGPU runs, and under
// best effort; that the ARR mode is read as it was set; that reading a log takes
// no entry away; that a reset forgets the scheduler; that there are no
// capabilities with MIG on; which encoders have schedulers, and that they take
// best effort only (else ERROR_NOT_SUPPORTED); that the calls on a GPU instance
// without a field for the engine mean graphics; that before GB20x one vGPU runs
// in a GPU instance. That nothing can be set while a vGPU runs is documented,
// with ERROR_NOT_SUPPORTED.
//
// # What is not modelled
//
// All other methods exist, change nothing, answer ERROR_NOT_SUPPORTED and are
// listed by [Server.Unmodelled]; none panics. Utilisation, events, topology and,
// but for the schedulers, vGPU are among them. Processes all compute: there are no
// graphics and no MPS clients.
//
// Seventeen methods cannot be faked, since their result is a struct of the
// binding that calls the real library: on the library and on a device
// GetC2cModeInfoV, GetGpuFabricInfoV, GetGpuInstanceProfileInfoByIdV,
// GetGpuInstanceProfileInfoV, GetNvLinkInfo, GetTemperatureV and
// GpmQueryDeviceSupportV; on the library and on a GPU instance
// GetComputeInstanceProfileInfoV; on the library GpmMetricsGetV. They return an
// empty struct and are recorded; to use the struct without a driver ends the
// process. So LookupSymbol denies their functions, which is what a careful
// client asks first.
//
// # Concurrency and cost
//
// One lock per server; everything is safe for concurrent use. Everything is
// deterministic: the same calls give the same answers, UUIDs included. A call
// costs about a microsecond or less, a snapshot of a full machine about ten, and
// to restore it about a hundred.
package nvmlfake
