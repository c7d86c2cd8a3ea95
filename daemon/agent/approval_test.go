package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/tools"
)

// chatty makes one call when told to "go", and otherwise repeats what it hears.
func chatty(call llm.Answer) llmtest.Reply {
	return script(func(last string, _ llm.Request) llm.Answer {
		if last == "go" {
			return call
		}
		return llmtest.Say("heard: " + last)
	})
}

func TestApproval(t *testing.T) {
	both := llmtest.UseAll(use("shell", "df"), use("note", "after"))
	bubble(t, chatty(both), func(r *harness) {
		r.ask("go")
		r.wantStates(turn.Waiting)
		contains(t, r.lastBody(), "May I shell df?")
		contains(t, r.lastBody(), "/approve "+r.code())
		if r.times("shell") != 0 || r.times("note") != 0 {
			t.Fatal("a call ran before it was approved, or one behind it did")
		}
		// The thread serves other input meanwhile, in a turn of its own.
		r.ask("hello?")
		r.wantStates(turn.Waiting, turn.Done)
		if r.lastBody() != "heard: hello?" {
			t.Errorf("meanwhile it says %q", r.lastBody())
		}
		r.ask("/approve " + strings.ToLower(r.code()))
		r.wantStates(turn.Done, turn.Done)
		if r.times("shell") != 1 {
			t.Errorf("the approved call ran %d times", r.times("shell"))
		}
		got := r.results(1)
		if got[0] != "shell did df" {
			t.Errorf("the result is %q", got[0])
		}
		contains(t, got[1], "not run: call again if still wanted")
		if r.times("note") != 0 {
			t.Error("a call that was overtaken ran")
		}
		requests := r.model.(*llmtest.Script).Requests()
		valid(t, requests)
		text := ""
		for _, m := range requests[len(requests)-1].Messages {
			text += event.TextOf(m.Parts) + "\n"
		}
		contains(t, text, "pending #1")
		contains(t, text, "[late result of #1] shell did df")
		audit := r.turn(1).Audit
		if len(audit) != 2 {
			t.Fatalf("%d audit rows for 2 calls: %+v", len(audit), audit)
		}
		contains(t, audit[0].Reason, r.questions()[0].Code)
		if q := r.questions()[0]; q.State != "consumed" || q.Answer != "once" {
			t.Errorf("the question is %+v", q)
		}
	})
}

func TestApprovalWithoutOtherInput(t *testing.T) {
	both := llmtest.UseAll(use("note", "before"), use("shell", "df"), use("note", "after"))
	bubble(t, chatty(both), func(r *harness) {
		r.ask("go")
		if r.times("note") != 1 {
			t.Errorf("the allowed call before the question ran %d times", r.times("note"))
		}
		r.ask("/approve " + r.code())
		r.wantStates(turn.Done)
		if want := []string{"note did before", "shell did df", "note did after"}; !slices.Equal(r.results(1), want) {
			t.Errorf("results %q", r.results(1))
		}
	})
}

func TestOneQuestionCoversAllCallsOfAnAnswer(t *testing.T) {
	bubble(t, chatty(llmtest.UseAll(use("shell", "a"), use("shell", "b"), use("reach", "c"))), func(r *harness) {
		r.ask("go")
		if len(r.questions()) != 1 {
			t.Fatalf("%d questions", len(r.questions()))
		}
		for _, part := range []string{"shell a", "shell b", "reach c"} {
			contains(t, r.lastBody(), part)
		}
		if strings.Contains(r.lastBody(), "always:") {
			t.Error("several calls are offered for good")
		}
		r.ask("/approve " + r.code())
		r.wantStates(turn.Done)
		if r.times("shell") != 2 || r.times("reach") != 1 {
			t.Errorf("ran %v", r.ran)
		}
	})
}

func TestNo(t *testing.T) {
	for _, tc := range []struct {
		name string
		act  func(*harness)
		want string
	}{
		{"deny", func(r *harness) { r.ask("/deny " + r.code()) }, "the owner said no"},
		{"silence", func(*harness) { time.Sleep(25 * time.Hour) }, "silence is no"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, chatty(use("shell", "df")), func(r *harness) {
				r.ask("go")
				code := r.code()
				tc.act(r)
				r.settle()
				r.wantStates(turn.Done)
				contains(t, r.results(1)[0], tc.want)
				if r.times("shell") != 0 {
					t.Error("it ran")
				}
				if line := r.finishedLine(); line == "" || !strings.HasSuffix(r.lastBody(), "\n"+line) { // a terminal shows it when the call ends
					t.Errorf("the event says %q, the answer %q", line, r.lastBody())
				}
				audit := r.turn(1).Audit
				if len(audit) != 1 || audit[0].Decision != "deny" {
					t.Errorf("one audit row must say deny: %+v", audit)
				}
				r.ask("/approve " + code)
				contains(t, r.lastBody(), "no longer open")
				if r.times("shell") != 0 {
					t.Error("a late yes let it run")
				}
			})
		})
	}
}

func TestApprovalForTheTurn(t *testing.T) {
	bubble(t, llmtest.InOrder(use("shell", "a"), use("shell", "b"), use("reach", "c"), llmtest.Say("x"), use("shell", "d")), func(r *harness) {
		r.ask("go")
		r.ask("/approve " + r.code() + " turn")
		if r.times("shell") != 2 {
			t.Errorf("a later call of the same kind ran %d times in all, want 2", r.times("shell"))
		}
		r.wantStates(turn.Waiting) // for the other tool
		r.ask("/deny " + r.code())
		r.ask("next turn")
		r.wantStates(turn.Done, turn.Waiting)
		if r.times("shell") != 2 {
			t.Error("what was allowed for one turn ran in another")
		}
	})
}

func TestAlwaysMakesAGrant(t *testing.T) {
	bubble(t, llmtest.InOrder(use("shell", "a"), llmtest.Say("1"), use("shell", "a"), llmtest.Say("2"), use("shell", "other")), func(r *harness) {
		r.ask("go")
		r.ask("/approve " + r.code() + " ALWAYS")
		r.ask("once more")
		r.wantStates(turn.Done, turn.Done)
		if r.times("shell") != 2 {
			t.Errorf("ran %d times, want 2", r.times("shell"))
		}
		grants, err := r.store.Grants.List(context.Background())
		if err != nil || len(grants) != 1 || grants[0].Uses != 1 {
			t.Errorf("grants %+v, %v", grants, err)
		}
		r.ask("another")
		r.wantStates(turn.Done, turn.Done, turn.Waiting)
		if err := r.store.Grants.Revoke(context.Background(), grants[0].ID); err != nil {
			t.Fatal(err)
		}
	})
}

// What was approved is a hash over all that matters; when that changes, the call does not run.
func TestChangedAfterApproval(t *testing.T) {
	content := "harmless"
	bubble(t, chatty(use("swap", "x")), func(r *harness) {
		r.ask("go")
		content = "evil"
		r.ask("/approve " + r.code())
		contains(t, r.results(1)[0], "has changed since it was approved")
		if r.times("swap") != 0 {
			t.Error("it ran")
		}
	}, func(r *harness) {
		i := tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.Exec}}
		r.with(tools.New[args, nothing](tools.Spec{Name: "swap", Group: "test", Description: "Runs a file."}, r.intent("swap", i, func() string { return content }), r.run("swap", nil)))
	})
}

func TestAnswersThatDoNotCount(t *testing.T) {
	bubble(t, chatty(use("shell", "df")), func(r *harness) {
		r.ask("go")
		code := r.code()
		for _, text := range []string{"yes", "approve " + code, "/approve", "/approve " + code + " forever", "/approve XXXX", "/answer " + code + " yes", "> /approve " + code} {
			r.ask(text)
			if r.times("shell") != 0 || r.code() != code {
				t.Fatalf("%q answered the question", text)
			}
		}
		for _, who := range []event.Trust{event.Known, event.Public, event.Machine} {
			in := stranger("/approve " + code)
			in.Kind, in.Trust = event.Command, who
			seq := r.post(in)
			r.settle()
			if r.times("shell") != 0 || r.code() != code {
				t.Fatalf("somebody %s approved", who)
			}
			if r.inbox(seq).State != "done" {
				t.Errorf("his row is %+v", r.inbox(seq))
			}
		}
		r.say("/approve " + code)
		r.ask("/approve " + code) // a double tap
		if r.times("shell") != 1 {
			t.Errorf("ran %d times", r.times("shell"))
		}
		if n := len(r.questions()); n != 1 {
			t.Errorf("%d questions", n)
		}
	})
}

func modelCalls(r *harness) {
	r.with(r.parking("ask", func(r *harness) tools.Wait {
		return tools.Wait{Kind: tools.ForQuestion, Until: r.clock.Wall().Add(7 * 24 * time.Hour), Ask: &tools.Ask{Text: "tea or coffee?"}}
	}))
}

func TestPlainTextAnswersTheOnlyAsk(t *testing.T) {
	bubble(t, chatty(use("ask", "")), func(r *harness) {
		r.ask("go")
		r.wantStates(turn.Waiting)
		contains(t, r.lastBody(), "tea or coffee?")
		elsewhere := ownerSays("milk")
		elsewhere.ReplyTo = "chat:9"
		r.post(elsewhere)
		r.post(stranger("beer"))
		r.settle()
		r.wantStates(turn.Waiting, turn.Done, turn.Done)
		seq := r.ask("tea")
		r.wantStates(turn.Done, turn.Done, turn.Done)
		contains(t, r.results(1)[0], "the owner answered: tea")
		if row := r.inbox(seq); row.State != "done" || row.Turn != 0 {
			t.Errorf("the answer's row is %+v", row)
		}
	}, modelCalls)
}

func TestSeveralAsksNeedACode(t *testing.T) {
	bubble(t, chatty(use("ask", "")), func(r *harness) {
		r.ask("go")
		other := ownerSays("go") // a job: a message would be the answer
		other.Kind = event.Fire
		r.post(other)
		r.settle()
		r.wantStates(turn.Waiting, turn.Waiting)
		r.ask("tea")
		r.wantStates(turn.Waiting, turn.Waiting, turn.Done) // a message like any other
		second := r.questions()[1].Code
		r.ask("/answer " + second + " coffee, black")
		r.wantStates(turn.Waiting, turn.Done, turn.Done)
		contains(t, r.results(2)[0], "the owner answered: coffee, black")
	}, modelCalls)
}

func TestReplyToTheMessageOfAQuestion(t *testing.T) {
	bubble(t, chatty(use("ask", "")), func(r *harness) {
		r.ask("go")
		other := ownerSays("go") // a job: a message would be the answer
		other.Kind = event.Fire
		r.post(other)
		r.settle()
		for i, o := range r.outbox() {
			r.sql("INSERT INTO deliveries (outbox, part, body, nonce, remote_id, epoch, state) VALUES (?, 0, '', 'n', ?, 1, 'sent')", o.ID, []string{"r1", "r2"}[i])
		}
		in := ownerSays("coffee")
		in.ReplyRef = "r1"
		r.post(in)
		r.settle()
		r.wantStates(turn.Done, turn.Waiting)
	}, modelCalls)
}

func TestNoAnswerToAnAsk(t *testing.T) {
	bubble(t, chatty(use("ask", "")), func(r *harness) {
		r.ask("go")
		time.Sleep(8 * 24 * time.Hour)
		r.settle()
		r.wantStates(turn.Done)
		contains(t, r.results(1)[0], "no answer")
	}, modelCalls)
}

// A turn that waits a second time must not be woken by what it has waited for before.
func TestAsksTwice(t *testing.T) {
	bubble(t, llmtest.InOrder(use("ask", "1"), use("ask", "2"), use("shell", "x"), llmtest.Say("end")), func(r *harness) {
		r.ask("go")
		r.ask("tea")
		r.wantStates(turn.Waiting)
		resumed := func() int {
			n := 0
			for _, e := range r.events() {
				if e == "turn.resumed" {
					n++
				}
			}
			return n
		}
		before := resumed()
		time.Sleep(time.Hour)
		r.settle()
		if n := resumed(); n != before || n != 1 {
			t.Fatalf("it was resumed %d times", n)
		}
		r.ask("coffee")
		r.ask("/approve " + r.code())
		r.wantStates(turn.Done)
		if ms := r.turns()[0].Attempts; ms != 1 {
			t.Errorf("%d attempts: parks do not count", ms)
		}
	}, modelCalls)
}

func TestTypedCommandIsItsOwnApproval(t *testing.T) {
	for _, tc := range []struct {
		text, command string
		runs          int
	}{{"run df -h", "df -h", 1}, {"run df -h", "rm -rf /", 0}, {"please run df -h", "df -h", 0}} {
		bubble(t, llmtest.InOrder(llmtest.Use("exec", `{"command": "`+tc.command+`"}`), llmtest.Say("done")), func(r *harness) {
			r.ask(tc.text)
			if r.times("exec") != tc.runs {
				t.Errorf("%q with the call %q: ran %d times, want %d", tc.text, tc.command, r.times("exec"), tc.runs)
			}
		}, func(r *harness) { r.with(r.exec()) })
	}
}

type execArgs struct {
	Command string `json:"command" jsonschema:"what to run"`
}

// exec stands for the tool of that name.
func (r *harness) exec() tools.Tool {
	return tools.New[execArgs, nothing](tools.Spec{Name: "exec", Group: "test", Description: "Runs a command."},
		func(_ context.Context, _ tools.Call, in execArgs) (tools.Intent, error) {
			return tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.Exec}, Summary: "run: " + in.Command, Canonical: []byte(in.Command)}, nil
		},
		func(context.Context, tools.Call, execArgs, tools.Intent) (tools.Result, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.ran["exec"]++
			return tools.Result{Content: "ran"}, nil
		})
}

// A summary may be cut: the question shows all that would run.
func TestQuestionsShowTheWholeCall(t *testing.T) {
	bubble(t, llmtest.InOrder(llmtest.Use("exec", `{"command": "echo hello\nrm -rf /srv"}`), llmtest.Say("done")), func(r *harness) {
		r.ask("go")
		contains(t, r.lastBody(), "rm -rf /srv")
	}, func(r *harness) {
		r.with(tools.New[execArgs, nothing](tools.Spec{Name: "exec", Group: "test", Description: "Runs a command."},
			func(_ context.Context, _ tools.Call, in execArgs) (tools.Intent, error) {
				first, _, _ := strings.Cut(in.Command, "\n")
				return tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.Exec}, Summary: "run: " + first + " …", Canonical: []byte(in.Command)}, nil
			},
			func(context.Context, tools.Call, execArgs, tools.Intent) (tools.Result, error) {
				return tools.Result{}, nil
			}))
	})
}

func TestControlCharactersAreShown(t *testing.T) {
	bubble(t, llmtest.InOrder(llmtest.Use("shell", `{"what": "echo a\u202e\u0007\u200b"}`), llmtest.Say("x")), func(r *harness) {
		r.ask("go")
		contains(t, r.lastBody(), `\u{202e}\u{7}\u{200b}`)
	})
}
