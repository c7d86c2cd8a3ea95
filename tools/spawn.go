package tools

import (
	"cmp"
	"time"

	"hob/daemon/event"
)

// SpawnTool is the name of the tool that starts sub-agents. The calls of one answer to it run side by side.
const SpawnTool = "sessions_spawn"

// Spawn is a Change. It creates a sub-agent: a turn with a parent and a session of its own. The
// sub-agent starts with the commit of the result. A call that waits for it parks with ForChild and
// the sub-agent's id as the subject.
type Spawn struct {
	Call       Call          // the call that spawns; its id becomes the id of the agent, unless Resume is set
	Prompt     string        // the complete task: the sub-agent sees nothing else
	Title      string        // for people; may be ""
	Preset     string        // a way of working: explore, summarise or review; "" for none
	Model      string        // a name from the config or "hob model list"; "" is the default model
	Background bool          // no call waits: its result arrives as an inbox row
	Resume     string        // the id of an ended sub-agent of this conversation to continue; "" for a new one
	Timeout    time.Duration // limit of its running time
}

// Agent returns the id of the sub-agent.
func (s Spawn) Agent() string {
	return cmp.Or(s.Resume, s.Call.ID)
}

// Halt is a Change. It stops a sub-agent of the conversation; one that has ended stays as it is.
type Halt struct {
	Session int64 // the session that asks; 0: the command line, which may stop any
	Agent   string
}

// Await is a Change of a call that parks for a sub-agent. The commit fails if the sub-agent has
// already ended, because then nothing would wake the turn.
type Await struct{ Agent string }

// Agent is a sub-agent as people and models see it, with its newest turn. Text holds its answer.
type Agent struct {
	ID         string        `json:"id" jsonschema:"names it: of the call that started it"`
	Title      string        `json:"title,omitempty" jsonschema:"what it is about"`
	State      string        `json:"state" jsonschema:"ready, running, done, failed, stopped or dead"`
	Turn       int64         `json:"turn" jsonschema:"its newest turn"`
	Session    int64         `json:"session" jsonschema:"its conversation"`
	Parent     int64         `json:"parent" jsonschema:"the turn that started it"`
	Background bool          `json:"background,omitempty" jsonschema:"nobody waits for it"`
	Tainted    bool          `json:"tainted,omitempty" jsonschema:"it has read foreign text"`
	Model      string        `json:"model,omitempty" jsonschema:"the model that was asked for"`
	Spawned    time.Time     `json:"spawned" jsonschema:"when it was started"`
	Ended      time.Time     `json:"ended,omitzero" jsonschema:"when it ended"`
	Running    time.Duration `json:"running_ns" jsonschema:"nanoseconds it has run"`
	Timeout    time.Duration `json:"timeout_ns" jsonschema:"nanoseconds it may run"`
	Requests   int           `json:"requests" jsonschema:"model requests"`
	Tokens     int64         `json:"tokens" jsonschema:"tokens used"`
	Calls      []string      `json:"calls,omitempty" jsonschema:"its newest calls, the last one last"`
	Text       string        `json:"text,omitempty" jsonschema:"its answer"`
	Why        string        `json:"why,omitempty" jsonschema:"why it ended as it did"`
}

// Over reports whether the sub-agent has ended.
func (a Agent) Over() bool { return !a.Ended.IsZero() }

// Talk is a session (a conversation) as a model sees it.
type Talk struct {
	ID       int64         `json:"id" jsonschema:"names it"`
	Key      string        `json:"key" jsonschema:"what it belongs to"`
	Title    string        `json:"title,omitempty" jsonschema:"what it is about"`
	Kind     string        `json:"kind" jsonschema:"main, chat, job, group, thread, hook, watch or child"`
	Trust    event.Trust   `json:"trust" jsonschema:"the lowest of those whose words stand in it"`
	Live     bool          `json:"live" jsonschema:"the next message with its key goes there"`
	Created  time.Time     `json:"created" jsonschema:"when it began"`
	Messages int           `json:"messages" jsonschema:"entries in it"`
	Turns    int           `json:"turns" jsonschema:"turns in it"`
	Tokens   int64         `json:"tokens" jsonschema:"tokens that it has used"`
	Cost     *int64        `json:"cost_micros,omitempty" jsonschema:"what it has cost, in millionths; none: the price is not known"`
	Context  int           `json:"context_tokens" jsonschema:"tokens of its newest request and answer"`
	Reply    event.Address `json:"reply_to" jsonschema:"where it is answered"`

	TitleTrust event.Trust `json:"-"` // whose text the title is
}

// Foreign returns whose text a reader of the conversation gets, or "" if it all comes from the
// owner.
func (t Talk) Foreign() string {
	if t.Trust == event.Owner {
		return ""
	}
	return "conversation " + t.Key
}

// ForeignTitle returns whose text a reader of the title alone gets, or "" if it is the owner's.
func (t Talk) ForeignTitle() string {
	if t.Title == "" || t.TitleTrust == event.Owner {
		return ""
	}
	return t.Foreign()
}

// Line is one entry of a conversation.
type Line struct {
	Seq  int64  `json:"seq" jsonschema:"its number"`
	Role string `json:"role" jsonschema:"user, assistant or tool"`
	Kind string `json:"kind" jsonschema:"input, text, call, result, summary or note"`
	Tool string `json:"tool,omitempty" jsonschema:"of a call or its result"`
	Text string `json:"text" jsonschema:"what was said; of a call its arguments"`
}
