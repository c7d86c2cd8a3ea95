package sessions

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"hob/tools"
)

// Gauge reads facts about hob itself.
type Gauge interface {
	// Self describes hob as an agent.
	Self(ctx context.Context) (Self, error)
	// Left returns the remaining part of today's budget.
	Left(ctx context.Context) (Left, error)
}

// Self describes hob as an agent. There is only one.
type Self struct {
	Name    string   `json:"name" jsonschema:"hob"`
	Model   string   `json:"model" jsonschema:"that is asked first"`
	Context int      `json:"context_tokens" jsonschema:"tokens that fit into one request to it; 0 is not known"`
	State   string   `json:"state" jsonschema:"idle or running"`
	Turn    int64    `json:"turn,omitempty" jsonschema:"the turn that runs"`
	Tools   []string `json:"tools" jsonschema:"names of its tools"`
}

// Left is the part of today's budget that is left.
type Left struct {
	Micros int64 `json:"micros" jsonschema:"money, in millionths; -1 is no limit"`
	Tokens int64 `json:"tokens" jsonschema:"tokens at an unknown price; -1 is no limit"`
}

// StatusInput is the input of sessions_status.
type StatusInput struct {
	Session string `json:"session_id,omitempty" jsonschema:"id, or key of a live one; this one when left out"`
}

// StatusOutput is the output of sessions_status.
type StatusOutput struct {
	Session tools.Talk `json:"session" jsonschema:"the conversation"`
	Model   string     `json:"model" jsonschema:"that is asked first"`
	Context int        `json:"context_tokens" jsonschema:"tokens that fit into one request to it; 0 is not known"`
	Used    int        `json:"context_percent" jsonschema:"how much of that the conversation fills"`
	Left    Left       `json:"budget_left" jsonschema:"for today"`
}

// NewSessionsStatus builds the tool sessions_status.
func NewSessionsStatus(t Talks, g Gauge) tools.Tool {
	s := statusTool{t, g}
	return tools.New[StatusInput, StatusOutput](tools.Spec{
		Name: "sessions_status", Group: "sessions", ReadOnly: true, Positional: "session_id", Example: "main",
		Description: "A conversation in numbers: messages, tokens, cost, how full the context is, budget left.",
	}, s.intent, s.run)
}

// statusTool implements sessions_status.
type statusTool struct {
	talks Talks
	gauge Gauge
}

// intent finds the conversation early, so that a wrong name is refused before the permission rules.
func (s statusTool) intent(ctx context.Context, call tools.Call, in StatusInput) (tools.Intent, error) {
	t, err := known(ctx, s.talks, named(call, in))
	if err != nil {
		return tools.Intent{}, err
	}
	return readIntent("sessions_status", "status of conversation "+t.Key, in)
}

// named returns the conversation that a call refers to. On the command line the default is main.
func named(call tools.Call, in StatusInput) string {
	switch {
	case in.Session != "":
		return in.Session
	case call.Session != 0:
		return strconv.FormatInt(call.Session, 10)
	}
	return "main"
}

// run formats the figures.
func (s statusTool) run(ctx context.Context, call tools.Call, in StatusInput, _ tools.Intent) (tools.Result, error) {
	t, err := known(ctx, s.talks, named(call, in))
	if err != nil {
		return tools.Result{}, err
	}
	self, err := s.gauge.Self(ctx)
	if err != nil {
		return tools.Result{}, fmt.Errorf("read hob's state: %w", err)
	}
	left, err := s.gauge.Left(ctx)
	if err != nil {
		return tools.Result{}, fmt.Errorf("read the budget: %w", err)
	}
	d := StatusOutput{Session: t, Model: self.Model, Context: self.Context, Left: left}
	full := fmt.Sprintf("%d tokens", t.Context)
	// The share is left out if the size of the model's context is not known.
	if self.Context > 0 {
		d.Used = t.Context * 100 / self.Context
		full += fmt.Sprintf(" of %d (%d %%)", self.Context, d.Used)
	}
	return tools.Result{Data: d, Content: fmt.Sprintf(
		"conversation %d (%s, %s)\nmessages: %d in %d turns\ntokens: %d\ncost: %s\ncontext: %s\nbudget left today: %s, %s tokens at an unknown price\nmodel: %s",
		t.ID, t.Key, t.Kind, t.Messages, t.Turns, t.Tokens, cost(t.Cost), full, unlimited(left.Micros, money), unlimited(left.Tokens, count), self.Model,
	)}, nil
}

// money formats millionths with four decimal places.
func money(micros int64) string { return strconv.FormatFloat(float64(micros)/1e6, 'f', 4, 64) }

// cost formats a cost; nil means that the price is unknown.
func cost(micros *int64) string {
	if micros == nil {
		return "unknown"
	}
	return money(*micros)
}

// count formats a number of tokens.
func count(n int64) string { return strconv.FormatInt(n, 10) }

// unlimited formats a limit; a negative one means none.
func unlimited(n int64, show func(int64) string) string {
	if n < 0 {
		return "no limit"
	}
	return show(n)
}

// AgentsInput is the input of agents_list: nothing.
type AgentsInput struct{}

// AgentsOutput is the output of agents_list.
type AgentsOutput struct {
	Agents []Self `json:"agents" jsonschema:"the one agent"`
}

// NewAgentsList builds the tool agents_list.
func NewAgentsList(g Gauge) tools.Tool {
	return tools.New[AgentsInput, AgentsOutput](tools.Spec{
		Name: "agents_list", Group: "sessions", ReadOnly: true,
		Description: "The agents here: hob alone, with its model, its state and its tools.",
	}, func(_ context.Context, _ tools.Call, in AgentsInput) (tools.Intent, error) {
		return readIntent("agents_list", "list agents", in)
	}, func(ctx context.Context, _ tools.Call, _ AgentsInput, _ tools.Intent) (tools.Result, error) {
		self, err := g.Self(ctx)
		if err != nil {
			return tools.Result{}, fmt.Errorf("read hob's state: %w", err)
		}
		content := fmt.Sprintf("%s: model %s, %s, tools %s", self.Name, self.Model, self.State, strings.Join(self.Tools, " "))
		return tools.Result{Content: content, Data: AgentsOutput{Agents: []Self{self}}}, nil
	})
}
