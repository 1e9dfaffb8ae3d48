package fault

import (
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Effect is what a rule does to a call, beside its waits and functions.
type Effect uint8

// The effects. Where several rules fire for one call, the first of them that has
// an effect other than Pass decides, and all waits and functions apply.
const (
	// Pass lets the call through: the rule only waits or runs its functions.
	Pass Effect = iota
	// Refuse answers Return, and nothing is done.
	Refuse
	// After does the call, drops what it returned and answers Return: created,
	// and yet an error.
	After
	// Pretend answers SUCCESS, and nothing is done: a destroyed instance that is
	// still there. It is for methods that return codes alone.
	Pretend
	// Lose makes the GPU fall off the bus: this call and all later ones on the GPU
	// answer ERROR_GPU_IS_LOST, until Rules.Set. Nothing is done.
	Lose
)

// String returns "pass", "refuse", "after", "pretend" or "lose".
func (e Effect) String() string {
	switch e {
	case Pass:
		return "pass"
	case Refuse:
		return "refuse"
	case After:
		return "after"
	case Pretend:
		return "pretend"
	case Lose:
		return "lose"
	default:
		return "unknown"
	}
}

// Rule says which calls something happens to, and what. The zero value of every
// field but Method asks for nothing special: any GPU, from the first call on,
// each time.
type Rule struct {
	// Method is a list of patterns, separated by commas, in the form of
	// path.Match: "GpuInstance.Destroy", "Device.CreateGpuInstance*",
	// "ComputeInstance.*,GpuInstance.*", "*". The names are those of the binding's
	// interfaces with a dot; "MigDevice.GetUUID" is the call on a MIG device,
	// which "Device.GetUUID" does not match; functions of the library have no dot
	// ("Init", "DeviceGetHandleByIndex"). A function that takes a handle, such as
	// DeviceGetUUID, is the call on the handle. Where Pretend or Lose cannot be of
	// a method, a pattern for several leaves it out, and its name is an error.
	Method string
	// GPU is an index ("0") or a UUID. Empty is any, calls on no GPU included.
	GPU string

	Nth         int     // the first call that matches and is concerned, from 1; 0: the first
	Times       int     // the rule fires so many times; 0: without end
	Probability float64 // of firing, where it could, above 0 up to 1; 0: always

	// UntilCall is a list of patterns like Method: once a call that matches has
	// begun, on GPU if that is set, the rule is over.
	UntilCall string
	// Until ends the rule when it returns true. It is asked before each call that
	// matches, before the call has a number, may run in several goroutines, and
	// must not call through the wrapper.
	Until func(Call) bool

	Effect Effect
	Return nvml.Return // of Refuse and After; never SUCCESS

	// Before the call: wait, then wait until Block is closed or gives a value,
	// then run Before. After it: run After, then wait. A rule that refuses the
	// call does all of it too. Waits are those of package time, so they pass at
	// once inside a testing/synctest bubble. The functions run without a lock: they
	// may change the machine as another process would, and what they call through
	// the wrapper is a call like any other.
	Delay, DelayAfter time.Duration
	Block             <-chan struct{}
	Before, After     func(Call)
}

// Call is a call that was made through a wrapper.
type Call struct {
	N      int         // from 1, in the order in which calls began
	Method string      // as in Rule
	GPU    int         // NVML's index; -1: on no GPU, or on one that did not say
	UUID   string      // of the GPU, also for a call on what is cut from it; or empty
	Fired  []int       // which rules did, by their place in the list
	Done   bool        // false while it is under way
	Return nvml.Return // what the client got, once Done
}
