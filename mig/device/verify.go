package device

import (
	"context"

	"github.com/gpushare/gpushare/mig"
)

// Verify compares the table of the GPU with what the device says of itself, and
// returns each difference, in the order of mig.Compare; none if the two agree on
// everything that the device says.
//
// A difference with the verdict mig.Contradiction is one that both sides state;
// of those, one in "memory" alone is what another driver reports. The other
// verdicts are figures that only one side knows: the compute profiles of a
// profile of which no GPU instance stands are mig.DeviceUnknown, since NVML
// lists them for an existing one only, and so are placements that an older
// driver does not tell while MIG mode is off. What NVML never tells (the
// multiprocessors of the whole GPU, whether a change of mode needs a reset) is
// not compared.
//
// Nothing is changed. The error is as for Survey.
func (g *GPU) Verify(ctx context.Context) ([]mig.Difference, error) {
	return do(ctx, g, g.step("verify"), func(ctx context.Context) ([]mig.Difference, error) {
		own := *g // a survey keeps what it reads there
		v := survey{g: &own, table: g.model}
		if err := v.identity(ctx); err != nil {
			return nil, err
		}
		if err := v.run(ctx); err != nil {
			return nil, err
		}
		table := g.model.Spec()
		v.spec.SMs = table.SMs
		v.spec.ModeNeedsReset, v.spec.ModeNeedsResetKnown = table.ModeNeedsReset, table.ModeNeedsResetKnown
		return mig.Compare(table, v.spec), nil
	}, nil)
}
