package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// withSecondModel gives the harness a model with another one as its fallback.
func withSecondModel(first, second llm.Model) func(*harness) {
	return func(r *harness) { r.model, r.others = first, []llm.Model{second} }
}

func called(name string, reply llmtest.Reply) *llmtest.Script {
	return llmtest.NewScript(reply).As(llm.Info{Provider: "p", Server: name, Model: name, Context: 100_000, MaxOutput: 1000})
}

func saying(text string) llmtest.Reply {
	return llmtest.Always(func(llm.Request) llm.Answer { return llmtest.Say(text) })
}

func down(err error) llmtest.Reply {
	return func(context.Context, llm.Request) (llm.Answer, error) { return llm.Answer{}, err }
}

func asked(m llm.Model) int { return len(m.(*llmtest.Script).Requests()) }

func TestAnotherModelStepsIn(t *testing.T) {
	up := false
	first := called("first", func(context.Context, llm.Request) (llm.Answer, error) {
		if up {
			return llmtest.Say("first"), nil
		}
		return llm.Answer{}, &llm.Error{Fault: llm.Overloaded, Status: 503, Text: "busy"}
	})
	second := called("second", saying("second"))
	bubble(t, nil, func(r *harness) {
		r.say("one")
		time.Sleep(10 * time.Second)
		r.settle()
		r.wantBodies("second")
		if asked(first) != 3 || asked(second) != 1 {
			t.Errorf("the first was asked %d times, the second %d times", asked(first), asked(second))
		}
		if want := []string{"first to second: overloaded"}; !slices.Equal(r.switched, want) {
			t.Errorf("switched %q, want %q", r.switched, want)
		}
		steps := r.turn(1).Control
		if len(steps) != 4 || steps[0].Model != "p/first" || steps[3].Model != "p/second" || steps[3].Why != "" ||
			steps[0].Why != "the model's server is overloaded or broken (HTTP 503): busy" {
			t.Errorf("steps %+v", steps)
		}
		if b := r.budget(); b.ReservedTokens != 0 {
			t.Errorf("%d tokens are still reserved", b.ReservedTokens)
		}
		r.ask("two") // the first one rests
		up = true
		if asked(first) != 3 || asked(second) != 2 {
			t.Errorf("while it rests, the first was asked %d times, the second %d times", asked(first), asked(second))
		}
		time.Sleep(time.Minute)
		r.ask("three")
		r.wantBodies("second", "second", "first")
	}, withSecondModel(first, second))
}

func TestEveryModelIsDown(t *testing.T) {
	first, second := called("first", down(&llm.Error{Fault: llm.Payment, Status: 402})), called("second", down(&llm.Error{Fault: llm.NotFound, Status: 404, Text: "no second"}))
	bubble(t, nil, func(r *harness) {
		r.ask("go")
		r.wantStates(turn.Failed)
		r.wantBodies("I could not finish this: the server has no such model or address (HTTP 404): no second (hob model list shows what the server has).")
	}, withSecondModel(first, second))
}

// What is too long for one model goes to one that can read it, without asking the first.
func TestALongConversationGoesToALargerModel(t *testing.T) {
	small := called("small", saying("small")).As(llm.Info{Provider: "p", Server: "s", Model: "small", Context: 4000, MaxOutput: 1000})
	large := called("large", saying("large"))
	bubble(t, nil, func(r *harness) {
		r.ask("short")
		r.ask(strings.Repeat("long ", 4000))
		r.wantBodies("small", "large")
		if asked(small) != 1 || !slices.Equal(r.switched, []string{"small to large: too_large"}) {
			t.Errorf("the small one was asked %d times; switched %q", asked(small), r.switched)
		}
	}, withSecondModel(small, large))
}

// Where there is no larger one, the owner is told what to do, and nothing is sent.
func TestALongConversation(t *testing.T) {
	small := called("small", saying("small")).As(llm.Info{Provider: "p", Server: "s", Model: "small", Context: 4000, MaxOutput: 1000})
	bubble(t, nil, func(r *harness) {
		r.ask(strings.Repeat("long ", 4000))
		r.wantStates(turn.Failed)
		contains(t, r.lastBody(), "/new begins a new one")
		r.ask("/new")
		r.ask("short")
		if asked(small) != 1 || r.lastBody() != "small" {
			t.Errorf("asked %d times, then it says %q", asked(small), r.lastBody())
		}
	}, func(r *harness) { r.model = small })
}

// The provider's own count is believed over an estimate.
func TestTheCountOfTheProviderIsBelieved(t *testing.T) {
	n := 0
	m := llmtest.NewScript(llmtest.Always(func(llm.Request) llm.Answer {
		n++
		return llm.Answer{Text: "ok", Usage: llm.Usage{Input: 3500 * n, Output: 10}}
	})).As(llm.Info{Provider: "p", Model: "m", Context: 4000, MaxOutput: 400})
	bubble(t, nil, func(r *harness) {
		r.ask("a few words")
		r.ask("and some more")
		r.wantStates(turn.Done, turn.Done)
		if got := m.Requests()[1].MaxOutput; got != 400 {
			t.Errorf("an answer of %d tokens was asked for", got)
		}
		r.ask("too many now") // so the first messages are summarised
		r.wantStates(turn.Done, turn.Done, turn.Done)
		if r.count("SELECT count(*) FROM compactions") == 0 {
			t.Error("no compaction")
		}
	}, func(r *harness) { r.model = m })
}

// When the budget allows no model that costs something, one that costs nothing goes on, and the owner is told of the cap.
func TestALocalModelGoesOnWithoutABudget(t *testing.T) {
	dear := called("dear", saying("dear"))
	local := llmtest.NewScript(saying("local")).As(llm.Info{Provider: "ollama", Model: "local", Local: true})
	bubble(t, nil, func(r *harness) {
		r.ask("go")
		r.ask("go on")
		r.wantBodies("local", "local")
		if asked(dear) != 0 || !slices.Equal(r.switched, []string{"dear to local: budget", "dear to local: budget"}) {
			t.Errorf("the dear one was asked %d times; switched %q", asked(dear), r.switched)
		}
	}, withSecondModel(dear, local), func(r *harness) { r.policy.PerDayTokens = 10 })
}

// An answer that says nothing is paid for, and asked for again.
func TestEmptyAnswersArePaidFor(t *testing.T) {
	n := 0
	m := called("m", llmtest.Always(func(llm.Request) llm.Answer {
		n++
		if n < 3 {
			return llm.Answer{Reasoning: "hm", Usage: llm.Usage{Input: 100, Output: 10}}
		}
		return llm.Answer{Text: "at last", Usage: llm.Usage{Input: 100, Output: 10}}
	}))
	bubble(t, nil, func(r *harness) {
		r.say("go")
		time.Sleep(time.Minute)
		r.settle()
		r.wantBodies("at last")
		if b := r.budget(); b.UsedTokens != 330 || b.ReservedTokens != 0 {
			t.Errorf("budget %+v, want 330 tokens for three answers", b)
		}
	}, func(r *harness) { r.model = m })
}

// A cheaper model goes on when the budget does not allow the first one.
func TestACheaperModelGoesOn(t *testing.T) {
	dear := called("dear", saying("dear")).As(llm.Info{Provider: "p", Server: "s", Model: "dear", MaxOutput: 1000, Price: llm.Price{Input: 1_000_000, Output: 800_000_000}})
	cheap := called("cheap", saying("cheap")).As(llm.Info{Provider: "p", Server: "s", Model: "cheap", MaxOutput: 1000, Price: llm.Price{Input: 1, Output: 1}})
	bubble(t, nil, func(r *harness) {
		r.ask("go")
		r.wantBodies("cheap")
	}, withSecondModel(dear, cheap), func(r *harness) { r.policy.PerDayMicros = 500_000 })
}

// A server that tells its costs afterwards is not asked any more when the money is used up, though no price is known.
func TestMoneyOfAnUnknownPrice(t *testing.T) {
	m := called("m", llmtest.Always(func(llm.Request) llm.Answer {
		return llm.Answer{Text: "ok", Usage: llm.Usage{Input: 10, Output: 10, Cost: 400_000, Priced: true}}
	}))
	bubble(t, nil, func(r *harness) {
		for range 5 {
			r.ask("go")
		}
		if b := r.budget(); asked(m) != 3 || b.Used.Micros() != 1_200_000 {
			t.Errorf("%d answers cost %d", asked(m), b.Used.Micros())
		}
		contains(t, r.lastBody(), "today's budget is used up")
	}, func(r *harness) { r.model, r.policy.PerDayMicros = m, 1_000_000 })
}

// What joins while the request is made is reserved too.
func TestWhatJoinsIsReserved(t *testing.T) {
	var rg *harness
	n := 0
	m := called("m", llmtest.Always(func(llm.Request) llm.Answer {
		n++
		if n == 1 {
			rg.say(strings.Repeat("long ", 12_000)) // joins the next request of this turn
			return use("look", "x")
		}
		return llm.Answer{Text: "ok", Usage: llm.Usage{Input: 15_000, Output: 10}}
	}))
	bubble(t, nil, func(r *harness) {
		rg = r
		r.ask("go")
		if b := r.budget(); asked(m) != 1 || b.UsedTokens+b.ReservedTokens > 10_000 {
			t.Errorf("asked %d times, budget %+v", asked(m), b)
		}
	}, func(r *harness) { r.model, r.policy.PerDayTokens = m, 10_000 })
}

// A call to a tool of a name that no provider would take back does not break the requests that repeat it. The model reads the name that it wrote.
func TestNamesOfTools(t *testing.T) {
	bubble(t, llmtest.InOrder(use("functions.look: it", "x"), llmtest.Say("done")), func(r *harness) {
		r.ask("go")
		r.wantBodies("done\n\n(hob: functions_look__it: not found: there is no tool named \"functions.look: it\")")
		if got := r.model.(*llmtest.Script).Requests()[1].Messages[1].Calls[0].Name; got != "functions_look__it" {
			t.Errorf("the request repeats %q", got)
		}
	})
}

// A correction of the config helps the turn that waits for its next attempt: the new model is asked within a second.
func TestAnotherModelWhileATurnRetries(t *testing.T) {
	second := called("second", llmtest.InOrder(llmtest.Say("from the second")))
	bubble(t, nil, func(r *harness) {
		r.say("hello")
		time.Sleep(1100 * time.Millisecond) // of the bubble: it waits for another attempt
		r.mu.Lock()
		r.model = second
		r.mu.Unlock()
		began := r.clock.Wall()
		for len(r.bodies()) == 0 && r.clock.Wall().Sub(began) < time.Minute {
			time.Sleep(100 * time.Millisecond)
		}
		r.wantBodies("from the second")
		if took := r.clock.Wall().Sub(began); took > 2*time.Second {
			t.Errorf("it waited %s", took)
		}
	}, func(r *harness) {
		r.model = called("first", func(context.Context, llm.Request) (llm.Answer, error) {
			return llm.Answer{}, &llm.Error{Fault: llm.Network}
		})
	})
}

// Names and arguments of which exactly one reading is possible cost no second request. The step says what was read.
func TestCallsAreRead(t *testing.T) {
	args := func(name, text string) llm.Answer {
		return llmtest.Use(name, text)
	}
	for name, c := range map[string]struct {
		call llm.Answer
		runs int
		why  string
	}{
		"a name space (gpt-oss)":  {use("functions.look", "x"), 1, `the name "functions.look" as look`},
		"an ordinal (Kimi)":       {use("functions.look:0", "x"), 1, `the name "functions.look:0" as look`},
		"white space":             {use(" look ", "x"), 1, `the name " look " as look`},
		"a fence":                 {args("look", "```json\n{\"what\": \"x\"}\n```"), 1, "arguments of look: an object in a fence"},
		"an object as a text":     {args("look", `"{\"what\":\"x\"}"`), 1, "arguments of look: an object as a text"},
		"two objects":             {args("look", `{"what":"x"}{"what":"y"}`), 2, "arguments of look: several objects as several calls"},
		"nothing to read":         {use("look", "x"), 1, ""},
		"arguments that are cut":  {args("look", `{"what":"x`), 0, ""},
		"arguments of a sentence": {args("look", `look at x`), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, llmtest.InOrder(c.call, llmtest.Say("done")), func(r *harness) {
				r.ask("go")
				results, bad := 0, 0
				for _, m := range r.model.(*llmtest.Script).Requests()[1].Messages {
					if m.CallID != "" && m.IsError {
						bad++
					} else if m.CallID != "" {
						results++
					}
				}
				if results != c.runs || bad != 1-min(c.runs, 1) {
					t.Errorf("%d calls ran, %d failed", results, bad)
				}
				if got := r.turn(r.turns()[0].ID).Control[0].Why; got != c.why {
					t.Errorf("the step says %q, want %q", got, c.why)
				}
			})
		})
	}
}

func TestACutAnswerIsMarked(t *testing.T) {
	bubble(t, llmtest.InOrder(llm.Answer{Text: "Once upon a", Finish: llm.Length}), func(r *harness) {
		r.ask("tell me")
		r.wantStates(turn.Done)
		r.wantBodies("Once upon a\n(cut off: the answer reached its limit of tokens)")
	})
}

func TestAThousandCalls(t *testing.T) {
	var many []llm.Answer
	for range 1000 {
		many = append(many, use("look", "x"+strings.Repeat("y", len(many))))
	}
	bubble(t, llmtest.InOrder(llmtest.UseAll(many...), llmtest.Say("done")), func(r *harness) {
		r.ask("go")
		r.wantBodies("done")
		if n := r.times("look"); n != 64 {
			t.Errorf("%d calls ran", n)
		}
		second := r.model.(*llmtest.Script).Requests()[1]
		valid(t, []llm.Request{second})
		contains(t, text(t, second.Messages), "936 more calls of this answer were left out")
	})
}

func TestModelCommand(t *testing.T) {
	bubble(t, saying("ok"), func(r *harness) {
		for text, want := range map[string]string{"/model good": "From now on I ask good.", "/model bad": `there is no model "bad" (there is good)`} {
			r.ask(text)
			if r.lastBody() != want {
				t.Errorf("%s: %q, want %q", text, r.lastBody(), want)
			}
		}
	})
}

// When every model has failed a moment ago, the interpreter does not wait for them to fail again; what it does not understand is tried
// less often.
func TestTiredModels(t *testing.T) {
	m := called("m", down(&llm.Error{Fault: llm.Overloaded, Status: 503}))
	bubble(t, nil, func(r *harness) {
		r.say("please think")
		for len(r.turns()) == 0 || !r.turns()[0].State.Final() {
			time.Sleep(time.Second)
			r.settle()
		}
		first := asked(m)
		r.say("remind me")
		r.settle()
		r.wantStates(turn.Failed, turn.Done)
		if asked(m) != first {
			t.Errorf("the model was asked %d times more", asked(m)-first)
		}
		r.say("please think again") // within its rest of half a minute
		time.Sleep(20 * time.Second)
		r.settle()
		if got := asked(m) - first; got != 3 {
			t.Errorf("while it rests, it was asked %d times", got)
		}
	}, func(r *harness) { r.model, r.fallback = m, interpreter() })
}

// A free model's failed tries are on record too, and a turn's tokens are counted whatever they cost.
func TestWhatIsOnRecord(t *testing.T) {
	n := 0
	local := llmtest.NewScript(func(context.Context, llm.Request) (llm.Answer, error) {
		n++
		if n == 1 {
			return llm.Answer{}, &llm.Error{Fault: llm.Network}
		}
		return llm.Answer{Text: "ok", Usage: llm.Usage{Input: 100, Output: 10, Cost: 5, Priced: true}}, nil
	}).As(llm.Info{Provider: "ollama", Model: "local", Local: true})
	bubble(t, nil, func(r *harness) {
		r.say("go")
		time.Sleep(time.Minute)
		r.settle()
		r.wantBodies("ok")
		v := r.turn(1)
		if len(v.Control) != 2 || v.Control[0].Why == "" || v.Control[1].Started.IsZero() || v.Tokens != 110 {
			t.Errorf("%d tokens, steps %+v", v.Tokens, v.Control)
		}
	}, func(r *harness) { r.model = local })
}
