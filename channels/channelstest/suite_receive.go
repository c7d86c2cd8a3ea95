package channelstest

import (
	"slices"
	"strings"
	"testing"

	"hob/channels"
	"hob/daemon/event"
)

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

// Messages that the inbox could not store arrive again in another process.
func endsBeforeCommit(t *testing.T, w World) {
	if w.Forgets {
		t.Skip("what was said to a process that has died is lost there")
	}
	in := w.inbox()
	first := start(t, w, in)
	w.Listening(t.Context())
	wait(t, in, "receiving", w.has(w.Say("before")))
	in.FailNext(1 << 30)
	id := w.Say("do not lose me")
	Wait(t, patience, "the inbox being tried", func() bool { return in.Failed() > 0 })
	_ = first.stop() // it may report that not everything was stored
	in.FailNext(0)
	start(t, w, in)
	wait(t, in, "receiving it in another process", w.has(id))
	if n := len(in.Rows()); n != 2 {
		t.Errorf("%d rows, want 2: %+v", n, in.Rows())
	}
}

// Stored messages do not arrive again, even if the process ended before it acknowledged them.
func endsAfterCommit(t *testing.T, w World) {
	in := w.inbox()
	first := start(t, w, in)
	w.Listening(t.Context())
	wait(t, in, "receiving", w.has(w.Say("once")))
	if err := first.stop(); err != nil {
		t.Errorf("Run ended with %v", err)
	}
	start(t, w, in)
	w.Listening(t.Context())
	wait(t, in, "receiving the next", w.has(w.Say("the next")))
	if n := len(in.Rows()); n != 2 {
		t.Errorf("%d rows, want 2: %+v", n, in.Rows())
	}
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

// Two messages in the wrong order both arrive.
func wrongOrder(t *testing.T, w World) {
	if w.People.Mix == nil {
		t.Skip("the wire keeps the order")
	}
	in := w.inbox()
	start(t, w, in)
	w.Listening(t.Context())
	one, two := w.People.Mix("one", "two")
	wait(t, in, "receiving both", w.has(one, two))
	wait(t, in, "receiving the next", w.has(w.Say("the next")))
	if n := len(in.Rows()); n != 3 {
		t.Errorf("%d rows, want 3: %+v", n, in.Rows())
	}
}

// If a platform no longer has missed messages, the owner is notified.
func lostMessages(t *testing.T, w World) {
	if w.Account.Lose == nil {
		t.Skip("the fake cannot forget what it keeps")
	}
	in := w.inbox()
	first := start(t, w, in)
	w.Listening(t.Context())
	wait(t, in, "receiving", w.has(w.Say("before")))
	if err := first.stop(); err != nil {
		t.Errorf("Run ended with %v", err)
	}
	w.Say("lost")
	w.Account.Lose()
	start(t, w, in)
	w.Listening(t.Context())
	wait(t, in, "receiving", w.has(w.Say("after")))
	if gaps := in.Gaps(); len(gaps) != 1 {
		t.Errorf("gaps said: %q, want one", gaps)
	}
}

// hob's own messages never become input, even if the platform names another sender. No list is consulted.
func ownOutput(t *testing.T, w World) {
	w.mustSend(t)
	b := &MessageInbox{}
	r := start(t, w, b)
	w.Listening(t.Context())
	if _, err := r.ch.Send(t.Context(), delivery(w, "I say this myself")); err != nil {
		t.Fatalf("send: %v", err)
	}
	w.Say("and somebody else says this")
	heard := func(text string) bool {
		return slices.ContainsFunc(b.List(), func(m channels.Message) bool { return strings.Contains(m.Text, text) && !m.From.Self }) ||
			slices.ContainsFunc(b.Accepted(), func(in event.In) bool { return strings.Contains(in.Text(), text) })
	}
	Wait(t, patience, "receiving", func() bool { return heard("and somebody else") })
	if heard("I say this myself") {
		t.Errorf("own output became input: %+v, %+v", b.List(), b.Accepted())
	}
}
