//go:build !hobtest

package daemon

import (
	"context"

	"hob/channels/cli"
	"hob/daemon/event"
)

// postBroken is a deliberate fault of the crash tests (breaks_hobtest.go); a release has none.
func postBroken(context.Context, *cli.Channel, string, string, string, []cli.File) (r event.Receipt, broken bool) {
	return r, false
}
