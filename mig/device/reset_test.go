package device_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig/device"
)

// answers returns a Runner that does not run anything.
func answers(stdout, stderr string, exit int, err error) device.Runner {
	return func(context.Context, string, ...string) ([]byte, []byte, int, error) {
		return []byte(stdout), []byte(stderr), exit, err
	}
}

func TestNvidiaSMIReset(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		stdout, stderr string
		exit           int
		want           []device.ResetRefusal // nil and exit 0: success
		is, not        []error
	}{
		{name: "done", stdout: "GPU 00000000:01:00.0 was successfully reset.\nAll done.\n"},
		{
			name: "in use", exit: 255,
			stdout: "The following GPUs could not be reset:\r\n  GPU 00000000:C1:00.0: In use by another client\r\n\r\n1 device is currently being used\r\n",
			want:   []device.ResetRefusal{{BusID: "0000:c1:00.0", Reason: "In use by another client"}},
			is:     []error{device.ErrInUse}, not: []error{device.ErrNoPermission, device.ErrNotSupported},
		},
		{
			name: "no root", exit: 4, stderr: "Unable to reset GPU 00000000:3B:00.0: Insufficient Permissions\n",
			want: []device.ResetRefusal{{BusID: "0000:3b:00.0", Reason: "Insufficient Permissions"}},
			is:   []error{device.ErrNoPermission}, not: []error{device.ErrInUse},
		},
		{
			name: "virtual machine", exit: 3, stdout: "  GPU 0000:00:1e.0: Not Supported\n",
			want: []device.ResetRefusal{{BusID: "0000:00:1e.0", Reason: "Not Supported"}},
			is:   []error{device.ErrNotSupported},
		},
		{
			name: "exit status 0 is not success", stdout: "  GPU 00000000:01:00.0: In use by another client\n",
			want: []device.ResetRefusal{{BusID: "0000:01:00.0", Reason: "In use by another client"}},
			is:   []error{device.ErrInUse},
		},
		{
			name: "in both outputs", exit: 255,
			stdout: "GPU 00000000:01:00.0: In use by another client", stderr: "GPU 0000:01:00.0: In use by another client\nGPU 00010000:02:1F.7: x: y\n",
			want: []device.ResetRefusal{{BusID: "0000:01:00.0", Reason: "In use by another client"}, {BusID: "10000:02:1f.7", Reason: "x: y"}},
		},
		{name: "no GPU named", exit: 6, stdout: "No devices were found\n", not: []error{device.ErrInUse}},
		{name: "nothing said", exit: 9},
		{
			name: "almost bus ids", exit: 1,
			stdout: "GPU 0000:01:00: a\nGPU 000:01:00.0: a\nGPU +000:01:00.0: a\nGPU 0000:01:00.g: a\nGPU 0000:01:00.0:\nGPU 0000:01:00.0: \nGPU : : : :\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := device.NvidiaSMIReset(answers(tt.stdout, tt.stderr, tt.exit, nil))(t.Context(), "GPU-1")
			if tt.want == nil && tt.exit == 0 {
				require.NoError(t, err)
				return
			}
			var refused *device.ResetError
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, tt.want, refused.Refused)
			assert.Equal(t, tt.exit, refused.Exit)
			require.ErrorContains(t, err, fmt.Sprintf("exit status %d", tt.exit))
			for _, r := range tt.want {
				require.ErrorContains(t, err, r.BusID+": "+r.Reason)
			}
			for _, is := range tt.is {
				require.ErrorIs(t, err, is)
			}
			for _, not := range tt.not {
				require.NotErrorIs(t, err, not)
			}
		})
	}
	t.Run("cannot be run", func(t *testing.T) {
		t.Parallel()
		err := device.NvidiaSMIReset(answers("", "", 0, exec.ErrNotFound))(t.Context(), "GPU-1")
		require.ErrorIs(t, err, exec.ErrNotFound)
		require.ErrorContains(t, err, "nvidia-smi")
		require.Error(t, device.NvidiaSMIReset(nil)(t.Context(), "GPU-1"))
	})
	t.Run("much output", func(t *testing.T) {
		t.Parallel()
		err := device.NvidiaSMIReset(answers(strings.Repeat("no\n", 10000), "", 1, nil))(t.Context(), "GPU-1")
		require.Error(t, err)
		assert.Less(t, len(err.Error()), 600)
	})
}

func TestExec(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell to run")
	}
	stdout, stderr, exit, err := device.Exec(t.Context(), shell, "-c", "echo out; echo err >&2; exit 7")
	require.NoError(t, err, "a program that fails was run")
	assert.Equal(t, "out\n", string(stdout))
	assert.Equal(t, "err\n", string(stderr))
	assert.Equal(t, 7, exit)

	_, _, _, err = device.Exec(t.Context(), "/no/such/program")
	require.ErrorIs(t, err, os.ErrNotExist)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, _, _, err = device.Exec(ctx, shell, "-c", "exec sleep 60")
	require.ErrorIs(t, err, context.DeadlineExceeded)

	_, _, _, err = device.Exec(t.Context(), shell, "-c", "kill -9 $$")
	require.Error(t, err, "ended by a signal, with no exit status")
}

// Whatever nvidia-smi writes: no panic, no success with a refusal in it, bus ids
// in one form and each once.
func FuzzResetOutput(f *testing.F) {
	f.Add("The following GPUs could not be reset:\n  GPU 00000000:01:00.0: In use by another client\n", 255)
	f.Add("GPU 00000000:01:00.0 was successfully reset.\nAll done.", 0)
	f.Add("Unable to reset GPU 0000:3B:00.0: Insufficient Permissions\r\nGPU 0000:3b:00.0: Not Supported", 4)
	f.Add("GPU GPU 0000:01:00.0: GPU 0000:02:00.0: x", 0)
	f.Add("GPU :::: \nGPU 0000:01:00.0:", 1)
	f.Fuzz(func(t *testing.T, output string, exit int) {
		err := device.NvidiaSMIReset(answers(output, "", exit, nil))(t.Context(), "GPU-1")
		if err == nil {
			if exit != 0 {
				t.Fatalf("exit status %d taken for success", exit)
			}
			return
		}
		var refused *device.ResetError
		if !errors.As(err, &refused) || err.Error() == "" {
			t.Fatalf("not a ResetError: %v", err)
		}
		if exit == 0 && len(refused.Refused) == 0 {
			t.Fatal("failed for no reason")
		}
		seen := map[string]bool{}
		for _, r := range refused.Refused {
			var domain, bus, slot, function uint32
			n, scanErr := fmt.Sscanf(r.BusID, "%x:%x:%x.%x", &domain, &bus, &slot, &function)
			if scanErr != nil || n != 4 || fmt.Sprintf("%04x:%02x:%02x.%x", domain, bus, slot, function) != r.BusID {
				t.Fatalf("bus id %q", r.BusID)
			}
			if seen[r.BusID] || r.Reason == "" || !strings.Contains(output, r.Reason) {
				t.Fatalf("refusal %+v, %v", r, refused.Refused)
			}
			seen[r.BusID] = true
		}
	})
}
