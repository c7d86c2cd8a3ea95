package agent_test

import (
	"context"
	"errors"
	"fmt"
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

func TestAnsweredMessage(t *testing.T) {
	bubble(t, llmtest.InOrder(llmtest.Say("hello, you")), func(r *harness) {
		seq := r.ask("hello")
		r.wantBodies("hello, you")
		r.wantStates(turn.Done)
		row := r.inbox(seq)
		if row.State != "done" || row.Turn != 1 {
			t.Errorf("inbox row is %+v", row)
		}
		out := r.outbox()[0]
		if out.To != chat || out.Cause.Kind != event.ByTurn || out.Cause.ID != 1 || out.State != "ready" {
			t.Errorf("outbox row is %+v", out)
		}
		want := []string{"event.accepted", "turn.started", "turn.finished"}
		if got := r.events(); !slices.Equal(got, want) {
			t.Errorf("events %v, want %v", got, want)
		}
		if n := len(r.model.(*llmtest.Script).Requests()); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

func TestSilence(t *testing.T) {
	for _, word := range []string{"NO_REPLY", " HEARTBEAT_OK\n"} {
		bubble(t, llmtest.InOrder(llmtest.Say(word)), func(r *harness) {
			r.ask("anything?")
			r.wantBodies()
			r.wantStates(turn.Done)
		})
	}
}

func TestToolLoop(t *testing.T) {
	bubble(t, llmtest.InOrder(use("look", "left"), llmtest.UseAll(use("look", "right"), use("note", "it")), llmtest.Say("done")), func(r *harness) {
		r.ask("look around")
		r.wantBodies("done")
		if got := r.results(1); !slices.Equal(got, []string{"look did left", "look did right", "note did it"}) {
			t.Errorf("results %q", got)
		}
		valid(t, r.model.(*llmtest.Script).Requests())
		v := r.turn(1)
		if len(v.Audit) != 3 {
			t.Errorf("%d audit rows for 3 calls: %+v", len(v.Audit), v.Audit)
		}
		for _, a := range v.Audit {
			if a.Decision != "allow" || a.Outcome != "ok" || a.Trust != event.Owner || a.Actor != "thread" {
				t.Errorf("audit row %+v", a)
			}
		}
	})
}

func TestCallsThatCannotRun(t *testing.T) {
	boom := func(r *harness) {
		r.with(r.tool("boom", tools.Intent{Effect: tools.Read}, func(context.Context, tools.Call, string) (tools.Result, error) { panic("oh no") }),
			r.tool("sorry", tools.Intent{Effect: tools.Read}, func(context.Context, tools.Call, string) (tools.Result, error) {
				return tools.Result{}, errors.New("it is broken")
			}))
	}
	for _, tc := range []struct {
		name   string
		answer llm.Answer
		want   string
		told   string // N24: also of what is refused before it runs
	}{
		{"wrong type", llmtest.Use("look", `{"what": 3}`), string(tools.Validation), "look: validation error: look: what: want a string, got the number 3"},
		{"unknown parameter", llmtest.Use("look", `{"where": "x"}`), string(tools.Validation), "look: validation error: look: where: unknown"},
		{"no JSON", llmtest.Use("look", `{"what"`), string(tools.Validation), `look: validation error: the arguments are not valid JSON: {"what"`},
		{"no arguments at all", llmtest.Use("look", ``), "look did", ""},
		{"unknown tool", use("lok", "x"), "did you mean look", `lok: not found: there is no tool named "lok"`},
		{"panic", use("boom", "x"), string(tools.Unknown), "boom: unknown: boom: internal error: oh no"},
		{"error", use("sorry", "x"), "it is broken", "sorry: unknown: it is broken"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, llmtest.InOrder(tc.answer, llmtest.Say("well")), func(r *harness) {
				r.ask("go")
				want := "well"
				if tc.told != "" {
					want += "\n\n(hob: " + tc.told + ")"
				}
				r.wantBodies(want)
				got := r.results(1)
				if len(got) != 1 {
					t.Fatalf("results %q", got)
				}
				contains(t, got[0], tc.want)
				valid(t, r.model.(*llmtest.Script).Requests())
				if audit := r.turn(1).Audit; len(audit) != 1 {
					t.Errorf("%d audit rows for one call: %+v", len(audit), audit)
				}
			}, boom)
		})
	}
}

func TestHugeResultBecomesAnArtifact(t *testing.T) {
	big := strings.Repeat("ä long line\n", 20_000)
	bubble(t, llmtest.InOrder(use("huge", ""), llmtest.Say("ok")), func(r *harness) {
		r.ask("go")
		got := r.results(1)[0]
		contains(t, got, "stored as a1")
		if len(got) > 4096 {
			t.Errorf("the model reads %d bytes", len(got))
		}
		if kept := r.shelved["a1"]; !strings.HasSuffix(kept, big) {
			t.Errorf("the artifact has %d bytes", len(kept))
		}
	}, func(r *harness) {
		r.with(r.tool("huge", tools.Intent{Effect: tools.Read}, func(context.Context, tools.Call, string) (tools.Result, error) {
			return tools.Result{Content: big}, nil
		}))
	})
}

func TestTypedChangesAreInTheCommitOfTheResult(t *testing.T) {
	out := event.Out{Key: "k1", Cause: event.Cause{Kind: event.ByTurn, ID: 1}, To: chat, Body: "in between", Urgency: event.Urgent}
	bubble(t, llmtest.InOrder(use("tell", ""), llmtest.Say("end")), func(r *harness) {
		r.ask("go")
		r.wantBodies("in between", "end")
	}, func(r *harness) {
		r.with(r.tool("tell", tools.Intent{Effect: tools.Keyed}, func(context.Context, tools.Call, string) (tools.Result, error) {
			return tools.Result{Content: "queued", Changes: []tools.Change{out}}, nil
		}))
	})
}

func TestToolEndsTheTurn(t *testing.T) {
	for _, failed := range []bool{false, true} {
		bubble(t, llmtest.InOrder(use("end", "")), func(r *harness) {
			r.ask("go")
			if failed {
				r.wantStates(turn.Failed)
				contains(t, r.lastBody(), "that is all")
				return
			}
			r.wantStates(turn.Done)
			r.wantBodies("that is all")
		}, func(r *harness) {
			r.with(r.tool("end", tools.Intent{Effect: tools.Keyed}, func(context.Context, tools.Call, string) (tools.Result, error) {
				return tools.Result{Content: "ended", Next: tools.End{Text: "that is all", Failed: failed}}, nil
			}))
		})
	}
}

// Same-trust chat messages of the running turn's session join it before its next model request; nothing else does.
func TestSteering(t *testing.T) {
	var r0 *harness
	var joined, other, job int64
	reply := llmtest.InOrder(use("wait", ""), llmtest.Say("both"), llmtest.Say("second"), llmtest.Say("third"))
	bubble(t, reply, func(r *harness) {
		r0 = r
		first := r.ask("one")
		if r.inbox(first).Turn != 1 || r.inbox(joined).Turn != 1 {
			t.Errorf("the second message did not join: %+v", r.inbox(joined))
		}
		if r.inbox(other).Turn == 1 || r.inbox(job).Turn == 1 {
			t.Error("a stranger's message or a job joined the owner's turn")
		}
		r.wantStates(turn.Done, turn.Done, turn.Done)
		out := r.outbox()
		if out[0].Body != "both" || out[0].To != "chat:2" {
			t.Errorf("a reply goes where the last joined input came from; it went to %s: %q", out[0].To, out[0].Body)
		}
		requests := r.model.(*llmtest.Script).Requests()
		valid(t, requests)
		last := requests[1].Messages
		if text := event.TextOf(last[len(last)-1].Parts); text != "wait, also two" {
			t.Errorf("the second request ends with %q", text)
		}
	}, func(r *harness) {
		r.with(r.tool("wait", tools.Intent{Effect: tools.Read}, func(context.Context, tools.Call, string) (tools.Result, error) {
			in := ownerSays("wait, also two")
			in.ReplyTo = "chat:2"
			joined, other = r0.post(in), r0.post(stranger("me too"))
			fire := ownerSays("a job")
			fire.Kind, fire.Rank = event.Fire, event.RankSchedule
			job = r0.post(fire)
			return tools.Result{Content: "waited"}, nil
		}))
	})
}

func TestLateMessageOpensATurnOfItsOwn(t *testing.T) {
	var r0 *harness
	n := 0
	reply := func(context.Context, llm.Request) (llm.Answer, error) {
		n++
		if n == 1 {
			r0.say("too late to join")
		}
		return llmtest.Say(fmt.Sprint("answer ", n)), nil
	}
	bubble(t, reply, func(r *harness) {
		r0 = r
		r.ask("one")
		r.wantBodies("answer 1", "answer 2")
		r.wantStates(turn.Done, turn.Done)
	})
}

func TestRanks(t *testing.T) {
	var order []string
	var r0 *harness
	bubble(t, script(func(last string, _ llm.Request) llm.Answer {
		order = append(order, last)
		if last == "first" {
			rest, job := stranger("rest"), ownerSays("job")
			rest.Session, job.Kind, job.Rank = "group", event.Fire, event.RankSchedule
			r0.post(rest)
			r0.post(job)
			late := ownerSays("owner")
			late.Session = "other"
			r0.post(late)
		}
		return llmtest.Say("ok")
	}), func(r *harness) {
		r0 = r
		r.ask("first")
		if want := []string{"first", "owner", "job", "rest"}; !slices.Equal(order, want) {
			t.Errorf("served %v, want %v", order, want)
		}
	})
}

func TestLimits(t *testing.T) {
	for _, tc := range []struct {
		name  string
		reply llmtest.Reply
		set   func(*harness)
		want  string
		n     int // model requests
	}{
		{
			"steps", script(func(_ string, q llm.Request) llm.Answer { return use("look", fmt.Sprint(len(q.Messages))) }),
			func(r *harness) { r.limits.Requests = 4 },
			"it needed more than 4 model requests", 4,
		},
		{"same call", llmtest.Always(func(llm.Request) llm.Answer { return use("look", "same") }), func(*harness) {}, "the same call 3 times in a row", 3},
		{"two calls in turns", script(func(_ string, q llm.Request) llm.Answer { return use("look", fmt.Sprint(len(q.Messages)/2%2)) }), func(*harness) {}, "the same 2 calls over and over", 6},
		{
			"wrong arguments, each time others", script(func(_ string, q llm.Request) llm.Answer {
				return llmtest.UseAll(llmtest.Use("look", fmt.Sprintf(`{"x%d":1}`, len(q.Messages))), llmtest.Use("note", fmt.Sprintf(`{"y%d":1}`, len(q.Messages))))
			}),
			func(*harness) {}, "its calls had wrong arguments 6 times in a row, and the last time: VALIDATION_ERROR: note: y", 6,
		},
		{
			// The oldest of the six answers has a call that is right, so it does not count.
			"one call of an answer is right", script(func(_ string, q llm.Request) llm.Answer {
				n := len(q.Messages)
				first := llmtest.Use("look", fmt.Sprintf(`{"x%d":1}`, n))
				if n < 3 {
					first = use("look", "right")
				}
				return llmtest.UseAll(first, llmtest.Use("note", fmt.Sprintf(`{"y%d":1}`, n)))
			}),
			func(*harness) {}, "its calls had wrong arguments 6 times in a row", 7,
		},
		{
			"every sixth is right", script(func(_ string, q llm.Request) llm.Answer {
				if n := len(q.Messages); n/2%6 != 5 {
					return llmtest.Use("look", fmt.Sprintf(`{"x%d":1}`, n))
				}
				return use("look", fmt.Sprint(len(q.Messages)))
			}),
			func(r *harness) { r.limits.Requests = 20 }, "it needed more than 20 model requests", 20,
		},
		{"empty", llmtest.Always(func(llm.Request) llm.Answer { return llm.Answer{Finish: llm.Stop, Reasoning: "hm"} }), func(*harness) {}, "the model gave an empty answer", 3},
		{"filtered", llmtest.InOrder(llm.Answer{Finish: llm.Filtered}), func(*harness) {}, "the model refused to answer", 1},
		{"cut before it spoke", llmtest.InOrder(llm.Answer{Finish: llm.Length, Reasoning: "hm"}), func(*harness) {}, "its whole limit of 8192 tokens before it said anything", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, tc.reply, func(r *harness) {
				r.say("go")
				time.Sleep(time.Minute)
				r.settle()
				r.wantStates(turn.Failed)
				contains(t, r.lastBody(), tc.want)
				if n := len(r.model.(*llmtest.Script).Requests()); n != tc.n {
					t.Errorf("%d requests, want %d", n, tc.n)
				}
				// The session is still usable: every call has a result.
				r.mu.Lock()
				r.model = llmtest.NewScript(llmtest.InOrder(llmtest.Say("fine")))
				r.mu.Unlock()
				r.ask("again")
				if r.lastBody() != "fine" {
					t.Errorf("then it says %q", r.lastBody())
				}
				valid(t, r.model.(*llmtest.Script).Requests())
			}, tc.set)
		})
	}
}

func TestAnswerCutAtItsLimit(t *testing.T) {
	cut := llmtest.UseAll(use("note", "a"), use("note", "b"))
	cut.Finish = llm.Length
	bubble(t, llmtest.InOrder(cut, llm.Answer{Text: "half a sen", Finish: llm.Length}), func(r *harness) {
		r.ask("go")
		for _, got := range r.results(1) {
			contains(t, got, "not run: the answer was cut off")
		}
		if r.times("note") != 0 {
			t.Error("a call of a cut answer ran")
		}
		r.wantStates(turn.Done)
		valid(t, r.model.(*llmtest.Script).Requests())
	})
}

// Deadlines count running time, not parked time.
func TestDeadline(t *testing.T) {
	slow := func(r *harness) {
		r.limits.Running = 10 * time.Minute
		r.with(r.tool("slow", tools.Intent{Effect: tools.Read}, func(ctx context.Context, _ tools.Call, _ string) (tools.Result, error) {
			select {
			case <-ctx.Done():
				return tools.Result{}, ctx.Err()
			case <-time.After(7 * time.Minute):
				return tools.Result{Content: "slept"}, nil
			}
		}), r.parking("timer", func(r *harness) tools.Wait {
			return tools.Wait{Kind: tools.ForTimer, Until: r.clock.Wall().Add(48 * time.Hour)}
		}))
	}
	t.Run("of a tool", func(t *testing.T) {
		bubble(t, llmtest.InOrder(use("slow", "1"), use("slow", "2"), llmtest.Say("never")), func(r *harness) {
			r.say("go")
			time.Sleep(time.Hour)
			r.settle()
			r.wantStates(turn.Failed)
			contains(t, r.lastBody(), "it ran for 10m0s, the limit of one turn")
			if ms := r.turns()[0].RunningMS; ms < 600_000 || ms > 601_000 {
				t.Errorf("it ran %d ms", ms)
			}
		}, slow)
	})
	t.Run("of the model", func(t *testing.T) {
		bubble(t, func(ctx context.Context, _ llm.Request) (llm.Answer, error) {
			<-ctx.Done()
			return llm.Answer{}, ctx.Err()
		}, func(r *harness) {
			r.say("go")
			time.Sleep(time.Hour)
			r.settle()
			r.wantStates(turn.Failed)
			contains(t, r.lastBody(), "it ran for 10m0s")
			if b := r.budget(); b.ReservedTokens != 0 {
				t.Errorf("%d tokens are still reserved", b.ReservedTokens)
			}
		}, slow)
	})
	t.Run("not while parked", func(t *testing.T) {
		bubble(t, llmtest.InOrder(use("slow", "1"), use("timer", ""), llmtest.Say("two days later")), func(r *harness) {
			r.say("go")
			time.Sleep(24 * time.Hour)
			r.settle()
			r.wantStates(turn.Waiting)
			time.Sleep(25 * time.Hour)
			r.settle()
			r.wantStates(turn.Done)
			r.wantBodies("two days later")
			if got := r.results(1)[1]; !strings.HasPrefix(got, "the time has come: 20") || !strings.HasSuffix(got, " CET") && !strings.HasSuffix(got, " CEST") { // N32: in the owner's zone
				t.Errorf("the model reads %q", got)
			}
		}, slow)
	})
}

// parking makes a tool that parks the turn.
func (r *harness) parking(name string, wait func(*harness) tools.Wait) tools.Tool {
	return r.tool(name, tools.Intent{Effect: tools.Keyed}, func(context.Context, tools.Call, string) (tools.Result, error) {
		return tools.Result{Content: "parked", Next: wait(r)}, nil
	})
}

func TestWaitForAnEvent(t *testing.T) {
	bubble(t, script(func(last string, _ llm.Request) llm.Answer {
		switch {
		case last == "go":
			return use("until", "")
		case last == "other":
			return llmtest.Say("served meanwhile")
		default:
			return llmtest.Say("seen: " + last)
		}
	}), func(r *harness) {
		r.ask("go")
		r.wantStates(turn.Waiting)
		in := ownerSays("other")
		in.Session = "elsewhere"
		r.post(in)
		r.settle()
		r.wantStates(turn.Done, turn.Done)
		contains(t, r.lastBody(), "it happened: turn.finished:elsewhere")
	}, func(r *harness) {
		r.with(r.parking("until", func(*harness) tools.Wait { return tools.Wait{Kind: tools.ForEvent, Subject: "turn.finished:elsewhere"} }))
	})
}

func TestReminderNeedsNoModel(t *testing.T) {
	bubble(t, llmtest.InOrder(), func(r *harness) {
		in := ownerSays("say: stretch")
		in.Kind, in.Rank = event.Fire, event.RankSchedule
		r.post(in)
		r.settle()
		r.wantBodies("stretch")
		r.wantStates(turn.Done)
		if n := len(r.model.(*llmtest.Script).Requests()); n != 0 {
			t.Errorf("%d model requests for a reminder", n)
		}
	})
}

// A running turn shows how long it has run, also in the middle of a step.
func TestARunningTurnShowsItsTime(t *testing.T) {
	bubble(t, func(_ context.Context, q llm.Request) (llm.Answer, error) {
		time.Sleep(5 * time.Second)
		if len(q.Messages) == 1 {
			return use("look", "x"), nil
		}
		return llmtest.Say("ok"), nil
	}, func(r *harness) {
		r.say("go")
		began := r.clock.Wall()
		for _, want := range []int64{3000, 8000, 10_000} {
			time.Sleep(time.Duration(want)*time.Millisecond - r.clock.Wall().Sub(began))
			r.settle()
			if got := r.turns()[0].RunningMS; got != want {
				t.Errorf("after %d ms it ran %d ms", want, got)
			}
		}
		time.Sleep(time.Minute)
		if got := r.turns()[0].RunningMS; got != 10_000 {
			t.Errorf("when it has ended, it ran %d ms", got)
		}
	})
}
