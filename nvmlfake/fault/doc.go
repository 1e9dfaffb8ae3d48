// Package fault makes NVML fail on purpose: it stands between a client and any
// nvml.Interface and lets rules decide what becomes of each call.
//
// Use it to test what a client does when hardware or another process gets in
// its way:
//
//	rules, err := fault.New(1, fault.Rule{
//		Method: "GpuInstance.Destroy", Nth: 2, Times: 1,
//		Effect: fault.Refuse, Return: nvml.ERROR_IN_USE,
//	})
//	lib := fault.Wrap(server.NVML(), rules) // for the client
//
// A call passes the rules on its way in and on its way out:
//
//	client ── which rules match: method, GPU
//	   │      which of them fire: Nth, Times, Probability, Until
//	   │      Delay, Block, Before
//	   │          ├─ Refuse, Pretend, Lose ──────────────┐ (not done)
//	   │          └─ Pass, After: the library does it    │
//	   │      After, DelayAfter ◄────────────────────────┘
//	   ◄───── the library's answer, or the rule's code
//
// What that makes of the awkward things drivers do:
//
//   - the compute instance is gone and the GPU instance is in use: Refuse
//     "GpuInstance.Destroy" with ERROR_IN_USE
//   - success with a remnant: Pretend "GpuInstance.Destroy"
//   - created and yet an error: After "Device.CreateGpuInstance*"
//   - a hang: Block or Delay; a slow device: Delay on "*"
//   - a GPU that falls off the bus: Lose
//   - another process in between, or a UUID that changes: Before or After, with
//     a function that acts on the machine behind the wrapper
//
// The rule people get wrong: Nth and Times count for each rule by itself, and Nth
// counts the calls that match it, not all calls. To fail the k-th call of all, match "*".
//
// Every device, MIG device, GPU instance, compute instance and event set that
// comes out is wrapped, also inside structs. Handles of one library, made by one
// Rules, are equal when what they stand for is. Units, vGPU types and instances
// and GPM samples come out as they are. Refused calls that return a handle return
// one that answers ERROR_INVALID_ARGUMENT, as the binding does. Calls without a
// code (ErrorString, Extensions and those whose result calls the real library,
// listed in package nvmlfake) pass unseen.
//
// Rules are safe for concurrent use, and so are wrappers as far as what they wrap
// is. The same calls with the same seed meet the same faults. A call through the
// wrapper costs about a tenth of a microsecond more, and its entry in the list of
// calls some sixty bytes, until Rules.Forget.
package fault
