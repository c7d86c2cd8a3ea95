package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// foreground makes n calls that wait for their sub-agents, with the prompts p0, p1 and so on.
func foreground(n int) []llm.Answer {
	list := make([]llm.Answer, n)
	for i := range list {
		list[i] = task(map[string]any{"prompt": fmt.Sprint("p", i)})
	}
	return list
}

// held holds back each sub-agent until a test lets it end.
type held struct {
	mu    sync.Mutex
	gates map[string]chan struct{}
	now   int
	most  int
}

func (h *held) gate(prompt string) chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gates == nil {
		h.gates = map[string]chan struct{}{}
	}
	if h.gates[prompt] == nil {
		h.gates[prompt] = make(chan struct{})
	}
	return h.gates[prompt]
}

func (h *held) count(by int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now += by
	h.most = max(h.most, h.now)
}

func (h *held) child(ctx context.Context, last string, _ llm.Request) (llm.Answer, error) {
	h.count(1)
	defer h.count(-1)
	select {
	case <-h.gate(last):
		return llmtest.Say("answer of " + last), nil
	case <-ctx.Done():
		return llm.Answer{}, ctx.Err()
	}
}

// The sub-agents of one answer run at the same time. Their results stand in the order of the calls, whichever ended first.
func TestForegroundChildrenSideBySide(t *testing.T) {
	h := &held{}
	bubble(t, parentAndChild(spawns(foreground(5)...), h.child), func(r *harness) {
		r.ask("go")
		r.wantStates(turn.Waiting, turn.Running, turn.Running, turn.Running, turn.Running, turn.Ready)
		for _, p := range []string{"p3", "p1", "p2"} {
			close(h.gate(p))
			r.settle()
		}
		r.wantStates(turn.Waiting, turn.Running, turn.Done, turn.Done, turn.Done, turn.Running)
		if got := r.results(1); len(got) != 0 {
			t.Errorf("results before the first sub-agent ended: %q", got)
		}
		close(h.gate("p0"))
		close(h.gate("p4"))
		r.settle()
		got := r.results(1)
		for i, text := range got {
			if text != fmt.Sprintf("answer of p%d", i) {
				t.Errorf("result %d is %q", i, text)
			}
		}
		if len(got) != 5 || h.most != agent.MaxSubagents {
			t.Errorf("%d results; %d ran at once", len(got), h.most)
		}
		if one := r.turns()[0]; one.State != turn.Done || one.Attempts != 1 {
			t.Errorf("the parent %+v", one)
		}
		valid(t, r.model.(*llmtest.Script).Requests())
	}, withSubagents, func(*harness) { *h = held{} })
}

// An answer may ask for more sub-agents than a conversation may have open: the rest starts when others have ended.
func TestTwentyForegroundChildren(t *testing.T) {
	bubble(t, parentAndChild(spawns(foreground(20)...), func(_ context.Context, last string, _ llm.Request) (llm.Answer, error) {
		return llmtest.Say("answer of " + last), nil
	}), func(r *harness) {
		r.ask("go")
		got := r.results(1)
		for i, text := range got {
			if text != fmt.Sprintf("answer of p%d", i) {
				t.Errorf("result %d is %q", i, text)
			}
		}
		if len(got) != 20 {
			t.Errorf("%d results", len(got))
		}
	}, withSubagents)
}

// The end of one sub-agent, by its own time limit or by the owner, leaves the others alone.
func TestOneOfSeveralChildrenEnds(t *testing.T) {
	h := &held{}
	calls := foreground(3)
	calls[0] = task(map[string]any{"prompt": "p0", "timeout": 10})
	bubble(t, parentAndChild(spawns(calls...), h.child), func(r *harness) {
		r.ask("go")
		r.wantStates(turn.Waiting, turn.Running, turn.Running, turn.Running)
		time.Sleep(15 * time.Second)
		r.settle()
		r.wantStates(turn.Waiting, turn.Failed, turn.Running, turn.Running)
		close(h.gate("p1"))
		close(h.gate("p2"))
		r.settle()
		got := r.results(1)
		if len(got) != 3 || !strings.Contains(got[0], "TIMEOUT") || got[1] != "answer of p1" || got[2] != "answer of p2" {
			t.Errorf("results %q", got)
		}
	}, withSubagents, func(*harness) { *h = held{} })
	bubble(t, parentAndChild(spawns(foreground(3)...), h.child), func(r *harness) {
		r.ask("go")
		r.ask("/stop")
		r.wantStates(turn.Stopped, turn.Stopped, turn.Stopped, turn.Stopped)
	}, withSubagents, func(*harness) { *h = held{} })
}

// A call of another kind between two sub-agents waits for the first one, and so does what follows it.
func TestAnotherCallBetweenChildren(t *testing.T) {
	h := &held{}
	calls := foreground(2)
	bubble(t, parentAndChild(spawns(calls[0], use("read", "a.txt"), calls[1]), h.child), func(r *harness) {
		r.ask("go")
		r.wantStates(turn.Waiting, turn.Running)
		if r.times("read") != 0 {
			t.Error("the call in between has run")
		}
		close(h.gate("p0"))
		r.settle()
		r.wantStates(turn.Waiting, turn.Done, turn.Running)
		close(h.gate("p1"))
		r.settle()
		if got := r.results(1); len(got) != 3 || got[0] != "answer of p0" || got[2] != "answer of p1" {
			t.Errorf("results %q", got)
		}
	}, withSubagents, func(*harness) { *h = held{} })
}

// After a crash while several run, each of them goes on, and the parent reads each answer once.
func TestSeveralChildrenSurviveACrash(t *testing.T) {
	var dir string
	var first *harness
	crash := sync.OnceFunc(func() { dir = first.snapshot() })
	spawn := spawns(foreground(3)...)
	bubble(t, parentAndChild(spawn, func(_ context.Context, last string, _ llm.Request) (llm.Answer, error) {
		if last == "p2" {
			crash()
		}
		return llmtest.Say("answer of " + last), nil
	}), func(r *harness) {
		r.ask("go")
		r.reborn(dir, parentAndChild(spawn, usable("after all")), func(n *harness) {
			n.settle()
			if got := n.results(1); len(got) != 3 || got[2] != "after all" {
				t.Errorf("results %q", got)
			}
			for _, one := range n.turns() {
				if one.State != turn.Done {
					t.Errorf("turn %d is %s: %s", one.ID, one.State, one.Why)
				}
			}
			valid(t, n.model.(*llmtest.Script).Requests())
		}, withSubagents)
	}, withSubagents, func(r *harness) { first = r })
}

// A preset changes the prompt of a sub-agent and nothing else, and a resumed one keeps it.
func TestPresets(t *testing.T) {
	parent := func(_ context.Context, last string, _ llm.Request) (llm.Answer, error) {
		switch last {
		case "plain", "explore", "summarise", "review":
			in := map[string]any{"prompt": "p"}
			if last != "plain" {
				in["preset"] = last
			}
			return task(in), nil
		case "resume":
			return task(map[string]any{"prompt": "more", "resume": "t3_1"}), nil
		case "change":
			return task(map[string]any{"prompt": "more", "resume": "t3_1", "preset": "review"}), nil
		}
		return llmtest.Say("heard: " + last), nil
	}
	bubble(t, parentAndChild(parent, usable("found")), func(r *harness) {
		for _, say := range []string{"plain", "explore", "summarise", "review"} {
			r.ask(say)
		}
		r.sql("UPDATE sessions SET prompt = NULL, guest_prompt = NULL")
		r.ask("resume")
		var seen []string
		for _, q := range r.model.(*llmtest.Script).Requests() {
			if _, child := lastOf(q); !child {
				continue
			}
			seen = append(seen, q.System)
			if len(q.Tools) != 1 || q.Tools[0].Name != "read" {
				t.Errorf("tools %+v", q.Tools)
			}
		}
		if len(seen) != 5 {
			t.Fatalf("%d requests of sub-agents", len(seen))
		}
		for i, want := range []string{"", "to explore", "to summarise", "to review", "to explore"} {
			rest, ok := strings.CutPrefix(seen[i], seen[0])
			if !ok || !strings.Contains(rest, want) || (rest == "") != (want == "") {
				t.Errorf("prompt %d ends with %q", i, rest)
			}
		}
		r.ask("change")
		contains(t, r.lastBody(), "leave preset out")
	}, withSubagents)
}
