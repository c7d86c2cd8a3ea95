package agent_test

import (
	"context"
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
	"hob/tools"
)

// minded is a parent that starts one in the background at "go", and does with it what the owner says afterwards.
func minded(_ context.Context, last string, _ llm.Request) (llm.Answer, error) {
	switch {
	case last == "go":
		return task(map[string]any{"prompt": "p", "title": "a look", "background": true}), nil
	case last == "list" || last == "progress" || last == "stop" || last == "history":
		return call("subagents", map[string]any{"action": last}), nil
	case last == "wait":
		return call("subagents", map[string]any{"action": "wait", "timeout": 120}), nil
	}
	return llmtest.Say("heard: " + last), nil
}

// after is a sub-agent that reads, thinks for a while, and answers.
func after(d time.Duration) func(context.Context, string, llm.Request) (llm.Answer, error) {
	return func(ctx context.Context, last string, _ llm.Request) (llm.Answer, error) {
		if last == "p" {
			return use("read", "a.txt"), nil
		}
		select {
		case <-ctx.Done():
			return llm.Answer{}, ctx.Err()
		case <-time.After(d):
			return llmtest.Say("found"), nil
		}
	}
}

func TestMindingAChild(t *testing.T) {
	bubble(t, parentAndChild(minded, after(time.Minute)), func(r *harness) {
		r.ask("go")
		for _, tc := range []struct{ say, want string }{
			{"list", "t1_1  running  a look"},
			{"progress", `read {"what":"a.txt"}`},
			{"history", "#"},
		} {
			r.ask(tc.say)
			contains(t, r.lastBody(), tc.want)
		}
		r.ask("wait")
		before := len(r.bodies())
		time.Sleep(2 * time.Minute)
		r.settle()
		if r.lastBody() != "heard: found" || len(r.bodies()) != before+1 {
			t.Errorf("who waits has the result, and it reports to nobody else: %q", r.bodies()[before:])
		}
		r.ask("stop")
		contains(t, r.lastBody(), "which one? 0 are open")
	}, withSubagents)
}

func TestWaitingNoLonger(t *testing.T) {
	bubble(t, parentAndChild(minded, after(4*time.Minute)), func(r *harness) {
		r.ask("go")
		r.ask("wait")
		time.Sleep(3 * time.Minute)
		r.settle()
		if r.lastBody() != "heard: the time is up; sub-agent t1_1 goes on" {
			t.Errorf("it says %q", r.lastBody())
		}
		time.Sleep(2 * time.Minute)
		r.settle()
		contains(t, r.lastBody(), "has done its task:\nfound")
	}, withSubagents)
}

func TestStoppingAChild(t *testing.T) {
	bubble(t, parentAndChild(minded, hung), func(r *harness) {
		r.ask("go")
		r.ask("stop")
		r.wantStates(turn.Done, turn.Stopped, turn.Done)
		r.wantBodies("heard: sub-agent t1_1 works in the background; its answer comes as a message of its own", "heard: stopping sub-agent t1_1")
		other := tools.Halt{Session: 99, Agent: "t1_1"}
		if f, ok := event.AsFault(r.store.Calls.Record(context.Background(), other)); !ok || f.Kind != event.Missing {
			t.Errorf("another conversation may stop it: %v", f)
		}
	}, withSubagents)
}

// One that has ended in between is not waited for: nothing would end the wait.
func TestAwaitOfTheEnded(t *testing.T) {
	bubble(t, parentAndChild(minded, after(0)), func(r *harness) {
		r.ask("go")
		for _, id := range []string{"t1_1", "t9_9"} {
			if f, ok := event.AsFault(r.store.Calls.Record(context.Background(), tools.Await{Agent: id})); !ok || f.Kind != event.Clash {
				t.Errorf("%s may be waited for: %v", id, f)
			}
		}
	}, withSubagents)
}

func TestMostOpenChildren(t *testing.T) {
	many := make([]llm.Answer, 17)
	for i := range many {
		many[i] = task(map[string]any{"prompt": fmt.Sprint("p", i), "background": true})
	}
	bubble(t, parentAndChild(spawns(many...), hung), func(r *harness) {
		r.ask("go")
		results := r.results(1)
		if n := len(r.turns()); n != 17 { // the parent and 16
			t.Errorf("%d turns", n)
		}
		contains(t, results[16], "CONFLICT: 16 sub-agents are open already")
		r.ask("/stop")
		for _, one := range r.turns()[1:] {
			if one.State != turn.Stopped {
				t.Errorf("turn %d is %s", one.ID, one.State)
			}
		}
		contains(t, r.lastBody(), "16 sub-agents")
	}, withSubagents)
}

// When a sub-agent meets an error or panics, another one can start, and the turn counts an attempt.
func TestErrorInASubagent(t *testing.T) {
	for _, broken := range []func(){func() {}, func() { panic("broken") }} {
		n := 0
		bubble(t, parentAndChild(spawns(task(map[string]any{"prompt": "p"})), usable("found")), func(r *harness) {
			r.ask("go")
			r.wantStates(turn.Done, turn.Done)
			if c := r.turns()[1]; c.Attempts != 2 {
				t.Errorf("%d attempts", c.Attempts)
			}
			if r.lastBody() != "heard: found" || n < 2 {
				t.Errorf("it says %q", r.lastBody())
			}
		}, withSubagents, func(r *harness) {
			r.wrap = func(l agent.Turns) agent.Turns {
				return brokenOnce{l, func(id int64) error {
					if id != 2 {
						return nil
					}
					n++
					if n > 1 {
						return nil
					}
					broken()
					return errors.New("disk I/O error")
				}}
			}
		})
	}
}

// A text for another conversation wakes it, with the trust of who sent it.
func TestSendToASession(t *testing.T) {
	bubble(t, script(func(last string, _ llm.Request) llm.Answer {
		if last == "tell" {
			return call("sessions_send", map[string]any{"session_id": "side", "content": "the report is ready"})
		}
		return llmtest.Say("heard: " + last)
	}), func(r *harness) {
		in := ownerSays("hello")
		in.Session = "side"
		r.post(in)
		r.settle()
		r.ask("tell")
		if list := r.turns(); len(list) != 3 || list[2].Session != "side" || list[2].Asker != event.Owner {
			t.Fatalf("turns %+v", list)
		}
		if all := strings.Join(r.bodies(), "\n"); !strings.Contains(all, "heard: the report is ready") {
			t.Errorf("sent %q", all)
		}
		if out := r.outbox(); out[len(out)-1].To != chat {
			t.Errorf("the answer goes to %s", out[len(out)-1].To)
		}
	}, withSubagents)
}

// brokenOnce is a store of turns. A test makes its reads fail.
type brokenOnce struct {
	agent.Turns
	fault func(id int64) error
}

func (b brokenOnce) Load(ctx context.Context, id int64) (turn.Snapshot, error) {
	if err := b.fault(id); err != nil {
		return turn.Snapshot{}, err
	}
	return b.Turns.Load(ctx, id)
}

// A request of another sub-agent is not counted as lost when one sub-agent is taken back.
func TestErrorInASubagentLeavesOthersAlone(t *testing.T) {
	two := []llm.Answer{task(map[string]any{"prompt": "p", "background": true}), task(map[string]any{"prompt": "q", "background": true})}
	failed := false
	var asked chan struct{}
	bubble(t, parentAndChild(spawns(two...), func(ctx context.Context, last string, _ llm.Request) (llm.Answer, error) {
		if last == "q" {
			return llmtest.Say("found"), nil
		}
		close(asked)
		<-ctx.Done()
		return llm.Answer{}, ctx.Err()
	}), func(r *harness) {
		r.ask("go")
		if c := r.turns(); !failed || c[1].State != turn.Running || c[1].Attempts != 1 || c[2].State != turn.Done || c[2].Attempts != 2 {
			t.Errorf("turns %+v", c)
		}
		if b := r.budget(); b.ReservedTokens == 0 {
			t.Error("the request in flight is not reserved any more")
		}
		r.ask("/stop")
		if b := r.budget(); b.ReservedTokens != 0 {
			t.Errorf("%d tokens are still reserved", b.ReservedTokens)
		}
	}, withSubagents, func(r *harness) {
		asked = make(chan struct{})
		r.wrap = func(l agent.Turns) agent.Turns {
			return brokenOnce{l, func(id int64) error {
				if id != 3 || failed {
					return nil
				}
				<-asked
				failed = true
				return errors.New("disk I/O error")
			}}
		}
	})
}
