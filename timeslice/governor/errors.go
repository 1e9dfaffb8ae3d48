package governor

import "errors"

// ErrInput says that a configuration is not usable. The errors of the
// constructors wrap it and name the field and its value.
var ErrInput = errors.New("bad input")
