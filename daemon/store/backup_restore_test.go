package store_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/store"
	"hob/daemon/store/storetest"
)

func openAt(t *testing.T, dir string) (s *store.Store, end func()) {
	t.Helper()
	s = storetest.Open(t, dir, func(o *store.Options) { o.Owner = func() []event.Address { return []event.Address{chat} } })
	return s, func() { storetest.Close(t, s) }
}

func accept(t *testing.T, s *store.Store, id string) {
	t.Helper()
	_, err := s.Inbox.Accept(t.Context(), []event.In{{
		Source: "chat", ExtID: id, Session: "main", Kind: event.Message, Rank: event.RankOwner, Trust: event.Owner, ReplyTo: chat, Typed: true, Parts: event.Say(id), Received: time.Now(),
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

func steps(t *testing.T) fs.FS {
	t.Helper()
	files := store.Migrations()
	return files
}

// outboxes are the states of the outbox, oldest first.
func outboxes(t *testing.T, s *store.Store) (states []string) {
	t.Helper()
	rows, err := store.NewView(s.Reader(), time.Now).OutboxRows(t.Context(), event.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for i := len(rows) - 1; i >= 0; i-- {
		text := rows[i].State
		for _, d := range rows[i].Deliveries {
			text += "/" + d.State
		}
		states = append(states, text)
	}
	return states
}

// After a restore, what waited or was being sent when the backup was made is held, and a note says so; the owner can let it go on.
func TestRestoreHoldsWhatWaited(t *testing.T) {
	dir := t.TempDir()
	s, end := openAt(t, dir)
	if _, found, err := store.Restored(t.Context(), s.Reader()); found || err != nil {
		t.Errorf("a note before any restore: %t, %v", found, err)
	}
	accept(t, s, "waits")
	for _, key := range []string{"ready", "sending", "sent"} {
		if err := s.Events.Tell(t.Context(), key, chat, key); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Write(t.Context(), func(tx *store.Tx) error {
		for _, q := range []string{
			"INSERT INTO deliveries (outbox, part, body, nonce, epoch, state) VALUES (2, 0, 'sending', 'n', 1, 'sending'), (3, 0, 'sent', 'n', 1, 'sent')",
			"UPDATE outbox SET state = 'done', ended = 1 WHERE id = 3",
		} {
			if err := tx.Run(q); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	from := filepath.Join(t.TempDir(), "copy.db")
	err := s.Backups.Backup(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	accept(t, s, "after")
	path := filepath.Join(dir, "hob.db")
	report, err := store.VerifyBackup(t.Context(), from, steps(t))
	if err != nil || report.Messages != 1 || report.Sent != 1 || report.Version != "test" || report.Instance == "" || time.Since(report.Newest) > time.Minute {
		t.Errorf("the backup: %+v, %v", report, err)
	}
	if _, err := store.BackupLoses(t.Context(), path, steps(t), report); !errors.Is(err, sqlite.ErrLocked) {
		t.Errorf("while it is open: %v", err)
	}
	newest := func() int64 {
		seq, err := s.Events.LastEvent(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	place := newest()
	end()
	lost, err := store.BackupLoses(t.Context(), path, steps(t), report)
	if err != nil || lost.Messages != 1 || lost.Turns != 0 || lost.Foreign || lost.Damaged != "" || !lost.Newest.After(report.Newest) {
		t.Errorf("lost: %+v, %v", lost, err)
	}
	note, _, err := store.RestoreBackup(t.Context(), path, from, steps(t), time.Now)
	if err != nil || note.Messages != 2 || note.Inputs != 1 || !note.Taken.Equal(report.Newest) {
		t.Fatalf("note %+v, %v", note, err)
	}
	// The numbers of events go on, so that a client that follows them misses nothing: also after two restores with no start in between.
	if note, _, err = store.RestoreBackup(t.Context(), path, from, steps(t), time.Now); err != nil {
		t.Fatal(err)
	}
	s, end = openAt(t, dir)
	defer end()
	if b := s.Boot(); b.Crashed { // F4: the copy was made while hob was running
		t.Errorf("the restore counts as a crash: %+v", b)
	}
	if last := s.Boot().Last; !last.Equal(note.Taken) {
		t.Errorf("hob was last there at %s, and the backup is of %s", last, note.Taken)
	}
	if seq := newest(); seq < place+2 {
		t.Errorf("the newest event has the number %d, and before it was %d", seq, place)
	}
	kept, found, err := store.Restored(t.Context(), s.Reader())
	if err != nil || !found || kept.Messages != 2 || kept.Inputs != 1 || !kept.At.Equal(note.At) || kept.From != from {
		t.Errorf("the note: %+v, %t, %v", kept, found, err)
	}
	if got := strings.Join(outboxes(t, s), " "); got != "held held/unknown done/sent" {
		t.Errorf("the outbox: %s", got)
	}
	rows, err := store.NewView(s.Reader(), time.Now).InboxRows(t.Context(), event.Filter{})
	if err != nil || len(rows) != 1 || rows[0].State != "held" || !strings.Contains(rows[0].Reason, "may have been answered") {
		t.Errorf("the inbox: %+v, %v", rows, err)
	}
	if err := errors.Join(s.Outbox.RetryOut(t.Context(), 1), s.Outbox.RetryOut(t.Context(), 2), s.Inbox.Retry(t.Context(), rows[0].Seq)); err != nil {
		t.Errorf("the owner lets them go on: %v", err)
	}
	if got := strings.Join(outboxes(t, s), " "); got != "ready ready/ready done/sent" {
		t.Errorf("the outbox then: %s", got)
	}
}

func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	mine := sqlite.Options{Path: filepath.Join(dir, "other.db"), Migrations: fstest.MapFS{"0001_notes.sql": {Data: []byte("CREATE TABLE notes (text TEXT)")}}, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	d, err := sqlite.Open(t.Context(), mine)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "copy.db")
	if err := d.Backup(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.VerifyBackup(t.Context(), other, steps(t)); !errors.Is(err, sqlite.ErrForeign) {
		t.Errorf("a database of another program: %v", err)
	}
	home := t.TempDir()
	s, end := openAt(t, home)
	from := filepath.Join(t.TempDir(), "copy.db")
	err = s.Backups.Backup(t.Context(), from)
	end()
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.VerifyBackup(t.Context(), from, steps(t))
	if err != nil {
		t.Fatal(err)
	}
	if lost, err := store.BackupLoses(t.Context(), filepath.Join(t.TempDir(), "hob.db"), steps(t), r); err != nil || lost != (store.BackupLoss{}) {
		t.Errorf("nothing is there to be lost: %+v, %v", lost, err)
	}
	elsewhere := t.TempDir()
	_, end = openAt(t, elsewhere)
	end()
	if lost, err := store.BackupLoses(t.Context(), filepath.Join(elsewhere, "hob.db"), steps(t), r); err != nil || !lost.Foreign {
		t.Errorf("another hob's database: %+v, %v", lost, err)
	}
	damaged := filepath.Join(t.TempDir(), "hob.db")
	if err := os.WriteFile(damaged, []byte(strings.Repeat("junk", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if lost, err := store.BackupLoses(t.Context(), damaged, steps(t), r); err != nil || lost.Damaged == "" {
		t.Errorf("a damaged database: %+v, %v", lost, err)
	}
}

// The draft of an answer is not held: its turn goes on, and takes up the message that was posted when the backup was made. Whatever else there was of
// one is given up under a name of its own, so that the answer goes out.
func TestRestoreLeavesTheAnswerItsDraft(t *testing.T) {
	for state, want := range map[string]string{"ready": "cancelled turn:1:draft", "sending": "cancelled turn:1:draft", "sent": "draft turn:1:final"} {
		dir := t.TempDir()
		s, end := openAt(t, dir)
		accept(t, s, "go")
		if c, ok, err := s.Turns.Take(t.Context(), nil, nil); c.Turn != 1 || !ok || err != nil {
			t.Fatalf("%+v, %v", c, err)
		}
		if err := s.Write(t.Context(), func(tx *store.Tx) error {
			if err := tx.Run("INSERT INTO outbox (key, cause_kind, cause_id, address, body, urgency, created, state) VALUES ('turn:1:final', 'step', 1, ?, 'one', 'urgent', 1, 'draft')", chat); err != nil {
				return err
			}
			return tx.Run("INSERT INTO deliveries (outbox, part, body, nonce, epoch, state, draft) VALUES (1, 0, 'one', 'n', 1, ?, 1)", state)
		}); err != nil {
			t.Fatal(err)
		}
		from := filepath.Join(t.TempDir(), "copy.db")
		if err := s.Backups.Backup(t.Context(), from); err != nil {
			t.Fatal(err)
		}
		end()
		note, _, err := store.RestoreBackup(t.Context(), filepath.Join(dir, "hob.db"), from, steps(t), time.Now)
		if err != nil || note.Messages != 0 || note.Turns != 1 {
			t.Errorf("%s: note %+v, %v", state, note, err)
		}
		s, end = openAt(t, dir)
		rows, err := store.NewView(s.Reader(), time.Now).OutboxRows(t.Context(), event.Filter{})
		if err != nil || len(rows) != 1 || rows[0].State+" "+rows[0].Key != want {
			t.Errorf("%s: %+v, %v, want %s", state, rows, err, want)
		}
		end()
	}
}

func TestNoLeftoversOfACopy(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hob-20261123-010203.000.db"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if left, err := store.BackupLeftovers(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}
