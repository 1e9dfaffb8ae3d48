package mps

import (
	"context"
	"strconv"
)

// The features that are documented. Both are on unless turned off.
const (
	FeatureMemoryAccounting = "memacct"
	FeatureContextShare     = "context-share"
)

// SetFeature turns a feature on or off.
func (v V3) SetFeature(ctx context.Context, feature string, on bool) (V3Reply, error) {
	if err := checkV3Field(feature, FeatureMemoryAccounting, FeatureContextShare); err != nil {
		return V3Reply{}, err
	}
	verb := "disable"
	if on {
		verb = "enable"
	}
	return v.write(ctx, []string{"feature", verb, feature}, func(ctx context.Context, v V3) (proof, error) {
		features, err := v.Features(ctx)
		for _, f := range features {
			if f.Name == feature {
				return agree(f.Enabled == on), err
			}
		}
		return untold, err
	})
}

// SetAuditLog turns the audit log of memory accounting on or off; it is off unless
// turned on. How memacct describes itself is not documented, so nothing verifies it.
func (v V3) SetAuditLog(ctx context.Context, on bool) (V3Reply, error) {
	return v.write(ctx, []string{"memacct", "set", "audit_log=" + strconv.FormatBool(on)}, nil)
}

// DescribeMemoryAccounting is how memory accounting is set, in csv, as told.
func (v V3) DescribeMemoryAccounting(ctx context.Context) (string, error) {
	_, out, err := v.read(ctx, "memacct", "describe", "--format=csv")
	return out.reply(), err
}
