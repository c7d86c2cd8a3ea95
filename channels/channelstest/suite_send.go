package channelstest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/event"
)

// sender returns an adapter that can send.
func sender(t *testing.T, w World) channels.Channel {
	w.mustSend(t)
	if !w.Connected {
		return w.Open()
	}
	r := start(t, w, w.inbox())
	w.Listening(t.Context())
	return r.ch
}

// mustSend skips the test if the world cannot send.
func (w World) mustSend(t *testing.T) {
	t.Helper()
	if w.Sent == nil {
		t.Skip("the commit is the delivery")
	}
}

func delivery(w World, body string) channels.Delivery {
	h := fnv.New64a()
	_, _ = h.Write([]byte(body)) // a hash never fails; each text has its own key, because platforms that deduplicate would drop one of two
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

func foreignAddress(t *testing.T, w World) {
	w.mustSend(t)
	d := delivery(w, "nowhere")
	d.To = event.Address(w.Name + ":../../no such\nplace")
	if _, err := w.Open().Send(t.Context(), d); !errors.Is(err, channels.ErrPermanent) {
		t.Errorf("an address that cannot be: %v, want ErrPermanent", err)
	}
	if got := w.Sent(); len(got) != 0 {
		t.Errorf("it went somewhere: %q", got)
	}
}

// C7: an absent recipient says nothing about the channel, and does not delay others.
func absentRecipient(t *testing.T, w World) {
	if w.None == "" {
		t.Skip("every address is somebody's there")
	}
	ch := sender(t, w)
	d := delivery(w, "is anybody there")
	d.To = w.None
	if _, err := ch.Send(t.Context(), d); !errors.Is(err, channels.ErrAddress) && !errors.Is(err, channels.ErrPermanent) || errors.Is(err, channels.ErrUnknown) {
		t.Errorf("to somebody who is not there: %v, want ErrAddress or ErrPermanent", err)
	}
	if _, err := ch.Send(t.Context(), delivery(w, "and you")); err != nil {
		t.Errorf("to somebody else: %v", err)
	}
	if got := w.Sent(); len(got) != 1 {
		t.Errorf("arrived: %q", got)
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
