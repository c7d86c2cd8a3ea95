package store_test

import (
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/store"
)

// TestClosedQuestionsAreKept (C10): a question that has arrived with buttons is to be edited once it is closed, by an answer on any surface or by its end;
// that is known after a restart, tried again when it is told to be, and forgotten when it is done or was never sent.
func TestClosedQuestionsAreKept(t *testing.T) {
	for name, c := range map[string]struct{ close, want string }{
		"approved":     {"UPDATE questions SET state = 'answered', answer = 'once', answered_by = 1", "Approved"},
		"denied":       {"UPDATE questions SET state = 'answered', answer = 'no', answered_by = 1", "Denied"},
		"in its words": {"UPDATE questions SET state = 'answered', answer = 'green', answered_by = 1", "Answered"},
		"lapsed":       {"UPDATE questions SET state = 'expired'", "Expired"},
		"withdrawn":    {"UPDATE questions SET state = 'expired', answer = 'withdrawn'", "Withdrawn"},
		"never sent":   {"UPDATE questions SET state = 'expired'", ""},
	} {
		s := fresh(t)
		s.accept(message("go"))
		q := turn.Question{Subject: turn.AboutCall, Text: "run x?", Options: []string{turn.AnswerOnce, turn.AnswerNo}, To: event.ToOwner, Until: s.now().Add(time.Hour)}
		if err := s.Write(t.Context(), func(tx *store.Tx) error { _, err := store.AskIn(tx, &q); return err }); err != nil {
			t.Fatal(err)
		}
		code, sent := one[string](s, "SELECT code FROM questions"), name != "never sent"
		if sent {
			s.sql("INSERT INTO deliveries (outbox, part, body, nonce, remote_id, epoch, state) SELECT id, 0, 'run x?', 'n', 'm1', (SELECT max(epoch) FROM boots), 'sent' FROM outbox")
			s.sql("UPDATE outbox SET state = 'done', ended = 1")
		} else {
			s.sql("UPDATE outbox SET state = 'expired', ended = 1")
		}
		if list, _, err := s.Outbox.Closings(t.Context(), s.now()); err != nil || len(list) != 0 {
			t.Errorf("%s, still open: %+v, %v", name, list, err)
		}
		s.sql(c.close)
		s = s.crash()
		list, _, err := s.Outbox.Closings(t.Context(), s.now())
		if !sent {
			if err != nil || len(list) != 0 || one[int](s, "SELECT count(*) FROM closings") != 0 {
				t.Errorf("%s: %+v, %v", name, list, err)
			}
			continue
		}
		if err != nil || len(list) != 1 || list[0].Shown != "m1" || list[0].Outcome != c.want+" · "+code || list[0].Body != "run x?" || list[0].To != chat {
			t.Fatalf("%s: %+v, %v", name, list, err)
		}
		if err := s.Outbox.Closed(t.Context(), list[0].Outbox, s.now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if list, later, err := s.Outbox.Closings(t.Context(), s.now()); err != nil || len(list) != 0 || !later {
			t.Errorf("%s, before its time: %+v, %v", name, list, err)
		}
		if list, _, err := s.Outbox.Closings(t.Context(), s.now().Add(2*time.Minute)); err != nil || len(list) != 1 || list[0].Tries != 1 {
			t.Errorf("%s, at its time: %+v, %v", name, list, err)
		}
		if err := s.Outbox.Closed(t.Context(), list[0].Outbox, time.Time{}); err != nil || one[int](s, "SELECT count(*) FROM closings") != 0 {
			t.Errorf("%s, done: %v", name, err)
		}
	}
}
