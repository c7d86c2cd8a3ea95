package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/transcribe"
)

func fileNamed(id string) event.Enclosed {
	return event.Enclosed{Artifact: id, SHA256: "sum", Name: id + ".txt", MIME: "text/plain", Size: 3, Path: "/home/sam/" + id}
}

// The files of a message are there when it is split, each part keeps its own, and their bytes are forgotten once all has arrived.
func TestFilesOfAMessage(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	send := func(to event.Address, files ...event.Enclosed) {
		t.Helper()
		in := message("send")
		in.ExtID = string(to) + files[0].Name
		if _, err := s.Outbox.Send(ctx, in, to, "look", files...); err != nil {
			t.Fatal(err)
		}
	}
	send("telegram:1", fileNamed("a1"), event.Enclosed{Name: "film", Size: 1 << 40})
	rows, err := s.Outbox.Ready(ctx, s.now(), 9)
	if err != nil || len(rows) != 1 || len(rows[0].Files) != 2 || rows[0].Files[0] != fileNamed("a1") || rows[0].Files[1].Name != "film" {
		t.Fatalf("%+v, %v", rows, err)
	}
	if a, err := s.ArtifactNamed(ctx, "a1"); err != nil || a.Trust != event.Public || a.Source != "outbox" || a.Name != "a1.txt" {
		t.Errorf("%+v, %v", a, err)
	}
	parts := []channels.Delivery{{Body: "look", Nonce: "n0"}, {Part: 1, Nonce: "n1", File: &channels.File{Name: "a1.txt", MIME: "text/plain", Size: 3, Artifact: "a1"}}}
	if err := s.Outbox.Split(ctx, rows[0].ID, parts, nil); err != nil {
		t.Fatal(err)
	}
	forgotten := func(want ...string) {
		t.Helper()
		ids, err := s.Artifacts.ForgetEnclosed(ctx)
		if err != nil || strings.Join(ids, " ") != strings.Join(want, " ") {
			t.Errorf("forgotten %q, %v, want %q", ids, err, want)
		}
	}
	signal := s.Outbox.FilesSignal()
	rung := func() bool {
		select {
		case <-signal:
			return true
		default:
			return false
		}
	}
	for i := range parts {
		if rung() {
			t.Errorf("before part %d the wake signal came", i)
		}
		rows, err := s.Outbox.Ready(ctx, s.now(), 9)
		if err != nil || len(rows) != 1 {
			t.Fatalf("%+v, %v", rows, err)
		}
		d := rows[0].Todo[0]
		if d.Part != i || (d.File == nil) != (i == 0) || d.File != nil && (d.File.Artifact != "a1" || d.File.Size != 3) {
			t.Errorf("part %+v", d)
		}
		d.To, d.Attempts = rows[0].To, 1
		forgotten()
		if err := s.Outbox.Sending(ctx, d); err != nil {
			t.Fatal(err)
		}
		if err := s.Outbox.Settle(ctx, d, channels.Verdict{State: channels.Sent, RemoteID: "r"}); err != nil {
			t.Fatal(err)
		}
	}
	<-signal // all parts have arrived; the signal follows the commit
	forgotten("a1")
	forgotten()
}

// C2: the text in the place of a file that was refused is a part like any other, tried anew.
func TestTextInThePlaceOfAFile(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	if _, err := s.Outbox.Send(ctx, message("send"), "telegram:1", "look", fileNamed("a1")); err != nil {
		t.Fatal(err)
	}
	id := one[int64](s, "SELECT id FROM outbox WHERE files IS NOT NULL")
	file := channels.Delivery{Outbox: id, File: &channels.File{Name: "a1", Artifact: "a1", Size: 3}, Nonce: "n1", Attempts: 1, Unsure: 2}
	if err := errors.Join(s.Outbox.Split(ctx, id, []channels.Delivery{file}, nil), s.Outbox.Sending(ctx, file)); err != nil {
		t.Fatal(err)
	}
	file.Nonce = "n2"
	if err := s.Outbox.Settle(ctx, file, channels.Verdict{State: channels.Retry, Instead: "a1 could not be sent", Reason: "refused"}); err != nil {
		t.Fatal(err)
	}
	rows, err := s.Outbox.Ready(ctx, s.now(), 9)
	if err != nil || len(rows) != 1 || len(rows[0].Todo) != 1 {
		t.Fatalf("%+v, %v", rows, err)
	}
	if d := rows[0].Todo[0]; d.File != nil || d.Body != "a1 could not be sent" || d.Nonce != "n2" || d.Attempts != 0 || d.Unsure != 0 {
		t.Errorf("the part is %+v", d)
	}
}

// What did not arrive keeps its files for a month, in which it can be retried.
func TestFilesOfWhatDidNotArrive(t *testing.T) {
	s := fresh(t)
	if _, err := s.Outbox.Send(t.Context(), message("send"), "telegram:1", "look", fileNamed("a1")); err != nil {
		t.Fatal(err)
	}
	id := one[int64](s, "SELECT id FROM outbox WHERE files IS NOT NULL")
	if err := s.Outbox.DropOut(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ days, want int }{{29, 0}, {31, 1}} {
		s.sql("UPDATE outbox SET ended = ? WHERE id = ?", s.now().Add(-time.Duration(c.days)*24*time.Hour).UnixMicro(), id)
		if ids, err := s.Artifacts.ForgetEnclosed(t.Context()); err != nil || len(ids) != c.want {
			t.Errorf("after %d days %q, %v", c.days, ids, err)
		}
	}
}

// On the machine itself files are named by where they lie, and no copy of them is kept.
func TestFilesInTheLocalChat(t *testing.T) {
	s := fresh(t)
	if _, err := s.Outbox.Send(t.Context(), message("send"), event.CLI, "look", fileNamed("a1")); err != nil {
		t.Fatal(err)
	}
	if got := one[string](s, "SELECT body FROM outbox WHERE cause_kind = 'command'"); got != "look\n[file: /home/sam/a1, 3 bytes]" {
		t.Errorf("the text is %q", got)
	}
	if n := one[int](s, "SELECT count(*) FROM artifacts"); n != 0 {
		t.Errorf("%d artifacts", n)
	}
}

// What is heard stands behind its note, once, and only for the process that has the turn.
func TestHeard(t *testing.T) {
	s := fresh(t)
	in := message("look")
	note := event.Part{Kind: event.File, Voice: true, Seconds: 12, Artifact: "v1", Name: "attachments/1/voice.ogg"}
	in.Parts = append(in.Parts, note, event.Part{Kind: event.File, Artifact: "x"})
	s.accept(in)
	id := s.take()
	notes, err := s.Turns.UntranscribedNotes(t.Context(), id)
	if err != nil || len(notes) != 1 || notes[0].Part != note {
		t.Fatalf("%+v, %v", notes, err)
	}
	if err := s.Turns.StoreTranscript(t.Context(), id+1, notes[0], "theirs"); err == nil {
		t.Error("somebody else's turn has heard it")
	}
	if err := s.Turns.StoreTranscript(t.Context(), id, notes[0], "buy milk"); err != nil {
		t.Fatal(err)
	}
	if err := s.Turns.StoreTranscript(t.Context(), id, notes[0], "again"); err == nil {
		t.Error("it was heard twice")
	}
	if left, err := s.Turns.UntranscribedNotes(t.Context(), id); err != nil || len(left) > 0 {
		t.Errorf("%+v, %v", left, err)
	}
	want := `look//buy milk/`
	if got := one[string](s, "SELECT group_concat(coalesce(p.value ->> '$.text', ''), '/') FROM items i, json_each(i.parts) p WHERE i.turn = ?", id); got != want {
		t.Errorf("the parts say %q, want %q", got, want)
	}
	var _ transcribe.Rows = s.Store.Turns
}
