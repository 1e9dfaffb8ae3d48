package mpsfake_test

import (
	"context"
	"errors"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpushare/gpushare/mps"
	"github.com/gpushare/gpushare/mps/mpsfake"
)

const deadline = time.Second

// trouble is the fault that the next operation meets, in its call number at.
type trouble struct {
	there bool
	kind  mpsfake.Trouble
	at    int
	slow  time.Duration
}

// rig is a client and a fake, with faults between them.
type rig struct {
	fake     *mpsfake.Daemon
	client   *mps.Client
	words    mpsfake.Placeholders
	protocol int
	reset    func() // the model is that of a new daemon
	calls    int
	trouble
}

func newRig(t *rapid.T, c mpsfake.Config, reset func()) *rig {
	c.Placeholders = mpsfake.Placeholders(rapid.IntRange(0, 3).Draw(t, "placeholders"))
	fake, err := mpsfake.New(c)
	require.NoError(t, err)
	m := &rig{fake: fake, words: c.Placeholders, protocol: c.Protocol, reset: reset}
	m.client = mps.New(m, mps.Options{Timeout: deadline, Identity: fake.PIDFile})
	return m
}

// Run counts the calls.
func (m *rig) Run(ctx context.Context, c mps.Call) (mps.Output, error) {
	m.calls++
	return m.fake.Run(ctx, c)
}

// operate runs an operation of up to calls calls, the first of which does what effect
// says, and tells whether no fault touched it.
func (m *rig) operate(t *rapid.T, calls int, effect func(), run func(context.Context) error) (clean bool, err error) {
	m.trouble = trouble{
		there: rapid.IntRange(0, 3).Draw(t, "trouble") == 0,
		kind:  mpsfake.Trouble(rapid.IntRange(0, int(mpsfake.OnStderr)).Draw(t, "kind")),
		at:    rapid.IntRange(1, calls).Draw(t, "at"),
		slow:  rapid.SampledFrom([]time.Duration{deadline / 2, 3 * deadline}).Draw(t, "slow"),
	}
	if !m.there {
		err = m.timed(t, calls, run)
		effect()
		return true, err
	}
	require.NoError(t, m.fake.AddRule(mpsfake.Rule{
		Trouble: m.kind, Nth: m.at, Delay: m.slow, Keep: rapid.IntRange(0, 6).Draw(t, "keep"), Text: "it failed",
	}))
	m.calls = 0
	err = m.timed(t, calls, run)
	m.fake.ClearRules()
	if m.at > m.calls { // the call that would have met it was not made
		m.there = false
		effect()
		return true, err
	}
	m.expect(effect)
	m.judge(t, err)
	if _, alive := m.fake.PIDFile(); alive != nil {
		require.Empty(t, m.fake.Start("-d").Stdout)
	}
	return false, err
}

// expect is what the operation does to the model, with the fault.
func (m *rig) expect(effect func()) {
	first := m.at == 1
	switch m.kind {
	case mpsfake.Hang, mpsfake.Say:
		if !first {
			effect()
		}
	case mpsfake.Replace:
		if first {
			m.reset()
			effect()
		} else {
			effect()
			m.reset()
		}
	case mpsfake.Die, mpsfake.DieAfter:
		if !first || m.kind == mpsfake.DieAfter {
			effect()
		}
		m.reset()
	default:
		effect()
	}
}

// judge checks that the caller is told of the fault.
func (m *rig) judge(t *rapid.T, err error) {
	var op *mps.OpError
	if err != nil {
		require.ErrorAs(t, err, &op)
	}
	switch m.kind {
	case mpsfake.Hang, mpsfake.HangAfter:
		require.ErrorIs(t, err, mps.ErrTimedOut)
	case mpsfake.Slow:
		require.Equal(t, m.slow > deadline, errors.Is(err, mps.ErrTimedOut), "%v", err)
	case mpsfake.Replace:
		require.ErrorIs(t, err, mps.ErrReplaced)
	case mpsfake.Die, mpsfake.DieAfter:
		require.ErrorIs(t, err, mps.ErrNoDaemon)
	case mpsfake.Say:
		// What protocol 3 says when it is asked afterwards only makes it unverified.
		require.True(t, err != nil || m.protocol == 3 && m.at > 1)
	default: // a reply that is cut or elsewhere can still be the right one
	}
}

// timed runs an operation, which may take a deadline for each of its calls.
func (m *rig) timed(t *rapid.T, calls int, run func(context.Context) error) error {
	begin := time.Now()
	err := run(context.Background())
	require.LessOrEqual(t, time.Since(begin), time.Duration(calls)*deadline)
	return err
}
