package agent_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/tools"
)

// slowServer is a tool of an MCP server that answers after a time, and counts.
type slowServer struct {
	after         time.Duration
	effect        tools.Effect
	begun, halted atomic.Int32
}

func (s *slowServer) add(r *harness) {
	r.with(r.tool("srv__slow", tools.Intent{Effect: s.effect, Server: "srv", Scopes: []tools.Scope{tools.Schedule}}, func(ctx context.Context, _ tools.Call, what string) (tools.Result, error) {
		s.begun.Add(1)
		select {
		case <-time.After(s.after):
			return tools.Result{Content: "slow did " + what}, nil
		case <-ctx.Done():
			s.halted.Add(1)
			return tools.Result{}, ctx.Err()
		}
	}))
}

// elsewhere is a message of the owner in another conversation.
func elsewhere(text string) event.In {
	in := ownerSays(text)
	in.Session = "chat:2"
	return in
}

// callsSlow makes the call for "go" and answers everything else at once.
func callsSlow(q llm.Request) llm.Answer {
	last := q.Messages[len(q.Messages)-1]
	switch text := event.TextOf(last.Parts); {
	case last.Role == llm.ToolRole, strings.Contains(text, "late result"):
		return llmtest.Say("got: " + text)
	case strings.Contains(text, "go"):
		return use("srv__slow", "x")
	default:
		return llmtest.Say("here")
	}
}

// V3: an MCP call that takes long parks its turn. Others are served meanwhile, and the result comes as the result of that call.
func TestASlowServerHoldsUpNobody(t *testing.T) {
	s := &slowServer{after: time.Minute, effect: tools.Once}
	bubble(t, llmtest.Always(callsSlow), func(r *harness) {
		r.say("go")
		time.Sleep(time.Second)
		r.post(elsewhere("hello"))
		time.Sleep(3 * time.Second)
		r.wantBodies() // a call that answers soon is waited for
		time.Sleep(2 * time.Second)
		r.settle()
		r.wantBodies("here")
		if v := r.turn(1); v.State != "waiting" || v.Why != "waiting for the answer of srv__slow" {
			t.Errorf("the turn is %s, %s", v.State, v.Why)
		}
		time.Sleep(time.Minute)
		r.settle()
		r.wantBodies("here", "got: slow did x")
		if got := r.turn(1).Audit; len(got) != 1 || got[0].Outcome != "ok" || got[0].MS != 60_000 || s.begun.Load() != 1 {
			t.Errorf("the audit: %+v, begun %d times", got, s.begun.Load())
		}
	}, s.add)
}

// V3: the same conversation goes on too; the result is a late one then.
func TestAConversationGoesOnBesideASlowCall(t *testing.T) {
	s := &slowServer{after: time.Minute, effect: tools.Once}
	bubble(t, llmtest.Always(callsSlow), func(r *harness) {
		r.say("go")
		time.Sleep(10 * time.Second)
		r.ask("hello")
		r.wantBodies("here")
		time.Sleep(time.Minute)
		r.settle()
		if got := r.lastBody(); !strings.Contains(got, "slow did x") {
			t.Errorf("said %q", got)
		}
		r.wantStates(turn.Done, turn.Done)
	}, s.add)
}

// V3: /stop cancels the call, also when its answer is waited for.
func TestStopCancelsASlowCall(t *testing.T) {
	for _, after := range []time.Duration{time.Second, 10 * time.Second} {
		s := &slowServer{after: time.Hour, effect: tools.Once}
		bubble(t, llmtest.Always(callsSlow), func(r *harness) {
			r.say("go")
			time.Sleep(after)
			r.ask("/stop")
			if s.halted.Load() != 1 || r.turns()[0].State != "stopped" {
				t.Errorf("after %s: halted %d, turn %s", after, s.halted.Load(), r.turns()[0].State)
			}
			if got := r.results(1); len(got) != 1 || strings.HasPrefix(got[0], "not run") {
				t.Errorf("after %s: results %q", after, got)
			}
			if after > slowLimit {
				contains(t, r.lastBody(), "Stopped 1 call that waited for its answer.")
			}
		}, s.add)
	}
}

const slowLimit = 5 * time.Second

// V3: after a kill during the wait, the outcome of an effect is unknown, and a read is repeated.
func TestAKillDuringASlowCall(t *testing.T) {
	for effect, want := range map[tools.Effect]string{tools.Once: string(tools.OutcomeUnknown), tools.Read: "slow did x"} {
		s, next := &slowServer{after: time.Hour, effect: effect}, &slowServer{after: time.Second, effect: effect}
		bubble(t, llmtest.Always(callsSlow), func(r *harness) {
			r.say("go")
			time.Sleep(10 * time.Second)
			r.settle()
			r.reborn(r.snapshot(), llmtest.Always(callsSlow), func(r *harness) {
				time.Sleep(2 * time.Second)
				r.settle()
				r.wantStates(turn.Done)
				if got := r.results(1); len(got) != 1 || !strings.Contains(got[0], want) {
					t.Errorf("%s: results %q, want %s", effect, got, want)
				}
			}, next.add)
		}, s.add)
	}
}
