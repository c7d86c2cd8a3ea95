package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/daemon/store"
	"hob/tools"
	"hob/tools/sessions"
)

// task is the answer of a model that spawns a sub-agent.
func task(in map[string]any) llm.Answer { return call("sessions_spawn", in) }

func call(tool string, in map[string]any) llm.Answer {
	b, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return llmtest.Use(tool, string(b))
}

// reader is a tool that only reads, under one of the names that sub-agents may have.
func (r *harness) reader(name string, i tools.Intent, run runner) tools.Tool {
	i.Effect = tools.Read
	return tools.New[args, nothing](tools.Spec{Name: name, Group: "test", Description: "Reads.", ReadOnly: true}, r.intent(name, i, nil), r.run(name, run))
}

// withSubagents gives a harness the tools of sub-agents and the rows that they read. The store must be open first.
func withSubagents(r *harness) {
	relations := &late{r: r}
	r.with(
		sessions.NewSessionsSpawn(relations, func(name string) error {
			if name != "small" {
				return fmt.Errorf("there is small")
			}
			return nil
		}),
		sessions.NewSubagents(relations, relations), sessions.NewSessionsHistory(relations), sessions.NewSessionsSend(relations),
		r.reader("read", tools.Intent{}, nil),
	)
}

// late reads over the rig's store, which is opened after its tools are made.
type late struct{ r *harness }

func (l *late) reader() store.Sessions { return l.r.store.Sessions }
func (l *late) Agents(ctx context.Context, session int64, limit int) ([]tools.Agent, error) {
	return l.reader().Agents(ctx, session, limit)
}

func (l *late) Agent(ctx context.Context, session int64, id string) (tools.Agent, bool, error) {
	return l.reader().Agent(ctx, session, id)
}

func (l *late) Talks(ctx context.Context, kind string, limit, offset int) ([]tools.Talk, error) {
	return l.reader().Talks(ctx, kind, limit, offset)
}

func (l *late) Talk(ctx context.Context, name string) (tools.Talk, bool, error) {
	return l.reader().Talk(ctx, name)
}

func (l *late) Lines(ctx context.Context, session int64, search string, limit, offset int) ([]tools.Line, int, error) {
	return l.reader().Lines(ctx, session, search, limit, offset)
}

// lastOf is the newest message's text, and whether the request is a sub-agent's.
func lastOf(q llm.Request) (text string, child bool) {
	return event.TextOf(q.Messages[len(q.Messages)-1].Parts), strings.Contains(q.System, "sub-agent")
}

// parentAndChild returns a model that answers the parent by one function and its sub-agents by the other.
func parentAndChild(parent, child func(ctx context.Context, last string, q llm.Request) (llm.Answer, error)) llmtest.Reply {
	return func(ctx context.Context, q llm.Request) (llm.Answer, error) {
		last, isChild := lastOf(q)
		if isChild {
			return child(ctx, last, q)
		}
		return parent(ctx, last, q)
	}
}

func usable(text string) func(context.Context, string, llm.Request) (llm.Answer, error) {
	return func(context.Context, string, llm.Request) (llm.Answer, error) { return llmtest.Say(text), nil }
}

// spawns answers "go" with calls, and everything else with what it has read.
func spawns(calls ...llm.Answer) func(context.Context, string, llm.Request) (llm.Answer, error) {
	return func(_ context.Context, last string, _ llm.Request) (llm.Answer, error) {
		if last == "go" {
			return llmtest.UseAll(calls...), nil
		}
		return llmtest.Say("heard: " + last), nil
	}
}

// hung is a sub-agent that thinks until it is stopped.
func hung(ctx context.Context, _ string, _ llm.Request) (llm.Answer, error) {
	<-ctx.Done()
	return llm.Answer{}, ctx.Err()
}

func TestForegroundChild(t *testing.T) {
	bubble(t, parentAndChild(spawns(task(map[string]any{"prompt": "look into it", "title": "a look"})), func(_ context.Context, last string, q llm.Request) (llm.Answer, error) {
		if last == "look into it" {
			return use("read", "a.txt"), nil
		}
		return llmtest.Say("it says " + last), nil
	}), func(r *harness) {
		r.ask("go")
		r.wantStates(turn.Done, turn.Done)
		r.wantBodies("heard: it says read did a.txt") // and nothing of the sub-agent's own
		list := r.turns()
		if list[1].Parent != 1 || list[1].Session != "child:t1_1" || list[0].Attempts != 1 || list[1].Attempts != 1 {
			t.Errorf("turns %+v", list)
		}
		for _, want := range []string{"child.spawned", "child.finished"} {
			if !slices.Contains(r.events(), want) {
				t.Errorf("no event %s in %v", want, r.events())
			}
		}
		for _, q := range r.model.(*llmtest.Script).Requests() {
			if _, child := lastOf(q); child && (len(q.Tools) != 1 || q.Tools[0].Name != "read") {
				t.Errorf("a sub-agent is offered %+v", q.Tools)
			}
		}
		valid(t, r.model.(*llmtest.Script).Requests())
	}, withSubagents)
}

func TestBackgroundChild(t *testing.T) {
	gate := make(chan struct{})
	bubble(t, parentAndChild(spawns(task(map[string]any{"prompt": "p", "title": "a look", "background": true})), func(ctx context.Context, _ string, _ llm.Request) (llm.Answer, error) {
		select {
		case <-gate:
			return llmtest.Say("found"), nil
		case <-ctx.Done():
			return llm.Answer{}, ctx.Err()
		}
	}), func(r *harness) {
		r.ask("go")
		r.wantStates(turn.Done, turn.Running)
		r.ask("what else?") // the thread is free
		close(gate)
		r.settle()
		r.wantStates(turn.Done, turn.Done, turn.Done, turn.Done)
		if got := r.lastBody(); got != "heard: sub-agent t1_1 (a look) has done its task:\nfound" {
			t.Errorf("the report's turn says %q", got)
		}
		row := r.inbox(3)
		if row.Kind != string(event.Report) || row.Session != "main" || row.Trust != event.Owner || row.ReplyTo != chat {
			t.Errorf("its row is %+v", row)
		}
		if out := r.outbox(); out[len(out)-1].To != chat {
			t.Errorf("it goes to %s", out[len(out)-1].To)
		}
	}, withSubagents, func(*harness) { gate = make(chan struct{}) })
}

// Four run at once; a fifth waits until one has ended.
func TestFourSubagents(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	gate := make(chan struct{})
	child := func(context.Context, string, llm.Request) (llm.Answer, error) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		<-gate
		mu.Lock()
		now--
		mu.Unlock()
		return llmtest.Say("done"), nil
	}
	five := make([]llm.Answer, 5)
	for i := range five {
		five[i] = task(map[string]any{"prompt": fmt.Sprint("p", i), "background": true})
	}
	bubble(t, parentAndChild(spawns(five...), child), func(r *harness) {
		r.ask("go")
		r.wantStates(turn.Done, turn.Running, turn.Running, turn.Running, turn.Running, turn.Ready)
		close(gate)
		r.settle()
		mu.Lock()
		defer mu.Unlock()
		if most != agent.MaxSubagents {
			t.Errorf("%d ran at once", most)
		}
		for _, one := range r.turns() {
			if one.State != turn.Done {
				t.Errorf("turn %d is %s", one.ID, one.State)
			}
		}
	}, withSubagents, func(*harness) { gate = make(chan struct{}) })
}

// After a crash in any state the sub-agent goes on, and its parent gets one result.
func TestChildrenSurviveACrash(t *testing.T) {
	for _, background := range []bool{false, true} {
		for _, at := range []string{"asked", "read"} {
			t.Run(fmt.Sprintf("%s, background %v", at, background), func(t *testing.T) { childCrash(t, at, background) })
		}
	}
}

func childCrash(t *testing.T, at string, background bool) {
	var dir string
	var first *harness
	child := func(_ context.Context, last string, _ llm.Request) (llm.Answer, error) {
		if last == "p" {
			if at == "asked" {
				dir = first.snapshot()
			}
			return use("read", "a.txt"), nil
		}
		return llmtest.Say("found"), nil
	}
	spawn := spawns(task(map[string]any{"prompt": "p", "background": background}))
	bubble(t, parentAndChild(spawn, child), func(r *harness) {
		r.ask("go")
		r.reborn(dir, parentAndChild(spawn, func(_ context.Context, last string, _ llm.Request) (llm.Answer, error) {
			if last == "p" {
				return use("read", "a.txt"), nil
			}
			return llmtest.Say("found after all"), nil
		}), func(n *harness) {
			n.settle()
			for _, one := range n.turns() {
				if one.State != turn.Done {
					t.Errorf("turn %d is %s: %s", one.ID, one.State, one.Why)
				}
			}
			if c := n.turns()[1]; c.Parent != 1 || c.Attempts != 2 || c.Text != "found after all" {
				t.Errorf("the sub-agent's turn is %+v", c)
			}
			heard := 0
			for _, b := range n.bodies() {
				heard += strings.Count(b, "found after all")
			}
			if heard != 1 {
				t.Errorf("the result came %d times: %q", heard, n.bodies())
			}
			if b := n.budget(); b.ReservedTokens != 0 {
				t.Errorf("%d tokens are still reserved", b.ReservedTokens)
			}
			valid(t, n.model.(*llmtest.Script).Requests())
		}, withSubagents)
	}, withSubagents, func(r *harness) {
		first = r
		r.with(r.reader("read", tools.Intent{}, func(context.Context, tools.Call, string) (tools.Result, error) {
			if at == "read" {
				dir = r.snapshot()
			}
			return tools.Result{Content: "text"}, nil
		}))
	})
}

// A crash between the end of a sub-agent and its parent's next step loses nothing.
func TestCrashAfterAChild(t *testing.T) {
	var dir string
	var first *harness
	parent := func(_ context.Context, last string, _ llm.Request) (llm.Answer, error) {
		if last == "go" {
			return task(map[string]any{"prompt": "p"}), nil
		}
		dir = first.snapshot()
		return llmtest.Say("not in the copy"), nil
	}
	bubble(t, parentAndChild(parent, usable("found")), func(r *harness) {
		r.ask("go")
		r.reborn(dir, parentAndChild(spawns(), usable("must not run again")), func(n *harness) {
			n.settle()
			n.wantStates(turn.Done, turn.Done)
			n.wantBodies("heard: found")
		}, withSubagents)
	}, withSubagents, func(r *harness) { first = r })
}

func TestStopEndsChildren(t *testing.T) {
	for _, tc := range []struct {
		background bool
		states     []turn.Status
		says       string
	}{
		{false, []turn.Status{turn.Stopped, turn.Stopped}, "Stopped 1 sub-agent."},
		{true, []turn.Status{turn.Done, turn.Stopped}, "Stopped 1 sub-agent."},
	} {
		bubble(t, parentAndChild(spawns(task(map[string]any{"prompt": "p", "background": tc.background})), hung), func(r *harness) {
			r.ask("go")
			start := time.Now()
			r.ask("/stop")
			r.wantStates(tc.states...)
			if r.lastBody() != tc.says || time.Since(start) > time.Second {
				t.Errorf("it says %q after %s", r.lastBody(), time.Since(start))
			}
			if b := r.budget(); b.ReservedTokens != 0 || b.UsedTokens == 0 {
				t.Errorf("a stopped request counts with what it may have cost: %+v", b)
			}
			r.ask("next") // nothing reports, nothing is left over
			if r.lastBody() != "heard: next" {
				t.Errorf("then it says %q", r.lastBody())
			}
			valid(t, r.model.(*llmtest.Script).Requests())
		}, withSubagents)
	}
}

// With one turn its sub-agents are stopped; those of others are left alone. A sub-agent can be stopped by itself.
func TestStopOfOneTurn(t *testing.T) {
	bubble(t, parentAndChild(spawns(task(map[string]any{"prompt": "p"})), hung), func(r *harness) {
		r.ask("go")
		if ok, err := r.store.Commands.StopTurn(context.Background(), 1); err != nil || !ok {
			t.Fatal(ok, err)
		}
		r.settle()
		r.wantStates(turn.Stopped, turn.Stopped)
		r.ask("go")
		if ok, err := r.store.Commands.StopTurn(context.Background(), 4); err != nil || !ok {
			t.Fatal(ok, err)
		}
		r.settle()
		r.wantStates(turn.Stopped, turn.Stopped, turn.Done, turn.Stopped)
		contains(t, r.lastBody(), "CANCELLED: sub-agent t3_1 was stopped")
	}, withSubagents)
}

func TestChildrenHaveADeadline(t *testing.T) {
	bubble(t, parentAndChild(spawns(task(map[string]any{"prompt": "p", "timeout": 60})), hung), func(r *harness) {
		r.ask("go")
		time.Sleep(59 * time.Second)
		r.settle()
		r.wantStates(turn.Waiting, turn.Running)
		time.Sleep(2 * time.Second)
		r.settle()
		r.wantStates(turn.Done, turn.Failed)
		contains(t, r.lastBody(), "TIMEOUT: sub-agent t1_1 ran for 1m0s, its limit")
		if n := len(r.bodies()); n != 1 {
			t.Errorf("the owner was told %q", r.bodies())
		}
	}, withSubagents)
}

// Dead sub-agents are results too.
func TestDeadChildReports(t *testing.T) {
	bubble(t, parentAndChild(spawns(task(map[string]any{"prompt": "p"})), hung), func(r *harness) {
		r.ask("go")
		r.halt()
		r.sql("UPDATE turns SET attempts = 3 WHERE id = 2")
		r.start()
		r.settle()
		r.wantStates(turn.Done, turn.Dead)
		contains(t, r.lastBody(), "sub-agent t1_1 did not finish: it did not come to an end in any of its 3 attempts")
		if n := len(r.bodies()); n != 1 {
			t.Errorf("the owner was told %q", r.bodies())
		}
	}, withSubagents)
}

func TestDrainedChildrenGoOn(t *testing.T) {
	bubble(t, parentAndChild(spawns(task(map[string]any{"prompt": "p"})), func(ctx context.Context, _ string, _ llm.Request) (llm.Answer, error) {
		select {
		case <-ctx.Done():
			return llm.Answer{}, ctx.Err()
		case <-time.After(time.Minute):
			return llmtest.Say("found"), nil
		}
	}), func(r *harness) {
		r.ask("go")
		for range 5 {
			r.halt()
			r.wantStates(turn.Waiting, turn.Ready)
			r.start()
			r.settle()
			r.wantStates(turn.Waiting, turn.Running)
		}
		time.Sleep(2 * time.Minute)
		r.settle()
		r.wantStates(turn.Done, turn.Done)
		if n := r.turns()[1].Attempts; n != 1 {
			t.Errorf("%d attempts", n)
		}
	}, withSubagents)
}

// Whatever a sub-agent calls, it has six tools that read; nobody is asked for it.
func TestChildrenCannotWrite(t *testing.T) {
	for _, tc := range []struct {
		use  llm.Answer
		want string
	}{
		{use("note", "x"), "there is no tool named"},
		{use("shell", "x"), "there is no tool named"},
		{use("look", "x"), "there is no tool named"}, // reads, but is none of the six
		{use("ls", "x"), "there is no tool named"},   // has the name, but does not say that it only reads
		{task(map[string]any{"prompt": "deeper"}), "there is no tool named"},
		{use("grep", "secret"), "PERMISSION_DENIED"}, // would ask
	} {
		bubble(t, parentAndChild(spawns(task(map[string]any{"prompt": "p"})), func(_ context.Context, last string, _ llm.Request) (llm.Answer, error) {
			if last == "p" {
				return tc.use, nil
			}
			return llmtest.Say("got " + last), nil
		}), func(r *harness) {
			r.ask("go")
			r.wantStates(turn.Done, turn.Done)
			contains(t, r.lastBody(), tc.want)
			if len(r.questions()) != 0 || r.times("note")+r.times("shell")+r.times("look")+r.times("ls")+r.times("grep") != 0 {
				t.Errorf("%+v asked %+v and ran %v", tc.use, r.questions(), r.ran)
			}
		}, withSubagents, func(r *harness) {
			r.with(r.tool("ls", tools.Intent{Effect: tools.Read}, nil),
				r.reader("grep", tools.Intent{Scopes: []tools.Scope{tools.FSRead}, Paths: []tools.Path{{Path: "/home/x/.ssh/id", Area: tools.Sensitive}}}, nil))
		})
	}
}

// A sub-agent cannot have sub-agents, whatever its set is.
func TestDepthOne(t *testing.T) {
	bubble(t, parentAndChild(spawns(task(map[string]any{"prompt": "p", "background": true})), hung), func(r *harness) {
		r.ask("go")
		err := r.store.Calls.Record(context.Background(), tools.Spawn{Call: tools.Call{ID: "t2_9", Turn: 2}, Prompt: "deeper", Timeout: time.Minute})
		if f, ok := event.AsFault(err); !ok || f.Kind != event.Refused {
			t.Errorf("got %v", err)
		}
		r.ask("/stop")
	}, withSubagents)
}

// Foreign text that a sub-agent has read taints every turn that reads its answer. A tainted parent starts a tainted sub-agent.
func TestTaintOfChildren(t *testing.T) {
	foreign := func(r *harness) {
		r.with(r.reader("read", tools.Intent{Foreign: "a page"}, nil))
	}
	child := func(_ context.Context, last string, _ llm.Request) (llm.Answer, error) {
		if last == "p" {
			return use("read", "x"), nil
		}
		return llmtest.Say("found"), nil
	}
	for _, background := range []bool{false, true} {
		bubble(t, parentAndChild(spawns(task(map[string]any{"prompt": "p", "background": background})), child), func(r *harness) {
			r.ask("go")
			reader := int64(1)
			if background {
				reader = 3
			}
			for _, id := range []int64{2, reader} {
				if st, err := r.store.Turns.Load(context.Background(), id); err != nil || !st.Turn.Tainted {
					t.Errorf("background %v: turn %d is not tainted, %v", background, id, err)
				}
			}
			if background {
				if st, err := r.store.Turns.Load(context.Background(), 3); err != nil || st.Turn.Asker != event.Owner {
					t.Errorf("the report's turn is asked by %s, %v", st.Turn.Asker, err)
				}
			}
		}, withSubagents, foreign)
	}
	bubble(t, parentAndChild(spawns(task(map[string]any{"prompt": "p"})), usable("clean")), func(r *harness) {
		r.post(stranger("go"))
		r.settle()
		if st, err := r.store.Turns.Load(context.Background(), 1); err != nil || !st.Turn.Tainted {
			t.Fatalf("the parent is not tainted, %v", err)
		}
		for _, one := range r.turns()[1:] {
			if st, err := r.store.Turns.Load(context.Background(), one.ID); err != nil || !st.Turn.Tainted || st.Turn.Asker != event.Known {
				t.Errorf("turn %d: %+v, %v", one.ID, st.Turn, err)
			}
		}
	}, withSubagents)
}
