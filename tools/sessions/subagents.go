package sessions

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/daemon/text"
	"hob/tools"
)

// Limits of subagents: agents in a list, and entries of a history.
const (
	mostAgents  = 50
	lastEntries = 50
)

// SubagentsInput is the input of subagents.
type SubagentsInput struct {
	Action  string `json:"action,omitempty" jsonschema:"what to do" enum:"list,wait,progress,history,stop" default:"list"`
	ID      string `json:"id,omitempty" jsonschema:"the sub-agent; may be left out when only one is open"`
	Timeout int    `json:"timeout,omitempty" jsonschema:"of wait: seconds at most" default:"300" min:"1" max:"86400"`
}

// SubagentsOutput is the output of subagents.
type SubagentsOutput struct {
	Agents []tools.Agent `json:"agents" jsonschema:"the sub-agents in question"`
	Lines  []tools.Line  `json:"lines,omitempty" jsonschema:"of history: what was said"`
}

// NewSubagents builds the tool subagents, which lists the conversation's sub-agents, waits for one,
// shows its work, and stops it.
func NewSubagents(a Agents, t Talks) tools.Tool {
	s := subagentsTool{a, t}
	return tools.New[SubagentsInput, SubagentsOutput](tools.Spec{
		Name: "subagents", Group: "sessions", SelfPaging: true, Positional: "action", Example: "progress --id t5_2",
		Description: "List this conversation's sub-agents; wait for one, see its progress or history, stop it.",
	}, s.intent, s.run)
}

// subagentsTool implements subagents.
type subagentsTool struct {
	agents Agents
	talks  Talks
}

// intent finds the sub-agents of the call. Stopping and waiting are keyed, because they change a
// row.
func (s subagentsTool) intent(ctx context.Context, call tools.Call, in SubagentsInput) (tools.Intent, error) {
	list, err := s.meant(ctx, call, in)
	if err != nil {
		return tools.Intent{}, err
	}
	canonical, err := tools.Canonical(struct {
		Tool   string   `json:"tool"`
		Action string   `json:"action"`
		Agents []string `json:"agents"`
	}{"subagents", in.Action, ids(list)})
	i := tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.Sessions}, Summary: strings.TrimSpace("sub-agents: " + in.Action + " " + in.ID), Canonical: canonical}
	if in.Action == "stop" || in.Action == "wait" {
		i.Effect = tools.Keyed
	}
	i.Foreign = foreignOf(in, list)
	return i, err
}

// foreignOf returns the source of foreign text in the answer: sub-agents that have read some.
func foreignOf(in SubagentsInput, list []tools.Agent) string {
	for _, a := range list {
		if a.Tainted && in.Action != "stop" && (in.Action != "wait" || a.Over()) {
			return "what sub-agent " + a.ID + " has read"
		}
	}
	return ""
}

// ids returns the ids of sub-agents.
func ids(list []tools.Agent) []string {
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.ID
	}
	return names
}

// meant returns the sub-agents of a call: all for list, otherwise the named one or the only open
// one.
func (s subagentsTool) meant(ctx context.Context, call tools.Call, in SubagentsInput) ([]tools.Agent, error) {
	// An ended sub-agent can be named too, for its history or answer.
	if in.ID != "" {
		a, err := find(ctx, s.agents, call, in.ID)
		return []tools.Agent{a}, err
	}
	list, err := s.agents.Agents(ctx, call.Session, mostAgents)
	if err != nil || in.Action == "list" {
		return list, err
	}
	var open []tools.Agent
	for _, a := range list {
		if !a.Over() {
			open = append(open, a)
		}
	}
	// Without an id the call must be unambiguous.
	if len(open) != 1 {
		hint := "this conversation has started none"
		if len(list) > 0 {
			hint = text.ThereAre(ids(list), len(list))
		}
		return nil, tools.Refuse(tools.Validation, hint, "id: which one? %d are open", len(open))
	}
	return open, nil
}

// run reads the sub-agents again, because they go on between intent and run.
func (s subagentsTool) run(ctx context.Context, call tools.Call, in SubagentsInput, _ tools.Intent) (tools.Result, error) {
	list, err := s.meant(ctx, call, in)
	if err != nil {
		return tools.Result{}, err
	}
	res, err := s.do(ctx, call, in, list)
	res.Foreign = foreignOf(in, list) // set again: it may have read foreign text meanwhile
	return res, err
}

// do carries out the action.
func (s subagentsTool) do(ctx context.Context, call tools.Call, in SubagentsInput, list []tools.Agent) (tools.Result, error) {
	data := SubagentsOutput{Agents: list}
	switch in.Action {
	case "wait":
		return s.wait(call, in, list[0])
	case "history":
		return s.history(ctx, data)
	case "stop":
		content := "sub-agent " + list[0].ID + " had ended already"
		if !list[0].Over() {
			content = "stopping sub-agent " + list[0].ID
		}
		// The store ignores the order if the sub-agent has ended meanwhile.
		return tools.Result{Content: content, Data: data, Changes: []tools.Change{tools.Halt{Session: call.Session, Agent: list[0].ID}}}, nil
	case "progress":
		return tools.Result{Content: progress(list[0], call.Now), Data: data}, nil
	}
	return tools.Result{Content: table(list), Data: data}, nil
}

// wait parks the turn until a sub-agent ends. If it has ended, the answer comes at once.
func (s subagentsTool) wait(call tools.Call, in SubagentsInput, a tools.Agent) (tools.Result, error) {
	if a.Over() {
		return tools.Result{Content: progress(a, call.Now), Data: SubagentsOutput{Agents: []tools.Agent{a}}}, nil
	}
	return tools.Result{
		Content: "waiting for sub-agent " + a.ID, Data: SubagentsOutput{Agents: []tools.Agent{a}}, Changes: []tools.Change{tools.Await{Agent: a.ID}},
		Next: tools.Wait{Kind: tools.ForChild, Subject: a.ID, Until: call.Now.Add(time.Duration(in.Timeout) * time.Second)},
	}, nil
}

// history shows the newest entries of a sub-agent's conversation.
func (s subagentsTool) history(ctx context.Context, data SubagentsOutput) (tools.Result, error) {
	lines, total, err := s.talks.Lines(ctx, data.Agents[0].Session, "", lastEntries, 0)
	if err != nil {
		return tools.Result{}, fmt.Errorf("read what sub-agent %s said: %w", data.Agents[0].ID, err)
	}
	data.Lines = short(lines)
	content := written(data.Lines)
	if total > len(lines) {
		content = fmt.Sprintf("(the last %d of %d entries; sessions_history %d shows the others)\n", len(lines), total, data.Agents[0].Session) + content
	}
	return tools.Result{Content: content, Data: data}, nil
}

// table lists sub-agents, one line each.
func table(list []tools.Agent) string {
	if len(list) == 0 {
		return "this conversation has started no sub-agents"
	}
	var b strings.Builder
	for _, a := range list {
		fmt.Fprintf(&b, "%s  %s  %s\n", a.ID, a.State, a.Title)
	}
	return b.String() + counted(len(list), "sub-agent")
}

// counted formats a number with its noun, in brackets.
func counted(n int, what string) string { return "(" + text.Count(n, what) + ")" }

// progress describes the work of a sub-agent, and for an ended one its answer.
func progress(a tools.Agent, now time.Time) string {
	line := fmt.Sprintf("sub-agent %s (%s): %s, ran %s of %s, %d model requests, %d tokens", a.ID, a.Title, a.State, a.Running.Round(time.Second), a.Timeout, a.Requests, a.Tokens)
	switch {
	case a.Over() && a.State == "done":
		return line + "\n" + a.Text
	case a.Over():
		return line + "\n" + a.Why
	// Only a few sub-agents run at a time; the others wait.
	case a.State == "ready":
		return line + "\nit has waited to start for " + now.Sub(a.Spawned).Round(time.Second).String()
	case len(a.Calls) == 0:
		return line + "\nit has made no call yet"
	}
	return line + "\nits newest calls:\n" + strings.Join(a.Calls, "\n")
}
