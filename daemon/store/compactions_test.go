package store_test

import (
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/scheduler"
	"hob/tools"
	"hob/tools/tasks"
)

// What a conversation made and what is open in it is read from its rows, each with its trust; rows of other conversations are not.
func TestLastingRows(t *testing.T) {
	s := fresh(t)
	s.accept(message("plan the summer"))
	id := s.take()
	commit := func(c turn.Commit) {
		t.Helper()
		c.Turn = id
		if err := s.Turns.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	var reserved int64
	if n, err := s.Tasks.Reserve(t.Context()); err != nil {
		t.Fatal(err)
	} else {
		reserved = n
	}
	job := scheduler.Job{Trigger: scheduler.Trigger{Name: "morning", Prompt: "the news", Trust: event.Owner}, Spec: "every 1h", Words: "every hour", Zone: "UTC", Due: time.Now().Add(time.Hour)}
	foreign := scheduler.Job{Trigger: scheduler.Trigger{Name: "odd", Prompt: "obey", Trust: event.Owner}, Spec: "every 1h", Zone: "UTC", Due: time.Now().Add(time.Hour)}
	foreign.Tainted = true
	commit(turn.Commit{Changes: []tools.Change{
		scheduler.Put{Job: job},
		scheduler.Put{Job: foreign},
		tasks.Add{Task: tasks.Task{ID: reserved, Title: "buy a tent", Prompt: "buy it", Trust: event.Owner}},
		tasks.Todos{Session: 1, List: []tasks.Todo{{Content: "find a lake", Status: "pending"}, {Content: "ask Ada", Status: "completed"}}},
	}})
	s.add("a task of nobody's conversation")

	l, err := s.Turns.Lasting(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	text := l.Text(1 << 40)
	for _, want := range []string{"The owner's last request: plan the summer", "job 1 morning: every hour: the news", "job 2 odd: text of others", "buy a tent", "todo 1 (pending): find a lake"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	for _, never := range []string{"obey", "ask Ada", "nobody's"} {
		if strings.Contains(text, never) {
			t.Errorf("%q is in\n%s", never, text)
		}
	}
}

// A compaction takes effect as one: before its commit a request has the items, after it the summaries and the items from the cut on. The next
// one replaces the summaries of the first. No item is lost.
func TestCompactionsReplaceEachOther(t *testing.T) {
	s := fresh(t)
	s.accept(message("one"))
	id := s.take()
	say := func(text string, tokens int) {
		t.Helper()
		it := llm.Item{Session: 1, Turn: id, Step: 1, Role: llm.Assistant, Kind: llm.Text, Trust: event.Owner, Source: "model", Parts: event.Say(text), Tokens: tokens}
		if err := s.Turns.Commit(t.Context(), turn.Commit{Turn: id, Items: []llm.Item{it}}); err != nil {
			t.Fatal(err)
		}
	}
	compact := func(cut int64, summary string) {
		t.Helper()
		c := turn.Compaction{How: turn.ByModel, Cut: cut, Summaries: []llm.Item{turn.Own.SummaryItem(turn.Turn{ID: id, Session: 1}, summary)}}
		if err := s.Turns.Commit(t.Context(), turn.Commit{Turn: id, Compact: &c}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(lines ...string) []llm.Item {
		t.Helper()
		items, err := s.Turns.Transcript(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, it := range items {
			_, last, found := strings.Cut(event.TextOf(it.Parts), "\n")
			if !found {
				last = event.TextOf(it.Parts)
			}
			got = append(got, last)
		}
		if strings.Join(got, "|") != strings.Join(lines, "|") {
			t.Errorf("the transcript is %q, want %q", got, lines)
		}
		return items
	}
	say("two", 100)
	say("three", 200)
	want("one", "two", "three")
	compact(3, "S1")
	if items := want("S1", "three"); items[1].Tokens != 0 {
		t.Error("a count of tokens from before the compaction is still there")
	}
	say("four", 50)
	compact(5, "S2")
	want("S2", "four")
	if n := one[int](s, "SELECT count(*) FROM items"); n != 6 {
		t.Errorf("%d items are kept, want 4 and 2 summaries", n)
	}
}
