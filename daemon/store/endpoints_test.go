package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/store"
)

// program stores an endpoint.
func (s *testStore) program(name string) api.Endpoint {
	s.t.Helper()
	e, err := s.Endpoints().Add(context.Background(), name, "hash of "+name)
	if err != nil {
		s.t.Fatal(err)
	}
	return e
}

// chat begins a request of a program, and accepts its input.
func (s *testStore) chat(e api.Endpoint, person, digest string, seen ...string) api.ChatRequest {
	s.t.Helper()
	r, err := s.Endpoints().Begin(context.Background(), api.ChatOpening{Client: e.ID, Name: e.Name, Person: person, Digest: digest, Seen: seen})
	if err != nil {
		s.t.Fatal(err)
	}
	s.accept(event.In{Source: event.Endpoint, ExtID: r.ExtID, Session: r.Session, ReplyTo: event.Address(r.Session), Kind: event.Message, Rank: event.RankRest, Trust: event.Known, Tainted: true, Parts: event.Say(digest)})
	return r
}

func TestTheSameRequest(t *testing.T) {
	const minutes = time.Minute
	for _, c := range []struct {
		age   time.Duration
		inbox store.InboxState
		turn  turn.Status
		want  bool
	}{
		{0, "", "", true}, // its input is not there yet
		{0, "queued", "", true},
		{0, "held", "", true},
		{0, "dropped", "", false},
		{0, "dead", "", false},
		{0, "done", "", false}, // it never got a turn
		{11 * minutes, "queued", "", false},
		{11 * minutes, "joined", turn.Ready, true}, // a turn may take hours
		{11 * minutes, "joined", turn.Running, true},
		{9 * minutes, "joined", turn.Waiting, true},
		{10 * minutes, "joined", turn.Waiting, false},
		{9 * minutes, "done", turn.Done, true},
		{10 * minutes, "done", turn.Done, false},
		{0, "done", turn.Failed, false},
		{0, "done", turn.Stopped, false},
		{0, "dead", turn.Dead, false},
	} {
		if got := store.Repeats(c.age, c.inbox, c.turn); got != c.want {
			t.Errorf("after %s, input %q, turn %q: %v", c.age, c.inbox, c.turn, got)
		}
	}
}

// What a conversation has is told by its newest requests, as far as they ran, and by no more of them than can be looked at in a moment.
func TestWhatAConversationHas(t *testing.T) {
	s := fresh(t)
	e := s.program("laptop")
	huge := make([]string, 2000)
	for i := range huge {
		huge[i] = fmt.Sprint("m", i)
	}
	for i := range 15 {
		s.chat(e, "sam", fmt.Sprint("d", i), huge...)
		s.done(s.take())
	}
	r := s.chat(e, "sam", "next", "x")
	if n := len(r.Known); n < 20_000 || n > 22_000 {
		t.Errorf("%d digests are known", n)
	}
	if other := s.chat(e, "eve", "first", "x"); len(other.Known) != 0 {
		t.Errorf("another user's conversation has %d messages", len(other.Known))
	}
	// A request that never got a turn has brought nothing into the conversation.
	gone := s.chat(e, "kim", "gone", "a")
	if _, err := s.Endpoints().Abort(context.Background(), gone.ExtID); err != nil {
		t.Fatal(err)
	}
	if next := s.chat(e, "kim", "later", "a", "b"); len(next.Known) != 0 {
		t.Errorf("the conversation has %d messages", len(next.Known))
	}
}

// Requests are kept for a while only.
func TestOldRequestsOfProgramsAreDeleted(t *testing.T) {
	s := fresh(t)
	e := s.program("laptop")
	s.chat(e, "sam", "old", "a")
	s.done(s.take())
	s.later(31 * 24 * time.Hour)
	s.chat(e, "sam", "new", "b")
	if err := s.Endpoints().Trim(context.Background(), s.now().Add(-30*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := one[string](s, "SELECT group_concat(digest) FROM endpoint_requests"); got != "new" {
		t.Errorf("left: %s", got)
	}
}
