package agent_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// TestCostOfATurn bounds what a plain turn asks of the database, once its statements are prepared. The parts beside the agent, which this
// test does not run, come on top.
func TestCostOfATurn(t *testing.T) {
	const (
		commits    = 3       // accept, claim with reservation, finish
		statements = 55      // in all
		bytes      = 172_000 // of the write-ahead log
	)
	bubble(t, llmtest.Always(func(llm.Request) llm.Answer { return llmtest.Say("hello, you") }), func(r *harness) {
		log := func() int64 {
			info, err := os.Stat(filepath.Join(r.dir, "hob.db-wal"))
			if err != nil {
				t.Fatal(err)
			}
			return info.Size()
		}
		for range 3 {
			r.ask("hello")
		}
		before, size := r.store.Counts(), log()
		const turns = 5
		for range turns {
			r.ask("hello")
		}
		after, grown := r.store.Counts(), log()-size
		if n := after.Parsed - before.Parsed; n != 0 {
			t.Errorf("%d statements were parsed again", n)
		}
		if n := after.Commits - before.Commits; n != turns*commits {
			t.Errorf("%d commits in %d turns, want %d each", n, turns, commits)
		}
		if n := (after.Run - before.Run) / turns; n > statements {
			t.Errorf("a turn runs %d statements, at most %d", n, statements)
		}
		if n := grown / turns; n <= 0 || n > bytes {
			t.Errorf("a turn writes %d bytes of log, at most %d", n, bytes)
		}
		t.Logf("a turn: %d statements, %d bytes of log", (after.Run-before.Run)/turns, grown/turns)
	})
}

// TestCostOfALongConversation compares the reading of turn 100 with that of the first turns: a turn reads and decodes only new items.
func TestCostOfALongConversation(t *testing.T) {
	bubble(t, llmtest.Always(func(llm.Request) llm.Answer { return llmtest.Say("hello, you") }), func(r *harness) {
		allocations := func() uint64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range 5 {
				r.ask("hello")
			}
			runtime.ReadMemStats(&after)
			return after.Mallocs - before.Mallocs
		}
		r.ask("hello")
		first := allocations()
		for range 90 {
			r.ask("hello")
		}
		if last := allocations(); last > first*6/5 {
			t.Errorf("turns 97 to 101 allocate %d times, the first turns %d times", last, first)
		} else {
			t.Logf("turns 97 to 101 allocate %d times, the first turns %d times", last, first)
		}
	})
}
