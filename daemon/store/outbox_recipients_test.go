package store_test

import (
	"testing"

	"hob/channels"
	"hob/daemon/event"
)

// person is what somebody wrote in a private chat on telegram.
func person(id string, trust event.Trust) event.In {
	in := message("hello")
	in.Source, in.Trust, in.ReplyTo, in.Origin.Person, in.Typed = "telegram", trust, event.Address("telegram:"+id), id, trust == event.Owner
	if trust != event.Owner {
		in.Session = "telegram:" + id
	}
	return in
}

// rightOf is the right by which the message of a key was queued.
func (s *testStore) rightOf(key string) channels.Right {
	s.t.Helper()
	return channels.Right(one[string](s, "SELECT standing FROM outbox WHERE key = ?", key))
}

// asked takes an input up, and returns its turn.
func (s *testStore) asked(in event.In) int64 {
	s.t.Helper()
	s.accept(in)
	s.later(channels.DebounceMax)
	id := s.take()
	if id == 0 {
		s.t.Fatal("no turn")
	}
	return id
}

// A message has the right that its address had when it was queued. An answer has the right that the asker had, also if the asker has lost
// it since.
func TestTheRightOfAMessage(t *testing.T) {
	const former, paired, known, stranger = "9", "1", "2", "3"
	s := fresh(t, func(s *testStore) {
		s.owner = []event.Address{"mail:me", "telegram:" + paired}
		s.policy.Named = func(a event.Address) bool { return a == "telegram:"+known }
	})
	s.sql("INSERT INTO pairings (channel, hash, tries, until, created, person, name, bound, revoked) VALUES ('telegram', 'h', 0, 1, 1, ?, 'Eve', 1, 1)", former)
	turns := map[string]int64{}
	for id, trust := range map[string]event.Trust{paired: event.Owner, known: event.Known, stranger: event.Public, former: event.Owner} {
		turns[id] = s.asked(person(id, trust))
		s.sql("UPDATE turns SET state = 'done', ended = 1 WHERE id = ?", turns[id])
	}
	job := s.asked(message("chore")) // by nobody on a platform
	said := func(id int64) event.Cause { return event.Cause{Kind: event.ByTurn, ID: id} }
	notice := event.Cause{Kind: event.ByNotice, ID: 1}
	for name, c := range map[string]struct {
		cause event.Cause
		to    event.Address
		want  channels.Right
	}{
		"an answer to the owner":              {said(turns[paired]), "telegram:1", channels.OwnerRight},
		"an answer to somebody known":         {said(turns[known]), "telegram:2", channels.NamedRight},
		"an answer to who is known no more":   {said(turns[stranger]), "telegram:3", channels.NamedRight},
		"an answer to who is no owner now":    {said(turns[former]), "telegram:9", channels.OwnerRight},
		"the owner asks for word to another":  {said(turns[paired]), "telegram:4", channels.NoRight},
		"and to somebody known":               {said(turns[paired]), "telegram:2", channels.NamedRight},
		"a job's to the owner":                {said(job), "mail:me", channels.OwnerRight},
		"a job's to who was an owner":         {said(job), "telegram:9", channels.OwnerRight},
		"a job's to somebody else":            {said(job), "telegram:4", channels.NoRight},
		"a notice to who was an owner":        {notice, "telegram:9", channels.OwnerRight},
		"a notice to the owner":               {notice, event.ToOwner, channels.OwnerRight},
		"the same person on another platform": {notice, "matrix:9", channels.NoRight},
	} {
		if err := s.Calls.Record(t.Context(), event.Out{Key: name, Cause: c.cause, To: c.to, Body: "b", Urgency: event.Urgent}); err != nil {
			t.Fatal(err)
		}
		if got := s.rightOf(name); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	id, err := s.Outbox.Send(t.Context(), message("send"), "telegram:"+former, "a word") // the owner's own
	if err != nil {
		t.Fatal(err)
	}
	if got := one[string](s, "SELECT standing FROM outbox WHERE id = ?", id); got != "" {
		t.Errorf("what the owner sends himself: %q", got)
	}
	rows, err := s.Outbox.Ready(t.Context(), s.now(), 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if want := channels.Right(one[string](s, "SELECT standing FROM outbox WHERE id = ?", r.ID)); r.Right != want {
			t.Errorf("the pump reads %q for row %d, want %q", r.Right, r.ID, want)
		}
	}
}

// What the owner retries goes to its address as it is now.
func TestRetryAsksForNoOldRight(t *testing.T) {
	s := fresh(t)
	if err := s.Calls.Record(t.Context(), event.Out{Key: "k", Cause: event.Cause{Kind: event.ByNotice, ID: 1}, To: chat, Body: "b", Urgency: event.Urgent}); err != nil {
		t.Fatal(err)
	}
	s.owner = nil
	s.sql("UPDATE outbox SET state = 'dead'")
	if err := s.Outbox.RetryOut(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if got := s.rightOf("k"); got != channels.NoRight {
		t.Errorf("it has the right %q", got)
	}
	if err := s.Outbox.RetryOut(t.Context(), 2); err == nil {
		t.Error("there is no row 2")
	}
}

// A draft is queued by a right too, and keeps it when its text is there.
func TestTheRightOfADraft(t *testing.T) {
	s := fresh(t, func(s *testStore) { s.policy.Edits = func(event.Address) bool { return true } })
	id := s.asked(person("1", event.Owner)) // whose pairing is revoked before there is a word of the answer
	if err := s.Outbox.Draft(t.Context(), channels.NewDraft{Turn: id, To: "telegram:1", Text: "*Working…*", Nonce: "n", NewMessage: true}); err != nil {
		t.Fatal(err)
	}
	key := one[string](s, "SELECT key FROM outbox WHERE state = 'draft'")
	if got := s.rightOf(key); got != channels.OwnerRight {
		t.Errorf("the draft has the right %q", got)
	}
	grown, err := s.Outbox.LiveAnswers(t.Context())
	if err != nil || len(grown) != 1 || grown[0].Right != channels.OwnerRight {
		t.Errorf("%+v, %v", grown, err)
	}
	if err := s.Calls.Record(t.Context(), event.Out{Key: key, Cause: event.Cause{Kind: event.ByTurn, ID: id}, To: "telegram:1", Body: "done", Urgency: event.Urgent}); err != nil {
		t.Fatal(err)
	}
	if got, state := s.rightOf(key), one[string](s, "SELECT state FROM outbox"); got != channels.OwnerRight || state != "ready" {
		t.Errorf("the answer is %s with the right %q", state, got)
	}
}
