package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/store"
)

// restored is a store that was put back at this moment; one input waited then.
func restored(t *testing.T) (*testStore, time.Time) {
	t.Helper()
	s := fresh(t)
	s.accept(typed("from before the backup"))
	at := s.now()
	doc, err := sqlite.Doc(store.RestoreNote{At: at, Taken: at.Add(-time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	s.sql("INSERT INTO settings (key, value) VALUES ('restored', ?)", doc)
	s.sql("UPDATE inbox SET state = 'held', reason = ?", store.RestoreNote{Taken: at.Add(-time.Hour)}.Unanswered())
	return s, at
}

func sent(text string, at time.Time) event.In {
	in := typed(text)
	in.Origin.Sent, in.Sender = at, "Sam"
	return in
}

func (s *testStore) fates() string {
	return one[string](s, "SELECT group_concat(state, ' ' ORDER BY seq) FROM inbox")
}

// code is that of the only question.
func (s *testStore) code() string { return one[string](s, "SELECT code FROM questions") }

func (s *testStore) decide(answer string) {
	s.t.Helper()
	in := message("approve")
	in.Source, in.ExtID = "api", answer
	if _, err := s.Commands.AnswerFrom(s.t.Context(), in, s.code(), answer); err != nil {
		s.t.Fatal(err)
	}
}

// What was sent before a restore is held until the owner has said once, for all that the channel brings, what to do with it.
func TestCatchUpAfterARestore(t *testing.T) {
	for answer, want := range map[string]string{"once": "queued", "no": "dropped"} {
		s, at := restored(t)
		for i := range 12 {
			s.accept(sent(fmt.Sprintf("message %d", i), at.Add(time.Duration(i-13)*time.Minute)))
			s.later(4 * time.Second)
			if id := s.take(); id != 0 {
				t.Fatalf("message %d is answered by turn %d", i, id)
			}
		}
		s = s.crash()
		if n := one[int](s, "SELECT count(*) FROM questions"); n != 0 {
			t.Fatalf("asked %d times before all had come", n)
		}
		s.later(2 * time.Second)
		s.take()
		s.later(time.Minute)
		s.take()
		asked := one[string](s, "SELECT group_concat(body) FROM outbox")
		for _, part := range []string{"Channel chat brought 13 messages", "“from before the backup”", "“message 8”", "and 3 more: hob inbox list --state held", "/approve " + s.code()} {
			if strings.Count(asked, part) != 1 {
				t.Errorf("%q is not in the question once: %s", part, asked)
			}
		}
		s.accept(sent("late", at.Add(-time.Hour)))
		if held := strings.Count(s.fates(), "held"); held != 14 {
			t.Errorf("%d rows are held", held)
		}
		s.decide(answer)
		if n := strings.Count(s.fates(), want); n != 14 {
			t.Errorf("%s: %s", answer, s.fates())
		}
		s.accept(sent("too late", at.Add(-time.Hour)))
		if got := s.fates(); !strings.HasSuffix(got, want) {
			t.Errorf("what comes after the answer: %s", got)
		}
		if s.later(time.Minute); want == "queued" {
			if _, read := s.joined(); len(read) != 15 || read[0] != "from before the backup" || read[12] != "message 11" {
				t.Errorf("read %q", read)
			}
		}
		s.later(time.Hour)
		s.take()
		if n := one[int](s, "SELECT count(*) FROM questions"); n != 1 {
			t.Errorf("asked %d times", n)
		}
	}
}

// What was said after the restore, or says not when, is ordinary; so is everything where nothing was restored.
func TestNotHeldAfterARestore(t *testing.T) {
	s, at := restored(t)
	s.accept(sent("new", at.Add(time.Second)))
	s.accept(typed("live"))
	in := message("terminal")
	s.accept(in)
	if got := s.fates(); got != "held queued queued queued" {
		t.Error(got)
	}
	s = fresh(t)
	s.accept(sent("old", at.Add(-24*time.Hour)))
	if got := s.fates(); got != "queued" {
		t.Errorf("without a restore: %s", got)
	}
}

// A command from before the restore waits for the owner too, and what he has settled by hand is not asked about.
func TestHeldRowsByHand(t *testing.T) {
	s, at := restored(t)
	in := sent("/stop", at.Add(-time.Minute))
	in.Kind = event.Command
	seq := s.accept(in)
	if _, found, err := s.Commands.Command(t.Context(), nil); err != nil || found {
		t.Errorf("it was served: %v", err)
	}
	if err := s.Inbox.Drop(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	if err := s.Inbox.Retry(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.later(time.Minute)
	s.take()
	if n := one[int](s, "SELECT count(*) FROM questions"); n != 0 {
		t.Errorf("asked about nothing, %d times", n)
	}
	if err := s.Inbox.TakeBack(t.Context(), channels.Withdrawal{Source: "chat", ExtID: "m2", Person: "1", Chat: chat}); err != nil {
		t.Fatal(err)
	}
}

// A restore's question is open until it is answered: what is held waits, and stays in the list of what waits for the owner, however long that takes.
func TestNobodyAnswersAfterARestore(t *testing.T) {
	s, at := restored(t)
	s.accept(sent("a", at.Add(-time.Minute)))
	s.later(time.Minute)
	s.take()
	first := s.code()
	s.later(400 * 24 * time.Hour)
	if id := s.take(); id != 0 {
		t.Errorf("it is answered by turn %d", id)
	}
	if got := s.fates(); got != "held held" {
		t.Errorf("after a year: %s", got)
	}
	open, err := store.NewView(s.Reader(), time.Now).QuestionRows(t.Context(), event.Filter{State: "open"})
	if err != nil || len(open) != 1 || open[0].Code != first {
		t.Errorf("open questions %+v, %v", open, err)
	}
	in := message("approve")
	in.ExtID = "late"
	if _, err := s.Commands.AnswerFrom(t.Context(), in, first, "once"); err != nil {
		t.Errorf("it cannot be answered any more: %v", err)
	}
	if got := s.fates(); got != "queued queued done" {
		t.Errorf("after the answer: %s", got)
	}
}
