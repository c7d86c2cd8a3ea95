package store_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/text"
)

// holds lists the files of the database that contain a text.
func (s *testStore) holds(text string) (list []string) {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "hob.db*"))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			s.t.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			list = append(list, filepath.Base(f))
		}
	}
	return list
}

// answered runs a turn with an answer.
func (s *testStore) answered(in event.In, text string) {
	s.t.Helper()
	s.accept(in)
	s.later(time.Minute) // no more is said with it
	id, _ := s.joined()
	it := llm.Item{Turn: id, Session: 1, Role: llm.Assistant, Kind: llm.Text, Parts: event.Say(text), Trust: event.Owner, Source: "model"}
	it.Session = one[int64](s, "SELECT session FROM turns WHERE id = ?", id)
	end := &turn.Finish{State: turn.Done, Text: text}
	if err := s.Turns.Commit(s.t.Context(), turn.Commit{Turn: id, Items: []llm.Item{it}, End: end}); err != nil {
		s.t.Fatal(err)
	}
}

func TestForgetRemovesEveryWordOfASession(t *testing.T) {
	s, ctx := fresh(t), t.Context()
	const word = "quetzalcoatl"
	in := message("my word is " + word + " and " + strings.Repeat("long ", 3000) + word)
	in.Session = "garden"
	s.answered(in, "you said "+word)
	s.answered(message("main stays: pineapple"), "it does")
	if len(s.holds(word)) == 0 {
		t.Fatal("the test looks in the wrong place")
	}
	f, err := s.Sessions.Forget(ctx, "garden")
	if err != nil || f.Items != 2 || f.Since.IsZero() {
		t.Fatalf("%+v, %v", f, err)
	}
	if files := s.holds(word); len(files) > 0 {
		t.Errorf("%q still hold it", files)
	}
	if len(s.holds("pineapple")) == 0 {
		t.Error("another session is gone")
	}
	// It is in no list, and does not come back; its row stays for the costs.
	talks, err := s.Sessions.Talks(ctx, "", 10, 0)
	if list := s.sessions(""); err != nil || len(list) != 1 || list[0].Key != "main" || len(s.sessions("archived")) != 0 || len(talks) != 1 {
		t.Errorf("%+v and %+v, %v", list, talks, err)
	}
	for _, name := range []string{"1", "garden"} {
		if fault, ok := event.AsFault(s.Sessions.BringBack(ctx, name)); !ok || fault.Hint == "" || !strings.Contains(fault.Text, "come") {
			t.Errorf("%s comes back: %v", name, fault)
		}
	}
	if left, err := s.SessionNamed(ctx, "1"); err != nil || left.Turns != 1 || left.Title != "" || left.Archived.IsZero() {
		t.Errorf("%+v, %v", left, err)
	}
	// The row of the input stays, so that the same message is not accepted again.
	again := in
	again.ExtID = one[string](s, "SELECT ext_id FROM inbox WHERE seq = 1")
	if r, err := s.Inbox.Accept(ctx, []event.In{again}, nil); err != nil || r[0].New {
		t.Errorf("%+v, %v", r, err)
	}
	// By its id it can be forgotten twice; its key leads to a new session.
	if _, err := s.Sessions.Forget(ctx, "1"); err != nil {
		t.Error(err)
	}
	if _, err := s.Sessions.Forget(ctx, "garden"); err == nil {
		t.Error("the key leads to what is forgotten")
	}
}

func TestForgetWaitsForTheTurn(t *testing.T) {
	s := fresh(t)
	s.accept(message("work"))
	id, _ := s.joined()
	_, err := s.Sessions.Forget(t.Context(), "main")
	if fault, ok := event.AsFault(err); !ok || fault.Kind != event.Clash || !strings.Contains(fault.Hint, "hob turns stop") {
		t.Fatalf("%v", err)
	}
	s.done(id)
	if _, err := s.Sessions.Forget(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
}

func TestForgetTextMakesSummariesAnew(t *testing.T) {
	s, ctx := fresh(t), t.Context()
	for _, text := range []string{`the code is "4711"`, "and more", "and more again"} {
		s.answered(message(text), "noted")
	}
	s.sql("INSERT INTO compactions (session, turn, at, how, cut, summaries, last, covered, handles, bytes, tokens) VALUES (1, 1, 1, 'rows', 3, 1, 5, 2, 0, 0, 0)")
	s.sql("INSERT INTO items (session, turn, step, role, kind, parts, trust, source, compaction) VALUES (1, 1, 0, 'user', 'summary', '[]', 'owner', 'hob', 1)")
	if f, err := s.Sessions.ForgetFact(ctx, text.FactOf("never said"), 0); err != nil || f.Summaries != 0 {
		t.Fatalf("%+v, %v", f, err)
	}
	f, err := s.Sessions.ForgetFact(ctx, text.FactOf(` The Code is "4711". `), 1)
	if err != nil || f.Summaries != 1 || len(f.Marked) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	items, err := s.Turns.Transcript(ctx, 1)
	if err != nil || len(items) != 6 || items[0].Kind == llm.Summary {
		t.Errorf("%d items, %v", len(items), err)
	}
}

// With a fact end the questions of the command line whether it may be removed. One about another fact stays.
func TestForgetEndsTheQuestionsAboutIt(t *testing.T) {
	s := fresh(t)
	ask := func(hash, fact string) {
		q := turn.Question{Subject: turn.AboutCall, Tool: "memory_forget", Text: "May the command line forget MEMORY.md:3: " + fact + "? (it cannot be brought back)\n  as JSON: {\"tool\":\"memory_forget\",\"path\":\"/w/MEMORY.md\",\"text\":\"" + fact + "\"}", ActionHash: hash, Until: s.now().Add(time.Hour), To: event.CLI}
		if _, _, err := s.Calls.UseOrAsk(t.Context(), q, 0); err != nil {
			t.Fatal(err)
		}
	}
	ask("gone", "the door code is 4711")
	ask("stays", "the cat is called Mimi")
	if _, err := s.Sessions.ForgetFact(t.Context(), text.FactOf("the door code is 4711"), 0); err != nil {
		t.Fatal(err)
	}
	if open := one[string](s, "SELECT group_concat(action_hash) FROM questions WHERE state = 'open'"); open != "stays" {
		t.Errorf("open: %q", open)
	}
}

// A file goes with the session that got it, unless somebody else still needs it.
func TestForgetKeepsTheFilesOfOthers(t *testing.T) {
	s, ctx := fresh(t), t.Context()
	ids := []string{"a00000alone", "a0000result", "a0000handle", "a00000inbox", "a00000after", "a0000outbox", "a00undelivd", "a0000closed", "a000escaped"}
	for i, id := range ids {
		ids[i] = id[:10]
		s.sql("INSERT INTO artifacts (id, sha256, size, trust, source, created) VALUES (?, '', 1, 'owner', 'test', 1)", ids[i])
	}
	in := message("files: " + strings.Join(ids[:8], " ") + "\n" + ids[8])
	in.Session = "garden"
	s.answered(in, "thanks")
	s.answered(message("look at "+ids[1]), "nice")
	s.sql("UPDATE items SET handle = ? WHERE session = 2 AND kind = 'text'", "result_read "+ids[2])
	s.accept(message("and see <" + ids[3] + ">")) // waits
	dropped := s.accept(message("line\n" + ids[4]))
	s.sql("UPDATE inbox SET state = 'dropped' WHERE seq = ?", dropped)
	out := "INSERT INTO outbox (key, cause_kind, cause_id, address, body, urgency, created, state, ended, files) VALUES (?1, 'notice', 1, 'cli:main', 'x', 'normal', 1, ?2, ?3, json_array(json_object('artifact', ?4)))"
	s.sql(out, "open", "ready", 0, ids[5])
	s.sql(out, "dead", "dead", 1, ids[6])
	s.sql(out, "over", "done", 1, ids[7])
	f, err := s.Sessions.Forget(ctx, "garden")
	want := []string{ids[0], ids[7], ids[8]}
	slices.Sort(want)
	slices.Sort(f.Artifacts)
	if err != nil || !slices.Equal(f.Artifacts, want) {
		t.Fatalf("removed %q, want %q, %v", f.Artifacts, want, err)
	}
	if n := one[int](s, "SELECT count(*) FROM artifacts"); n != len(ids)-len(want) {
		t.Errorf("%d rows are left", n)
	}
	// Who goes last takes them along.
	f, err = s.Sessions.Forget(ctx, "main")
	want = []string{ids[4], ids[1]}
	slices.Sort(f.Artifacts)
	if err != nil || !slices.Equal(f.Artifacts, want) {
		t.Fatalf("removed %q, want %q, %v", f.Artifacts, want, err)
	}
}

// What came for a session and never got a turn goes with it, as do the tasks made in it; what still waits stays, and so does what came for
// another session of the same key.
func TestForgetRemovesWhatNeverGotATurn(t *testing.T) {
	s, ctx := fresh(t), t.Context()
	const word = "quetzalcoatl"
	to := func(text, state string) int64 {
		in := message(text)
		in.Session = "garden"
		seq := s.accept(in)
		s.sql("UPDATE inbox SET state = ? WHERE seq = ?", state, seq)
		return seq
	}
	to("earlier pineapple", "dropped")
	s.later(time.Minute)
	s.sql("INSERT INTO sessions (key, kind, watermark, created, archived) VALUES ('garden', 'chat', 'owner', 1, ?)", s.now().UnixMicro())
	s.later(time.Minute)
	in := message("hello")
	in.Session = "garden"
	s.answered(in, "hi")
	for _, state := range []string{"dropped", "expired", "done", "dead"} {
		seq := to(word+" "+state, state)
		s.sql("INSERT INTO edits (source, ext_id, message, inbox, text) VALUES ('test', ?, ?, ?, ?)", state, seq, seq, word)
		s.sql("INSERT INTO events (type, at, inbox, data) VALUES ('x', 1, ?, json_object('text', ?))", seq, word)
	}
	s.sql("INSERT INTO tasks (title, prompt, state, blocked_by, trust, result, created, ended, session) VALUES (?1, ?1, 'failed', '[]', 'owner', ?1, 1, 2, 2)", word)
	s.sql("INSERT INTO tasks (title, prompt, state, blocked_by, trust, created, session) VALUES ('open', 'still banana', 'blocked', '[]', 'owner', 1, 2)")
	to("waits cherry", "held")
	if _, err := s.Sessions.Forget(ctx, "garden"); err != nil {
		t.Fatal(err)
	}
	if files := s.holds(word); len(files) > 0 {
		t.Errorf("%q still hold it", files)
	}
	for _, kept := range []string{"pineapple", "banana", "cherry"} {
		if len(s.holds(kept)) == 0 {
			t.Errorf("%s is gone", kept)
		}
	}
}
