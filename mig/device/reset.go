package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ResetFunc resets the GPU of a UUID, and returns nil only if that was done. No
// call of NVML resets a GPU, so SetMode asks its caller for a way:
// NvidiaSMIReset is one. A reset destroys whatever runs on the GPU; SetMode
// calls it only when no instance stands and no process is listed.
//
// The handle that the GPU was opened with must be valid when it returns.
type ResetFunc func(ctx context.Context, uuid string) error

// Runner runs a program to its end and returns what it wrote and its exit
// status. The error says that it could not be run, or was cut short with the
// context; that a program failed is in its exit status alone.
type Runner func(ctx context.Context, name string, args ...string) (stdout, stderr []byte, exit int, err error)

// Exec is the Runner that starts a process on this machine, without standard
// input. It is killed when the context ends.
func Exec(ctx context.Context, name string, args ...string) (stdout, stderr []byte, exit int, err error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second // for what it started itself, and left behind
	err = cmd.Run()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.Exited() {
		err = nil
	}
	if cmd.ProcessState != nil {
		exit = cmd.ProcessState.ExitCode()
	}
	if ended := ctx.Err(); ended != nil && err != nil {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	return out.Bytes(), errs.Bytes(), exit, err
}

// NvidiaSMIReset returns a ResetFunc that runs "nvidia-smi --gpu-reset", which
// wants root and a GPU that nobody holds. Its error is a *ResetError when the
// program ran and refused. What it says in text counts as much as its exit
// status.
func NvidiaSMIReset(run Runner) ResetFunc {
	return func(ctx context.Context, uuid string) error {
		const program = "nvidia-smi"
		if run == nil {
			return errors.New("mig/device: no runner for nvidia-smi")
		}
		stdout, stderr, exit, err := run(ctx, program, "--gpu-reset", "--id="+uuid)
		if err != nil {
			return fmt.Errorf("mig/device: run %s: %w", program, err)
		}
		// What is printed to which of the two differs between versions.
		output := strings.TrimSpace(string(stdout) + "\n" + string(stderr))
		refused := parseRefused(output)
		if exit == 0 && len(refused) == 0 {
			return nil
		}
		return &ResetError{Refused: refused, Exit: exit, Output: output}
	}
}

// ResetRefusal is a GPU that nvidia-smi could not reset.
type ResetRefusal struct {
	BusID  string // as the kernel writes it: "0000:01:00.0"
	Reason string // in nvidia-smi's words: "In use by another client"
}

// ResetError says that nvidia-smi refused to reset. It matches ErrInUse,
// ErrNoPermission and ErrNotSupported where a reason says so.
type ResetError struct {
	Refused []ResetRefusal // in the order of the output, each GPU once; may be empty
	Exit    int            // status of the program
	Output  string         // all that it wrote
}

// Error names the GPUs with the reasons, or the output if it names none.
func (e *ResetError) Error() string {
	text := fmt.Sprintf("mig/device: nvidia-smi did not reset (exit status %d): ", e.Exit)
	if len(e.Refused) == 0 {
		const most = 400
		output := strings.Join(strings.Fields(e.Output), " ")
		if len(output) > most {
			output = output[:most] + "..."
		}
		return text + strconv.Quote(output)
	}
	var all []string
	for _, r := range e.Refused {
		all = append(all, fmt.Sprintf("GPU %s: %s", r.BusID, r.Reason))
	}
	return text + strings.Join(all, "; ")
}

// Is maps the reasons of nvidia-smi to the conditions of this package.
func (e *ResetError) Is(target error) bool {
	var words string
	switch target {
	case ErrInUse:
		words = "in use"
	case ErrNoPermission:
		words = "insufficient permissions"
	case ErrNotSupported:
		words = "not supported"
	default:
		return false
	}
	return slices.ContainsFunc(e.Refused, func(r ResetRefusal) bool {
		return strings.Contains(strings.ToLower(r.Reason), words)
	})
}

// parseRefused finds the lines that name a GPU and a reason in what nvidia-smi
// wrote:
//
//	GPU 00000000:01:00.0: In use by another client
//	Unable to reset GPU 00000000:01:00.0: Insufficient Permissions
func parseRefused(output string) []ResetRefusal {
	var all []ResetRefusal
	for line := range strings.Lines(output) {
		_, rest, found := strings.Cut(line, "GPU ")
		if !found {
			continue
		}
		// Three colons: two inside the bus id, one behind it.
		parts := strings.SplitN(rest, ":", 4)
		if len(parts) < 4 {
			continue
		}
		busID, ok := kernelBusID(strings.Join(parts[:3], ":"))
		reason := strings.TrimSpace(parts[3])
		if !ok || reason == "" || slices.ContainsFunc(all, func(r ResetRefusal) bool { return r.BusID == busID }) {
			continue
		}
		all = append(all, ResetRefusal{BusID: busID, Reason: reason})
	}
	return all
}

// kernelBusID turns a bus id as NVML and nvidia-smi write it, with a domain of
// eight digits and capital letters, into the form of the kernel:
// "00000000:C1:00.0" into "0000:c1:00.0".
func kernelBusID(s string) (string, bool) {
	domain, rest, _ := strings.Cut(s, ":")
	bus, rest, _ := strings.Cut(rest, ":")
	slot, function, _ := strings.Cut(rest, ".")
	var numbers [4]uint64
	for i, part := range []struct {
		text   string
		digits []int
	}{
		{domain, []int{4, 8}},
		{bus, []int{2}},
		{slot, []int{2}},
		{function, []int{1}},
	} {
		if !slices.Contains(part.digits, len(part.text)) || strings.Trim(part.text, "0123456789abcdefABCDEF") != "" {
			return "", false
		}
		n, err := strconv.ParseUint(part.text, 16, 32)
		if err != nil {
			return "", false
		}
		numbers[i] = n
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", numbers[0], numbers[1], numbers[2], numbers[3]), true
}
