package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/tools"
)

// crashing is a tool that is in the middle of its run when the process dies.
func crashing(dir *string, made func(*harness, runner) tools.Tool) func(*harness) {
	return func(r *harness) {
		r.with(made(r, func(context.Context, tools.Call, string) (tools.Result, error) {
			*dir = r.snapshot()
			return tools.Result{Content: "took effect"}, nil
		}))
	}
}

func plainTool(effect tools.Effect) func(*harness, runner) tools.Tool {
	return func(r *harness, run runner) tools.Tool {
		return r.tool("act", tools.Intent{Effect: effect, Scopes: []tools.Scope{tools.Schedule}}, run)
	}
}

func probedTool(done bool, probe error) func(*harness, runner) tools.Tool {
	return func(r *harness, run runner) tools.Tool {
		return tools.NewCheckable[args, nothing](tools.Spec{Name: "act", Group: "test", Description: "Writes something."},
			r.intent("act", tools.Intent{Effect: tools.Checkable, Scopes: []tools.Scope{tools.Schedule}}, nil), r.run("act", run),
			func(context.Context, tools.Call, args, tools.Intent) (bool, error) { return done, probe })
	}
}

// After a crash in a tool: what may be repeated is, what can be probed is, the rest is unknown and said.
func TestCrashInATool(t *testing.T) {
	for _, tc := range []struct {
		name string
		made func(*harness, runner) tools.Tool
		runs int
		want string
	}{
		{"read", plainTool(tools.Read), 1, "act did x"},
		{"keyed", plainTool(tools.Keyed), 1, "act did x"},
		{"once", plainTool(tools.Once), 0, string(tools.OutcomeUnknown)},
		{"checkable without a probe", plainTool(tools.Checkable), 0, string(tools.OutcomeUnknown)},
		{"probed, done", probedTool(true, nil), 0, "it checked that the effect is there"},
		{"probed, not done", probedTool(false, nil), 1, "act did x"},
		{"probe fails", probedTool(false, errors.New("cannot tell")), 0, string(tools.OutcomeUnknown)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var dir string
			bubble(t, llmtest.InOrder(use("act", "x"), llmtest.Say("before")), func(r *harness) {
				seq := r.ask("go")
				r.reborn(dir, llmtest.InOrder(llmtest.Say("after"), llmtest.Say("after")), func(r *harness) {
					r.settle()
					if !r.store.Boot().Crashed {
						t.Error("the crash was not seen")
					}
					r.wantStates(turn.Done)
					said := "after"
					if tc.want == string(tools.OutcomeUnknown) { // V6: the owner is told, whatever the model says
						said += "\n\n(hob: act: outcome unknown: hob was interrupted while act ran: whether it took effect is unknown; check first)"
					}
					r.wantBodies(said)
					if r.times("act") != tc.runs {
						t.Errorf("it ran %d times after the crash, want %d", r.times("act"), tc.runs)
					}
					contains(t, r.results(1)[0], tc.want)
					if r.inbox(seq).State != "done" || r.turns()[0].Attempts != 2 {
						t.Errorf("row %+v after %d attempts", r.inbox(seq), r.turns()[0].Attempts)
					}
					valid(t, r.model.(*llmtest.Script).Requests())
					if n := len(r.turn(1).Audit); n > 1 {
						t.Errorf("%d audit rows for one call", n)
					}
				}, func(n *harness) { n.with(tc.made(n, nil)) })
			}, crashing(&dir, tc.made))
		})
	}
}

// What was approved, began, and was interrupted before it took effect runs again only while it is still the same.
func TestCrashBeforeAnApprovedEffect(t *testing.T) {
	for _, changed := range []bool{false, true} {
		var dir string
		content := "approved"
		made := func(r *harness, run runner) tools.Tool {
			i := tools.Intent{Effect: tools.Checkable, Scopes: []tools.Scope{tools.Exec}}
			return tools.NewCheckable[args, nothing](tools.Spec{Name: "act", Group: "test", Description: "Writes something."},
				r.intent("act", i, func() string { return content }), r.run("act", run),
				func(context.Context, tools.Call, args, tools.Intent) (bool, error) { return false, nil })
		}
		bubble(t, chatty(use("act", "x")), func(r *harness) {
			r.ask("go")
			r.ask("/approve " + r.code())
			if changed {
				content = "swapped"
			}
			r.reborn(dir, chatty(use("act", "x")), func(r *harness) {
				r.settle()
				if want := map[bool]int{false: 1, true: 0}[changed]; r.times("act") != want {
					t.Errorf("changed %v: it ran %d times after the crash", changed, r.times("act"))
				}
				r.wantStates(turn.Done)
			}, func(n *harness) { n.with(made(n, nil)) })
		}, crashing(&dir, made))
	}
}

// A request that was in flight may have been billed: its reservation counts as used.
func TestCrashDuringARequest(t *testing.T) {
	var dir string
	var r0 *harness
	bubble(t, func(context.Context, llm.Request) (llm.Answer, error) {
		dir = r0.snapshot()
		return llmtest.Say("never seen"), nil
	}, func(r *harness) {
		r0 = r
		r.ask("go")
		r.reborn(dir, llmtest.InOrder(use("note", ""), llm.Answer{Text: "once more", Usage: llm.Usage{Input: 1}}), func(r *harness) {
			r.settle()
			r.wantBodies("once more")
			if r.times("note") != 1 {
				t.Errorf("note ran %d times", r.times("note"))
			}
			if b := r.budget(); b.ReservedTokens != 0 || b.UsedTokens < 8192 {
				t.Errorf("budget %+v: the orphaned request must count in full", b)
			}
		})
	})
}

func TestCrashWhileParked(t *testing.T) {
	bubble(t, chatty(use("shell", "df")), func(r *harness) {
		r.ask("go")
		r.reborn(r.snapshot(), chatty(use("shell", "df")), func(r *harness) {
			time.Sleep(time.Hour)
			r.settle()
			r.wantStates(turn.Waiting)
			r.ask("/approve " + r.code())
			r.wantStates(turn.Done)
			if r.times("shell") != 1 || r.turns()[0].Attempts != 1 {
				t.Errorf("ran %d times in %d attempts: a park is no attempt", r.times("shell"), r.turns()[0].Attempts)
			}
		})
	})
}

// Three attempts make a dead letter and a notice; the row can be retried.
func TestDeadLetterAfterCrashes(t *testing.T) {
	var dir string
	crash := func(r **harness) llmtest.Reply {
		return func(context.Context, llm.Request) (llm.Answer, error) {
			dir = (*r).snapshot()
			return llmtest.Say("not committed in the copy"), nil
		}
	}
	var now *harness
	bubble(t, crash(&now), func(r *harness) {
		now = r
		seq := r.ask("poison")
		for i := 2; i <= 3; i++ {
			r.reborn(dir, crash(&now), func(n *harness) { n.settle() }, func(n *harness) { now = n })
		}
		r.reborn(dir, llmtest.InOrder(llmtest.Say("now it works")), func(n *harness) {
			n.settle()
			n.wantStates(turn.Dead)
			if n.inbox(seq).State != "dead" {
				t.Errorf("its row is %+v", n.inbox(seq))
			}
			contains(t, strings.Join(n.bodies(), "\n"), `I gave up on "poison"`)
			if err := n.store.Inbox.Retry(context.Background(), seq); err != nil {
				t.Fatal(err)
			}
			n.settle()
			n.wantStates(turn.Dead, turn.Done)
			if n.lastBody() != "now it works" {
				t.Errorf("the retry says %q", n.lastBody())
			}
		})
	})
}

// The same turn in flight at three unclean ends within ten minutes is dead-lettered before it is tried again.
func TestCulpritOfThreeUncleanEnds(t *testing.T) {
	var dir string
	var now *harness
	reply := func(context.Context, llm.Request) (llm.Answer, error) {
		dir = now.snapshot()
		return llmtest.Say("x"), nil
	}
	bubble(t, reply, func(r *harness) {
		now = r
		r.ask("poison")
		for range 2 {
			r.reborn(dir, reply, func(n *harness) { n.settle() }, func(n *harness) { now = n })
		}
		r.reborn(dir, llmtest.InOrder(), func(n *harness) {
			n.settle()
			if b := n.store.Boot(); b.CrashingTurn != 1 || b.Safe {
				t.Errorf("boot %+v", b)
			}
			n.wantStates(turn.Dead)
			contains(t, n.bodies()[0], "hob ended unexpectedly 3 times")
		})
	}, func(r *harness) {
		r.policy.MaxAttempts, r.policy.SafeAfter, r.policy.SafeWindow = 100, 3, 10*time.Minute
	})
}

// A commit of a turn that an older process began to step changes nothing.
func TestStaleCommit(t *testing.T) {
	bubble(t, llmtest.InOrder(use("look", "x"), llmtest.Say("stale")), func(r *harness) {
		r.ask("go")
		r.wantBodies()
		r.wantStates(turn.Running)
		ctx := context.Background()
		err := r.store.Turns.Commit(ctx, turn.Commit{Turn: 1, End: &turn.Finish{State: turn.Done}, Changes: []tools.Change{
			event.Out{Key: "x", Cause: event.Cause{Kind: event.ByTurn, ID: 1}, To: chat, Body: "must not go out", Urgency: event.Urgent},
		}})
		if !errors.Is(err, turn.ErrStale) {
			t.Errorf("commit: %v, want ErrStale", err)
		}
		_, err = r.store.Turns.Begin(ctx, turn.Begin{Turn: 1, Step: turn.Step{N: 9, Kind: turn.ModelStep, State: turn.StepIntent, Reserve: turn.Amount{Tokens: 7}}})
		if !errors.Is(err, turn.ErrStale) {
			t.Errorf("begin: %v, want ErrStale", err)
		}
		if b := r.budget(); b.ReservedTokens == 7 {
			t.Error("it reserved all the same")
		}
		r.wantBodies()
	}, func(r *harness) {
		r.with(r.tool("look", tools.Intent{Effect: tools.Read}, func(ctx context.Context, _ tools.Call, _ string) (tools.Result, error) {
			r.sql("INSERT INTO boots (epoch, started, crashed, version) VALUES (1000, 1, 1, 'next')")
			r.sql("UPDATE turns SET epoch = 1000")
			<-ctx.Done() // a newer process has taken over; this one is told to stop
			return tools.Result{}, ctx.Err()
		}))
	})
}

// A drained turn goes on where it was: what a tool has done is not done again.
func TestDrainInTheMiddle(t *testing.T) {
	bubble(t, script(func(last string, q llm.Request) llm.Answer {
		if len(q.Messages) == 1 {
			return llmtest.UseAll(use("note", "1"), use("long", ""))
		}
		return llmtest.Say(fmt.Sprint("ended after ", len(q.Messages)))
	}), func(r *harness) {
		r.ask("go")
		r.halt()
		r.wantStates(turn.Ready)
		r.start()
		r.settle()
		r.wantStates(turn.Done)
		if r.times("note") != 1 || r.times("long") != 1 {
			t.Errorf("ran %v", r.ran)
		}
		contains(t, r.results(1)[1], string(tools.Cancelled))
		valid(t, r.model.(*llmtest.Script).Requests())
	}, func(r *harness) {
		r.with(r.tool("long", tools.Intent{Effect: tools.Once}, func(ctx context.Context, _ tools.Call, _ string) (tools.Result, error) {
			<-ctx.Done()
			return tools.Result{}, ctx.Err()
		}))
	})
}
