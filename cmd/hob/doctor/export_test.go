package doctor

import (
	"context"
	"time"

	"hob/cmd/hob/cli"
)

// Look makes all checks on another clock and another disk.
func Look(ctx context.Context, a *cli.App, mend bool, now time.Time, free int64) ([]Result, error) {
	s, err := survey(ctx, a)
	if err != nil {
		return nil, err
	}
	s.now, s.free = func() time.Time { return now }, func(string) (int64, error) { return free, nil }
	return examine(ctx, s, mend), nil
}
