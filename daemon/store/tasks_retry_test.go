package store_test

import (
	"fmt"
	"strings"
	"testing"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/store"
	"hob/tools/tasks"
)

// A row that a task has replaced, or has cancelled, would run the task again.
func TestReplacedRowOfATaskIsNotRetried(t *testing.T) {
	s := fresh(t)
	ctx := t.Context()
	refused := func(seq int64) {
		t.Helper()
		if err := s.Inbox.Retry(ctx, seq); err == nil || !strings.Contains(err.Error(), "cannot be retried") {
			t.Errorf("row %d is retried: %v", seq, err)
		}
	}
	a := s.add("a")
	prompt := "another"
	if err := s.Calls.Record(ctx, tasks.Revision{ID: a, Prompt: &prompt, Trust: event.Owner}); err != nil {
		t.Fatal(err)
	}
	refused(1)
	s.run(a, turn.Finish{State: turn.Done, Text: "done"})
	refused(1)
	if id := s.take(); id != 0 {
		t.Errorf("turn %d runs the task again", id)
	}
	b := s.add("b")
	held := one[int64](s, "SELECT max(seq) FROM inbox")
	if err := s.Write(ctx, func(tx *store.Tx) error { return tx.Run("UPDATE inbox SET state = 'held' WHERE seq = ?", held) }); err != nil {
		t.Fatal(err)
	}
	is := func(id int64, want tasks.State) {
		t.Helper()
		if task, err := s.Tasks.Task(ctx, id); err != nil || task.State != want {
			t.Errorf("task %d is %s, want %s: %v", id, task.State, want, err)
		}
	}
	is(b, tasks.Held)
	if err := s.Calls.Record(ctx, tasks.Revision{ID: b, State: tasks.Cancelled, Trust: event.Owner}); err != nil {
		t.Fatal(err)
	}
	if state := one[string](s, fmt.Sprint("SELECT state FROM inbox WHERE seq = ", held)); state != "dropped" {
		t.Errorf("the held row of a cancelled task is %s", state)
	}
	refused(held)
	// A row that the owner dropped is still that of its task.
	c := s.add("c")
	seq := one[int64](s, "SELECT max(seq) FROM inbox")
	if err := s.Inbox.Drop(ctx, seq); err != nil {
		t.Error(err)
	}
	is(c, tasks.Cancelled)
	if err := s.Inbox.Retry(ctx, seq); err != nil {
		t.Error(err)
	}
	is(c, tasks.Queued)
}
