package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hob/channels"
	"hob/daemon/sqlite"
	"hob/daemon/store"
	"hob/daemon/sys"
)

// lasting is how long writing must have failed before the owner is told without the outbox.
const lasting = 30 * time.Second

// storageWatch tells the owner when hob cannot store anything.
type storageWatch struct {
	state      string // the folder of the database
	backups    store.Backups
	events     store.Events
	recipients channels.Recipients
	zone       *ownerZone
	restarts   *restarts
	clock      sys.Clock
	ids        sys.IDs
	log        *slog.Logger
}

// fileLook is the time between two looks at the files of the database where the system does not report that they were renamed.
const fileLook = 30 * time.Second

// watchFiles finds out while hob rests that the database was deleted or replaced. Otherwise only the next commit would.
func (d storageWatch) watchFiles(ctx context.Context) error {
	err := sys.WatchNames(ctx, d.state, d.backups.LookAtFiles)
	every := sys.LongestSleep // a folder further above may be renamed
	if err != nil {
		d.log.Debug("the files of the database are looked at every 30 s", "err", err)
		every = fileLook
	}
	for sys.Sleep(ctx, every) {
		d.backups.LookAtFiles()
	}
	return nil
}

// run tells the owner when a failure to store lasts, and when it is over, each at most once an hour.
func (d storageWatch) run(ctx context.Context) error {
	var failing sqlite.Storage
	told := map[string]int64{} // the hour in which a text was last sent, by the text
	for {
		// The signal is taken before the state is read, so that no change in between is missed.
		changed := d.backups.StorageSignal()
		// Storage returns the result of the last commit. After a failure it tries a write, so it also notices that the failure is over.
		now, hour := d.backups.Storage(ctx), d.clock.Wall().Unix()/3600
		var later <-chan time.Time
		switch {
		case now.Fault != nil:
			failing = now
			// A short failure is not reported, except that the database has moved.
			// later ends the wait at the moment when the failure has lasted long enough.
			if wait := lasting - d.clock.Wall().Sub(now.Since); wait > 0 && !errors.Is(now.Fault, sqlite.ErrMoved) {
				later = time.After(wait)
			} else if told[now.Fault.Text] != hour {
				told[now.Fault.Text] = hour
				d.sayAtOnce(ctx, fmt.Sprintf("I cannot store anything: %s. What comes in is refused until that is over. To do: %s.", now.Fault.Text, now.Fault.Hint))
			}
		case failing.Fault != nil:
			d.restarts.forget() // the cause of the restarts is gone
			text := fmt.Sprintf("hob could not write to its disk from %s to %s: %s. What came in meanwhile was refused; now it is stored again.", d.zone.text(failing.Since), d.zone.text(d.clock.Wall()), failing.Fault.Text)
			// Writing works again, so this text goes by the outbox. The key has the hour, so that the store drops a second one.
			if err := d.events.Notice(ctx, fmt.Sprintf("storage:%d", hour), text); err != nil {
				return err
			}
			failing = sqlite.Storage{}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-later:
		}
	}
}

// sayAtOnce sends a text to the owner directly, because the outbox needs the database. The first address that accepts it gets it.
func (d storageWatch) sayAtOnce(ctx context.Context, text string) {
	// No row, no retry and no order: this is the one message that goes past the outbox.
	for _, to := range d.recipients.Owner() {
		ch, err := d.recipients.Channels.Channel(to.Channel())
		if err != nil {
			continue
		}
		ctx, stop := context.WithTimeout(ctx, drainTime)
		_, err = ch.Send(ctx, channels.Delivery{To: to, Parts: 1, Body: text, Nonce: d.ids.Code(20), Attempts: 1, Urgent: true})
		stop()
		if err == nil {
			return
		}
		d.log.LogAttrs(ctx, slog.LevelWarn, "the owner could not be told that nothing is stored", slog.String("to", string(to)), slog.Any("err", err))
	}
}
