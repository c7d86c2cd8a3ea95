package sys

import "errors"

// Except returns an error, or nil if it is of the kind that the caller expects.
func Except(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
