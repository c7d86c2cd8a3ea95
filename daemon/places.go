package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"hob/channels"
	"hob/channels/cli"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sys"
	"hob/tools/messaging"
)

// addresses are the places that the tool message can write to.
type addresses struct{ *daemon }

// Resolve checks what a call names: the owner, or an address of a channel that is configured. It guesses nothing.
func (a addresses) Resolve(_ context.Context, to string) (event.Address, error) {
	addr, err := event.ParseAddress(to)
	if err != nil || addr == event.ToNone || !a.reach(addr) {
		return "", messaging.ErrUnknown
	}
	return addr, nil
}

// reach reports whether something can be sent to an address: its channel is there.
func (a addresses) reach(to event.Address) bool {
	if to == event.ToOwner || to == event.ToNone || to == event.CLI || slices.Contains(a.owner(), to) {
		return true
	}
	_, err := a.host.Channel(to.Channel())
	return !errors.Is(err, channels.ErrNoChannel)
}

// Known lists the owner's addresses, and those of the people whom the config calls known.
func (a addresses) Known(context.Context) ([]event.Address, error) {
	return slices.Concat([]event.Address{event.ToOwner}, a.owner(), visitors(a).friends()), nil
}

// poster is the cli as the API posts to it; its refusals become faults.
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

// sweepTemp removes the half-written files that a crash left in the workspace.
func sweepTemp(dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read holds nothing of ours
		}
		if name := e.Name(); e.Type().IsRegular() && strings.HasPrefix(name, ".hob-") && strings.HasSuffix(name, ".tmp") {
			return root.Remove(path)
		}
		return nil
	})
}
