// Package channelstest holds what tests of channels share: the suite that every adapter passes, fakes of the
// platforms that speak the real wire, and an inbox and an outbox in memory. Nothing of it is part of the binary.
package channelstest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/spawn"
)

// Failure is how a platform fails a send.
type Failure int

// The failures that every platform has.
const (
	Later     Failure = iota // it asks to come back in some seconds
	Refused                  // it will never take it
	Broken                   // it is broken, and surely has not taken it
	CutBefore                // the connection ends after the request; it was not kept
	CutAfter                 // the connection ends after the request; it was kept
)

// World is a platform with one place in it, as a test sees it.
type World struct {
	Name  string                           // the section's name
	To    event.Address                    // where hob writes to, and others write from
	Rules channels.Rules                   // who is let in; none where the platform knows no persons
	Open  func() channels.Channel          // a new adapter for the same account, as after a restart
	Say   func(text string) (extID string) // somebody writes
	Again func(extID string)               // the platform delivers that message a second time; nil: a real server, which does not
	Noise func()                           // the platform sends what it should not
	Fail  func(Failure)                    // the next send fails this way; nil: a real server, which cannot be told to
	Sent  func() []string                  // the bodies that have arrived, in order
	// ID is how a message that has come in is known by what Say returned; nil: as ExtID.
	ID        func(event.In) string
	Connected bool // it sends over the connection that Run keeps
	Lines     bool // each line of a text is a message of its own
	Forgets   bool // what is said while nobody listens is lost; the adapter says so
	// Listening blocks until the adapter listens, or ctx ends.
	Listening func(ctx context.Context)
}

// inbox is a new one for the world's channel.
func (w World) inbox() *Inbox { return &Inbox{Name: w.Name, Rules: w.Rules} }

// Run tests an adapter against a world that open makes anew for each test.
func Run(t *testing.T, open func(t *testing.T) World) {
	tests := map[string]func(*testing.T, World){
		"receives":               receives,
		"accepts before cursor":  acceptsBeforeCursor,
		"same id twice":          sameIDTwice,
		"while it was down":      whileDown,
		"noise":                  noise,
		"own output":             ownOutput,
		"sends":                  sends,
		"classes of failure":     classes,
		"a full part":            fullPart,
		"ends when told to":      endsOnContext,
		"foreign address":        foreignAddress,
		"survives a dead socket": survivesCancelledSend,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// patience is how long a test waits for something that must happen.
const patience = 30 * time.Second

// launch runs f beside the test.
func launch(f func()) {
	spawn.New(slog.New(slog.DiscardHandler), nil).Once("test", func() error { f(); return nil })
}

// running is an adapter that runs.
type running struct {
	ch    channels.Channel
	ended chan error
	stop  func() error
}

// start runs an adapter until the test or stop ends it, and runs it again when it gives up, as the host does.
func start(t *testing.T, w World, in channels.Inbox) *running {
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{ch: w.Open(), ended: make(chan error, 1)}
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-r.ended
	})
	launch(func() {
		for {
			err := r.ch.Run(ctx, in)
			if ctx.Err() != nil {
				r.ended <- err
				return
			}
			if err == nil {
				t.Error("Run ended without an error while its context lived")
			}
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() { _ = r.stop() }) // the tests that care have looked
	return r
}

func wait(t *testing.T, in *Inbox, what string, ok func([]event.In) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if !in.Wait(ctx, ok) {
		t.Fatalf("%s did not happen; the inbox has %+v", what, in.Rows())
	}
}

func (w World) has(ids ...string) func([]event.In) bool {
	of := w.ID
	if of == nil {
		of = func(r event.In) string { return r.ExtID }
	}
	return func(rows []event.In) bool {
		for _, id := range ids {
			if !slices.ContainsFunc(rows, func(r event.In) bool { return of(r) == id }) {
				return false
			}
		}
		return true
	}
}

func receives(t *testing.T, w World) {
	in := w.inbox()
	start(t, w, in)
	w.Listening(t.Context())
	text := "hello, hob\nsecond line ✓"
	if w.Lines {
		text = "hello, hob; no second line ✓"
	}
	id := w.Say(text)
	wait(t, in, "receiving a message", w.has(id))
	row := in.Rows()[0]
	if row.Source != w.Name {
		t.Errorf("source %q, want the section's name %q", row.Source, w.Name)
	}
	if !strings.Contains(row.Text(), text) {
		t.Errorf("text %q", row.Text())
	}
	if row.ReplyTo != w.To {
		t.Errorf("reply to %q, want %q", row.ReplyTo, w.To)
	}
	if row.Session == "" || row.Kind == "" || row.Trust == "" || row.Received.IsZero() {
		t.Errorf("incomplete: %+v", row)
	}
}

func acceptsBeforeCursor(t *testing.T, w World) {
	in := w.inbox()
	start(t, w, in)
	w.Listening(t.Context())
	in.FailNext(1)
	id := w.Say("do not lose me")
	wait(t, in, "receiving it again after the inbox failed", w.has(id))
}

func sameIDTwice(t *testing.T, w World) {
	if w.Again == nil {
		t.Skip("a real server says nothing twice")
	}
	in := w.inbox()
	start(t, w, in)
	w.Listening(t.Context())
	one := w.Say("once")
	wait(t, in, "receiving", w.has(one))
	w.Again(one)
	two := w.Say("the next")
	wait(t, in, "receiving the next", w.has(two))
	if n := len(in.Rows()); n != 2 {
		t.Errorf("%d rows, want 2: %+v", n, in.Rows())
	}
}

func whileDown(t *testing.T, w World) {
	in := w.inbox()
	first := start(t, w, in)
	w.Listening(t.Context())
	before := w.Say("before")
	wait(t, in, "receiving", w.has(before))
	if err := first.stop(); err != nil {
		t.Errorf("Run ended with %v", err)
	}
	during := w.Say("while it was down")
	start(t, w, in)
	w.Listening(t.Context())
	after := w.Say("after")
	if w.Forgets {
		wait(t, in, "receiving what was not lost", w.has(before, after))
		if gaps := in.Gaps(); len(gaps) != 1 || len(in.Rows()) != 2 {
			t.Errorf("%d rows, want 2; gaps said: %q, want one", len(in.Rows()), gaps)
		}
		return
	}
	wait(t, in, "receiving everything", w.has(before, during, after))
	if n := len(in.Rows()); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

func noise(t *testing.T, w World) {
	in := w.inbox()
	start(t, w, in)
	w.Listening(t.Context())
	w.Noise()
	id := w.Say("still there?")
	wait(t, in, "receiving behind noise", w.has(id))
	if n := len(in.Rows()); n != 1 {
		t.Errorf("noise became input: %+v", in.Rows())
	}
}

func ownOutput(t *testing.T, w World) {
	in := w.inbox()
	r := start(t, w, in)
	w.Listening(t.Context())
	if _, err := r.ch.Send(t.Context(), delivery(w, "I say this myself")); err != nil {
		t.Fatalf("send: %v", err)
	}
	id := w.Say("and somebody else says this")
	wait(t, in, "receiving", w.has(id))
	if n := len(in.Rows()); n != 1 {
		t.Errorf("own output became input: %+v", in.Rows())
	}
}

// sender is an adapter that can send.
func sender(t *testing.T, w World) channels.Channel {
	if !w.Connected {
		return w.Open()
	}
	r := start(t, w, w.inbox())
	w.Listening(t.Context())
	return r.ch
}

func delivery(w World, body string) channels.Delivery {
	h := fnv.New64a()
	_, _ = h.Write([]byte(body)) // a hash never fails; each text has a key of its own: where the platform knows repeats by it, only one of two would arrive
	return channels.Delivery{Outbox: 1, Parts: 1, To: w.To, Body: body, Nonce: fmt.Sprintf("n0nce%011x", h.Sum64()>>20), Attempts: 1, Tried: time.Now()}
}

func sends(t *testing.T, w World) {
	ch := sender(t, w)
	bodies := []string{"hello ✓", "two\nlines", "/not a command", "“quotes” and <tags> & %s"}
	for _, body := range bodies {
		if _, err := ch.Send(t.Context(), delivery(w, body)); err != nil {
			t.Fatalf("send %q: %v", body, err)
		}
	}
	want := bodies
	if w.Lines {
		want = strings.Split(strings.Join(bodies, "\n"), "\n")
	}
	if got := w.Sent(); !slices.Equal(got, want) {
		t.Errorf("arrived: %q", got)
	}
}

func classes(t *testing.T, w World) {
	if w.Fail == nil {
		t.Skip("a real server fails by itself only")
	}
	later := func(err error) bool {
		r := (*channels.RetryAfter)(nil)
		return errors.As(err, &r) && r.After > 0
	}
	permanent := func(err error) bool { return errors.Is(err, channels.ErrPermanent) }
	unknown := func(err error) bool { return errors.Is(err, channels.ErrUnknown) }
	plain := func(err error) bool { return err != nil && !later(err) && !permanent(err) && !unknown(err) }
	for _, tc := range []struct {
		name string
		f    Failure
		ok   func(error) bool
		left int
	}{
		{"asked to come back", Later, later, 0},
		{"refused", Refused, permanent, 0},
		{"broken", Broken, plain, 0},
		{"cut before it was kept", CutBefore, unknown, 0},
		{"cut after it was kept", CutAfter, unknown, 1},
	} {
		ch := sender(t, w)
		w.Fail(tc.f)
		before := len(w.Sent())
		if _, err := ch.Send(t.Context(), delivery(w, tc.name)); !tc.ok(err) {
			t.Errorf("%s: error %v is of the wrong kind", tc.name, err)
		}
		if n := len(w.Sent()) - before; n != tc.left {
			t.Errorf("%s: %d arrived, want %d", tc.name, n, tc.left)
		}
	}
}

func fullPart(t *testing.T, w World) {
	ch := sender(t, w)
	form := channels.FormOf(ch)
	limit := form.Limit
	if limit == 0 {
		limit = 4000
	}
	n := sort.Search(limit+1, func(n int) bool { return form.Size(form.Render(strings.Repeat("ä", n))) > limit }) - 1
	body := strings.Repeat("ä", n)
	if _, err := ch.Send(t.Context(), delivery(w, body)); err != nil {
		t.Fatalf("send a part of %d characters: %v", n, err)
	}
	if got := w.Sent(); len(got) != 1 || got[0] != body {
		t.Errorf("a full part did not arrive whole")
	}
}

func endsOnContext(t *testing.T, w World) {
	r := start(t, w, w.inbox())
	w.Listening(t.Context())
	if err := r.stop(); err != nil {
		t.Errorf("Run ended with %v, want nil when its context ends", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Open().Run(ctx, w.inbox()); err != nil {
		t.Errorf("Run with an ended context: %v", err)
	}
}

func foreignAddress(t *testing.T, w World) {
	d := delivery(w, "nowhere")
	d.To = event.Address(w.Name + ":../../no such\nplace")
	if _, err := w.Open().Send(t.Context(), d); !errors.Is(err, channels.ErrPermanent) {
		t.Errorf("an address that cannot be: %v, want ErrPermanent", err)
	}
	if got := w.Sent(); len(got) != 0 {
		t.Errorf("it went somewhere: %q", got)
	}
}

func survivesCancelledSend(t *testing.T, w World) {
	ch := sender(t, w)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := ch.Send(ctx, delivery(w, "never"))
	if err == nil || errors.Is(err, channels.ErrPermanent) {
		t.Errorf("a send that was called off: %v, want an error to be tried again", err)
	}
	if _, err := ch.Send(t.Context(), delivery(w, "now")); err != nil {
		t.Errorf("the send after it: %v", err)
	}
}
