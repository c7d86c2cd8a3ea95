package agent_test

import (
	"fmt"
	"runtime"
	"testing"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/daemon/sys/systest"
)

// grown adds so many turns of a reminder to a conversation: each has an input and an answer.
func (r *harness) grown(session string, turns int) {
	r.t.Helper()
	const many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) "
	r.sql(many+`INSERT INTO turns (session, state, attempts, epoch, asker, reply_to, started, ended, text)
		SELECT s.id, 'done', 1, 1, 'owner', 'none', 1, 1, 'stretch' FROM n, sessions s WHERE s.key = ?1`, session, turns)
	for _, kind := range []string{"input", "text"} {
		r.sql(`INSERT INTO items (session, turn, step, role, kind, parts, trust, source)
			SELECT t.session, t.id, 1, ?2, ?3, '[{"kind":"text","text":"stretch your legs and look out of the window"}]', 'owner', 'cron'
			FROM turns t JOIN sessions s ON s.id = t.session WHERE s.key = ?1 AND t.epoch = 1 AND t.text = 'stretch'
			AND NOT EXISTS (SELECT 1 FROM items i WHERE i.turn = t.id AND i.kind = ?3)`, session, map[string]string{"input": "user", "text": "assistant"}[kind], kind)
	}
}

// V2: neither a reminder, nor a message that the built-in interpreter answers, costs more the longer the conversation is. The allocations count
// the rows that are read, because each row is decoded.
func TestNoTurnGrowsDearerWithItsConversation(t *testing.T) {
	remind := func(owner bool) event.In {
		in := event.In{Source: "cron", Session: "main", Kind: event.Fire, Rank: event.RankSchedule, Trust: event.Owner, ReplyTo: chat, Parts: event.Say("say: stretch")}
		if !owner {
			in.Source, in.Trust = "hook", event.Machine // its answer is defanged
		}
		return in
	}
	for name, in := range map[string]event.In{"a reminder": remind(true), "a hook": remind(false), "the interpreter": ownerSays("hello"), "the interpreter, to others": stranger("hello")} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(r *harness) {
				one := func() uint64 {
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					r.post(in)
					r.settle()
					runtime.ReadMemStats(&after)
					return after.Mallocs - before.Mallocs
				}
				one()
				r.grown("main", 100)
				one()
				first, total := one(), 100
				for _, n := range turnsToCount() {
					r.grown("main", n-total)
					total = n
					last := one()
					t.Logf("after %d turns a turn allocates %d times, after 100 turns %d times", n, last, first)
					if last > first*3/2+500 {
						t.Errorf("after %d turns a turn allocates %d times, after 100 turns %d times", n, last, first)
					}
				}
				r.wantAllDone()
			}, func(r *harness) {
				r.model = llmtest.NewScript(llmtest.Always(func(llm.Request) llm.Answer { return llmtest.Say("hello, you") })).As(llm.Info{Provider: llm.Builtin, Model: "builtin", Interpreter: true, Local: true})
			})
		})
	}
}

// wantAllDone checks that every turn has ended well.
func (r *harness) wantAllDone() {
	r.t.Helper()
	var open int
	for _, v := range r.turns() {
		if v.State != "done" {
			open++
		}
	}
	if open > 0 {
		r.t.Error(fmt.Sprint(open, " turns are not done"))
	}
}

// turnsToCount is how long the conversations get.
func turnsToCount() []int {
	if systest.Thorough() {
		return []int{1_000, 10_000, 100_000}
	}
	return []int{1_000, 5_000}
}

// V2: a model that is asked after all these reminders gets a summary of them.
func TestAModelIsAskedAfterManyReminders(t *testing.T) {
	answers := llmtest.Always(func(llm.Request) llm.Answer { return llmtest.Say("hello, you") })
	bubble(t, answers, func(r *harness) {
		r.ask("hello")
		r.grown("main", 3_000)
		r.ask("what did you remind me of")
		r.ask("and now")
		requests := r.model.(*llmtest.Script).Requests()
		if n := len(requests[len(requests)-1].Messages); n < 3 || n > 500 {
			t.Errorf("the last request has %d messages", n)
		}
		valid(t, requests)
		r.wantAllDone()
	}, func(r *harness) {
		r.model = llmtest.NewScript(answers).As(llm.Info{Provider: "p", Model: "m", Context: 16_000, MaxOutput: 1_000})
	})
}
