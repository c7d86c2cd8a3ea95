//go:build !linux

package sys

import (
	"context"
	"errors"
)

// WatchNames is known for Linux only.
func WatchNames(context.Context, string, func()) error { return errors.ErrUnsupported }
