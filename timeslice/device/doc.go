// Package device reads and sets the vGPU schedulers of a live GPU through NVML,
// in the terms of package timeslice.
//
// Use it on a vGPU host, where virtual machines share a GPU, or a GPU instance,
// in time: to see by which policy, to change it, and to follow who ran when.
// Which policy is right, and what it does to waits and shares, is decided without
// a GPU: see package timeslice. The time slice of processes on a GPU without
// vGPUs is another knob, for which NVML has no call.
//
//	nvml.Device ──────Open─────────► Scheduler ──Capabilities──► timeslice.VGPUCapabilities
//	nvml.GpuInstance ─OpenInstance─►  │  │  └────State─────────► State ──Setting─┐
//	                                  │  └───────Set ◄── timeslice.VGPUScheduler ◄┘
//	                                  └──────────Log, Follow───► Entry, Entry, …
//
// Set checks a setting against what the device reports, sets it, and reads it
// back. It works only while no vGPU runs there, and what it sets is gone when the
// kernel module is unloaded, or the GPU instance destroyed.
//
// The rules people get wrong, which this package takes care of:
//   - The union that is written is not the one that is read. With adaptive
//     round robin (ARR) a frequency in Hz is written and a slice in ns is read, in
//     the same place; without, a slice stands where the averaging factor would.
//   - Slices are ns here and in NVML. An older header has ms for the one that is
//     written, the registry key has ms too.
//   - The numbers of policies are NVML's, not those of the resource manager, which
//     are one higher.
//   - The second version of the calls has no version field and no way to set a
//     slice: it always means ARR. The first has a version for GPU instances, which
//     the binding fills in for reading and not for setting.
//   - Whether the field that turns ARR on takes the ARR numbers (1 is off) or a
//     flag (1 is on) is not documented. Set writes the numbers, sees what became of
//     it, and writes the flag if the driver took off for on.
//   - Factor and slice are read as 0 while nothing is scheduled, that is, probably,
//     whenever something can be set. Set then verifies the policy and the mode only.
//   - A function that the installed driver lacks is not an error of the binding but
//     the end of the process. Every function is looked up before it is called.
//   - ERROR_NOT_SUPPORTED stands for many things: no vGPU host, MIG on (ErrMIG), a
//     vGPU that runs (ErrNotSettable), a GPU that is too old.
//
// Per GPU, Pascal and later answer; per GPU instance, GB20x and later. The second
// version of the calls is used where there is one, and the first where not.
//
// An error is an *OpError with the operation, the GPU, the GPU instance, the engine
// and the code of NVML. When one is returned nothing has changed, or the field Now
// says what the scheduler is like.
//
// A call into the driver cannot be cancelled. When the context ends first, the
// error is ErrIndeterminate besides, and the next operation on the Scheduler waits
// until the call has returned.
//
// A Scheduler is safe for concurrent use and does one thing at a time. State and
// Log are one call into the driver, two where the first version is needed; Set is
// four. A reading of the log is some 11 KB.
//
// The package needs cgo, as go-nvml does. Only plain structs of go-nvml are used,
// so that a fake can stand in for the driver.
package device
