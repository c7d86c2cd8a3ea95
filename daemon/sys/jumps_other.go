//go:build !linux

package sys

import (
	"context"
	"errors"
	"time"
)

// machineSlept is known for Linux only.
func machineSlept() (time.Duration, error) { return 0, errors.ErrUnsupported }

// reportedJumps is known for Linux only.
func reportedJumps(context.Context, func()) error { return errors.ErrUnsupported }
