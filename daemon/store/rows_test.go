package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/store"
)

// Impossible states cannot be stored.
func TestImpossibleRowsAreRefused(t *testing.T) {
	s := fresh(t)
	s.accept(message("hello"))
	if s.take() != 1 {
		t.Fatal("no turn")
	}
	s.sql("INSERT INTO triggers (id, kind, name, body, version) VALUES (1, 'job', 'j', '{}', 1)")
	s.sql("INSERT INTO fires (id, trigger, key, due, created, state) VALUES (1, 1, 'k', 1, 1, 'queued')")
	s.sql("INSERT INTO outbox (id, key, cause_kind, cause_id, address, body, urgency, created, state) VALUES (1, 'k', 'notice', 1, 'a:b', '', 'normal', 1, 'ready')")
	for name, query := range map[string]string{
		"two running main turns":            "INSERT INTO turns (session, state, epoch, asker, reply_to, started) VALUES (1, 'running', 1, 'owner', '', 1)",
		"an ended turn that runs":           "UPDATE turns SET ended = 5",
		"a done turn without an end":        "UPDATE turns SET state = 'done'",
		"a turn of nobody":                  "UPDATE turns SET asker = 'god'",
		"a turn in an unknown state":        "UPDATE turns SET state = 'sleeping'",
		"a turn of an epoch that never was": "UPDATE turns SET epoch = 99",
		"a turn of no session":              "UPDATE turns SET session = 99",
		"a joined input without a turn":     "UPDATE inbox SET turn = NULL",
		"an input in an unknown state":      "UPDATE inbox SET state = 'lost'",
		"an input of unknown trust":         "UPDATE inbox SET trust = 'root'",
		"an input of an unknown kind":       "UPDATE inbox SET kind = 'mail'",
		"an input of rank 7":                "UPDATE inbox SET rank = 7",
		"parts that are no JSON":            "UPDATE inbox SET parts = 'x'",
		"the same input twice":              "INSERT INTO inbox (source, ext_id, session, kind, rank, trust, parts, received) VALUES ('chat', 'm1', 'x', 'message', 0, 'owner', '[]', 1)",
		"a call without an id":              "INSERT INTO items (session, turn, step, role, kind, trust, source) VALUES (1, 1, 1, 'assistant', 'call', 'owner', 'x')",
		"a text with a call id":             "UPDATE items SET call_id = 'x'",
		"the same input in a turn twice":    "INSERT INTO items (session, turn, step, role, kind, trust, source, inbox) VALUES (1, 1, 1, 'user', 'input', 'owner', 'x', 1)",
		"a tool step without a call":        "INSERT INTO steps (turn, n, kind, state, epoch) VALUES (1, 1, 'tool', 'intent', 1)",
		"a model step with a call":          "INSERT INTO steps (turn, n, kind, state, epoch, call_id) VALUES (1, 1, 'model', 'intent', 1, 'c')",
		"an asked step without a question":  "INSERT INTO steps (turn, n, kind, state, epoch, call_id) VALUES (1, 1, 'tool', 'asked', 1, 'c')",
		"a step of an unknown effect":       "INSERT INTO steps (turn, n, kind, state, epoch, call_id, effect) VALUES (1, 1, 'tool', 'intent', 1, 'c', 'magic')",
		"step 0":                            "INSERT INTO steps (turn, n, kind, state, epoch) VALUES (1, 0, 'model', 'intent', 1)",
		"an answer by nobody":               "INSERT INTO questions (code, subject, text, address, asked, until, state) VALUES ('A', 'ask', '', '', 1, 2, 'answered')",
		"an approval consumed unanswered":   "INSERT INTO questions (code, subject, text, address, asked, until, state) VALUES ('A', 'ask', '', '', 1, 2, 'consumed')",
		"a message without a cause":         "INSERT INTO outbox (key, cause_kind, cause_id, address, body, urgency, created, state) VALUES ('x', 'notice', 0, 'a:b', '', 'normal', 1, 'ready')",
		"a message of an unknown cause":     "INSERT INTO outbox (key, cause_kind, cause_id, address, body, urgency, created, state) VALUES ('x', 'whim', 1, 'a:b', '', 'normal', 1, 'ready')",
		"the same message twice":            "INSERT INTO outbox (key, cause_kind, cause_id, address, body, urgency, created, state) VALUES ('k', 'notice', 1, 'a:b', '', 'normal', 1, 'ready')",
		"a delivery of nothing":             "INSERT INTO deliveries (outbox, part, body, nonce, epoch, state) VALUES (99, 0, '', '', 1, 'ready')",
		"a delivery in an unknown state":    "INSERT INTO deliveries (outbox, part, body, nonce, epoch, state) VALUES (1, 0, '', '', 1, 'maybe')",
		"a fire done without an outcome":    "UPDATE fires SET state = 'done'",
		"an outcome before the end":         "UPDATE fires SET outcome = 'ran'",
		"the same slot twice":               "INSERT INTO fires (trigger, key, due, created, state) VALUES (1, 'k', 1, 1, 'queued')",
		"two jobs of one name":              "INSERT INTO triggers (kind, name, body, version) VALUES ('job', 'j', '{}', 1)",
		"a negative reservation":            "INSERT INTO spend (day, scope, reserved_tokens) VALUES ('d', 'all', -1)",
		"a grant for everything":            "INSERT INTO grants (tool, pattern, created) VALUES ('exec', '', 1)",
		"two live sessions of one key":      "INSERT INTO sessions (key, kind, watermark, created) VALUES ('main', 'main', 'owner', 1)",
		"a second instance":                 "INSERT INTO instance (one, id, created) VALUES (2, 'x', 1)",
		"a text in a number":                "UPDATE turns SET attempts = 'many'",
	} {
		if err := s.try(query); err == nil {
			t.Errorf("%s can be stored", name)
		}
	}
	if n := one[string](s, "PRAGMA integrity_check"); n != "ok" {
		t.Error(n)
	}
}

func TestAcceptTwice(t *testing.T) {
	s := fresh(t)
	in := message("hello")
	in.ExtID = "x"
	a, err := s.Inbox.Accept(t.Context(), []event.In{in, in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Inbox.Accept(t.Context(), []event.In{in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !a[0].New || a[1].New || b[0].New || a[0].Inbox != b[0].Inbox || a[0].Event != b[0].Event || a[1].Inbox != a[0].Inbox || a[0].Event == 0 {
		t.Errorf("receipts %+v and %+v", a, b)
	}
	in.Source = "other"
	if c, err := s.Inbox.Accept(t.Context(), []event.In{in}, nil); err != nil || !c[0].New {
		t.Errorf("the same id of another source: %+v, %v", c, err)
	}
}

// Rows and cursor are one commit, and a cursor belongs to an account.
func TestCursor(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	in := message("hello")
	in.ExtID = "x"
	if _, err := s.Inbox.Accept(ctx, []event.In{in}, &channels.Cursor{Source: "chat", Identity: "bot-1", Value: "7"}); err != nil {
		t.Fatal(err)
	}
	bad := message("bad")
	bad.ExtID, bad.Kind = "y", "nonsense"
	if _, err := s.Inbox.Accept(ctx, []event.In{bad}, &channels.Cursor{Source: "chat", Identity: "bot-1", Value: "8"}); err == nil {
		t.Fatal("nonsense was accepted")
	}
	for identity, want := range map[string]string{"bot-1": "7", "bot-2": ""} {
		if v, err := s.Inbox.Cursor(ctx, "chat", identity); err != nil || v != want {
			t.Errorf("%s: %q, %v, want %q", identity, v, err, want)
		}
	}
	if _, err := s.Inbox.Accept(ctx, nil, &channels.Cursor{Source: "chat", Identity: "bot-2", Value: "1"}); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Inbox.Cursor(ctx, "chat", "bot-1"); err != nil || v != "" {
		t.Errorf("the old account still has %q, %v", v, err)
	}
}

func TestManyProducersAcceptOnce(t *testing.T) {
	s := fresh(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	fresh := 0
	for range 16 {
		wg.Go(func() {
			for i := range 20 {
				in := message("x")
				in.ExtID = string(rune('a' + i))
				r, err := s.Inbox.Accept(context.Background(), []event.In{in}, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if r[0].New {
					mu.Lock()
					fresh++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if n := one[int](s, "SELECT count(*) FROM inbox"); n != 20 || fresh != 20 {
		t.Errorf("%d rows, %d of them new", n, fresh)
	}
}

func TestExpiredInputEndsItsSlot(t *testing.T) {
	s := fresh(t)
	s.sql("INSERT INTO triggers (id, kind, name, body, version) VALUES (1, 'job', 'j', '{}', 1)")
	s.sql("INSERT INTO fires (id, trigger, key, due, created, state) VALUES (1, 1, 'k', 1, 1, 'queued')")
	in := message("soon")
	in.Kind, in.Fire, in.NotBefore, in.NotAfter = event.Fire, 1, s.now().Add(time.Hour), s.now().Add(2*time.Hour)
	s.accept(in)
	if s.take() != 0 {
		t.Error("it was taken before its time")
	}
	s.later(3 * time.Hour)
	if s.take() != 0 {
		t.Error("it was taken after its time")
	}
	if state, fire := one[string](s, "SELECT state FROM inbox"), one[string](s, "SELECT state || ' ' || outcome FROM fires"); state != "expired" || fire != "done missed" {
		t.Errorf("inbox %s, fire %s: a slot that stays open would hold up its job for good", state, fire)
	}
}

func TestBackup(t *testing.T) {
	s := fresh(t)
	s.accept(message("keep me"))
	other := filepath.Join(t.TempDir(), "hob.db")
	if err := s.Backups.Backup(t.Context(), other); err != nil {
		t.Fatalf("backup: %v", err)
	}
	if err := s.Backups.Backup(t.Context(), other); err == nil {
		t.Error("a file that was there already was overwritten")
	}
	if err := s.Backups.Backup(t.Context(), filepath.Join(t.TempDir(), "no", "such", "folder.db")); err == nil {
		t.Error("a folder that is not there was written to")
	}
	if err := s.Backups.Backup(t.Context(), filepath.Join(s.dir, "copy.db")); err == nil {
		t.Error("the state folder was written to")
	}
	copied := open(t, filepath.Dir(other))
	if n := one[int](copied, "SELECT count(*) FROM inbox"); n != 1 {
		t.Errorf("the copy has %d inbox rows", n)
	}
}

func TestLockedHome(t *testing.T) {
	s := fresh(t)
	_, err := store.Open(t.Context(), store.Options{Dir: s.dir, Clock: clockOf(s)})
	if !errors.Is(err, sqlite.ErrLocked) {
		t.Errorf("%v, want ErrLocked", err)
	}
}

func TestTrimKeepsTheNewestEvent(t *testing.T) {
	s := fresh(t)
	s.accept(message("a"))
	s.accept(message("b"))
	before, err := s.Events.LastEvent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Events.Trim(t.Context(), s.now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if n := one[int](s, "SELECT count(*) FROM events"); n != 1 {
		t.Errorf("%d events are left", n)
	}
	s.accept(message("c"))
	if after, err := s.Events.LastEvent(t.Context()); err != nil || after <= before {
		t.Errorf("numbers went from %d to %d (%v)", before, after, err)
	}
}

// Three unclean ends within ten minutes with no turn to blame: safe mode, which is said, and left by command.
func TestSafeMode(t *testing.T) {
	limits := func(s *testStore) { s.policy.SafeAfter, s.policy.SafeWindow = 3, 10*time.Minute }
	t.Run("three ends", func(t *testing.T) {
		s := fresh(t, limits)
		for n := 1; n <= 3; n++ {
			s = s.crash()
			if b := s.Boot(); !b.Crashed || b.Safe != (n == 3) || b.CrashingTurn != 0 {
				t.Fatalf("after %d unclean ends: %+v", n, b)
			}
		}
		out := s.outs()
		if len(out) != 1 || !strings.Contains(out[0].Body, "hob safe-mode off") {
			t.Errorf("the owner was told %+v", out)
		}
		job, mine := message("job"), message("mine")
		job.Kind, job.Rank, job.NotBefore = event.Fire, event.RankSchedule, s.now()
		s.accept(job)
		seq := s.accept(mine)
		if id := s.take(); one[int64](s, "SELECT seq FROM inbox WHERE turn = ?", id) != seq {
			t.Error("in safe mode the owner's message comes first")
		}
		s.sql("UPDATE turns SET state = 'done', ended = 1")
		looked := s.now()
		if s.take() != 0 {
			t.Error("a job ran in safe mode")
		}
		if next, err := s.Turns.NextWake(t.Context(), looked); err != nil || next.Before(looked.Add(20*time.Second)) {
			t.Errorf("a job that is held back is looked at again in %s, %v", next.Sub(looked), err)
		}
		if err := s.Settings.LeaveSafeMode(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.take() == 0 {
			t.Error("the job did not run after safe mode")
		}
	})
	t.Run("spread out", func(t *testing.T) {
		s := fresh(t, limits)
		for range 6 {
			s.later(6 * time.Minute)
			s = s.crash()
			if s.Boot().Safe {
				t.Fatal("safe mode for ends far apart")
			}
		}
	})
	t.Run("a clean end between", func(t *testing.T) {
		s := fresh(t, limits)
		for n := range 6 {
			if n%2 == 1 {
				s.sql("UPDATE boots SET clean = 1")
			}
			s = s.crash()
			if s.Boot().Safe {
				t.Fatal("safe mode although a clean end was between")
			}
		}
	})
	t.Run("different turns", func(t *testing.T) {
		s := fresh(t, limits)
		for range 3 {
			s.sql("UPDATE turns SET state = 'failed', ended = 1 WHERE ended = 0")
			s.accept(message("x"))
			if s.take() == 0 {
				t.Fatal("no turn")
			}
			s = s.crash()
		}
		if b := s.Boot(); !b.Safe || b.CrashingTurn != 0 {
			t.Errorf("no single turn is to blame: %+v", b)
		}
	})
	t.Run("switched off", func(t *testing.T) {
		s := fresh(t)
		for range 5 {
			if s = s.crash(); s.Boot().Safe {
				t.Fatal("safe mode although it is switched off")
			}
		}
	})
}

func TestCleanEnd(t *testing.T) {
	dir := t.TempDir()
	t.Run("first", func(t *testing.T) { open(t, dir) })
	t.Run("second", func(t *testing.T) {
		if b := open(t, dir).Boot(); b.Crashed || b.Epoch != 2 {
			t.Errorf("boot %+v", b)
		}
	})
}

// What does not hurry is held back while it is quiet, holds up nobody, and comes out when quiet ends.
func TestQuiet(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	hush := func(d time.Duration) {
		t.Helper()
		in := message("/quiet")
		in.Kind = event.Command
		s.accept(in)
		q, ok, err := s.Commands.Command(ctx, nil)
		if err != nil || !ok {
			t.Fatalf("command: %v, %v", ok, err)
		}
		if err := s.Commands.SetQuiet(ctx, q, s.now().Add(d), ""); err != nil {
			t.Fatal(err)
		}
	}
	ready := func() (bodies []string) {
		t.Helper()
		rows, err := s.Outbox.Ready(ctx, s.now(), 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			bodies = append(bodies, r.Body)
		}
		return bodies
	}
	queue := func(body string, urgency event.Urgency) {
		t.Helper()
		if err := s.Calls.Record(ctx, event.Out{Key: body, Cause: event.Cause{Kind: event.ByNotice, ID: 1}, To: chat, Body: body, Urgency: urgency}); err != nil {
			t.Fatal(err)
		}
	}
	hush(2 * time.Hour)
	queue("slow", event.Normal)
	if got := ready(); len(got) != 0 {
		t.Fatalf("while quiet: %v", got)
	}
	if next, err := s.Outbox.NextDue(ctx, s.now()); err != nil || next.Sub(s.now()) > 2*time.Hour || next.Sub(s.now()) < 119*time.Minute {
		t.Errorf("next due in %v, %v", next.Sub(s.now()), err)
	}
	queue("urgent", event.Urgent)
	if got := ready(); len(got) != 1 || got[0] != "urgent" {
		t.Errorf("an urgent message behind a held one: %v", got)
	}
	if err := s.Outbox.DropOut(ctx, 2); err != nil {
		t.Fatal(err)
	}
	hush(5 * time.Hour)
	s.later(3 * time.Hour)
	if got := ready(); len(got) != 0 {
		t.Errorf("quiet was prolonged, and %v came out", got)
	}
	hush(-time.Minute)
	if got := ready(); len(got) != 1 || got[0] != "slow" {
		t.Errorf("after /quiet off: %v", got)
	}
}
