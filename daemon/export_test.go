package daemon

import (
	"context"

	"hob/daemon/notify"
)

// Moves lets the tests see what feeds the watchdog.
var Moves = Status.moves

// Lifeline lets the tests starve the watchdog.
func Lifeline(ctx context.Context, m notify.Manager, look func(context.Context) (bool, string)) error {
	return lifeline{m, look}.run(ctx)
}
