package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/store"
)

// ask adds a model step to a turn.
func (s *testStore) ask(turn int64, n int, model, state, why, usage string) {
	s.t.Helper()
	s.sql("INSERT INTO steps (turn, n, kind, state, epoch, model, why, usage) VALUES (?, ?, 'model', ?, 1, ?, ?, ?)", turn, n, state, model, why, usage)
}

func (s *testStore) gauges() store.Gauges {
	s.t.Helper()
	g, err := s.Gauges(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return g
}

func TestGaugesCountStates(t *testing.T) {
	s := fresh(t)
	s.accept(message("a"))
	s.accept(message("b"))
	s.take()
	g := s.gauges()
	if want := (map[string]int64{"queued": 1, "held": 0, "joined": 1, "done": 0, "dropped": 0, "expired": 0, "dead": 0}); !reflect.DeepEqual(g.Inbox, want) {
		t.Errorf("inbox %v, want %v", g.Inbox, want)
	}
	if want := (map[string]int64{"ready": 0, "running": 1, "waiting": 0, "done": 0, "failed": 0, "stopped": 0, "dead": 0}); !reflect.DeepEqual(g.Turns, want) {
		t.Errorf("turns %v, want %v", g.Turns, want)
	}
	if last, err := s.Events.LastEvent(t.Context()); err != nil || g.Events != last || last == 0 {
		t.Errorf("events %d, the newest is %d, %v", g.Events, last, err)
	}
}

// TestGaugesAddUpRequests: requests of ended turns are counted once, those of open ones as they are now, in flight ones not at all.
func TestGaugesAddUpRequests(t *testing.T) {
	s := fresh(t)
	s.accept(message("a"))
	first := s.take()
	used := `{"input":10,"cached":4,"output":2,"cost_micros":3,"priced":true}`
	s.ask(first, 1, "x/m", "done", "", used)
	s.ask(first, 2, "x/m", "intent", "", "{}")
	want := []store.Requests{{Model: "x/m", Count: 1, Input: 10, Cached: 4, Output: 2, Micros: 3}}
	for range 2 {
		if got := s.gauges().Requests; !reflect.DeepEqual(got, want) {
			t.Fatalf("while it runs: %+v", got)
		}
	}
	s.sql("UPDATE steps SET state = 'unknown', why = 'slow down', fault = ? WHERE n = 2", llm.RateLimit)
	s.ask(first, 3, "x/m", "done", "", used)
	s.sql("UPDATE turns SET state = 'done', ended = 1")
	s.accept(message("b"))
	second := s.take()
	s.ask(second, 1, "x/m", "unknown", "", "{}")
	want = []store.Requests{
		{Model: "x/m", Count: 2, Input: 20, Cached: 8, Output: 4, Micros: 6}, {Model: "x/m", Fault: "interrupted", Count: 1}, {Model: "x/m", Fault: "rate_limit", Count: 1},
	}
	for range 3 {
		if got := s.gauges().Requests; !reflect.DeepEqual(got, want) {
			t.Fatalf("after the first has ended: %+v", got)
		}
	}
	s.ask(second, 2, "y/m", "done", "", `{"input":1000,"cached":600,"cache_written":300,"output":10,"cost_micros":3,"priced":true}`)
	want = append(want, store.Requests{Model: "y/m", Count: 1, Input: 1000, Cached: 600, Written: 300, Output: 10, Micros: 3})
	s.sql("UPDATE turns SET state = 'done', ended = 1")
	s.accept(message("c"))
	s.take() // a turn without requests must not hide the older ones
	if got := s.gauges().Requests; !reflect.DeepEqual(got, want) {
		t.Errorf("after both have ended: %+v", got)
	}
	if g, err := store.NewView(s.Reader(), time.Now).Gauges(t.Context()); err != nil || !reflect.DeepEqual(g.Requests, want) {
		t.Errorf("after a restart: %+v, %v", g.Requests, err)
	}
}

func TestAuditOfWhatWasDenied(t *testing.T) {
	s := fresh(t)
	for i, c := range [][2]string{{"allow", "ok"}, {"deny", "PERMISSION_DENIED"}, {"ask", "PERMISSION_DENIED"}, {"ask", "ok"}, {"deny", ""}} {
		s.sql("INSERT INTO audit (at, call_id, tool, actor, trust, args_hash, summary, decision, reason, outcome) VALUES (1, ?, 'exec', 'thread', 'owner', 'h', 's', ?, 'r', ?)", fmt.Sprint("c", i), c[0], c[1])
	}
	for state, want := range map[string]int{"denied": 3, "deny": 2, "ask": 2, "": 5} {
		if rows, err := s.AuditRows(t.Context(), event.Filter{State: state}); err != nil || len(rows) != want {
			t.Errorf("%q: %d rows, want %d, %v", state, len(rows), want, err)
		}
	}
}

// TestSpentFor: the day's budget names who it was spent for, the dearest first, and nobody of another day.
func TestSpentFor(t *testing.T) {
	s := fresh(t)
	b, err := s.Spending.Spent(t.Context())
	if err != nil || len(b.Sources) != 0 {
		t.Fatalf("before anything: %+v, %v", b, err)
	}
	for _, c := range []struct {
		day, scope string
		money      int
	}{{b.Day, "all", 30}, {b.Day, "source:main", 10}, {b.Day, "source:jobs", 20}, {"2001-01-01", "source:old", 99}} {
		s.sql("INSERT INTO spend (day, scope, used_micros, used_tokens) VALUES (?, ?, ?, 5)", c.day, c.scope, c.money)
	}
	if b, err = s.Spending.Spent(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, p := range b.Sources {
		got += fmt.Sprint(p.Source, " ", int64(p.Used), " ", p.UsedTokens, ", ")
	}
	if got != "jobs 20 5, main 10 5, " || b.Used != 30 {
		t.Errorf("%s of %+v", got, b)
	}
}

// The answers of a model are counted in the newest turns, with what was repaired in them, the most frequent first.
func TestModelAnswers(t *testing.T) {
	s := fresh(t)
	s.accept(message("old"))
	old := s.take()
	s.accept(message("new"))
	s.sql("UPDATE turns SET state = 'done', ended = 1 WHERE id = ?", old)
	turn := s.take()
	s.ask(old, 1, "x/m", "done", "too old", "{}")
	for n, c := range []struct{ model, state, why string }{
		{"x/m", "done", "calls that were written as text; thinking inside the text"},
		{"x/m", "done", "thinking inside the text; calls in no order; thinking inside the text"}, // one answer
		{"x/m", "done", ""},
		{"x/m", "unknown", "slow down"},
		{"x/n", "done", "calls that were written as text"},
	} {
		s.ask(turn, n+1, c.model, c.state, c.why, "{}")
	}
	all, list, err := s.View.ModelAnswers(t.Context(), "x/m", int(turn-old))
	want := []api.Repair{{What: "thinking inside the text", Answers: 2}, {What: "calls in no order", Answers: 1}, {What: "calls that were written as text", Answers: 1}}
	if err != nil || all != 3 || !slices.Equal(list, want) {
		t.Errorf("%d answers, %+v, %v", all, list, err)
	}
}
