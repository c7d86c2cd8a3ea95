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
	"hob/tools"
)

// hang is a model that answers "go" never and everything else at once.
func hang(ctx context.Context, r llm.Request) (llm.Answer, error) {
	if m := r.Messages[len(r.Messages)-1]; event.TextOf(m.Parts) != "go" {
		return llmtest.Say("heard: " + event.TextOf(m.Parts)), nil
	}
	<-ctx.Done()
	return llm.Answer{}, ctx.Err()
}

func TestStopDuringAModelCall(t *testing.T) {
	bubble(t, hang, func(r *harness) {
		first := r.ask("go")
		if r.thread.Running() != 1 {
			t.Fatalf("turn %d runs", r.thread.Running())
		}
		r.ask("/stop")
		r.wantStates(turn.Stopped)
		r.wantBodies("Stopped turn 1.")
		if row := r.inbox(first); row.State != "done" {
			t.Errorf("the message's row is %+v", row)
		}
		if b := r.budget(); b.ReservedTokens != 0 || b.UsedTokens == 0 {
			t.Errorf("a stopped request counts with what it may have cost: %+v", b)
		}
		r.ask("next")
		r.wantStates(turn.Stopped, turn.Done)
		r.ask("/stop")
		if r.lastBody() != "Nothing is running." {
			t.Errorf("it says %q", r.lastBody())
		}
		valid(t, r.model.(*llmtest.Script).Requests())
	})
}

func TestStopDuringATool(t *testing.T) {
	told := false
	bubble(t, llmtest.InOrder(llmtest.UseAll(use("long", ""), use("note", "")), llmtest.Say("next")), func(r *harness) {
		r.ask("go")
		r.ask("/stop")
		r.wantStates(turn.Stopped)
		if !told || r.times("note") != 0 {
			t.Errorf("the tool was told: %v; a call behind it ran %d times", told, r.times("note"))
		}
		r.ask("and now?")
		r.wantStates(turn.Stopped, turn.Done)
		valid(t, r.model.(*llmtest.Script).Requests())
	}, func(r *harness) {
		r.with(r.tool("long", tools.Intent{Effect: tools.Once}, func(ctx context.Context, _ tools.Call, _ string) (tools.Result, error) {
			<-ctx.Done()
			told = true
			return tools.Result{}, ctx.Err()
		}))
	})
}

func TestStopLeavesParkedTurnsAlone(t *testing.T) {
	bubble(t, func(ctx context.Context, q llm.Request) (llm.Answer, error) {
		if event.TextOf(q.Messages[len(q.Messages)-1].Parts) == "park" {
			return use("shell", "x"), nil
		}
		return hang(ctx, q)
	}, func(r *harness) {
		r.ask("park")
		code := r.code()
		r.ask("go")
		r.ask("/stop")
		r.wantStates(turn.Waiting, turn.Stopped)
		r.ask("/stop all")
		r.wantStates(turn.Stopped, turn.Stopped)
		contains(t, r.lastBody(), "1 parked turn ended")
		r.ask("/approve " + code)
		contains(t, r.lastBody(), "no longer open")
		if r.times("shell") != 0 {
			t.Error("a call of a stopped turn ran")
		}
		r.ask("/stop everything")
		contains(t, r.lastBody(), "Say /stop, or /stop all.")
		r.ask("after")
		valid(t, r.model.(*llmtest.Script).Requests())
	})
}

// Instant commands are served at once, also while a turn runs and the model hangs.
func TestInstantCommandsWhileTheModelHangs(t *testing.T) {
	bubble(t, hang, func(r *harness) {
		r.ask("go")
		for _, tc := range []struct{ say, want string }{
			{"/help", "/approve CODE"},
			{"/status", "board status"},
			{"/STATUS", "board status"},
			{"/queue", "board queue"},
			{"/jobs", "board jobs"},
			{"/usage", "board usage"},
			{"/why 12", "board why 12"},
			{"/why nothing", "there is no message nothing"},
			{"/quiet", "board quiet"},
			{"/cancel", "Say /cancel ID"},
			{"/cancel 999", "there is no message 999"},
			{"/quiet 999h", "Say /quiet 2h"},
			{"/quiet -1h", "Say /quiet 2h"},
			{"/quiet 2h", "Quiet for 2h: chat apps get only answers, questions and hob's own notices"},
			{"/quiet off", "Quiet is off."},
			{"/deny", "Say /deny CODE."},
			{"/deny ABCD", "there is no question ABCD"},
			{"/answer ABCD", "Say /answer CODE TEXT."},
			{"/stat", "There is no command /stat. Do you mean /status? /help lists them."},
			{"/undo", "There is no command /undo. /help lists them."}, // F10: no proposal of the same name
			{"/Modle", "There is no command /modle. Do you mean /model? /help lists them."},
			{"/sessions", "hob sessions list"},
			{"/attach x.png", "hob chat --attach"},
			{"/frobnicate", "There is no command /frobnicate. /help lists them."},
			{"/" + strings.Repeat("x", 300), "There is no command /xxx"},
		} {
			seq := r.ask(tc.say)
			contains(t, r.lastBody(), tc.want)
			if r.inbox(seq).State != "done" {
				t.Errorf("%s is %+v", tc.say, r.inbox(seq))
			}
		}
		r.wantStates(turn.Running)
		r.ask("/stop")
	})
}

func TestNewTakesEffectAtTheBoundary(t *testing.T) {
	bubble(t, func(ctx context.Context, q llm.Request) (llm.Answer, error) {
		if event.TextOf(q.Messages[len(q.Messages)-1].Parts) == "park" {
			return use("shell", "x"), nil
		}
		return hang(ctx, q)
	}, func(r *harness) {
		r.ask("park")
		r.ask("go")
		seq := r.ask("/new")
		if r.inbox(seq).State != "queued" {
			t.Error("/new was served while a turn ran")
		}
		r.ask("/stop")
		contains(t, strings.Join(r.bodies(), "\n"), "A new conversation begins.") // before or after "Stopped turn 2."
		r.ask("fresh")
		requests := r.model.(*llmtest.Script).Requests()
		if n := len(requests[len(requests)-1].Messages); n != 1 {
			t.Errorf("the new conversation's first request has %d messages", n)
		}
		// A parked turn stays in the old session and still ends well.
		r.ask("/approve " + r.code())
		r.wantStates(turn.Done, turn.Stopped, turn.Done)
		if a, b := r.turns()[0], r.turns()[2]; a.Session != b.Session {
			t.Errorf("keys %s and %s", a.Session, b.Session)
		}
		requests = r.model.(*llmtest.Script).Requests()
		valid(t, requests)
		first := requests[len(requests)-1].Messages[0]
		if text := event.TextOf(first.Parts); text != "park" {
			t.Errorf("the parked turn went on after %q", text)
		}
	})
}

// What is written behind /new belongs to the new conversation, although a turn runs that it could join.
func TestBehindNewNothingJoins(t *testing.T) {
	n := 0
	bubble(t, func(ctx context.Context, _ llm.Request) (llm.Answer, error) {
		n++
		switch n {
		case 1:
			<-time.After(20 * time.Second)
			return use("note", "x"), nil
		}
		return llmtest.Say(fmt.Sprint("answer ", n)), nil
	}, func(r *harness) {
		r.ask("go")
		r.ask("before")
		r.ask("/new")
		r.ask("behind")
		<-time.After(time.Minute)
		requests := r.model.(*llmtest.Script).Requests()
		var said []string
		for _, q := range requests {
			var texts []string
			for _, m := range q.Messages {
				if m.Role == llm.User {
					texts = append(texts, event.TextOf(m.Parts))
				}
			}
			said = append(said, strings.Join(texts, " "))
		}
		if want := []string{"go", "go before", "behind"}; !slices.Equal(said, want) {
			t.Errorf("the requests hold %q, want %q", said, want)
		}
	})
}

func TestRetry(t *testing.T) {
	n := 0
	bubble(t, llmtest.Always(func(llm.Request) llm.Answer {
		n++
		if n <= 2 {
			return llm.Answer{Finish: llm.Filtered}
		}
		return llmtest.Say("now it works")
	}), func(r *harness) {
		seq := r.ask("try")
		job := ownerSays("a job fails later") // and is not what /retry means
		job.Kind, job.Rank = event.Fire, event.RankSchedule
		r.post(job)
		r.settle()
		r.wantStates(turn.Failed, turn.Failed)
		r.ask("/retry")
		r.wantStates(turn.Failed, turn.Failed, turn.Done)
		if r.lastBody() != "now it works" || r.inbox(seq).Turn != 3 {
			t.Errorf("%q, %+v", r.lastBody(), r.inbox(seq))
		}
		r.ask("/retry")
		contains(t, r.lastBody(), "there is nothing to try again.")
	})
}

// A job's input that has failed can be tried again: its slot runs once more.
func TestRetryOfAJobsInput(t *testing.T) {
	n := 0
	bubble(t, llmtest.Always(func(llm.Request) llm.Answer {
		n++
		if n == 1 {
			return llm.Answer{Finish: llm.Filtered}
		}
		return llmtest.Say("now it works")
	}), func(r *harness) {
		r.sql("INSERT INTO triggers (id, kind, name, body, version) VALUES (1, 'job', 'j', '{}', 1)")
		r.sql("INSERT INTO fires (id, trigger, key, due, created, state) VALUES (1, 1, 'k', 1, 1, 'queued')")
		in := ownerSays("do it")
		in.Kind, in.Rank, in.Fire = event.Fire, event.RankSchedule, 1
		seq := r.post(in)
		r.settle()
		r.wantStates(turn.Failed)
		if err := r.store.Inbox.Retry(context.Background(), seq); err != nil {
			t.Fatal(err)
		}
		r.settle()
		time.Sleep(time.Minute)
		r.settle()
		r.wantStates(turn.Failed, turn.Done)
		fires, err := r.rows().FireRows(context.Background(), event.Filter{})
		if err != nil || fires[0].Outcome != "ran" || fires[0].Turn != 2 {
			t.Errorf("fires %+v, %v", fires, err)
		}
	})
}

// C11a: where a message cannot become the answer, nobody is told in a message of its own how many are ahead; the event says it.
func TestAheadOfYou(t *testing.T) {
	bubble(t, hang, func(r *harness) {
		r.ask("go")
		for _, text := range []string{"a", "b"} {
			in := ownerSays(text)
			in.Session = "other-" + text
			r.post(in)
		}
		r.post(stranger("c"))
		time.Sleep(time.Minute)
		r.settle()
		r.ask("/stop")
		if n := strings.Count(fmt.Sprint(r.bodies()), "ahead"); n != 0 {
			t.Errorf("%d times ahead", n)
		}
	})
}

func TestSomebodyElsesErrorsGoToTheOwner(t *testing.T) {
	bubble(t, llmtest.InOrder(llm.Answer{Finish: llm.Filtered}), func(r *harness) {
		r.post(stranger("hello"))
		r.settle()
		r.wantStates(turn.Failed)
		if out := r.outbox(); len(out) != 1 || out[0].To != chat {
			t.Errorf("outbox %+v", out)
		}
	})
}

func TestDrainCountsNoAttempt(t *testing.T) {
	bubble(t, hang, func(r *harness) {
		for i := range 6 {
			if i == 0 {
				r.say("go")
			}
			time.Sleep(time.Minute)
			r.settle()
			r.wantStates(turn.Running)
			r.halt()
			r.wantStates(turn.Ready)
			if n := r.turns()[0].Attempts; n != 0 {
				t.Fatalf("%d attempts after %d drains", n, i+1)
			}
			r.start()
		}
		r.settle()
		r.ask("/stop")
		r.wantStates(turn.Stopped)
	})
}
