package timeslice_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/timeslice"
)

// ledgerModel is a ledger beside a list of who is in it, from which everything is
// added up again.
type ledgerModel struct {
	devices []timeslice.Device
	rules   timeslice.Memory
	ledger  *timeslice.Ledger
	held    []timeslice.Tenant
}

func (m *ledgerModel) promised(t timeslice.Tenant) int64 {
	return t.Peak + m.rules.Context*int64(max(t.Processes, 1))
}

func (m *ledgerModel) usage(i int) (promised, working int64, names []string) {
	for _, t := range m.held {
		if slices.Contains(timeslice.DevicesOf(t.Replicas), m.devices[i].UUID) {
			promised += m.promised(t)
			if working += m.promised(t); t.Working > 0 {
				working += t.Working - t.Peak
			}
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return promised, working, names
}

func (m *ledgerModel) limit(i int) int64 {
	factor := m.rules.Overcommit
	if factor == 0 {
		factor = 1000
	}
	return m.capacity(i) * factor / 1000
}

func (m *ledgerModel) capacity(i int) int64 {
	return max(m.devices[i].Memory-m.rules.Reserved, 0)
}

// fits decides from scratch.
func (m *ledgerModel) fits(t timeslice.Tenant) bool {
	for i, d := range m.devices {
		own := int64(0)
		for _, r := range t.Replicas {
			if r.Device == d.UUID {
				own++
			}
		}
		if own == 0 {
			continue
		}
		promised, _, _ := m.usage(i)
		if promised+m.promised(t) > m.limit(i) {
			return false
		}
		if m.rules.Fair && m.promised(t) > m.limit(i)/int64(max(d.Replicas, 1))*own {
			return false
		}
	}
	return true
}

func (m *ledgerModel) draw(t *rapid.T) timeslice.Tenant {
	all, err := timeslice.Expand(m.devices)
	require.NoError(t, err)
	some := genSubset(t, all, "replica")
	if len(some) == 0 {
		some = all[:1]
	}
	tenant := timeslice.Tenant{
		Name:      fmt.Sprint("t", rapid.IntRange(0, 6).Draw(t, "name")),
		Replicas:  some[:min(len(some), 3)],
		Peak:      rapid.Int64Range(0, 30).Draw(t, "peak"),
		Processes: rapid.IntRange(0, 2).Draw(t, "processes"),
	}
	tenant.Working = rapid.Int64Range(0, tenant.Peak).Draw(t, "working set")
	return tenant
}

func (m *ledgerModel) has(name string) int {
	return slices.IndexFunc(m.held, func(t timeslice.Tenant) bool { return t.Name == name })
}

func (m *ledgerModel) Admit(t *rapid.T) {
	tenant := m.draw(t)
	err := m.ledger.Admit(tenant)
	switch {
	case m.has(tenant.Name) >= 0:
		require.ErrorIs(t, err, timeslice.ErrInput)
	case m.fits(tenant):
		require.NoError(t, err)
		m.held = append(m.held, tenant)
	default:
		var refused *timeslice.MemoryError
		require.ErrorAs(t, err, &refused)
		require.ErrorIs(t, err, timeslice.ErrMemory)
		require.Greater(t, refused.Need, refused.Allowed)
		require.Equal(t, tenant.Name, refused.Tenant)
		require.Contains(t, timeslice.DevicesOf(tenant.Replicas), refused.Device)
	}
}

func (m *ledgerModel) Record(t *rapid.T) {
	tenant := m.draw(t)
	err := m.ledger.Record(tenant)
	if m.has(tenant.Name) >= 0 {
		require.ErrorIs(t, err, timeslice.ErrInput)
		return
	}
	require.NoError(t, err)
	m.held = append(m.held, tenant)
}

func (m *ledgerModel) Release(t *rapid.T) {
	name := fmt.Sprint("t", rapid.IntRange(0, 6).Draw(t, "name"))
	i := m.has(name)
	require.Equal(t, i >= 0, m.ledger.Release(name))
	if i >= 0 {
		m.held = slices.Delete(m.held, i, i+1)
	}
	require.False(t, m.ledger.Release(name), "twice")
}

// AdmitAndRelease is nothing at all.
func (m *ledgerModel) AdmitAndRelease(t *rapid.T) {
	tenant := m.draw(t)
	before := m.ledger.Usage()
	if m.ledger.Admit(tenant) == nil {
		require.True(t, m.ledger.Release(tenant.Name))
	}
	require.Equal(t, before, m.ledger.Usage())
}

func (m *ledgerModel) Check(t *rapid.T) {
	for i, u := range m.ledger.Usage() {
		promised, working, names := m.usage(i)
		require.Equal(t, timeslice.Usage{
			Device: m.devices[i].UUID, Capacity: m.capacity(i), Limit: m.limit(i),
			Promised: promised, Working: working, Tenants: names,
		}, u)
		require.Equal(t, max(m.limit(i)-promised, 0), u.Free())
		require.Equal(t, working > m.capacity(i), u.Thrashes())
	}
}

func TestLedgerStates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &ledgerModel{devices: genDevices(t)}
		if len(m.devices) == 0 {
			m.devices = []timeslice.Device{{UUID: "GPU-0", Memory: 40, Replicas: 2}}
		}
		m.rules = timeslice.Memory{
			Context:    rapid.Int64Range(0, 3).Draw(t, "context"),
			Reserved:   rapid.Int64Range(0, 10).Draw(t, "reserved"),
			Overcommit: rapid.SampledFrom([]int64{0, 500, 1000, 1333, 2000}).Draw(t, "overcommit"),
			Fair:       rapid.Bool().Draw(t, "fair"),
		}
		var err error
		m.ledger, err = timeslice.NewLedger(m.devices, m.rules)
		require.NoError(t, err)
		t.Repeat(rapid.StateMachineActions(m))
	})
}

func TestNewLedgerRefuses(t *testing.T) {
	t.Parallel()
	gpu := timeslice.Device{UUID: "GPU-1", Memory: 100}
	for name, test := range map[string]struct {
		devices []timeslice.Device
		rules   timeslice.Memory
	}{
		"a GPU beside an instance of it": {devices: []timeslice.Device{gpu, {UUID: "MIG-a", Parent: "GPU-1"}}},
		"an instance before its GPU":     {devices: []timeslice.Device{{UUID: "MIG-a", Parent: "GPU-1"}, gpu}},
		"a device twice":                 {devices: []timeslice.Device{gpu, gpu}},
		"memory beyond all bounds":       {devices: []timeslice.Device{{UUID: "a", Memory: 1 << 62}}},
		"negative context":               {rules: timeslice.Memory{Context: -1}},
		"negative reserve":               {rules: timeslice.Memory{Reserved: -1}},
		"negative overcommit":            {rules: timeslice.Memory{Overcommit: -1000}},
		"overcommit beyond all bounds":   {rules: timeslice.Memory{Overcommit: 1 << 40}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := timeslice.NewLedger(test.devices, test.rules)
			require.ErrorIs(t, err, timeslice.ErrInput)
			assert.Nil(t, l)
		})
	}
}

func TestLedgerRefusesMalformedTenants(t *testing.T) {
	t.Parallel()
	devices := []timeslice.Device{{UUID: "GPU-1", Memory: 1 << 40, Replicas: 2}}
	one := replicas(t, "GPU-1::0")
	for name, tenant := range map[string]timeslice.Tenant{
		"no name":               {Replicas: one},
		"no replica":            {Name: "a"},
		"unknown device":        {Name: "a", Replicas: replicas(t, "GPU-2::0")},
		"unknown replica":       {Name: "a", Replicas: replicas(t, "GPU-1::2")},
		"replica twice":         {Name: "a", Replicas: replicas(t, "GPU-1::0", "GPU-1::0")},
		"negative peak":         {Name: "a", Replicas: one, Peak: -1},
		"peak out of bounds":    {Name: "a", Replicas: one, Peak: 1<<40 + 1},
		"working set over peak": {Name: "a", Replicas: one, Peak: 1, Working: 2},
		"negative working set":  {Name: "a", Replicas: one, Peak: 1, Working: -1},
		"negative processes":    {Name: "a", Replicas: one, Processes: -1},
		"contexts out of range": {Name: "a", Replicas: one, Processes: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := timeslice.NewLedger(devices, timeslice.Memory{Context: 1 << 30})
			require.NoError(t, err)
			require.ErrorIs(t, l.Admit(tenant), timeslice.ErrInput)
			require.ErrorIs(t, l.Record(tenant), timeslice.ErrInput)
			assert.Zero(t, l.Usage()[0].Promised)
		})
	}
}

// A refusal names the reason: the room of all, or the part of one's own replicas.
func TestLedgerReasons(t *testing.T) {
	t.Parallel()
	devices := []timeslice.Device{{UUID: "GPU-1", Memory: 1000, Replicas: 4}, {UUID: "GPU-2", Memory: 1000, Replicas: 4}}
	l, err := timeslice.NewLedger(devices, timeslice.Memory{Context: 50, Reserved: 40, Fair: true})
	require.NoError(t, err)

	// (1000 - 40) / 4 = 240 for each replica, of which 50 are the context.
	require.NoError(t, l.Admit(timeslice.Tenant{Name: "fits", Replicas: replicas(t, "GPU-1::0"), Peak: 190}))
	err = l.Admit(timeslice.Tenant{Name: "one", Replicas: replicas(t, "GPU-2::0", "GPU-1::1"), Peak: 191})
	require.EqualError(t, err, `timeslice: memory does not suffice: tenant "one" on GPU-2: above its fair part: needs 241 MiB of 240`)
	require.NoError(t, l.Admit(timeslice.Tenant{Name: "two", Replicas: replicas(t, "GPU-1::1", "GPU-1::2"), Peak: 191}))

	require.NoError(t, l.Record(timeslice.Tenant{Name: "greedy", Replicas: replicas(t, "GPU-1::3"), Peak: 500}))
	err = l.Admit(timeslice.Tenant{Name: "late", Replicas: replicas(t, "GPU-1::3"), Peak: 0})
	require.EqualError(t, err, `timeslice: memory does not suffice: tenant "late" on GPU-1: no room: needs 1081 MiB of 960`)
	assert.True(t, l.Usage()[0].Thrashes())
	assert.Zero(t, l.Usage()[0].Free())
	assert.Equal(t, int64(960), l.Usage()[1].Free(), "nothing is left of the refused one")
}

// What is reserved is no room for working sets either.
func TestThrashes(t *testing.T) {
	t.Parallel()
	l, err := timeslice.NewLedger([]timeslice.Device{{UUID: "GPU-1", Memory: 1000, Replicas: 2}}, timeslice.Memory{Reserved: 100, Overcommit: 2000})
	require.NoError(t, err)
	require.NoError(t, l.Admit(timeslice.Tenant{Name: "a", Replicas: replicas(t, "GPU-1::0"), Peak: 900, Working: 450}))
	require.NoError(t, l.Admit(timeslice.Tenant{Name: "b", Replicas: replicas(t, "GPU-1::1"), Peak: 900, Working: 450}))
	assert.False(t, l.Usage()[0].Thrashes(), "900 of 900")
	require.True(t, l.Release("b"))
	require.NoError(t, l.Admit(timeslice.Tenant{Name: "b", Replicas: replicas(t, "GPU-1::1"), Peak: 900, Working: 451}))
	assert.True(t, l.Usage()[0].Thrashes(), "901 of 900")
}

func BenchmarkLedger(b *testing.B) {
	devices := []timeslice.Device{{UUID: "GPU-1", Memory: 80 << 10, Replicas: 16}}
	l, err := timeslice.NewLedger(devices, timeslice.Memory{Context: 400})
	require.NoError(b, err)
	tenant := timeslice.Tenant{Name: "a", Replicas: replicas(b, "GPU-1::3"), Peak: 4000}
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Admit(tenant); err != nil || !l.Release("a") {
			b.Fatal(err)
		}
	}
}
