package sessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/tools"
	"hob/tools/sessions"
)

// rows is conversations and sub-agents.
type rows struct {
	agents []tools.Agent
	talks  []tools.Talk
	lines  []tools.Line
}

func (r rows) Agents(_ context.Context, _ int64, limit int) ([]tools.Agent, error) {
	return r.agents[:min(limit, len(r.agents))], nil
}

func (r rows) Agent(_ context.Context, _ int64, id string) (tools.Agent, bool, error) {
	for _, a := range r.agents {
		if a.ID == id {
			return a, true, nil
		}
	}
	return tools.Agent{}, false, nil
}

func (r rows) Talks(_ context.Context, kind string, limit, offset int) ([]tools.Talk, error) {
	var list []tools.Talk
	for _, t := range r.talks {
		if kind == "" || t.Kind == kind {
			list = append(list, t)
		}
	}
	list = list[min(offset, len(list)):]
	return list[:min(limit, len(list))], nil
}

func (r rows) Talk(_ context.Context, name string) (tools.Talk, bool, error) {
	for _, t := range r.talks {
		if t.Key == name && t.Live || strconv.FormatInt(t.ID, 10) == name {
			return t, true, nil
		}
	}
	return tools.Talk{}, false, nil
}

func (r rows) Lines(_ context.Context, _ int64, search string, limit, offset int) ([]tools.Line, int, error) {
	var list []tools.Line
	for _, l := range r.lines {
		if strings.Contains(l.Text, search) {
			list = append(list, l)
		}
	}
	end := max(len(list)-offset, 0)
	return list[max(end-limit, 0):end], len(list), nil
}

func (rows) Self(context.Context) (sessions.Self, error) {
	return sessions.Self{Name: "hob", Model: "p/m", Context: 1000, State: "idle", Tools: []string{"read", "write"}}, nil
}

func (rows) Left(context.Context) (sessions.Left, error) {
	return sessions.Left{Micros: 2_500_000, Tokens: -1}, nil
}

// within makes a call inside a turn and returns its intent and its result.
func within(t *testing.T, tool tools.Tool, in any, change ...func(*tools.Call)) (tools.Intent, tools.Result) {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	c := tools.Call{ID: "t5_2", Turn: 5, Session: 1, Key: "main", Args: raw, Trust: event.Owner, Zone: "Europe/Berlin", Now: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}
	for _, f := range change {
		f(&c)
	}
	intent, err := tool.Intent(t.Context(), c)
	if err != nil {
		return intent, tools.ErrorResult(err)
	}
	res, err := tool.Run(t.Context(), c, intent)
	if err != nil {
		t.Fatal(err)
	}
	return intent, res
}

func open(id string) tools.Agent {
	return tools.Agent{ID: id, Title: "look", State: "running", Turn: 7, Session: 3, Running: 2 * time.Second, Timeout: 5 * time.Minute, Requests: 2, Calls: []string{"read x"}}
}

func ended(id string, tainted bool) tools.Agent {
	a := open(id)
	a.State, a.Ended, a.Text, a.Tainted = "done", time.Unix(9, 0), "found it", tainted
	return a
}

func TestSpawn(t *testing.T) {
	r := rows{agents: []tools.Agent{open("t4_1"), ended("t3_1", false)}}
	tool := sessions.NewSessionsSpawn(r, func(name string) error {
		if name != "small" {
			return errors.New("there is small")
		}
		return nil
	})
	i, res := within(t, tool, args{"prompt": "look into it"})
	s, _ := res.Changes[0].(tools.Spawn)
	if w, ok := res.Next.(tools.Wait); !ok || w.Kind != tools.ForChild || w.Subject != "t5_2" || !w.Until.IsZero() {
		t.Errorf("in the foreground it parks with %+v", res.Next)
	}
	if s.Prompt != "look into it" || s.Timeout != 5*time.Minute || s.Background || s.Call.Turn != 5 || s.Agent() != "t5_2" {
		t.Errorf("it spawns %+v", s)
	}
	if i.Effect != tools.Keyed || len(i.Scopes) != 1 || i.Scopes[0] != tools.Sessions || i.Foreign != "" {
		t.Errorf("intent %+v", i)
	}
	_, res = within(t, tool, args{"prompt": "p", "title": "a", "model": "small", "background": true, "resume": "t3_1", "timeout": 60})
	s, _ = res.Changes[0].(tools.Spawn)
	if res.Next != nil || s.Model != "small" || !s.Background || s.Resume != "t3_1" || s.Agent() != "t3_1" || s.Timeout != time.Minute || s.Title != "a" {
		t.Errorf("in the background: %+v, %+v", s, res.Next)
	}
	if d, ok := res.Data.(sessions.SpawnOutput); !ok || d.ID != "t3_1" || !d.Background {
		t.Errorf("data %+v", res.Data)
	}
	for _, c := range []struct {
		args args
		turn int64
		code tools.Code
		want string
	}{
		{args{}, 5, tools.Validation, "prompt"},
		{args{"prompt": " \n"}, 5, tools.Validation, "there is no text in it"},
		{args{"prompt": "p", "model": "huge"}, 5, tools.Validation, "there is small"},
		{args{"prompt": "p", "resume": "t9_9"}, 5, tools.NotFound, "there are: t4_1, t3_1"},
		{args{"prompt": "p", "resume": "t4_1"}, 5, tools.Conflict, "has not ended yet"},
		{args{"prompt": "p", "timeout": 5}, 5, tools.Validation, "timeout"},
		{args{"prompt": "p"}, 0, tools.Conflict, "only a turn can start a sub-agent"},
	} {
		_, res := within(t, tool, c.args, func(call *tools.Call) { call.Turn = c.turn })
		if res.Code != c.code || !strings.Contains(res.Content, c.want) || len(res.Changes) != 0 || res.Next != nil {
			t.Errorf("%v in turn %d: %+v", c.args, c.turn, res)
		}
	}
}

func TestSubagents(t *testing.T) {
	r := rows{agents: []tools.Agent{open("t4_1"), ended("t3_1", false), ended("t2_1", true)}, lines: []tools.Line{
		{Seq: 1, Role: "user", Kind: "input", Text: "the task"}, {Seq: 2, Role: "assistant", Kind: "call", Tool: "read", Text: `{"path":"x"}`}, {Seq: 3, Role: "tool", Kind: "result", Tool: "read", Text: "content"},
	}}
	tool := sessions.NewSubagents(r, r)
	for _, c := range []struct {
		args    args
		foreign bool
		want    string
	}{
		{args{}, true, "t4_1  running  look\nt3_1  done  look\nt2_1  done  look\n(3 sub-agents)"},
		{args{"action": "progress"}, false, "sub-agent t4_1 (look): running, ran 2s of 5m0s, 2 model requests"},
		{args{"action": "progress", "id": "t4_1"}, false, "its newest calls:\nread x"},
		{args{"action": "progress", "id": "t3_1"}, false, "found it"},
		{args{"action": "progress", "id": "t2_1"}, true, "found it"},
		{args{"action": "history", "id": "t3_1"}, false, "#1 user: the task\n#2 calls read: {\"path\":\"x\"}\n#3 read answers: content"},
		{args{"action": "history", "id": "t2_1"}, true, "the task"},
		{args{"action": "wait", "id": "t3_1"}, false, "found it"},
		{args{"action": "wait", "id": "t2_1"}, true, "found it"},
		{args{"action": "stop", "id": "t3_1"}, false, "had ended already"},
	} {
		i, res := within(t, tool, c.args)
		if res.IsError || res.Next != nil || !strings.Contains(res.Content, c.want) || (i.Foreign != "") != c.foreign || (res.Foreign != "") != c.foreign {
			t.Errorf("%v: foreign %q, %+v", c.args, i.Foreign, res)
		}
	}
	i, res := within(t, tool, args{"action": "wait", "timeout": 60})
	w, _ := res.Next.(tools.Wait)
	if a, ok := res.Changes[0].(tools.Await); !ok || a.Agent != "t4_1" || w.Kind != tools.ForChild || w.Subject != "t4_1" || !w.Until.Equal(time.Date(2026, 11, 21, 8, 1, 0, 0, time.UTC)) || i.Effect != tools.Keyed {
		t.Errorf("wait: %+v, %+v", res, i)
	}
	_, res = within(t, tool, args{"action": "stop"})
	if h, ok := res.Changes[0].(tools.Halt); !ok || h.Agent != "t4_1" || h.Session != 1 {
		t.Errorf("stop: %+v", res)
	}
	for _, c := range []struct {
		rows rows
		args args
		code tools.Code
		want string
	}{
		{r, args{"action": "wait", "id": "t9_9"}, tools.NotFound, "there are: t4_1, t3_1, t2_1"},
		{rows{}, args{"action": "stop", "id": "t9_9"}, tools.NotFound, "has started none"},
		{rows{}, args{"action": "stop"}, tools.Validation, "which one? 0 are open"},
		{rows{agents: []tools.Agent{open("t4_1"), open("t4_2")}}, args{"action": "wait"}, tools.Validation, "which one? 2 are open"},
		{r, args{"action": "kill"}, tools.Validation, "action"},
	} {
		if _, res := within(t, sessions.NewSubagents(c.rows, c.rows), c.args); res.Code != c.code || !strings.Contains(res.Content, c.want) {
			t.Errorf("%v: %+v", c.args, res)
		}
	}
}

func talks() []tools.Talk {
	return []tools.Talk{
		{ID: 9, Key: "thread:7", Kind: "thread", Trust: event.Public, Live: true, Messages: 2, Reply: "chat:7"},
		{ID: 8, Key: "child:t5_1", Kind: "child", Title: "look", Trust: event.Owner, Live: true, Reply: event.ToOwner},
		{ID: 4, Key: "job:morning", Kind: "job", Trust: event.Owner, Live: true, Reply: event.ToOwner},
		{ID: 1, Key: "main", Kind: "main", Trust: event.Owner, Live: true, Messages: 12, Turns: 3, Tokens: 900, Cost: new(int64(1500)), Context: 250, Reply: "chat:1"},
		{ID: 0, Key: "main", Kind: "main", Trust: event.Owner, Reply: "chat:1"},
	}
}

// others are conversations of other people and of a machine.
func others() []tools.Talk {
	return []tools.Talk{
		{ID: 12, Key: "telegram:anna", Kind: "thread", Trust: event.Known, Live: true, Reply: "telegram:anna"},
		{ID: 11, Key: "telegram:-100", Kind: "group", Trust: event.Owner, Live: true, Reply: "telegram:-100"},
		{ID: 10, Key: "hook:x", Kind: "hook", Trust: event.Machine, Live: true, Reply: event.ToOwner},
	}
}

func TestList(t *testing.T) {
	tool := sessions.NewSessionsList(rows{talks: talks()})
	for _, c := range []struct {
		args  args
		first int64
		n     int
		next  int
	}{
		{args{}, 9, 5, 0},
		{args{"limit": 2}, 9, 2, 2},
		{args{"limit": 2, "offset": 2}, 4, 2, 4},
		{args{"limit": 5}, 9, 5, 0},
		{args{"kind": "job"}, 4, 1, 0},
		{args{"kind": "watch"}, 0, 0, 0},
	} {
		_, res := within(t, tool, c.args)
		d, _ := res.Data.(sessions.ListOutput)
		if res.IsError || len(d.Sessions) != c.n || d.Next != c.next || c.n > 0 && d.Sessions[0].ID != c.first {
			t.Errorf("%v: %+v", c.args, res)
		}
	}
	if !tool.Spec().ReadOnly {
		t.Error("it only reads")
	}
}

func TestHistory(t *testing.T) {
	lines := make([]tools.Line, 60)
	for i := range lines {
		lines[i] = tools.Line{Seq: int64(i + 1), Role: "user", Kind: "input", Text: "word " + strconv.Itoa(i+1)}
	}
	lines[59].Text = strings.Repeat("ä", 5000)
	tool := sessions.NewSessionsHistory(rows{talks: talks(), lines: lines})
	for _, c := range []struct {
		args    args
		foreign bool
		n, next int
		want    string
	}{
		{args{"session_id": "main"}, false, 50, 50, "(10 earlier entries: offset=50)\n#11 user: word 11\n"},
		{args{"session_id": "1", "offset": 50}, false, 10, 0, "#1 user: word 1\n"},
		{args{"session_id": "thread:7", "limit": 1}, true, 1, 1, "… (10000 bytes)"},
		{args{"session_id": "main", "search": "word 7"}, false, 1, 0, "#7 user: word 7"},
		{args{"session_id": "main", "search": "nowhere"}, false, 0, 0, "no entries"},
	} {
		i, res := within(t, tool, c.args)
		d, _ := res.Data.(sessions.HistoryOutput)
		if res.IsError || len(d.Lines) != c.n || d.Next != c.next || !strings.Contains(res.Content, c.want) || (i.Foreign != "") != c.foreign || (res.Foreign != "") != c.foreign {
			t.Errorf("%v: foreign %q, %d lines, next %d: %.200s", c.args, i.Foreign, len(d.Lines), d.Next, res.Content)
		}
	}
	if _, res := within(t, tool, args{"session_id": "nobody"}); res.Code != tools.NotFound || !strings.Contains(res.Content, "the newest are 9 (thread:7)") {
		t.Errorf("an unknown one: %+v", res)
	}
}

// A text for another conversation is trusted as far as the turn that sends it, and the permission rules see where its answer will go.
func TestSend(t *testing.T) {
	tool := sessions.NewSessionsSend(rows{talks: append(talks(), others()...)})
	for _, c := range []struct {
		to      string
		trust   event.Trust
		tainted bool
		reply   event.Address
		want    event.Trust
	}{
		{"job:morning", event.Owner, false, event.ToOwner, event.Owner},
		{"thread:7", event.Owner, false, "chat:7", event.Public}, // nothing is private there
		{"telegram:anna", event.Owner, false, "telegram:anna", event.Known},
		{"telegram:anna", event.Owner, true, "telegram:anna", event.Public},
		{"telegram:-100", event.Owner, false, "telegram:-100", event.Known}, // after /clean
		{"hook:x", event.Owner, false, event.ToOwner, event.Machine},
		{"telegram:anna", event.Public, false, "telegram:anna", event.Public},
		{"job:morning", event.Owner, true, event.ToOwner, event.Public},
		{"job:morning", event.Known, true, event.ToOwner, event.Public},
		{"job:morning", event.Machine, true, event.ToOwner, event.Machine},
	} {
		i, res := within(t, tool, args{"session_id": c.to, "content": "ready"}, func(call *tools.Call) { call.Trust, call.Tainted = c.trust, c.tainted })
		in, _ := res.Changes[0].(event.In)
		if in.Trust != c.want || in.Tainted != c.tainted || in.Session != c.to || in.ReplyTo != c.reply || in.Typed || in.ExtID != "t5_2" || in.Text() != "ready" {
			t.Errorf("%+v: row %+v", c, in)
		}
		if in.Kind != event.Report {
			t.Errorf("%+v: a row of kind %s could join a turn, answer a question or be a command", c, in.Kind)
		}
		if len(i.Addresses) != 1 || i.Addresses[0] != c.reply || i.Scopes[0] != tools.Sessions || slices.Contains(i.Scopes, tools.Schedule) != c.tainted {
			t.Errorf("%+v: intent %+v", c, i)
		}
	}
	for _, c := range []struct {
		args args
		code tools.Code
		want string
	}{
		{args{"session_id": "main", "content": "x"}, tools.Validation, "that is this conversation"},
		{args{"session_id": "8", "content": "x"}, tools.Conflict, "sessions_spawn with resume"},
		{args{"session_id": "0", "content": "x"}, tools.Conflict, "has ended"},
		{args{"session_id": "job:none", "content": "x"}, tools.NotFound, "the newest are"},
		{args{"session_id": "job:morning", "content": " "}, tools.Validation, "there is no text in it"},
		{args{"session_id": "job:morning"}, tools.Validation, "content"},
	} {
		if _, res := within(t, tool, c.args); res.Code != c.code || !strings.Contains(res.Content, c.want) || len(res.Changes) != 0 {
			t.Errorf("%v: %+v", c.args, res)
		}
	}
}

func TestStatusAndAgents(t *testing.T) {
	r := rows{talks: talks()}
	for _, in := range []args{{}, {"session_id": "1"}, {"session_id": "main"}} {
		_, res := within(t, sessions.NewSessionsStatus(r, r), in)
		d, _ := res.Data.(sessions.StatusOutput)
		if d.Session.ID != 1 || d.Used != 25 || d.Left.Micros != 2_500_000 {
			t.Errorf("%v: %+v", in, res)
		}
		for _, want := range []string{"conversation 1 (main, main)", "messages: 12 in 3 turns", "tokens: 900", "cost: 0.0015", "250 tokens of 1000 (25 %)", "2.5000, no limit tokens"} {
			if !strings.Contains(res.Content, want) {
				t.Errorf("%v does not say %q: %s", in, want, res.Content)
			}
		}
	}
	if _, res := within(t, sessions.NewSessionsStatus(r, r), args{"session_id": "none"}); res.Code != tools.NotFound {
		t.Errorf("an unknown one: %+v", res)
	}
	_, res := within(t, sessions.NewAgentsList(r), args{})
	d, _ := res.Data.(sessions.AgentsOutput)
	if len(d.Agents) != 1 || res.Content != "hob: model p/m, idle, tools read write" {
		t.Errorf("%+v", res)
	}
}
