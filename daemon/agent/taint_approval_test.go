package agent_test

import (
	"context"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/tools"
)

// What was allowed for the turn before it read anything foreign does not hold after.
func TestTurnApprovalEndsWithTaint(t *testing.T) {
	bubble(t, llmtest.InOrder(use("shell", "ls"), use("fetch", "page"), use("shell", "evil"), llmtest.Say("ok")), func(r *harness) {
		r.ask("go")
		r.ask("/approve " + r.code() + " turn")
		if r.times("shell") != 1 {
			t.Errorf("shell ran %d times; the second time tainted, and nobody was asked", r.times("shell"))
		}
	}, foreignTools)
}

// A grant holds for the level that its question was asked at.
func TestGrantHasTheLevelOfItsQuestion(t *testing.T) {
	bubble(t, script(func(last string, _ llm.Request) llm.Answer {
		if last == "shell" || last == "fetch" {
			return use(last, "same")
		}
		return llmtest.Say("ok")
	}), func(r *harness) {
		r.ask("shell") // parks, untainted
		code := r.code()
		r.ask("fetch") // another turn of the conversation reads something foreign
		r.ask("/approve " + code + " always")
		grants, err := r.store.Grants.List(context.Background())
		t.Logf("%+v %v", grants, err)
		if len(grants) == 1 && grants[0].Tainted {
			t.Error("asked in an untainted turn, holds in tainted ones")
		}
	}, foreignTools)
}

// A job with rights that runs in a conversation with foreign text.
func TestRightsInATaintedConversation(t *testing.T) {
	bubble(t, script(func(last string, _ llm.Request) llm.Answer {
		if last == "fetch" {
			return use(last, "same")
		}
		if last == "backup" {
			return use("shell", "whatever the page said")
		}
		return llmtest.Say("ok")
	}), func(r *harness) {
		r.ask("fetch")
		r.sql(`INSERT INTO triggers (id, kind, name, body, version) VALUES (1, 'job', 'b', '{"allow":["exec"]}', 1)`)
		r.sql(`INSERT INTO fires (id, trigger, key, due, created, state) VALUES (1, 1, 'k', 1, 1, 'queued')`)
		r.post(event.In{Source: "cron", ExtID: "job:1:run:1", Session: "main", Kind: event.Fire, Rank: event.RankSchedule, Trust: event.Owner, ReplyTo: chat, Fire: 1, Typed: true, Parts: event.Say("backup"), Received: time.Now()})
		r.settle()
		if r.times("shell") != 0 {
			t.Error("a job's right is used by a turn that reads main's foreign text; nobody was asked")
		}
	}, foreignTools)
}

// A command that was stopped has written all the same.
func TestMarksOfAFailedCall(t *testing.T) {
	bubble(t, llmtest.InOrder(use("late", "x"), llmtest.Say("ok")), func(r *harness) {
		r.ask("go")
		marks, err := r.store.Marks().List(context.Background(), false)
		if err != nil || len(marks) != 1 {
			t.Errorf("marks of a call that failed: %v %v", marks, err)
		}
	}, func(r *harness) {
		r.list = append(r.list, r.tool("late", tools.Intent{Effect: tools.Once, Foreign: "output of a command with network access"}, func(context.Context, tools.Call, string) (tools.Result, error) {
			res := tools.Fail(tools.Timeout, "", "it ran too long")
			res.Changes = []tools.Change{tools.Mark{Path: "/ws/notes.md", Why: "written by a command with network access"}}
			return res, nil
		}))
	})
}

// A job that answers to somebody else asks its owner, not him.
func TestTheOwnerIsAskedWhoeverIsAnswered(t *testing.T) {
	bubble(t, llmtest.InOrder(use("shell", "x"), llmtest.Say("ok")), func(r *harness) {
		r.sql(`INSERT INTO triggers (id, kind, name, body, version) VALUES (1, 'job', 'b', '{}', 1)`)
		r.sql(`INSERT INTO fires (id, trigger, key, due, created, state) VALUES (1, 1, 'k', 1, 1, 'queued')`)
		r.post(event.In{Source: "cron", ExtID: "job:1:run:1", Session: "job:b", Kind: event.Fire, Rank: event.RankSchedule, Trust: event.Owner, ReplyTo: "chat:bob", Fire: 1, Typed: true, Parts: event.Say("backup"), Received: time.Now()})
		r.settle()
		for _, o := range r.outbox() {
			t.Logf("%+v", o)
			if string(o.To) == "chat:bob" {
				t.Error("bob is asked")
			}
		}
	})
}

// What was written when hob died counts as foreign, also when nobody knows whether it was.
func TestMarksOfALostCall(t *testing.T) {
	var dir string
	made := func(r *harness, run runner) tools.Tool {
		return r.tool("act", tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.FSWrite}, Paths: []tools.Path{{Path: "/ws/notes.md", Write: true, Area: tools.Workspace}}}, run)
	}
	reply := llmtest.InOrder(use("fetch", "page"), use("act", "x"), llmtest.Say("before"))
	bubble(t, reply, func(r *harness) {
		r.ask("go")
		r.ask("/approve " + r.code())
		r.reborn(dir, llmtest.InOrder(llmtest.Say("after")), func(r *harness) {
			r.settle()
			marks, err := r.store.Marks().List(context.Background(), false)
			if err != nil || len(marks) != 1 {
				t.Errorf("%v %v; %v", marks, err, r.results(1))
			}
		}, foreignTools, func(r *harness) { r.list = append(r.list, made(r, nil)) })
	}, foreignTools, crashing(&dir, made))
}
