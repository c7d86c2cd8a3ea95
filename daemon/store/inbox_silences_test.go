package store_test

import (
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/store"
)

// answers says something to a chat, as a turn does, and lets a time pass.
func (s *testStore) answers(to event.Address, then time.Duration) {
	s.t.Helper()
	at := sqlite.Micros(s.now())
	s.sql("INSERT INTO outbox (key, cause_kind, cause_id, address, body, urgency, created, state) SELECT 'a' || count(*), 'step', 1, ?, 'answer', 'normal', ?, 'done' FROM outbox", to, at)
	s.sql("INSERT INTO deliveries (outbox, part, body, nonce, tried, epoch, state) SELECT max(id), 0, '', '', ?, ?, 'sent' FROM outbox", at, s.Epoch())
	s.later(then)
}

// exchange is so many answers of hob, each with a reply of somebody after a time; it returns the row of the last one.
func (s *testStore) exchange(n int, after time.Duration, in event.In) (seq int64) {
	s.t.Helper()
	for range n {
		s.answers(in.ReplyTo, after)
		seq = s.accept(in)
		s.later(time.Second)
	}
	return seq
}

// A program that answers each answer at once gets five of them, and the owner is told once; what it writes for an hour is dropped.
func TestTwoProgramsStop(t *testing.T) {
	s := fresh(t)
	bot := by("2", "and what do you say to that?")
	s.accept(bot)
	if seq := s.exchange(store.BotLoopReplies-1, 2*time.Second, bot); s.row(seq).state != "queued" {
		t.Fatalf("too early: %+v", s.row(seq))
	}
	last := s.exchange(1, 2*time.Second, bot)
	if r := s.row(last); r.state != "dropped" || !strings.Contains(r.reason, "faster than a person") {
		t.Fatalf("the sixth message: %+v", r)
	}
	s = s.crash()
	s.later(store.BotLoopSilence - time.Minute)
	if r := s.row(s.accept(bot)); r.state != "dropped" {
		t.Errorf("within the hour: %+v", r)
	}
	if r := s.row(s.accept(by("3", "hello"))); r.state != "queued" {
		t.Errorf("somebody else: %+v", r)
	}
	told := s.outs()
	if n := len(told); n != store.BotLoopReplies+1 || !strings.Contains(told[n-1].Body, "“Ana” on chat:2") || !strings.Contains(told[n-1].Body, "hob inbox retry") || told[n-1].To != chat {
		t.Errorf("told %+v", told)
	}
	s.later(2 * time.Minute)
	if r := s.row(s.accept(bot)); r.state != "queued" {
		t.Errorf("after the hour: %+v", r)
	}
}

// An answer that was shown while it was made counts from when it was whole: until then it cannot be answered too soon.
func TestProgramsThatSeeAnAnswerGrow(t *testing.T) {
	s := fresh(t)
	bot := by("2", "and what do you say to that?")
	last := s.accept(bot)
	for range store.BotLoopReplies {
		s.later(time.Minute)
		s.answers(bot.ReplyTo, 2*time.Second)
		s.sql("UPDATE deliveries SET tried = tried - ? WHERE outbox = (SELECT max(id) FROM outbox)", (20 * time.Second).Microseconds())
		last = s.accept(bot)
	}
	if r := s.row(last); r.state != "dropped" {
		t.Errorf("%+v", r)
	}
}

// Who takes his time is never taken for a program, however long he talks; nor is the owner.
func TestPeopleAreAnswered(t *testing.T) {
	s := fresh(t)
	for range 3 { // four at once, and then one after a pause
		if seq := s.exchange(store.BotLoopReplies-1, time.Second, by("2", "yes")); s.row(seq).state != "queued" {
			t.Fatalf("%+v", s.row(seq))
		}
		s.exchange(1, 7*time.Second, by("2", "hm"))
	}
	if seq := s.exchange(2*store.BotLoopReplies, time.Second, typed("go on")); s.row(seq).state != "queued" {
		t.Errorf("the owner: %+v", s.row(seq))
	}
	if seq := s.exchange(1, 9*time.Second, by("4", "a first word")); s.row(seq).state != "queued" {
		t.Errorf("somebody new: %+v", s.row(seq))
	}
}

// The owner ends the silence: in a group by a message of his, anywhere by a retry of what was dropped. Then it counts anew.
func TestTheOwnerEndsTheSilence(t *testing.T) {
	in := func(person string) event.In {
		in := by(person, "and what do you say to that?")
		in.Session, in.ReplyTo = "chat:g", "chat:g"
		return in
	}
	for name, lifts := range map[string]func(s *testStore, dropped int64){
		"a retry": func(s *testStore, dropped int64) {
			if err := s.Inbox.Retry(t.Context(), dropped); err != nil {
				t.Fatal(err)
			}
		},
		"a message": func(s *testStore, _ int64) { s.accept(in("1")) },
	} {
		s := fresh(t)
		dropped := s.exchange(store.BotLoopReplies, time.Second, in("2"))
		if r := s.row(dropped); r.state != "dropped" {
			t.Fatalf("%s: %+v", name, r)
		}
		lifts(s, dropped)
		if seq := s.exchange(store.BotLoopReplies-1, time.Second, in("2")); s.row(seq).state != "queued" {
			t.Errorf("%s: %+v", name, s.row(seq))
		}
		if seq := s.exchange(1, time.Second, in("2")); s.row(seq).state != "dropped" {
			t.Errorf("%s: it goes on for ever: %+v", name, s.row(seq))
		}
	}
	s := fresh(t)
	s.exchange(store.BotLoopReplies-1, time.Second, in("2"))
	s.accept(in("1"))
	if seq := s.exchange(1, time.Second, in("2")); s.row(seq).state != "queued" {
		t.Errorf("after a message of the owner: %+v", s.row(seq))
	}
}
