package churn

import "errors"

// ErrBadConfig is wrapped by every error about what a simulation was asked for.
var ErrBadConfig = errors.New("bad simulation")
