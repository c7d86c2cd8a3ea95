package channels_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/channels/markup"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// answer is a store with one row, whose draft is shown.
type answer struct {
	mu     sync.Mutex
	row    channels.Row
	next   time.Time
	splits int
	done   func()
}

func (a *answer) Ready(_ context.Context, now time.Time, _ int) ([]channels.Row, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.row.ID == 0 || a.next.After(now) {
		return nil, nil
	}
	return []channels.Row{a.row}, nil
}

func (a *answer) Split(_ context.Context, _ int64, parts []channels.Delivery, _ []int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.splits++
	nonce := a.row.Todo[0].Nonce
	a.row.Todo, a.row.Parts, a.row.Split = parts, len(parts), true
	a.row.Todo[0].Nonce = nonce
	return nil
}

func (a *answer) Sending(context.Context, channels.Delivery) error { return nil }

func (a *answer) Settle(_ context.Context, d channels.Delivery, v channels.Verdict) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case v.State == channels.Sent:
		a.row.Todo, a.row.Drafted = a.row.Todo[1:], false
	case v.NewMessage:
		a.row.Todo[0], a.row.Drafted = d, false
	default:
		a.next = v.At
	}
	if len(a.row.Todo) == 0 {
		a.row.ID = 0
		a.done()
	}
	return nil
}

func (a *answer) NextDue(context.Context, time.Time) (time.Time, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.next, nil
}

// wall is a platform on which messages can be edited. Its limit shrinks with each failed edit.
type wall struct {
	ear
	edits []error // how they end, one after the other; then they work
	limit int
	shown []string
	nonce []string
}

func (w *wall) Form() markup.Form { return limited(markup.Plain(), w.limit) }

func (w *wall) Edit(_ context.Context, d channels.Delivery, _ string) error {
	if len(w.edits) > 0 {
		err := w.edits[0]
		w.edits, w.limit = w.edits[1:], leastLimit
		return err
	}
	w.shown = append(w.shown, d.Body)
	return nil
}

func (w *wall) Send(_ context.Context, d channels.Delivery) (string, error) {
	w.shown, w.nonce = append(w.shown, d.Body), append(w.nonce, d.Nonce)
	return "new", nil
}

// The text that replaces a draft is split at the first try and never again, even if the message cannot be
// edited in the end and the parts are sent as new messages.
func TestADraftsTextIsCutOnce(t *testing.T) {
	for name, edits := range map[string][]error{"fails twice": {errPlain, errPlain}, "cannot be edited in the end": {errPlain, errNever}, "works": nil} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			defer stop()
			ch := &wall{edits: edits, limit: 800}
			text := words(200) // two messages at first, four later
			a := &answer{done: stop, row: channels.Row{ID: 1, To: "x:1", Body: text, Queued: time.Now(), Parts: 1, Drafted: true, Shown: "m", Todo: []channels.Delivery{{Outbox: 1, Body: "*Working…*", Nonce: "n0", Attempts: 1}}}}
			var wg sync.WaitGroup
			pump := channels.NewPump(channels.Config{
				Hide:  func(text string) string { return text },
				Store: a, Channel: func(string) (channels.Channel, error) { return ch, nil }, Owner: func() []event.Address { return nil }, Elsewhere: func(string) event.Address { return event.CLI }, Zone: func() *time.Location { return time.UTC },
				Report: func(string, error) {}, Receives: func(string) time.Time { return time.Time{} }, Away: func(string) bool { return false }, Once: func(_ string, f func() error) {
					wg.Go(func() {
						if err := f(); err != nil {
							t.Errorf("%s: %v", name, err)
						}
					})
				},
				Clock: sys.RealClock(), Ident: sys.RandomIDs(), Log: slog.New(slog.DiscardHandler),
			})
			if err := pump.Run(ctx); err != nil {
				t.Fatal(err)
			}
			wg.Wait()
			said := ""
			for _, s := range ch.shown {
				said += " " + s
			}
			if a.splits != 1 || len(ch.shown) != 2 || said != " "+text {
				t.Errorf("%s: cut %d times, shown %q", name, a.splits, ch.shown)
			}
			if len(ch.nonce) > 0 && ch.nonce[0] == "n0" {
				t.Errorf("%s: a new message goes under the nonce of the draft", name)
			}
		})
	}
}
