//go:build !linux

package sys

import (
	"context"
	"errors"
)

// reportedJumps is known for Linux only.
func reportedJumps(context.Context, func()) error { return errors.ErrUnsupported }
