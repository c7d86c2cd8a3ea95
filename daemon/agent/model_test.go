package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/daemon/store"
)

// flaky fails with each fault in turn, then answers.
func flaky(faults ...error) llmtest.Reply {
	n := 0
	return func(context.Context, llm.Request) (llm.Answer, error) {
		n++
		if n <= len(faults) {
			return llm.Answer{}, faults[n-1]
		}
		return llmtest.Say("at last"), nil
	}
}

func TestModelRetries(t *testing.T) {
	limited := &llm.Error{Fault: llm.RateLimit, RetryAfter: 90 * time.Second}
	busy := &llm.Error{Fault: llm.Overloaded, Status: 503}
	for _, tc := range []struct {
		name     string
		faults   []error
		requests int
		ok       bool
		after    time.Duration
	}{
		{"as the server asked", []error{limited}, 2, true, 90 * time.Second},
		{"exponential with jitter", []error{busy, busy, busy}, 4, true, 750*time.Millisecond + 1500*time.Millisecond + 3*time.Second},
		{"network", []error{&llm.Error{Fault: llm.Network}}, 2, true, 750 * time.Millisecond},
		{"broken stream", []error{&llm.Error{Fault: llm.Broken}}, 2, true, 750 * time.Millisecond},
		{"bad request", []error{&llm.Error{Fault: llm.BadRequest, Status: 400}}, 1, false, 0},
		{"key", []error{&llm.Error{Fault: llm.Auth, Status: 401}}, 1, false, 0},
		{"payment", []error{&llm.Error{Fault: llm.Payment, Status: 402}}, 1, false, 0},
		{"no such model", []error{&llm.Error{Fault: llm.NotFound}}, 1, false, 0},
		{"too large", []error{&llm.Error{Fault: llm.TooLarge}}, 1, false, 0},
		{"anything else", []error{errors.New("odd")}, 1, false, 0},
		{"always down", []error{busy, busy, busy, busy, busy, busy, busy, busy, busy, busy}, llm.MaxRetries + 1, false, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, flaky(tc.faults...), func(r *harness) {
				r.say("go")
				time.Sleep(10 * time.Minute)
				r.settle()
				if n := len(r.model.(*llmtest.Script).Requests()); n != tc.requests {
					t.Errorf("%d requests, want %d", n, tc.requests)
				}
				if b := r.budget(); b.ReservedTokens != 0 {
					t.Errorf("%d tokens are still reserved", b.ReservedTokens)
				}
				row := r.turns()[0]
				if !tc.ok {
					r.wantStates(turn.Failed)
					contains(t, r.lastBody(), "I could not finish this: ")
					return
				}
				r.wantBodies("at last")
				if took := row.Ended.Sub(row.Started); took != tc.after {
					t.Errorf("it took %v, want %v", took, tc.after)
				}
			})
		})
	}
}

// What may have been billed counts, what surely was not does not.
func TestFailedRequestsAreCounted(t *testing.T) {
	for fault, billed := range map[llm.Fault]bool{llm.RateLimit: false, llm.Network: false, llm.Overloaded: false, llm.Broken: true, llm.Idle: true, llm.Malformed: true} {
		bubble(t, flaky(&llm.Error{Fault: fault}, &llm.Error{Fault: llm.BadRequest}), func(r *harness) {
			r.say("go")
			time.Sleep(time.Minute)
			r.settle()
			if used := r.budget().UsedTokens; (used > 0) != billed {
				t.Errorf("%s: %d tokens were used, billed: %v", fault, used, billed)
			}
		})
	}
}

// interpreter stands for the built-in one: it answers "remind" and calls a tool first.
func interpreter() agent.Fallback {
	m := llmtest.NewScript(script(func(last string, _ llm.Request) llm.Answer {
		if strings.HasPrefix(last, "note") {
			return llmtest.Say("noted")
		}
		return use("note", "it")
	})).As(llm.Info{Provider: "builtin", Model: "builtin", Local: true, Interpreter: true})
	return agent.Fallback{Model: m, Understands: func(text string) bool { return strings.HasPrefix(text, "remind") }}
}

func TestFallbackWhenEveryModelIsDown(t *testing.T) {
	down := func(context.Context, llm.Request) (llm.Answer, error) {
		return llm.Answer{}, &llm.Error{Fault: llm.Auth, Status: 401}
	}
	job := func(text string) event.In {
		in := ownerSays(text)
		in.Kind, in.Rank, in.Fire = event.Fire, event.RankSchedule, 1
		return in
	}
	for _, tc := range []struct {
		name string
		in   event.In
		ok   bool
	}{
		{"understood", ownerSays("remind me"), true},
		{"not understood", ownerSays("please think"), false},
		{"somebody else", stranger("remind me"), false},
		{"a job", job("remind me"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, down, func(r *harness) {
				r.sql("INSERT INTO triggers (id, kind, name, body, version) VALUES (1, 'job', 'j', '{}', 1)")
				r.sql("INSERT INTO fires (id, trigger, key, due, created, state) VALUES (1, 1, 'k', 1, 1, 'queued')")
				r.post(tc.in)
				r.settle()
				if tc.ok {
					r.wantBodies("noted\n(The built-in interpreter did this: the model's server refused the key (HTTP 401) (check api_key in the config; hob model test tries it))")
					r.wantStates(turn.Done)
					return
				}
				r.wantStates(turn.Failed)
				if r.times("note") != 0 {
					t.Error("the interpreter acted")
				}
				contains(t, r.lastBody(), "the model's server refused the key (HTTP 401)")
			}, func(r *harness) { r.fallback = interpreter() })
		})
	}
}

// R8: what the interpreter fully understands is done after the first failure of a model, and not when all have been asked again and again.
func TestFallbackAfterTheFirstFailure(t *testing.T) {
	asked := 0
	bubble(t, func(context.Context, llm.Request) (llm.Answer, error) {
		asked++
		return llm.Answer{}, &llm.Error{Fault: llm.Overloaded, Status: 503}
	}, func(r *harness) {
		began := time.Now()
		r.ask("remind me")
		r.wantBodies("noted\n(The built-in interpreter did this: the model's server is overloaded or broken (HTTP 503))")
		if took := time.Since(began); asked != 1 || took > time.Second {
			t.Errorf("%d requests, %v", asked, took)
		}
	}, func(r *harness) { r.fallback = interpreter() })
}

// A model that rests is not asked. The owner still reads why.
func TestFallbackWhileTheModelRests(t *testing.T) {
	asked := 0
	bubble(t, func(context.Context, llm.Request) (llm.Answer, error) {
		asked++
		return llm.Answer{}, &llm.Error{Fault: llm.Payment, Status: 402}
	}, func(r *harness) {
		r.ask("remind me")
		r.ask("remind me")
		const why = "the model's server wants to be paid (HTTP 402)"
		r.wantBodies("noted\n(The built-in interpreter did this: "+why+" (the account at the provider needs money))", "noted\n(The built-in interpreter did this: no model has answered lately: "+why+")")
		if asked != 1 {
			t.Errorf("the model was asked %d times", asked)
		}
	}, func(r *harness) { r.fallback = interpreter() })
}

// Without money the interpreter does not blame the model.
func TestFallbackWithoutABudget(t *testing.T) {
	bubble(t, nil, func(r *harness) {
		r.ask("remind me")
		contains(t, r.lastBody(), "noted\n(The built-in interpreter did this: today's budget is used up")
	}, func(r *harness) { r.policy.PerDayTokens, r.fallback = 10, interpreter() })
}

// In the middle of a turn that the model has begun, the interpreter does not take over.
func TestNoFallbackInTheMiddle(t *testing.T) {
	n := 0
	bubble(t, func(context.Context, llm.Request) (llm.Answer, error) {
		n++
		if n == 1 {
			return use("look", "x"), nil
		}
		return llm.Answer{}, &llm.Error{Fault: llm.Auth}
	}, func(r *harness) {
		r.ask("remind me")
		r.wantStates(turn.Failed)
		if r.times("note") != 0 {
			t.Error("the interpreter took over a turn that another model had begun")
		}
	}, func(r *harness) { r.fallback = interpreter() })
}

func withoutPrice(r *harness) {
	r.model = llmtest.NewScript(llmtest.Always(func(llm.Request) llm.Answer {
		return llm.Answer{Text: "ok", Usage: llm.Usage{Input: 100, Output: 50}}
	})).As(llm.Info{Provider: "p", Model: "m", MaxOutput: 1000})
}

func TestBudgetSettlesWithTheRealUsage(t *testing.T) {
	bubble(t, nil, func(r *harness) {
		r.ask("go")
		b := r.budget()
		if b.UsedTokens != 150 || b.ReservedTokens != 0 {
			t.Errorf("budget %+v", b)
		}
		row := r.turns()[0]
		if row.Tokens != 150 {
			t.Errorf("the turn used %d tokens", row.Tokens)
		}
	}, withoutPrice)
}

func TestBudgetInMoney(t *testing.T) {
	bubble(t, nil, func(r *harness) {
		r.ask("go")
		if b := r.budget(); b.Used.Micros() != 100*3+50*15 || b.ReservedMicros != 0 || b.UsedTokens != 0 {
			t.Errorf("budget %+v", b)
		}
	}, withoutPrice, func(r *harness) {
		r.model.(*llmtest.Script).As(llm.Info{Provider: "p", Model: "m", MaxOutput: 1000, Price: llm.Price{Input: 3_000_000, Output: 15_000_000}})
	})
}

// The cap is hard; the owner is told at 80 %, once a day, and at the stop by each answer that it costs him.
func TestBudgetCap(t *testing.T) {
	bubble(t, nil, func(r *harness) {
		for range 30 {
			r.ask("go")
		}
		b := r.budget()
		if b.UsedTokens > b.PerDayTokens || b.UsedTokens < 2000 {
			t.Errorf("%d of %d tokens were used", b.UsedTokens, b.PerDayTokens)
		}
		all := strings.Join(r.bodies(), "\n")
		for _, part := range []string{"80 % of today's budget"} {
			if n := strings.Count(all, part); n != 1 {
				t.Errorf("%q was said %d times", part, n)
			}
		}
		contains(t, r.lastBody(), "today's budget is used up")
		time.Sleep(24 * time.Hour)
		r.ask("a new day")
		if r.lastBody() != "ok" {
			t.Errorf("on the next day it says %q", r.lastBody())
		}
		raised := int64(1_000_000)
		if _, err := r.store.Spending.SetBudget(context.Background(), store.Cap{Tokens: &raised}); err != nil {
			t.Fatal(err)
		}
		if b := r.budget(); b.PerDayTokens != raised {
			t.Errorf("the raised cap is %d", b.PerDayTokens)
		}
	}, withoutPrice, func(r *harness) { r.policy.PerDayTokens = 4000 })
}

// A request over midnight is settled on the day on which it was reserved, also when the owner's zone changes meanwhile.
func TestBudgetOverMidnight(t *testing.T) {
	bubble(t, func(context.Context, llm.Request) (llm.Answer, error) {
		time.Sleep(10 * time.Minute)
		return llm.Answer{Text: "ok", Usage: llm.Usage{Input: 100, Output: 50}}, nil
	}, func(r *harness) {
		time.Sleep(22*time.Hour + 55*time.Minute) // 23:55 in Berlin
		r.say("go")
		time.Sleep(time.Hour)
		r.settle()
		r.wantBodies("ok")
		if b := r.budget(); b.ReservedTokens != 0 || b.UsedTokens != 0 {
			t.Errorf("the new day has %+v", b)
		}
	})
}

// The model's session prefix stays byte for byte the same over a conversation, and only grows at its end.
func TestPrefixIsStable(t *testing.T) {
	bubble(t, script(func(last string, q llm.Request) llm.Answer {
		if last == "tool" {
			return use("look", fmt.Sprint(len(q.Messages)))
		}
		return llmtest.Say("ok")
	}), func(r *harness) {
		for i := range 6 {
			r.ask([]string{"tool", "text"}[i%2])
		}
		requests := r.model.(*llmtest.Script).Requests()
		for i := 1; i < len(requests); i++ {
			a, b := requests[i-1], requests[i]
			if a.System != b.System || fmt.Sprint(a.Tools) != fmt.Sprint(b.Tools) {
				t.Fatalf("the prefix of request %d changed", i)
			}
			if text(t, b.Messages[:len(a.Messages)]) != text(t, a.Messages) {
				t.Fatalf("request %d changed what was said before", i)
			}
		}
	})
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// An error in the middle, such as a panic of a model, is an attempt; the next one goes on, and what was reserved counts.
func TestPanicOfTheModel(t *testing.T) {
	n := 0
	r0 := (*harness)(nil)
	bubble(t, func(context.Context, llm.Request) (llm.Answer, error) {
		n++
		switch n {
		case 1:
			panic("bad model")
		case 2:
			return use("note", "x"), nil
		default:
			return llmtest.Say("fine"), nil
		}
	}, func(r *harness) {
		r0 = r
		r.say("go")
		time.Sleep(time.Minute)
		r.settle()
		r.wantBodies("fine")
		r.wantStates(turn.Done)
		if r.times("note") != 1 || r.turns()[0].Attempts != 2 {
			t.Errorf("note ran %d times in %d attempts", r.times("note"), r.turns()[0].Attempts)
		}
		if b := r.budget(); b.ReservedTokens != 0 {
			t.Errorf("%d tokens are still reserved", b.ReservedTokens)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.failed) != 1 {
			t.Errorf("%d failures: %v", len(r.failed), r.failed)
		}
		r0.failed = nil
	})
}

// A model that always panics costs its turn three attempts, and the owner is told.
func TestDeadLetterInProcess(t *testing.T) {
	bubble(t, func(context.Context, llm.Request) (llm.Answer, error) { panic("bad model") }, func(r *harness) {
		seq := r.say("poison")
		time.Sleep(time.Hour)
		r.settle()
		r.wantStates(turn.Dead)
		if r.inbox(seq).State != "dead" {
			t.Errorf("its row is %+v", r.inbox(seq))
		}
		contains(t, r.lastBody(), `I gave up on "poison"`)
		contains(t, r.lastBody(), fmt.Sprintf("hob inbox retry %d", seq))
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.failed) != 3 {
			t.Errorf("%d failures", len(r.failed))
		}
		r.failed = nil
	})
}
