package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/store"
)

// together accepts messages in one commit, as a platform delivers them that kept them while hob was down.
func (s *testStore) together(texts ...string) {
	s.t.Helper()
	var list []event.In
	for _, text := range texts {
		in := typed(text)
		in.ExtID = "x" + text
		list = append(list, in)
	}
	if _, err := s.Inbox.Accept(s.t.Context(), list, nil); err != nil {
		s.t.Fatal(err)
	}
}

// readings runs turns to their ends until nothing is left, and returns the messages that each of them read.
func (s *testStore) readings() (list [][]string) {
	s.t.Helper()
	for {
		id, read := s.joined()
		if id == 0 {
			return list
		}
		s.done(id)
		list = append(list, read)
	}
}

func (s *testStore) wantReadings(want ...[]string) {
	s.t.Helper()
	if got := s.readings(); !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		s.t.Errorf("the turns read %q, want %q", got, want)
	}
}

// Messages of one debounce window are claimed in one commit. A kill between the claim and the first request does not split them into two
// turns, although queued messages rank before a resumed turn.
func TestADebouncedBurstIsClaimedWhole(t *testing.T) { synctest.Test(t, aDebouncedBurstIsClaimedWhole) }

func aDebouncedBurstIsClaimedWhole(t *testing.T) {
	s := fresh(t)
	s.together("one", "two")
	s.later(channels.DebouncePause)
	s = s.crash()
	if s.take() == 0 {
		t.Fatal("after the pause nothing is taken")
	}
	s = s.crash()
	s.wantReadings([]string{"one", "two"})
}

// A command that waits before two messages does not separate them. A command that came between them does.
func TestACommandBeforeADebouncedBurst(t *testing.T) { synctest.Test(t, aCommandBeforeADebouncedBurst) }

func aCommandBeforeADebouncedBurst(t *testing.T) {
	status := typed("/status")
	status.Kind = event.Command
	s := fresh(t)
	s.accept(status)
	s.together("one", "two")
	s.later(channels.DebouncePause)
	s.take()
	s = s.crash()
	s.wantReadings([]string{"one", "two"})

	s = fresh(t)
	s.together("one")
	s.accept(status)
	s.together("two")
	s.later(channels.DebouncePause)
	s.wantReadings([]string{"one"}, []string{"two"})
}

// If hob is killed between two messages, the second joins the first while the first waits for its pause to end. Later it joins only if no
// turn has read the first.
func TestADebounceKilledInTheMiddle(t *testing.T) { synctest.Test(t, aDebounceKilledInTheMiddle) }

func aDebounceKilledInTheMiddle(t *testing.T) {
	for _, c := range []struct {
		apart time.Duration
		taken bool // hob runs again, and a turn reads the first before the second comes
		want  [][]string
	}{
		{apart: channels.DebouncePause - time.Millisecond, want: [][]string{{"one", "two"}}},
		{apart: channels.DebouncePause, want: [][]string{{"one", "two"}}},
		{apart: channels.DebouncePause, taken: true, want: [][]string{{"one"}, {"two"}}},
	} {
		s := fresh(t)
		s.accept(typed("one"))
		s = s.crash()
		s.later(c.apart)
		if c.taken {
			s.done(s.take())
		}
		s.accept(typed("two"))
		s.later(channels.DebouncePause)
		s.take()
		s = s.crash()
		s.wantReadings(c.want[len(c.want)-1:]...)
		if n := one[int](s, "SELECT count(DISTINCT turn) FROM inbox"); n != len(c.want) {
			t.Errorf("%s apart, taken %t: %d turns, want %d", c.apart, c.taken, n, len(c.want))
		}
	}
}

// A burst ends after three seconds or with the twentieth message. That end decides only when two messages of one commit are claimed: all
// messages that are queued when the first is claimed are claimed with it.
func TestTheEndOfABurstDividesNoCommit(t *testing.T) {
	synctest.Test(t, theEndOfABurstDividesNoCommit)
}

func theEndOfABurstDividesNoCommit(t *testing.T) {
	for name, c := range map[string]struct {
		before int
		step   time.Duration
		wait   time.Duration // from the two to the claim
	}{
		"the first is the nineteenth":               {before: channels.DebounceMessages - 2},
		"the first is the twentieth":                {before: channels.DebounceMessages - 1},
		"they come shortly before the third second": {before: 7, step: 420 * time.Millisecond, wait: 60 * time.Millisecond},
		"they come when it is over":                 {before: 7, step: 430 * time.Millisecond},
	} {
		s := fresh(t)
		var want []string
		for i := range c.before {
			want = append(want, fmt.Sprint(i))
			s.accept(typed(want[i]))
			s.later(c.step)
		}
		s.together("one", "two")
		s.later(c.wait)
		if s.take() == 0 {
			t.Errorf("%s: nobody waits any longer, and nothing is taken", name)
		}
		s = s.crash()
		s.wantReadings(append(want, "one", "two"))
	}
}

// A turn reads a message as it was when it joined, also if an edit is stored during the join.
func TestAnEditWhileItsMessageJoins(t *testing.T) { synctest.Test(t, anEditWhileItsMessageJoins) }

func anEditWhileItsMessageJoins(t *testing.T) {
	s := fresh(t)
	s.together("one")
	s.later(channels.DebouncePause)
	id := s.take()
	in := typed("by moon")
	in.ExtID = "a"
	s.accept(in)
	busy, errs := make(chan struct{}), make(chan error, 3)
	for _, f := range []func() error{
		func() error { return s.Write(t.Context(), func(*store.Tx) error { <-busy; return nil }) },
		func() error {
			_, err := s.Inbox.Accept(t.Context(), []event.In{edited("a", "by noon")}, nil)
			return err
		},
		func() error {
			_, err := s.Turns.Begin(t.Context(), turn.Begin{Turn: id, Free: true})
			return err
		},
	} {
		go func() { errs <- f() }()
		synctest.Wait() // this write waits for the one before it
	}
	close(busy)
	for range 3 {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	if read := s.reads(id); !slices.Equal(read, []string{"one", "by noon"}) {
		t.Errorf("the turn reads %q", read)
	}
}

// An option that answers a question counts before its delivery is recorded, as a message of its own and as a reply to the message that is being sent. A reply
// to a known message, or with other words, does not.
func TestAnAnswerDuringTheDelivery(t *testing.T) { synctest.Test(t, anAnswerDuringTheDelivery) }

func anAnswerDuringTheDelivery(t *testing.T) {
	for _, c := range []struct{ text, ref, sent, delivery, state string }{
		{text: "2", state: "done"},
		{text: "2", delivery: "sending", state: "done"},
		{text: "2", ref: "m9", delivery: "sending", state: "done"},
		{text: "2", ref: "m9", state: "queued"},
		{text: "no idea", ref: "m9", delivery: "sending", state: "queued"},
		{text: "2", ref: "m9", sent: "m9", delivery: "sending", state: "queued"},
	} {
		s := fresh(t)
		s.together("may I?")
		s.later(channels.DebouncePause)
		id := s.take()
		q := turn.Question{Subject: turn.AboutAsk, Turn: id, CallID: "c", Text: "tea?", Options: []string{"green", "black"}, Until: s.now().Add(time.Hour), To: chat}
		if err := s.Turns.Commit(t.Context(), turn.Commit{Turn: id, Question: &q}); err != nil {
			t.Fatal(err)
		}
		if c.delivery != "" {
			s.sql("INSERT INTO deliveries (outbox, part, body, nonce, epoch, state) SELECT id, 0, body, 'n', 1, ? FROM outbox WHERE cause_kind = 'question'", c.delivery)
		}
		if c.sent != "" {
			if err := s.Events.Notice(t.Context(), "k", "news"); err != nil {
				t.Fatal(err)
			}
			s.sql("UPDATE outbox SET address = ?", chat)
			s.sql("INSERT INTO deliveries (outbox, part, body, nonce, epoch, state, remote_id) SELECT id, 0, body, 'm', 1, 'sent', ? FROM outbox WHERE cause_kind <> 'question'", c.sent)
		}
		in := typed(c.text)
		in.ReplyRef = c.ref
		if r := s.row(s.accept(in)); r.state != c.state {
			t.Errorf("%+v: it is %s (%s)", c, r.state, r.reason)
		}
	}
}

// A message after a button press does not answer the question: the press is the answer, even while it is queued.
func TestAPressIsNotOvertaken(t *testing.T) { synctest.Test(t, aPressIsNotOvertaken) }

func aPressIsNotOvertaken(t *testing.T) {
	for command, state := range map[string]string{"/answer CODE #1": "queued", "/answer OTHER #1": "done"} {
		s := fresh(t)
		s.together("may I?")
		s.later(channels.DebouncePause)
		id := s.take()
		q := turn.Question{Subject: turn.AboutAsk, Turn: id, CallID: "c", Text: "tea?", Options: []string{"green", "black"}, Until: s.now().Add(time.Hour), To: chat}
		if err := s.Turns.Commit(t.Context(), turn.Commit{Turn: id, Question: &q}); err != nil {
			t.Fatal(err)
		}
		press := typed(strings.ReplaceAll(command, "CODE", one[string](s, "SELECT code FROM questions")))
		press.Kind = event.Command
		s.accept(press)
		if r := s.row(s.accept(typed("and buy milk"))); r.state != state {
			t.Errorf("behind %s what is written is %s (%s), want %s", command, r.state, r.reason, state)
		}
	}
}
