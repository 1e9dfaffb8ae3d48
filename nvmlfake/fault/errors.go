package fault

import (
	"errors"
	"fmt"
)

// ErrBadRule says that a rule asks for what cannot be.
var ErrBadRule = errors.New("bad rule")

func badRule(place int, err error) error {
	return fmt.Errorf("fault: rule %d: %w: %w", place, ErrBadRule, err)
}
