package device_test

import (
	"context"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	for _, m := range models() {
		t.Run(m.Key(), func(t *testing.T) {
			t.Parallel()
			_, devs := newServer(t, false, m.Key())
			d := open(t, devs[0])
			uuid, ret := devs[0].GetUUID()
			require.Equal(t, nvml.SUCCESS, ret)
			assert.Same(t, m, d.Model())
			assert.Equal(t, uuid, d.UUID())
			assert.Equal(t, uuid+" ("+m.Key()+")", d.String())
		})
	}
}

// disguised is a GPU that says it is another one.
type disguised struct {
	nvml.Device
	pciID  uint32
	name   string
	memory uint64
}

func (d disguised) GetName() (string, nvml.Return) { return d.name, nvml.SUCCESS }

func (d disguised) GetPciInfo() (nvml.PciInfo, nvml.Return) {
	return nvml.PciInfo{PciDeviceId: d.pciID}, nvml.SUCCESS
}

func (d disguised) GetMemoryInfo() (nvml.Memory, nvml.Return) {
	return nvml.Memory{Total: d.memory}, nvml.SUCCESS
}

func TestOpenFindsTheModel(t *testing.T) {
	t.Parallel()
	const a100, unknown = 0x20B010DE, 0x123410DE
	tests := []struct {
		name    string
		pciID   uint32
		product string
		memory  uint64
		want    string // model, or
		errs    []error
		text    []string
	}{
		{name: "by PCI id and memory", pciID: a100, product: "NVIDIA Graphics Device", memory: 40 << 30, want: "a100-40gb"},
		{name: "memory is rounded up to GiB", pciID: a100, product: "?", memory: 39<<30 + 1, want: "a100-40gb"},
		{name: "by product name", pciID: unknown, product: "NVIDIA A30", memory: 24 << 30, want: "a30-24gb"},
		{
			name: "neither", pciID: unknown, product: "NVIDIA Graphics Device", memory: 24 << 30,
			errs: []error{mig.ErrUnknownModel}, text: []string{"0x123410de", "24576 MiB", `"NVIDIA Graphics Device"`},
		},
		{
			name: "name of a board with other memory", pciID: unknown, product: "NVIDIA A100-SXM4-40GB", memory: 80 << 30,
			errs: []error{mig.ErrUnknownModel, device.ErrMismatch}, text: []string{"80 GiB", "a100-40gb", "40"},
		},
		{
			name: "PCI id with other memory", pciID: a100, product: "NVIDIA A100-SXM4-40GB", memory: 41 << 30,
			errs: []error{mig.ErrUnknownModel, device.ErrMismatch}, text: []string{"41984 MiB"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, devs := newServer(t, true, "a100-40gb")
			d, err := device.Open(t.Context(), disguised{devs[0], tt.pciID, tt.product, tt.memory})
			if tt.want != "" {
				require.NoError(t, err)
				assert.Equal(t, tt.want, d.Model().Key())
				return
			}
			require.Nil(t, d)
			var op *device.OpError
			require.ErrorAs(t, err, &op)
			assert.Equal(t, "open", op.Op)
			for _, want := range tt.errs {
				require.ErrorIs(t, err, want)
			}
			for _, want := range tt.text {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	t.Run("no handle", func(t *testing.T) {
		t.Parallel()
		_, err := device.Open(t.Context(), nil)
		require.ErrorIs(t, err, nvml.ERROR_INVALID_ARGUMENT)
	})
	t.Run("MIG device", func(t *testing.T) {
		t.Parallel()
		_, devs := newServer(t, true, "a100-40gb")
		create(t, open(t, devs[0]), "1g.5gb@0")
		handle, ret := devs[0].GetMigDeviceHandleByIndex(0)
		require.Equal(t, nvml.SUCCESS, ret)
		_, err := device.Open(t.Context(), handle)
		require.ErrorIs(t, err, nvml.ERROR_INVALID_ARGUMENT)
		require.ErrorContains(t, err, "MIG device")
	})
	t.Run("context ended", func(t *testing.T) {
		t.Parallel()
		_, devs := newServer(t, true, "a100-40gb")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := device.Open(ctx, devs[0])
		require.ErrorIs(t, err, context.Canceled)
	})
	// Each call that fails is named with its code; the name stands in for the
	// PCI id and is not asked for while that is enough.
	for call, fatal := range map[string]bool{"GetUUID": true, "GetMemoryInfo": true, "GetPciInfo": false, "GetName": false} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			_, devs := newServer(t, true, "a100-40gb")
			f := &faults{codes: map[string]nvml.Return{call: nvml.ERROR_GPU_IS_LOST}}
			_, err := device.Open(t.Context(), hooked{devs[0], f.hook})
			if !fatal {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, device.ErrLost)
			require.ErrorIs(t, err, nvml.ERROR_GPU_IS_LOST)
		})
	}
	t.Run("neither PCI id nor name can be read", func(t *testing.T) {
		t.Parallel()
		_, devs := newServer(t, true, "a100-40gb")
		f := &faults{codes: map[string]nvml.Return{"GetPciInfo": nvml.ERROR_NO_PERMISSION, "GetName": nvml.ERROR_GPU_IS_LOST}}
		_, err := device.Open(t.Context(), hooked{devs[0], f.hook})
		require.ErrorIs(t, err, device.ErrNoPermission)
		require.ErrorIs(t, err, device.ErrLost)
		require.ErrorContains(t, err, "PCI id")
		require.ErrorContains(t, err, "product name")
	})
}

func TestZeroGPU(t *testing.T) {
	t.Parallel()
	var g device.GPU
	_, err := g.State(t.Context())
	require.ErrorIs(t, err, nvml.ERROR_INVALID_ARGUMENT)
	_, err = g.Create(t.Context(), mig.Instance{Profile: "1g.5gb"})
	require.ErrorIs(t, err, nvml.ERROR_INVALID_ARGUMENT)
	require.ErrorIs(t, g.Destroy(t.Context(), device.Instance{}), nvml.ERROR_INVALID_ARGUMENT)
}
