package sys

import (
	"context"
	"time"
)

// Wait lets a test provide the system's report about its clock.
func Wait(ctx context.Context, c Clock, last time.Time, look func() (up time.Duration, set, known bool)) bool {
	return wait(ctx, c, last, look)
}

// Compare lets a test compare the two clocks without the system's reports.
func Compare(ctx context.Context, c Clock, happened func()) error { return c.compare(ctx, happened) }
