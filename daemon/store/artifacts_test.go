package store_test

import (
	"errors"
	"testing"
	"time"

	"hob/daemon/artifacts"
	"hob/daemon/event"
)

// attached is a message with a file.
func attached(ext string) event.In {
	in := message("look")
	in.ExtID = ext
	in.Parts = append(in.Parts, event.Part{Kind: event.File, Name: "attachments/1/x", Artifact: "a" + ext})
	return in
}

func artifact(id string) artifacts.Artifact {
	return artifacts.Artifact{ID: id, SHA256: "sum", Size: 3, Name: "x", MIME: "text/plain", Trust: event.Known, Source: "chat"}
}

// A number is given out once, also over a crash, and the rows around it go on counting.
func TestReserve(t *testing.T) {
	s := fresh(t)
	reserve := func(s *testStore) int64 {
		t.Helper()
		seq, r, err := s.Artifacts.Reserve(t.Context(), attached("yet to come"))
		if err != nil || r != (event.Receipt{}) {
			t.Fatalf("%+v, %v", r, err)
		}
		return seq
	}
	first := reserve(s) // before there is any row
	if next := s.accept(message("between")); first != 1 || next != 2 {
		t.Errorf("reserved %d, then stored %d", first, next)
	}
	if third := reserve(s.crash()); third != 3 {
		t.Errorf("after a crash %d is reserved", third)
	}
	r, err := s.Artifacts.AcceptFiles(t.Context(), first, attached("late"), nil)
	if err != nil || r.Inbox != first || !r.New || r.Event == 0 {
		t.Errorf("receipt %+v, %v", r, err)
	}
	if next := s.accept(message("after")); next != 3 {
		t.Errorf("after a row with an old number comes %d", next)
	}
	for seq, want := range map[int64]bool{1: false, 2: false, reserve(s): true, 99: false} {
		if gone, err := s.Abandoned(t.Context(), seq); err != nil || gone != want {
			t.Errorf("number %d is abandoned: %v, %v", seq, gone, err)
		}
	}
}

// An input and the rows of its files are one commit: both or none.
func TestAcceptFiles(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	r, err := s.Artifacts.AcceptFiles(ctx, 7, attached("x"), []artifacts.Artifact{artifact("ax")})
	if err != nil || !r.New || r.Inbox != 7 {
		t.Fatalf("receipt %+v, %v", r, err)
	}
	if a, err := s.ArtifactNamed(ctx, "ax"); err != nil || a != artifact("ax") {
		t.Errorf("artifact %+v, %v", a, err)
	}
	again, err := s.Artifacts.AcceptFiles(ctx, 8, attached("x"), []artifacts.Artifact{artifact("ay")})
	if err != nil || again.New || again.Inbox != 7 || again.Event != r.Event {
		t.Errorf("again: %+v, %v", again, err)
	}
	if seq, old, err := s.Artifacts.Reserve(ctx, attached("x")); err != nil || seq != 0 || old != again {
		t.Errorf("number %d for one that is there as %+v, %v", seq, old, err)
	}
	if _, err := s.Artifacts.AcceptFiles(ctx, 9, attached("z"), []artifacts.Artifact{artifact("az"), artifact("ax")}); err == nil {
		t.Error("an artifact is stored twice")
	}
	if n := one[int](s, "SELECT (SELECT count(*) FROM inbox) * 10 + (SELECT count(*) FROM artifacts)"); n != 11 {
		t.Errorf("%d inputs and artifacts, want 1 and 1", n)
	}
	var f *event.Fault
	if _, err := s.ArtifactNamed(ctx, "ay"); !errors.As(err, &f) || f.Kind != event.Missing {
		t.Errorf("the second copy has a row: %v", err)
	}
}

// Beside a question for a permission a word answers a question in words only if it is one of its options. The owner is told the codes.
func TestAWordBesideAPermission(t *testing.T) {
	s := fresh(t)
	s.accept(message("hello"))
	if s.take() != 1 {
		t.Fatal("no turn")
	}
	until := s.now().Add(time.Hour).UnixMicro()
	s.sql("INSERT INTO questions (code, subject, turn, text, options, address, asked, until) VALUES ('A', 'ask', 1, 'which?', '[\"red\", \"blue\"]', ?, 1, ?)", chat, until)
	s.sql("INSERT INTO questions (code, subject, turn, text, options, address, asked, until) VALUES ('B', 'turn-call', 1, 'may I?', '[\"once\", \"no\"]', ?, 1, ?)", chat, until)
	state := func(seq int64) string { return one[string](s, "SELECT state FROM inbox WHERE seq = ?", seq) }
	if got := state(s.accept(message("yes"))); got != "queued" {
		t.Errorf("a yes is %s, want queued: it may be meant for the other question", got)
	}
	if n := one[int](s, "SELECT count(*) FROM outbox WHERE address = ? AND body LIKE '%/answer A TEXT; /approve B or /deny B%'", chat); n != 1 {
		t.Errorf("the owner is told the codes %d times", n)
	}
	if got := state(s.accept(message("Red"))); got != "done" || one[string](s, "SELECT answer FROM questions WHERE code = 'A'") != "red" {
		t.Errorf("an option is %s, want done: it answers", got)
	}
	if got := one[string](s, "SELECT state FROM questions WHERE code = 'B'"); got != "open" {
		t.Errorf("the permission is %s", got)
	}
}

// Only a plain text answers an open question: a file would be lost with it.
func TestFilesAnswerNoQuestion(t *testing.T) {
	s := fresh(t)
	s.accept(message("hello"))
	if s.take() != 1 {
		t.Fatal("no turn")
	}
	s.sql("INSERT INTO questions (code, subject, turn, text, address, asked, until) VALUES ('A', 'ask', 1, 'which?', ?, 1, ?)", chat, s.now().Add(time.Hour).UnixMicro())
	seq, _, err := s.Artifacts.Reserve(t.Context(), attached("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Artifacts.AcceptFiles(t.Context(), seq, attached("x"), []artifacts.Artifact{artifact("ax")}); err != nil {
		t.Fatal(err)
	}
	state := func(seq int64) string { return one[string](s, "SELECT state FROM inbox WHERE seq = ?", seq) }
	if got := state(seq); got != "queued" {
		t.Errorf("a message with a file is %s, want queued", got)
	}
	if got := state(s.accept(message("this one"))); got != "done" {
		t.Errorf("a plain text is %s, want done: it answers", got)
	}
}
