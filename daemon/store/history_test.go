package store_test

import (
	"slices"
	"testing"

	"hob/daemon/agent/turn"
)

// whole reads the history to its end.
func (s *testStore) whole(turn int64) (list []turn.HistoryItem) {
	s.t.Helper()
	for after := int64(0); ; {
		b, err := s.Turns.History(s.t.Context(), after, turn)
		if err != nil {
			s.t.Fatal(err)
		}
		list = append(list, b.Items...)
		if after = b.Next; b.Next >= b.Last {
			return list
		}
	}
}

func TestHistory(t *testing.T) {
	s := fresh(t)
	if list := s.whole(0); len(list) != 0 {
		t.Fatalf("%+v", list)
	}
	s.answered(message("mine"), "yours")
	s.answered(by("7", "theirs"), "an answer to a stranger")
	s.sql("UPDATE items SET trust = 'public' WHERE turn = 2")
	s.sql("UPDATE turns SET tainted = 1 WHERE id = 2")
	forwarded := message("look at this")
	forwarded.Tainted = true
	s.answered(forwarded, "I did")
	s.accept(message("not yet"))
	open, _ := s.joined()
	got := s.whole(0)
	want := []turn.HistoryItem{
		{Seq: 1, Key: "main", Own: true, Clean: true, Text: "mine"},
		{Seq: 2, Key: "main", Own: true, Clean: true, Answer: true, Sender: "hob", Text: "yours"},
		{Seq: 3, Key: "chat:7", Sender: "Ana", Person: "chat:7", Text: "theirs"},
		{Seq: 4, Key: "chat:7", Answer: true, Sender: "hob, after it had read foreign text", Text: "an answer to a stranger"},
		{Seq: 5, Key: "main", Clean: false, Text: "look at this"},
		{Seq: 6, Key: "main", Answer: true, Text: "I did"},
		{Seq: 7, Key: "main", Own: true, Clean: true, Open: true},
	}
	if len(got) != len(want) {
		t.Fatalf("%d items: %+v", len(got), got)
	}
	for i, w := range want {
		g := got[i]
		if g.Seq != w.Seq || g.Key != w.Key || i != 5 && g.Own != w.Own || i != 5 && g.Clean != w.Clean || g.Answer != w.Answer || g.Text != w.Text || g.Open != w.Open || w.Sender != "" && g.Sender != w.Sender || w.Person != "" && g.Person != w.Person || g.At.IsZero() {
			t.Errorf("%+v, want %+v", g, w)
		}
	}
	// An answer that only repeats the result of a tool says nothing of its own, and what a search has found must not be found again by the next one.
	s.sql("UPDATE items SET kind = 'result', call_id = '1.1', parts = (SELECT parts FROM items WHERE seq = 2) WHERE seq = 1")
	if list := s.whole(0); len(list) != len(want)-2 || list[0].Seq != 3 {
		t.Errorf("%+v", list)
	}
	// The interpreter's help is no memory; what it says of a call is one (the stranger's 10).
	s.sql("UPDATE items SET provider = 'builtin' WHERE kind = 'text'")
	if list := s.whole(0); slices.ContainsFunc(list, func(it turn.HistoryItem) bool { return it.Answer }) {
		t.Errorf("help is found: %+v", list)
	}
	s.sql("INSERT INTO items (session, turn, step, role, kind, parts, trust, source, call_id) SELECT session, turn, 1, 'tool', 'result', '[]', 'owner', 'cron', '3.1' FROM items WHERE seq = 6")
	if list := s.whole(0); !slices.ContainsFunc(list, func(it turn.HistoryItem) bool { return it.Seq == 6 }) {
		t.Errorf("an answer about a call is not found: %+v", list)
	}
	s.sql("DELETE FROM items WHERE call_id = '3.1'")
	s.sql("UPDATE items SET provider = '' WHERE kind = 'text'")
	// The items of one turn, however far from each other they are.
	for n := range 300 {
		s.sql("INSERT INTO items (session, turn, step, role, kind, parts, trust, source) VALUES (1, 1, ?, 'user', 'note', '[]', 'owner', 'hob')", n)
	}
	s.sql(`INSERT INTO items (session, turn, step, role, kind, parts, trust, source) VALUES (1, ?, 1, 'assistant', 'text', '[{"kind":"text","text":"late"}]', 'owner', 'model')`, open)
	s.done(open)
	if got := s.whole(open); len(got) != 2 || got[0].Text != "not yet" || got[1].Text != "late" {
		t.Errorf("%+v", got)
	}
}
