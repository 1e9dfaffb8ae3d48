package replay

import "errors"

// ErrBadConfig is wrapped by every error about a Config.
var ErrBadConfig = errors.New("bad replay")
