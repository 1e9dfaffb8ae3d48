package device_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake"
	"github.com/gpushare/gpushare/nvmlfake/fault"
)

// Of every model, the table and the fake that was made from it contradict
// nowhere, also where instances stand.
func TestVerifyOfEveryModel(t *testing.T) {
	t.Parallel()
	for m := range placed {
		t.Run(m.Key(), func(t *testing.T) {
			t.Parallel()
			_, d := fake(t, m.Key())
			for p := range m.Profiles() {
				in, err := d.Create(t.Context(), mig.Instance{Profile: p.Name, Start: p.Starts.Lowest()})
				require.NoError(t, err)
				all, err := d.Verify(t.Context())
				require.NoError(t, err)
				for _, diff := range all {
					assert.NotEqual(t, mig.Contradiction, diff.Verdict, diff)
					if diff.Profile == p.Name {
						assert.Equal(t, mig.TableUnknown, diff.Verdict, "its compute profiles were read: %v", diff)
					} else if diff.Verdict == mig.DeviceUnknown {
						assert.Equal(t, "compute profiles", diff.Field, diff)
					}
				}
				require.NoError(t, d.Destroy(t.Context(), in))
			}
		})
	}
}

// Each figure that the device has otherwise than the table is found, and nothing
// else is.
func TestVerifyFindsEachDifference(t *testing.T) {
	t.Parallel()
	find := func(s *mig.Spec, name string) *mig.Profile {
		for i := range s.Profiles {
			if s.Profiles[i].Name == name {
				return &s.Profiles[i]
			}
		}
		return nil
	}
	tests := []struct {
		name   string
		change func(*mig.Spec) // of the device
		want   []string
	}{
		{"nothing", func(*mig.Spec) {}, nil},
		{"memory by driver", func(s *mig.Spec) { find(s, "3g.20gb").MemoryMiB = 20096 }, []string{"3g.20gb: memory: table 19968 MiB, device 20096 MiB"}},
		{"multiprocessors", func(s *mig.Spec) { find(s, "2g.10gb").SMs = 30 }, []string{"2g.10gb: SMs: table 28, device 30"}},
		{"a start less", func(s *mig.Spec) { find(s, "3g.20gb").Starts = 1 }, []string{"3g.20gb: starts: table 0, 4, device 0"}},
		{"id", func(s *mig.Spec) { find(s, "1g.5gb").ID = 77 }, []string{"1g.5gb: id: table 19, device 77"}},
		{"engines", func(s *mig.Spec) { find(s, "4g.20gb").Engines.Decoders = 3 }, []string{"4g.20gb: decoders: table 2, device 3"}},
		{"most instances", func(s *mig.Spec) { find(s, "1g.5gb").MaxInstances = 6 }, []string{"1g.5gb: most instances: table 7, device 6"}},
		{"two at once", func(s *mig.Spec) {
			find(s, "1g.5gb+me").ID = 77
			find(s, "7g.40gb").MemoryMiB = 40192 + 64
		}, []string{"1g.5gb+me: id: table 20, device 77", "7g.40gb: memory: table 40192 MiB, device 40256 MiB"}},
		{"media rule", func(s *mig.Spec) { s.MediaAlone = true }, []string{"media alone: table false, device true"}},
		{"compute profile", func(s *mig.Spec) {
			for i := range s.ComputeProfiles {
				if c := &s.ComputeProfiles[i]; c.GPUInstance == "1g.5gb+me" {
					c.SMs = 12
				}
			}
		}, []string{"1g.5gb+me: 1g.5gb+me (index 0): SMs: table 14, device 12"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			live := altered(t, "a100-40gb", tt.change)
			_, dev := tableServer(t, live)
			d, err := device.OpenModel(t.Context(), dev, live)
			require.NoError(t, err)
			create(t, d, "1g.5gb+me@0")
			table, err := mig.Lookup("a100-40gb")
			require.NoError(t, err)
			d, err = device.OpenModel(t.Context(), dev, table)
			require.NoError(t, err)
			all, err := d.Verify(t.Context())
			require.NoError(t, err)
			var got []string
			for _, diff := range all {
				if diff.Verdict == mig.Contradiction {
					got = append(got, diff.String())
				}
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

// A table of another model is found out.
func TestVerifyOfTheWrongTable(t *testing.T) {
	t.Parallel()
	_, devs := newServer(t, true, "a100-40gb")
	other, err := mig.Lookup("h100-80gb-sxm5")
	require.NoError(t, err)
	d, err := device.OpenModel(t.Context(), devs[0], other)
	require.NoError(t, err)
	all, err := d.Verify(t.Context())
	require.NoError(t, err)
	fields := map[string]bool{}
	for _, diff := range all {
		if diff.Profile == "" && diff.Verdict == mig.Contradiction {
			fields[diff.Field] = true
		}
	}
	assert.Equal(t, map[string]bool{"product name": true, "PCI id": true, "architecture": true, "memory": true, "memory in names": true}, fields)
}

func TestVerifyErrors(t *testing.T) {
	t.Parallel()
	var zero device.GPU
	_, err := zero.Verify(t.Context())
	require.ErrorIs(t, err, nvml.ERROR_INVALID_ARGUMENT)

	_, devs := newServer(t, true, "a100-40gb")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = open(t, devs[0]).Verify(ctx)
	require.ErrorIs(t, err, context.Canceled)

	rules, err := fault.New(1)
	require.NoError(t, err)
	d := open(t, fault.WrapDevice(devs[0], rules))
	rules.Forget()
	_, err = d.Verify(t.Context())
	require.NoError(t, err)
	for n, call := range rules.Calls() {
		if call.Method == "Device.IsMigDeviceHandle" {
			continue
		}
		require.NoError(t, rules.Set(fault.Rule{Method: "*", Nth: n + 1, Times: 1, Effect: fault.Refuse, Return: nvml.ERROR_UNKNOWN}))
		all, err := d.Verify(t.Context())
		require.ErrorIs(t, err, nvml.ERROR_UNKNOWN, call.Method)
		require.Nil(t, all)
	}
}

// All that reads and changes a GPU can be called at once.
func TestConcurrentQuestions(t *testing.T) {
	t.Parallel()
	srv, devs := newServer(t, true, "a100-40gb")
	d := open(t, devs[0]).WithProcessNames(srv.NVML().SystemGetProcessName)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range 8 {
		wg.Go(func() {
			<-begin
			for range 3 {
				in, err := d.Create(t.Context(), mig.Instance{Profile: "1g.5gb", Start: i % 7})
				_, verifying := d.Verify(t.Context())
				_, surveying := device.Survey(t.Context(), devs[0])
				_, listing := d.Blockers(t.Context())
				_, switching := d.SetMode(t.Context(), true, nil)
				if err := errors.Join(verifying, surveying, listing, switching); err != nil {
					t.Error(err)
				}
				if err == nil {
					assert.NoError(t, d.Destroy(t.Context(), in))
				}
			}
		})
	}
	close(begin)
	wg.Wait()
	require.NoError(t, srv.Audit())
}

// The table says what a driver reported once; this device has another one.
func ExampleGPU_Verify() {
	table, err := mig.Lookup("a100-40gb")
	if err != nil {
		fmt.Println(err)
		return
	}
	spec := table.Spec()
	for i := range spec.Profiles {
		if spec.Profiles[i].Name == "3g.20gb" {
			spec.Profiles[i].MemoryMiB = 20096
		}
	}
	other, err := mig.NewModel(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	srv, err := nvmlfake.New(nvmlfake.Config{GPUs: []nvmlfake.GPU{{Table: other, MIG: true}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	lib := srv.NVML() // on hardware nvml.New()
	if ret := lib.Init(); ret != nvml.SUCCESS {
		fmt.Println(ret)
		return
	}
	handle, ret := lib.DeviceGetHandleByIndex(0)
	if ret != nvml.SUCCESS {
		fmt.Println(ret)
		return
	}
	ctx := context.Background()
	gpu, err := device.Open(ctx, handle)
	if err != nil {
		fmt.Println(err)
		return
	}
	differences, err := gpu.Verify(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range differences {
		if d.Verdict == mig.Contradiction {
			fmt.Println(d)
		}
	}
	// Output:
	// 3g.20gb: memory: table 19968 MiB, device 20096 MiB
}
