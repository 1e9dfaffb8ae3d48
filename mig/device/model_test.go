package device_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mig"
	"github.com/gpushare/gpushare/mig/device"
	"github.com/gpushare/gpushare/nvmlfake"
)

// machine drives a device on a fake and a layout by the algebra of package mig.
type machine struct {
	srv     *nvmlfake.Server
	dev     *device.GPU
	books   mig.Layout
	made    []device.Instance // ever
	current map[int]string    // UUID of what was created last, by start
}

func (m *machine) init(t *rapid.T) {
	model := genModel(t)
	srv, devs := newServer(t, true, model.Key())
	d, err := device.Open(context.Background(), devs[0])
	require.NoError(t, err)
	m.srv, m.dev, m.books, m.current = srv, d, model.Empty(), map[int]string{}
}

// Create asks for any profile at any legal start, free or not.
func (m *machine) Create(t *rapid.T) {
	p := genProfile(t, m.books.Model())
	start := rapid.SampledFrom(slices.Collect(p.Starts.All())).Draw(t, "start")
	next, why := m.books.With(p, start)
	in, err := m.dev.Create(context.Background(), mig.Instance{Profile: p.Name, Start: start})
	if why != nil {
		var conflict *mig.ConflictError
		require.ErrorAs(t, err, &conflict)
		assert.Equal(t, why.Error(), conflict.Error())
		return
	}
	require.NoError(t, err)
	m.books = next
	require.Len(t, in.Compute, 1)
	for _, before := range m.made {
		require.NotEqual(t, before.Compute[0].UUID, in.Compute[0].UUID, "a UUID is never used twice")
	}
	m.made = append(m.made, in)
	m.current[start] = in.Compute[0].UUID
}

// Destroy destroys any instance that was ever created: one that stands, one
// that is gone, or one in whose place another stands.
func (m *machine) Destroy(t *rapid.T) {
	if len(m.made) == 0 {
		t.Skip("nothing was created")
	}
	in := rapid.SampledFrom(m.made).Draw(t, "instance")
	next, why := m.books.Without(in.Start)
	err := m.dev.Destroy(context.Background(), in)
	switch {
	case why != nil:
		require.ErrorIs(t, err, mig.ErrNoInstance)
	case m.current[in.Start] != in.Compute[0].UUID:
		require.ErrorIs(t, err, device.ErrChanged)
	default:
		require.NoError(t, err)
		m.books = next
	}
}

// Check compares what is read with the books, and with the fake's own.
func (m *machine) Check(t *rapid.T) {
	st, err := m.dev.State(context.Background())
	require.NoError(t, err)
	require.Equal(t, m.books, st.Layout, "%v", st)
	require.Equal(t, m.books, layout(t, m.srv))
	require.Len(t, st.Instances, m.books.Len())
	for _, in := range st.Instances {
		at, found := m.books.At(in.Start)
		require.True(t, found)
		require.Equal(t, at, in.Instance)
		require.Len(t, in.Compute, 1)
		require.Equal(t, m.current[in.Start], in.Compute[0].UUID)
	}
	require.NoError(t, m.srv.Audit())
}

func TestDeviceFollowsTheAlgebra(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{}
		m.init(t)
		t.Repeat(rapid.StateMachineActions(m))
	})
}

// A layout that the tables accept can be created in every order.
func TestLegalLayoutInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		model := genModel(t)
		want, instances := genLayout(t, model)
		srv, devs := newServer(t, true, model.Key())
		d, err := device.Open(context.Background(), devs[0])
		require.NoError(t, err)
		for _, in := range rapid.Permutation(instances).Draw(t, "order") {
			_, err := d.Create(context.Background(), in)
			require.NoError(t, err)
		}
		require.Equal(t, want, layout(t, srv))
	})
}

// Every layout of an A30, in every order.
func TestEveryLayoutInEveryOrder(t *testing.T) {
	t.Parallel()
	srv, d := fake(t, "a30-24gb")
	layouts, orders := 0, 0
	for want := range d.Model().Layouts(nil) {
		layouts++
		for order := range permutations(slices.Collect(want.Instances())) {
			orders++
			for _, in := range order {
				_, err := d.Create(t.Context(), in)
				require.NoError(t, err, "%v in order %v", want, order)
			}
			require.Equal(t, want, layout(t, srv))
			require.NoError(t, srv.Reset(0))
		}
	}
	assert.Equal(t, 25, layouts)
	assert.Greater(t, orders, layouts)
}

// permutations yields every order of a list; each only until the next.
func permutations[T any](list []T) func(func([]T) bool) {
	var walk func(k int, yield func([]T) bool) bool
	walk = func(k int, yield func([]T) bool) bool {
		if k == len(list) {
			return yield(list)
		}
		for i := k; i < len(list); i++ {
			list[k], list[i] = list[i], list[k]
			on := walk(k+1, yield)
			list[k], list[i] = list[i], list[k]
			if !on {
				return false
			}
		}
		return true
	}
	return func(yield func([]T) bool) { walk(0, yield) }
}

// The tables and the device give the same verdict on any set of instances, and
// a set that is rejected cannot be created in any order.
func TestSameVerdictAsValidate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		model := genModel(t)
		instances := rapid.Permutation(genInstances(t, model, 4)).Draw(t, "order")
		srv, devs := newServer(t, true, model.Key())
		d, err := device.Open(context.Background(), devs[0])
		require.NoError(t, err)
		legal := model.Validate(instances...) == nil
		created := 0
		for _, in := range instances {
			_, err := d.Create(context.Background(), in)
			if err == nil {
				created++
			} else {
				require.ErrorIs(t, err, mig.ErrConflict)
			}
		}
		require.Equal(t, legal, created == len(instances), "%v", instances)
		require.Equal(t, created, layout(t, srv).Len())
	})
}
