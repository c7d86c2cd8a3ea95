package filewatch

import (
	"context"
	"fmt"
	"strings"
)

// report tells the owner about trouble with a watch, and when it is over.
// A text is passed on only when it changes; the store also limits it to once a day.
func (w *Watcher) report(ctx context.Context, t *tracked) {
	text := w.troubleOf(t)
	if t.trouble != nil && text == *t.trouble || ctx.Err() != nil {
		return
	}
	if err := w.store.Trouble(ctx, t.watch.ID, text); err != nil {
		if ctx.Err() == nil {
			w.log.Error("the trouble of a watch could not be reported", "watch", t.watch.Name, "err", err)
		}
		return
	}
	t.trouble = &text
}

// troubleOf returns what limits a watch, with advice, "" if nothing does. The most severe comes first.
func (w *Watcher) troubleOf(t *tracked) string {
	switch {
	case w.sensor == nil && t.watch.Poll == 0:
		return fmt.Sprintf("the system gives no file events (%v): its files are looked at every %v instead; "+
			"on Linux more instances help: sudo sysctl fs.inotify.max_user_instances=512", w.noEvents, lookEvery)
	case !t.gone.IsZero() && w.clock.Wall().Sub(t.gone) >= lookEvery: // a program that replaces it needs less
		paths := t.absent()
		if len(paths) > 1 {
			return strings.Join(paths, ", ") + " are gone: nothing fires there until they are there again"
		}
		return strings.Join(paths, "") + " is gone: nothing fires until it is there again"
	case len(t.polled) > 0:
		return fmt.Sprintf("the system has no more file watches: some of its folders are looked at every %v instead; "+
			"on Linux raise the limit: sudo sysctl fs.inotify.max_user_watches=1048576", lookEvery)
	case t.unread != "":
		return t.unread
	case t.dropped > 0 && w.clock.Mono()-t.dropped < recentLoss:
		return "more changes came than the system keeps, and all its files were looked at again; " +
			"on Linux a longer queue helps: sudo sysctl fs.inotify.max_queued_events=131072"
	}
	return t.links.refusal()
}
