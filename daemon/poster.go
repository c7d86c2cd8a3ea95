package daemon

import (
	"context"
	"errors"

	"hob/channels/cli"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sys"
)

// poster posts the messages of the API to the channel cli. It turns refusals into faults with a hint.
type poster struct {
	cli   *cli.Channel
	group *sys.Group
}

func (p poster) Post(ctx context.Context, text, session, id string, attached ...api.Attachment) (event.Receipt, error) {
	files := make([]cli.File, len(attached))
	for i, f := range attached {
		files[i] = cli.File(f)
	}
	if fail.Broken("ack-before-commit") {
		p.group.Once("broken post", func() error {
			fail.Point("ack.between")
			_, err := p.cli.Post(context.WithoutCancel(ctx), text, session, id, files...)
			return err
		})
		return event.Receipt{Inbox: 1, Event: 1, New: true}, nil
	}
	r, err := p.cli.Post(ctx, text, session, id, files...)
	switch {
	case errors.Is(err, cli.ErrTooLarge):
		err = &event.Fault{Kind: event.TooLarge, Text: err.Error(), Err: err}
	case errors.Is(err, cli.ErrEmpty), errors.Is(err, cli.ErrSession), errors.Is(err, cli.ErrID), errors.Is(err, cli.ErrCommand):
		err = &event.Fault{Kind: event.Invalid, Text: err.Error(), Err: err}
	}
	return r, err
}
