package sys

import (
	"context"
	"time"
)

// Wait lets a test provide the system's report about its clock.
func Wait(ctx context.Context, c Clock, last time.Time, look func() (up time.Duration, set, known bool)) bool {
	return wait(ctx, c, last, look)
}
