package channelstest

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// recordingInbox runs an adapter with an inbox that records its messages.
func recordingInbox(t *testing.T, w World) *MessageInbox {
	t.Helper()
	b := &MessageInbox{}
	start(t, w, b)
	w.Listening(t.Context())
	return b
}

// comes waits for a message with an id.
func (b *MessageInbox) comes(t *testing.T, id string) channels.Message {
	t.Helper()
	at := -1
	Wait(t, patience, "receiving "+id, func() bool {
		at = slices.IndexFunc(b.List(), func(m channels.Message) bool { return m.ID == id })
		return at >= 0
	})
	return b.List()[at]
}

// An edit arrives as a separate message that names the original.
func edits(t *testing.T, w World) {
	if w.People.Edit == nil {
		t.Skip("nobody can edit there, or programs do not learn of it")
	}
	b := recordingInbox(t, w)
	id := w.Say("wrng")
	b.comes(t, id)
	again := w.People.Edit(id, "wrong")
	m := b.comes(t, again)
	if m.Edits != id || again == id || m.Text != "wrong" || m.From.ID != b.comes(t, id).From.ID {
		t.Errorf("the edit of %s came as %+v", id, m)
	}
}

// A deletion arrives without text, and names the deleted message.
func deletions(t *testing.T, w World) {
	if w.People.Delete == nil {
		t.Skip("nobody can delete there, or programs do not learn of it")
	}
	b := recordingInbox(t, w)
	id := w.Say("oh no")
	b.comes(t, id)
	w.People.Delete(id)
	Wait(t, patience, "learning of the deletion", func() bool {
		return slices.ContainsFunc(b.List(), func(m channels.Message) bool { return m.Deletes == id && m.Text == "" && m.ID != id })
	})
}

// harness runs the host and the pump around the world's adapter.
func (w World) harness(t *testing.T) *Harness {
	t.Helper()
	s := HarnessConfig{Name: w.Name, Channel: w.Open(), Rules: w.Rules, Owner: w.To, Clock: sys.RealClock()}.Open(t)
	w.Listening(t.Context())
	return s
}

// A file arrives with its message, through the real host. A file that cannot be fetched, or is too large, is
// named.
func filesComeIn(t *testing.T, w World) {
	if w.People.Attach == nil {
		t.Skip("there are no files that come in")
	}
	s := w.harness(t)
	content := []byte("\x89PNG\r\n\x1a\n and so on")
	wait(t, s.In, "receiving a file", w.has(w.People.Attach("look.png", content)))
	if files := s.In.Files(); len(files) != 1 || !bytes.Equal(files[0], content) {
		t.Errorf("%d files came in: %.100q", len(files), files)
	}
	part := s.In.Rows()[0].Parts[0]
	if part.Kind != event.Image || !strings.HasSuffix(part.Name, ".png") || part.Size != int64(len(content)) {
		t.Errorf("it came in as %+v", part)
	}
	lost := w.People.Attach("large.bin", make([]byte, channels.MaxFile+1))
	wait(t, s.In, "receiving a file that is too large", w.has(lost))
	if w.People.Lost != nil {
		lost = w.People.Lost("gone.pdf")
		wait(t, s.In, "receiving a file that cannot be fetched", w.has(lost))
	}
	for _, r := range s.In.Rows()[1:] {
		if !strings.Contains(r.Text(), "was not kept: ") {
			t.Errorf("what cannot be had is not named: %+v", r)
		}
	}
	if files := s.In.Files(); len(files) != 1 {
		t.Errorf("%d files were kept, want the first", len(files))
	}
}

// In a listed group hob reads messages that are meant for it, with the trust "known", in a session of the
// group.
func groups(t *testing.T, w World) {
	if w.People.Group == nil {
		if channels.AbilitiesOf(w.Open()).Groups && w.Server == "" {
			t.Error("it listens in groups, and no test sees it: World.People.Group is missing")
		}
		t.Skip("there are no groups")
	}
	in := w.inbox()
	start(t, w, in)
	w.Listening(t.Context())
	wait(t, in, "receiving from a group", w.has(w.People.Group("what is the time")))
	r := in.Rows()[0]
	if r.Session == "main" || r.Typed || r.Trust == event.Owner || r.ReplyTo == w.To || r.Text() != "what is the time" {
		t.Errorf("from the group: %+v", r)
	}
}

// Each thread of a group is a separate conversation.
func threads(t *testing.T, w World) {
	if w.People.Thread == nil {
		t.Skip("there are no threads")
	}
	in := w.inbox()
	start(t, w, in)
	w.Listening(t.Context())
	one, two, more := w.People.Thread("one", "first"), w.People.Thread("two", "second"), w.People.Thread("one", "third")
	wait(t, in, "receiving from threads", w.has(one, two, more))
	sessions := map[string]string{}
	for _, r := range in.Rows() {
		sessions[r.ExtID] = r.Session
	}
	if sessions[one] != sessions[more] || sessions[one] == sessions[two] {
		t.Errorf("sessions: %q", sessions)
	}
}
