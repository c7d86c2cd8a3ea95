package sessions

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"hob/daemon/text"
	"hob/tools"
)

// noTurn refuses sessions_spawn outside a turn.
const noTurn = "only a turn can start a sub-agent, and there is none here"

// Agents reads the sub-agents.
type Agents interface {
	// Agents lists the sub-agents that the turns of a session have started, newest first; those of
	// all sessions for 0.
	Agents(ctx context.Context, session int64, limit int) ([]tools.Agent, error)
	// Agent reads one sub-agent; false if the session has none with that id.
	Agent(ctx context.Context, session int64, id string) (tools.Agent, bool, error)
}

// Models checks the name of a model. Its error lists the valid names.
type Models func(name string) error

// SpawnInput is the input of sessions_spawn.
type SpawnInput struct {
	Prompt     string `json:"prompt" jsonschema:"the whole task; it sees nothing else" min:"1"`
	Title      string `json:"title,omitempty" jsonschema:"a few words" max:"80"`
	Preset     string `json:"preset,omitempty" jsonschema:"how it works" enum:"explore,summarise,review"`
	Model      string `json:"model,omitempty" jsonschema:"another model"`
	Background bool   `json:"background,omitempty" jsonschema:"it reports later"`
	Resume     string `json:"resume,omitempty" jsonschema:"id of an ended one"`
	Timeout    int    `json:"timeout,omitempty" jsonschema:"seconds" default:"300" min:"10" max:"3600"`
}

// SpawnOutput is the output of sessions_spawn in the background. In the foreground the sub-agent's
// answer becomes the result.
type SpawnOutput struct {
	ID         string `json:"id" jsonschema:"names the sub-agent"`
	Background bool   `json:"background" jsonschema:"it reports by itself"`
}

// NewSessionsSpawn builds the tool sessions_spawn, which gives a reading task to a sub-agent.
func NewSessionsSpawn(a Agents, m Models) tools.Tool {
	s := spawner{a, m}
	return tools.New[SpawnInput, SpawnOutput](tools.Spec{
		Name: tools.SpawnTool, Group: "sessions", Core: true, Positional: "prompt", Example: "'find where ports are configured in this project'",
		Description: "Give a reading task to a subagent.",
	}, s.intent, s.run)
}

// spawner implements sessions_spawn.
type spawner struct {
	agents Agents
	models Models
}

// intent checks the task early. A sub-agent only has reading tools, so it needs no other scopes.
func (s spawner) intent(ctx context.Context, call tools.Call, in SpawnInput) (tools.Intent, error) {
	if err := s.check(ctx, call, in); err != nil {
		return tools.Intent{}, err
	}
	canonical, err := tools.CanonicalCall(tools.SpawnTool, in)
	return tools.Intent{
		Effect: tools.Keyed, Scopes: []tools.Scope{tools.Sessions}, Summary: "sub-agent: " + brief(title(in)), Canonical: canonical,
	}, err
}

// check refuses early what the commit would refuse later.
func (s spawner) check(ctx context.Context, call tools.Call, in SpawnInput) error {
	// A sub-agent belongs to the turn that started it. A call by "hob tool" has none.
	if call.Turn == 0 {
		return tools.Refuse(tools.Conflict, "ask hob in chat instead", noTurn)
	}
	if strings.TrimSpace(in.Prompt) == "" {
		return tools.Refuse(tools.Validation, "", "prompt: there is no text in it")
	}
	if in.Model != "" {
		if err := s.models(in.Model); err != nil {
			return tools.Refuse(tools.Validation, "", "model: %v", err)
		}
	}
	if in.Resume == "" {
		return nil
	}
	if in.Preset != "" {
		return tools.Refuse(tools.Validation, "leave preset out", "preset: a sub-agent that goes on keeps the one it was started with")
	}
	// A sub-agent that still works cannot get a second task.
	a, err := find(ctx, s.agents, call, in.Resume)
	if err == nil && !a.Over() {
		err = tools.Refuse(tools.Conflict, "wait for it, or stop it", "sub-agent %s has not ended yet", a.ID)
	}
	return err
}

// title returns the title, or the prompt if there is none.
func title(in SpawnInput) string {
	return cmp.Or(in.Title, in.Prompt)
}

// run returns the order as a Change. In the foreground the turn parks until the sub-agent ends.
func (s spawner) run(ctx context.Context, call tools.Call, in SpawnInput, _ tools.Intent) (tools.Result, error) {
	if err := s.check(ctx, call, in); err != nil {
		return tools.Result{}, err
	}
	order := tools.Spawn{
		Call: call, Prompt: in.Prompt, Title: brief(title(in)), Preset: in.Preset, Model: in.Model, Background: in.Background, Resume: in.Resume,
		Timeout: time.Duration(in.Timeout) * time.Second,
	}
	res := tools.Result{
		Content: fmt.Sprintf("sub-agent %s works in the background; its answer comes as a message of its own", order.Agent()),
		Data:    SpawnOutput{ID: order.Agent(), Background: in.Background},
		Changes: []tools.Change{order},
	}
	if !in.Background {
		res.Content = "waiting for sub-agent " + order.Agent()
		// The sub-agent's timeout ends the wait, so it needs no limit of its own.
		res.Next = tools.Wait{Kind: tools.ForChild, Subject: order.Agent()}
	}
	return res, nil
}

// find reads one of the conversation's sub-agents. It refuses an unknown id and lists the known
// ones.
func find(ctx context.Context, agents Agents, call tools.Call, id string) (tools.Agent, error) {
	a, found, err := agents.Agent(ctx, call.Session, id)
	if err != nil || found {
		return a, err
	}
	list, err := agents.Agents(ctx, call.Session, 10)
	if err != nil {
		return a, err
	}
	hint := "this conversation has started none"
	if len(list) > 0 {
		names := make([]string, len(list))
		for i, one := range list {
			names[i] = one.ID
		}
		hint = text.ThereAre(names, len(names))
	}
	return a, tools.Refuse(tools.NotFound, hint, "there is no sub-agent %q", shortID(id))
}

// brief shortens a text to one line of at most 80 characters.
func brief(s string) string { return text.Line(s, 79) }
