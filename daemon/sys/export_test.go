package sys

import (
	"context"
	"time"
)

// Wait lets the tests say what the system says.
func Wait(ctx context.Context, c Clock, last time.Time, look func() (up time.Duration, set, known bool)) bool {
	return wait(ctx, c, last, look)
}
