package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
)

// lunch is an hour and a half at which it is quiet.
func lunch(t *testing.T) channels.Hours {
	t.Helper()
	h, err := channels.ParseHours("10:00-11:30")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// at moves the clock to a time of a day in November.
func (s *testStore) at(day, hour, minute int) time.Time {
	now := time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC)
	s.ahead.Store(int64(time.Until(now)))
	return now
}

// said queues a message and returns its row.
func (s *testStore) said(to event.Address, cause event.CauseKind, urgency event.Urgency) int64 {
	s.t.Helper()
	s.ext++
	key := fmt.Sprint("said", s.ext)
	out := event.Out{Key: key, Cause: event.Cause{Kind: cause, ID: 1}, To: to, Body: "body of " + key, Urgency: urgency}
	if err := s.Calls.Record(s.t.Context(), out); err != nil {
		s.t.Fatal(err)
	}
	return one[int64](s, "SELECT id FROM outbox WHERE key = ?", key)
}

// ready lists the heads of line.
func (s *testStore) ready() (ids []int64) {
	s.t.Helper()
	rows, err := s.Outbox.Ready(s.t.Context(), s.now(), 100)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// command is a command that has come in.
func (s *testStore) command(text string) turn.Queued {
	s.t.Helper()
	in := message(text)
	in.Kind = event.Command
	s.accept(in)
	q, ok, err := s.Commands.Command(s.t.Context(), nil)
	if !ok || err != nil {
		s.t.Fatalf("no command: %v", err)
	}
	return q
}

func (s *testStore) hush(until time.Time) {
	s.t.Helper()
	if err := s.Commands.SetQuiet(s.t.Context(), s.command("/quiet"), until, ""); err != nil { // without a reply, which would be a message too
		s.t.Fatal(err)
	}
}

func (s *testStore) wantReady(what string, ids ...int64) {
	s.t.Helper()
	if got := s.ready(); !slices.Equal(got, ids) {
		s.t.Errorf("%s: ready are %v, want %v", what, got, ids)
	}
}

// In quiet hours only what does not hurry waits, and only for the owner.
func TestQuietHours(t *testing.T) {
	s := fresh(t, func(s *testStore) {
		s.policy.Quiet = func(at time.Time) time.Time { return lunch(t).End(at, time.UTC) }
	})
	s.at(21, 10, 30)
	waits := s.said(chat, event.ByTurn, event.Normal)
	urgent := s.said(chat, event.ByTurn, event.Urgent)
	other := s.said("chat:2", event.ByTurn, event.Normal)
	local := s.said(event.CLI, event.ByTurn, event.Normal)
	s.wantReady("while it is quiet", urgent, other)
	if got := one[string](s, "SELECT state FROM outbox WHERE id = ?", local); got != "done" {
		t.Errorf("the local one is %s", got)
	}
	if until, n, err := s.Outbox.Quiet(t.Context()); err != nil || n != 1 || !until.Equal(time.Date(2026, 11, 21, 11, 30, 0, 0, time.UTC)) {
		t.Errorf("quiet until %s, %d wait, %v", until, n, err)
	}
	if next, err := s.Outbox.NextDue(t.Context(), s.now()); err != nil || !next.Equal(time.Date(2026, 11, 21, 11, 30, 0, 0, time.UTC)) {
		t.Errorf("next at %s, %v", next, err)
	}
	s.at(21, 11, 30)
	s.wantReady("afterwards", waits, other)
	if until, n, err := s.Outbox.Quiet(t.Context()); err != nil || n != 0 || !until.IsZero() {
		t.Errorf("afterwards quiet until %s, %d wait, %v", until, n, err)
	}
}

// An urgent message whose own delay ended in the quiet hours, but that was not sent by their end, keeps its place: what was queued after it is not
// joined to what was queued before it.
func TestQuietKeepsTheOrder(t *testing.T) {
	quiet := func(at time.Time) time.Time { return lunch(t).End(at, time.UTC) }
	s := fresh(t, func(s *testStore) { s.policy.Quiet = quiet })
	at := s.at(21, 10, 10)
	before := s.said(chat, event.ByTurn, event.Normal)
	late := event.Out{Key: "late", Cause: event.Cause{Kind: event.ByNotice, ID: 1}, To: chat, Body: "late", Urgency: event.Urgent, NotBefore: at.Add(2 * time.Minute)}
	if err := s.Calls.Record(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	after := s.said(chat, event.ByTurn, event.Normal)
	s.at(21, 11, 39)
	var order []int64
	for range 3 {
		rows, err := s.Outbox.Ready(t.Context(), s.now(), 10)
		if err != nil || len(rows) != 1 || len(rows[0].Quiet) > 1 {
			t.Fatalf("%+v, %v", rows, err)
		}
		order = append(order, rows[0].ID)
		s.sql("UPDATE outbox SET state = 'done' WHERE id = ?", rows[0].ID)
	}
	if want := []int64{before, one[int64](s, "SELECT id FROM outbox WHERE key = 'late'"), after}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

// What the owner says with /quiet holds over his quiet hours, until they begin again.
func TestQuietCommand(t *testing.T) {
	quiet := func(at time.Time) time.Time { return lunch(t).End(at, time.UTC) }
	s := fresh(t, func(s *testStore) { s.policy.Quiet = quiet })
	s.at(21, 10, 30)
	first := s.said(chat, event.ByTurn, event.Normal)
	s.hush(s.now())
	second := s.said(chat, event.ByTurn, event.Normal)
	s.wantReady("after /quiet off", first)
	s.sql("UPDATE outbox SET state = 'done' WHERE id = ?", first)
	s.wantReady("said after /quiet off", second)
	s.sql("UPDATE outbox SET state = 'done' WHERE id = ?", second)

	s = s.crash() // what was said outlives a crash
	s.at(22, 10, 30)
	third := s.said(chat, event.ByTurn, event.Normal)
	s.wantReady("on the next day")

	s.at(22, 11, 30)
	s.wantReady("at its end", third)
	s.sql("UPDATE outbox SET state = 'done'")
	s.at(23, 9, 0)
	s.hush(s.at(23, 9, 0).Add(2 * time.Hour)) // until 11:00, into the quiet hours
	fourth := s.said(chat, event.ByTurn, event.Normal)
	s.at(23, 11, 29)
	s.wantReady("the hours go on behind /quiet")
	s.hush(s.at(23, 11, 29).Add(time.Hour))
	s.at(23, 12, 28)
	s.wantReady("what waits waits on with a longer /quiet")
	s.at(23, 12, 29)
	s.wantReady("when all is over", fourth)
}

// What hob says to others waits a moment, in which the owner can stop it; nothing overtakes it.
func TestHoldWindow(t *testing.T) {
	s := fresh(t, func(s *testStore) { s.policy.CancelDelay, s.policy.Announce = 10*time.Second, true })
	s.at(21, 9, 0)
	typed := s.said("chat:5", event.ByCommand, event.Urgent)
	held := s.said("chat:2", event.ByTurn, event.Urgent)
	told := one[string](s, "SELECT body FROM outbox WHERE address = ? AND key = ?", chat, fmt.Sprintf("outbox:%d:hold", held))
	if want := fmt.Sprintf("To chat:2 in 10s: “body of said2”\n/cancel %d stops it.", held); told != want {
		t.Errorf("the owner is told %q, want %q", told, want)
	}
	s.policy.Announce = false
	mine := s.said(chat, event.ByTurn, event.Urgent)
	dropped := s.said("chat:3", event.ByTurn, event.Urgent)
	s.policy.CancelDelay = 0
	behind := s.said("chat:2", event.ByTurn, event.Urgent)
	s.wantReady("at once", typed, one[int64](s, "SELECT id FROM outbox WHERE cause_kind = 'notice'"))
	if n := one[int](s, "SELECT count(*) FROM outbox WHERE cause_kind = 'notice'"); n != 1 {
		t.Errorf("%d announcements, want 1", n)
	}
	if err := s.Commands.Cancel(t.Context(), s.command("/cancel"), dropped); err != nil {
		t.Fatal(err)
	}
	if reply := one[string](s, "SELECT body FROM outbox WHERE key LIKE 'command:%'"); reply != fmt.Sprintf("Message %d is stopped.", dropped) {
		t.Errorf("the reply is %q", reply)
	}
	s.later(10 * time.Second)
	s.wantReady("after ten seconds", typed, held, one[int64](s, "SELECT id FROM outbox WHERE cause_kind = 'notice'"))
	s.sql("UPDATE outbox SET state = 'done' WHERE id = ?", held)
	if got := s.ready(); !slices.Contains(got, behind) {
		t.Errorf("what came behind is not ready: %v", got)
	}
	if err := s.Commands.Cancel(t.Context(), s.command("/cancel"), held); err != nil {
		t.Fatal(err)
	}
	if reply := one[string](s, "SELECT body FROM outbox WHERE key LIKE 'command:%' ORDER BY id DESC"); !strings.Contains(reply, "is not waiting") {
		t.Errorf("the reply about a message that is gone is %q", reply)
	}
	if one[string](s, "SELECT state FROM outbox WHERE id = ?", mine) != "ready" {
		t.Error("what goes to the owner is not ready")
	}
}

// Messages that go out as one end with a pointer to it, and come back when it is dropped before any of it was sent.
func TestJoinedRows(t *testing.T) {
	for _, tried := range []bool{false, true} {
		s := fresh(t, func(s *testStore) {
			s.policy.Quiet = func(at time.Time) time.Time { return lunch(t).End(at, time.UTC) }
		})
		s.at(21, 10, 30)
		ids := []int64{s.said(chat, event.ByTurn, event.Normal), s.said(chat, event.ByTurn, event.Normal), s.said(chat, event.ByTurn, event.Normal)}
		s.at(21, 11, 30)
		rows, err := s.Outbox.Ready(t.Context(), s.now(), 10)
		if err != nil || len(rows) != 1 || len(rows[0].Quiet) != 3 || rows[0].Quiet[2].Body != "body of said3" || rows[0].Quiet[2].At.UTC().Format(time.Kitchen) != "10:30AM" {
			t.Fatalf("ready: %+v, %v", rows, err)
		}
		d := channels.Delivery{Outbox: ids[0], Parts: 1, Body: "all", Nonce: "n", Attempts: 1, To: chat}
		if err := s.Outbox.Split(t.Context(), ids[0], []channels.Delivery{d}, ids[1:]); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("went out together with message %d", ids[0])
		for _, r := range s.outs()[1:] {
			if r.State != "cancelled" || r.Joined != ids[0] || r.Reason != want {
				t.Errorf("row %d: %s, joined %d, %q", r.ID, r.State, r.Joined, r.Reason)
			}
		}
		s.wantReady("one is left", ids[0])
		if tried {
			if err := s.Outbox.Sending(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Outbox.DropOut(t.Context(), ids[0]); err != nil {
			t.Fatal(err)
		}
		if tried {
			s.wantReady("dropped after a try")
		} else {
			s.wantReady("dropped before any try", ids[1])
		}
	}
}

// A row that is dropped between the look and the cut takes no others with it.
func TestJoinIsWholeOrNothing(t *testing.T) {
	for _, gone := range []int{0, 2} {
		s := fresh(t, func(s *testStore) {
			s.policy.Quiet = func(at time.Time) time.Time { return lunch(t).End(at, time.UTC) }
		})
		s.at(21, 10, 30)
		ids := []int64{s.said(chat, event.ByTurn, event.Normal), s.said(chat, event.ByTurn, event.Normal), s.said(chat, event.ByTurn, event.Normal)}
		if err := s.Outbox.DropOut(t.Context(), ids[gone]); err != nil {
			t.Fatal(err)
		}
		err := s.Outbox.Split(t.Context(), ids[0], []channels.Delivery{{Outbox: ids[0], Body: "all", Nonce: "n"}}, ids[1:])
		if !errors.Is(err, channels.ErrNotReady) {
			t.Errorf("row %d is gone: %v", ids[gone], err)
		}
		if n := one[int](s, "SELECT count(*) FROM outbox WHERE state = 'ready'"); n != 2 {
			t.Errorf("row %d is gone: %d are left, want 2", ids[gone], n)
		}
		if n := one[int](s, "SELECT count(*) FROM deliveries"); n != 0 {
			t.Errorf("%d parts of what was not cut", n)
		}
	}
}

// What goes out as one message are those that stand next to each other: a file between them keeps its place.
func TestWhatWaitedKeepsItsPlace(t *testing.T) {
	s := fresh(t, func(s *testStore) {
		s.policy.Quiet = func(at time.Time) time.Time { return lunch(t).End(at, time.UTC) }
	})
	s.at(21, 10, 30)
	var ids []int64
	for range 3 {
		ids = append(ids, s.said(chat, event.ByTurn, event.Normal))
	}
	file := event.Out{Key: "file", Cause: event.Cause{Kind: event.ByTurn, ID: 1}, To: chat, Body: "look", Urgency: event.Normal, Files: []event.Enclosed{fileNamed("a1")}}
	if err := s.Calls.Record(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	s.said(chat, event.ByTurn, event.Normal)
	s.at(21, 11, 30)
	rows, err := s.Outbox.Ready(t.Context(), s.now(), 9)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%+v, %v", rows, err)
	}
	var joined []int64
	for _, w := range rows[0].Quiet {
		joined = append(joined, w.ID)
	}
	if !slices.Equal(joined, ids) {
		t.Errorf("%v go out as one, want %v", joined, ids)
	}
}
