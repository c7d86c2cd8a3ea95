//go:build hobtest

package daemon

import (
	"context"
	"log/slog"
	"time"

	"hob/channels/cli"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sys"
)

// postBroken acknowledges a message before it is committed, as a deliberate fault; broken: the fault is switched on.
func postBroken(ctx context.Context, c *cli.Channel, text, session, id string, files []cli.File) (r event.Receipt, broken bool) {
	if !fail.Broken("ack-before-commit") {
		return r, false
	}
	sys.NewGroup(slog.Default(), nil).Once("broken post", func() error {
		<-time.After(10 * time.Second) // a kill at the acknowledgement comes first
		_, err := c.Post(context.WithoutCancel(ctx), text, session, id, files...)
		return err
	})
	return event.Receipt{Inbox: 1, Event: 1, New: true}, true
}
