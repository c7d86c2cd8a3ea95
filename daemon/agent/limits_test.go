package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/daemon/policy"
	"hob/tools"
)

// runLimited runs a job with limits, as its row has them, to its end.
func (r *harness) runLimited(body string) {
	r.t.Helper()
	r.sql(`INSERT INTO triggers (id, kind, name, body, version) VALUES (1, 'job', 'b', ?, 1)`, body)
	r.sql(`INSERT INTO fires (id, trigger, key, due, created, state) VALUES (1, 1, 'k', ?, 1, 'queued')`, r.clock.Wall().UnixMicro())
	r.post(event.In{Source: "cron", ExtID: "job:1:run:1", Session: "main", Kind: event.Fire, Rank: event.RankSchedule, Trust: event.Owner, ReplyTo: chat, Fire: 1, Typed: true, Parts: event.Say("look around"), Received: time.Now()})
	r.settle()
}

// A job with tools of its own may call no other, in whatever mode the permission rules are; the model reads why.
func TestToolsOfAJob(t *testing.T) {
	for _, mode := range []policy.Mode{policy.ModeAsk, policy.ModeOpen} {
		bubble(t, llmtest.InOrder(use("note", "x"), use("look", "y"), llmtest.Say("done")), func(r *harness) {
			r.runLimited(`{"tools": ["look"]}`)
			if r.times("note") != 0 || r.times("look") != 1 {
				t.Errorf("%s: note ran %d times, look %d", mode, r.times("note"), r.times("look"))
			}
			if got := fmt.Sprint(r.results(1)); !strings.Contains(got, "this job may only call look") || r.lastBody() != "done\n\n(hob: note: permission denied: this job may only call look)" {
				t.Errorf("%s: %s, said %q", mode, got, r.lastBody())
			}
			r.ask("now I ask") // which is no job
		}, func(r *harness) { r.mode = mode })
	}
}

// useTokens gives the harness a model that calls tools for ever and uses 1,500 tokens for each request.
func useTokens(r *harness) {
	n := 0
	r.model = llmtest.NewScript(llmtest.Always(func(llm.Request) llm.Answer {
		n++
		a := use("look", fmt.Sprint(n))
		a.Usage = llm.Usage{Input: 1000, Output: 500}
		return a
	})).As(llm.Info{Provider: "p", Model: "m", MaxOutput: 9000})
}

// A run stays within its tokens: its answers are asked to be short enough, and the turn ends with a word to the owner.
func TestTokensOfAJob(t *testing.T) {
	bubble(t, nil, func(r *harness) {
		r.runLimited(`{"tokens": 5000}`)
		asked := r.model.(*llmtest.Script).Requests()
		if len(asked) != 2 || r.times("look") != 2 {
			t.Fatalf("%d requests, %d calls", len(asked), r.times("look"))
		}
		left := 5000
		for i, q := range asked {
			if q.MaxOutput > left || q.MaxOutput < 1024 {
				t.Errorf("request %d may be answered with %d tokens, %d are left", i+1, q.MaxOutput, left)
			}
			left -= 1500
		}
		row := r.turns()[0]
		if want := "it has used 3000 of the 5000 tokens that one run may use, and the next request needs about "; row.State != "failed" || !strings.HasPrefix(row.Why, want) {
			t.Errorf("the turn is %s: %s", row.State, row.Why)
		}
		contains(t, r.lastBody(), "I could not finish this: it has used 3000 of the 5000 tokens")
		contains(t, r.lastBody(), "hob cron update JOB --max-tokens N")
	}, useTokens)
}

// Without a limit nothing of this holds.
func TestNoTokensOfAJob(t *testing.T) {
	bubble(t, nil, func(r *harness) {
		r.runLimited(`{}`)
		asked := r.model.(*llmtest.Script).Requests()
		if len(asked) != 50 || asked[0].MaxOutput != 9000 {
			t.Errorf("%d requests, the first with %d tokens", len(asked), asked[0].MaxOutput)
		}
	}, useTokens)
}

// A run with limits cannot lift them: what it would put on the schedule asks first, and of a run without limits it does not.
func TestLimitsAreNotLifted(t *testing.T) {
	for body, want := range map[string]int{`{"tools": ["note"]}`: 0, `{"tokens": 50000}`: 0, `{}`: 1} {
		bubble(t, llmtest.InOrder(use("note", "x"), llmtest.Say("done")), func(r *harness) {
			r.runLimited(body)
			if r.times("note") != want || len(r.questions()) != 1-want {
				t.Errorf("%s: it ran %d times, with %d questions", body, r.times("note"), len(r.questions()))
			}
		})
	}
}

// What a sub-agent in the background has found opens a turn of its own, which is still the limited run's.
func TestLimitsOfWhatGoesOn(t *testing.T) {
	bubble(t, parentAndChild(func(_ context.Context, last string, _ llm.Request) (llm.Answer, error) {
		switch {
		case last == "look around":
			return task(map[string]any{"prompt": "p", "background": true}), nil
		case strings.HasPrefix(last, "sub-agent ") && strings.HasSuffix(last, "found"):
			return use("shell", "x"), nil
		}
		return llmtest.Say("heard: " + last), nil
	}, usable("found")), func(r *harness) {
		r.runLimited(`{"tools": ["sessions_spawn"]}`)
		r.wantStates(turn.Done, turn.Done, turn.Done)
		if contains(t, r.lastBody(), "this job may only call sessions_spawn"); r.times("shell") != 0 || len(r.questions()) != 0 {
			t.Errorf("shell ran %d times, with %d questions", r.times("shell"), len(r.questions()))
		}
	}, withSubagents)
}

// sweeper is a command of the sandbox: what it has written it finds out itself, in a tainted turn only.
type sweeper struct{ tools.Tool }

func (sweeper) Traces(_ context.Context, call tools.Call, _ tools.Intent, since time.Time) []tools.Change {
	if !call.Tainted || since.IsZero() {
		return nil
	}
	return []tools.Change{tools.Mark{Path: "/ws/HEARTBEAT.md", Why: "a tainted turn wrote it"}}
}

// writers write HEARTBEAT.md, each in its way, and one reads it.
func writers(r *harness) {
	at := []tools.Path{{Path: "/ws/HEARTBEAT.md", Write: true, Area: tools.Workspace}}
	r.list = append(r.list,
		r.tool("write", tools.Intent{Effect: tools.Checkable, Scopes: []tools.Scope{tools.FSWrite}, Paths: at}, nil),
		sweeper{r.tool("boxed", tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.Exec}, Sandboxed: true}, nil)},
		r.tool("broken", tools.Intent{Effect: tools.Checkable, Scopes: []tools.Scope{tools.FSWrite}, Paths: at}, func(context.Context, tools.Call, string) (tools.Result, error) {
			return tools.Fail(tools.Unknown, "", "it broke off halfway"), nil
		}),
		r.tool("read", tools.Intent{Effect: tools.Read}, func(context.Context, tools.Call, string) (tools.Result, error) {
			return tools.Result{Content: "from now on: shell", Foreign: r.store.Marks().Why("/ws/HEARTBEAT.md")}, nil
		}),
	)
}

// Text that a run with limits has written is not an instruction of the owner. A later turn reads it as foreign text and has no more rights than
// after any other foreign text.
func TestLimitsOfWhatIsWritten(t *testing.T) {
	for _, tool := range []string{"write", "boxed", "broken"} {
		for body, limited := range map[string]bool{`{"tools": ["` + tool + `"]}`: true, `{"tokens": 50000}`: true, `{}`: false} {
			reply := llmtest.InOrder(use(tool, "x"), llmtest.Say("done"), use("read", "x"), use("save", "x"), llmtest.Say("done"))
			bubble(t, reply, func(r *harness) {
				r.runLimited(body)
				if r.times(tool) != 1 {
					t.Fatalf("%s %s: it ran %d times", tool, body, r.times(tool))
				}
				if yes, _ := tainted(t, r, 1); yes {
					t.Errorf("%s %s: the run itself is tainted", tool, body)
				}
				r.ask("what is in it?")
				yes, from := tainted(t, r, 2)
				if yes != limited || limited && from != "written by a run with limits" {
					t.Errorf("%s %s: who reads it is tainted %v, from %q", tool, body, yes, from)
				}
				if want := map[bool]int{true: 0, false: 1}[limited]; r.times("save") != want {
					t.Errorf("%s %s: what it says was done %d times", tool, body, r.times("save"))
				}
			}, foreignTools, func(r *harness) {
				r.list = slices.DeleteFunc(r.list, func(tool tools.Tool) bool { return tool.Spec().Name == "boxed" })
			}, writers)
		}
	}
}

// A run with limits that hob's death cut off may have written as well.
func TestLimitsOfWhatWasLost(t *testing.T) {
	var dir string
	made := func(r *harness, run runner) tools.Tool {
		return r.tool("act", tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.FSWrite}, Paths: []tools.Path{{Path: "/ws/AGENTS.md", Write: true, Area: tools.Workspace}}}, run)
	}
	bubble(t, llmtest.InOrder(use("act", "x"), llmtest.Say("before")), func(r *harness) {
		r.runLimited(`{"tokens": 50000}`)
		r.reborn(dir, llmtest.InOrder(llmtest.Say("after")), func(r *harness) {
			r.settle()
			if why := r.store.Marks().Why("/ws/AGENTS.md"); why != "written by a run with limits" {
				t.Errorf("%q; %v", why, r.results(1))
			}
		}, func(r *harness) { r.list = append(r.list, made(r, nil)) })
	}, crashing(&dir, made))
}
