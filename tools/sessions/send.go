package sessions

import (
	"context"
	"fmt"
	"strings"

	"hob/daemon/event"
	"hob/tools"
)

// SendInput is the input of sessions_send.
type SendInput struct {
	Session string `json:"session_id" jsonschema:"id, or key of a live one" min:"1"`
	Content string `json:"content" jsonschema:"the text" min:"1"`
}

// SendOutput is the output of sessions_send.
type SendOutput struct {
	Session int64         `json:"session" jsonschema:"the conversation"`
	Key     string        `json:"key" jsonschema:"what it belongs to"`
	ReplyTo event.Address `json:"reply_to" jsonschema:"where its answer goes"`
}

// NewSessionsSend builds the tool sessions_send, which puts a text into the inbox of another
// conversation. That conversation wakes up, and its answer goes to its usual address. The permission rules
// therefore decide as for a message to that address.
func NewSessionsSend(t Talks) tools.Tool {
	s := sender{t}
	return tools.New[SendInput, SendOutput](tools.Spec{
		Name: "sessions_send", Group: "sessions", Positional: "session_id", Example: "job:morning --content 'the report is ready'",
		Description: "Put a text into another of hob's conversations: it goes on there with it.",
	}, s.intent, s.run)
}

// sender implements sessions_send.
type sender struct{ talks Talks }

// intent names the conversation's reply address as the recipient.
func (s sender) intent(ctx context.Context, call tools.Call, in SendInput) (tools.Intent, error) {
	t, err := s.target(ctx, call, in)
	if err != nil {
		return tools.Intent{}, err
	}
	canonical, err := tools.Canonical(struct {
		Tool    string        `json:"tool"`
		Session int64         `json:"session"`
		ReplyTo event.Address `json:"reply_to"`
		Content string        `json:"content"`
	}{"sessions_send", t.ID, t.Reply, in.Content})
	scopes := []tools.Scope{tools.Sessions}
	if call.Tainted { // the text stays there, and is read later without supervision
		scopes = append(scopes, tools.Schedule)
	}
	return tools.Intent{
		Effect: tools.Keyed, Scopes: scopes, Addresses: []event.Address{t.Reply},
		Summary: fmt.Sprintf("tell conversation %s: %s", t.Key, brief(in.Content)), Canonical: canonical,
	}, err
}

// target finds the conversation, and refuses one that cannot receive a text.
func (s sender) target(ctx context.Context, call tools.Call, in SendInput) (tools.Talk, error) {
	if strings.TrimSpace(in.Content) == "" {
		return tools.Talk{}, tools.Refuse(tools.Validation, "", "content: there is no text in it")
	}
	t, err := known(ctx, s.talks, in.Session)
	switch {
	case err != nil:
		return t, err
	case t.ID == call.Session:
		return t, tools.Refuse(tools.Validation, "just answer", "session_id: that is this conversation")
	case t.Kind == "child":
		return t, tools.Refuse(tools.Conflict, "sessions_spawn with resume goes on with it", "%s is a sub-agent's", t.Key)
	case !t.Live:
		return t, tools.Refuse(tools.Conflict, "its key names the one that goes on: "+t.Key, "conversation %d has ended", t.ID)
	}
	return t, nil
}

// run returns the inbox row. Its rank (event.RankRest) is lower than that of messages from people.
func (s sender) run(ctx context.Context, call tools.Call, in SendInput, _ tools.Intent) (tools.Result, error) {
	t, err := s.target(ctx, call, in)
	if err != nil {
		return tools.Result{}, err
	}
	// The id of the call is the id of the message, so that a repeated call stores it once.
	row := event.In{
		Source: "session", ExtID: call.ID, Session: t.Key, Kind: event.Report, Rank: event.RankRest, Trust: trustIn(t, call), Tainted: call.Tainted,
		Sender: call.Key, ReplyTo: t.Reply, Parts: event.Say(in.Content), Received: call.Now,
	}
	return tools.Result{
		Content: fmt.Sprintf("conversation %s has it; its answer goes to %s", t.Key, t.Reply),
		Data:    SendOutput{Session: t.ID, Key: t.Key, ReplyTo: t.Reply}, Changes: []tools.Change{row},
	}, nil
}

// trustIn returns the trust level of a text that a turn sends into a conversation. In the conversation of another person, a group or a
// machine nothing counts as the owner's: the answer goes to them, so it must not be made with what only the owner may know.
func trustIn(t tools.Talk, call tools.Call) event.Trust {
	trust := call.Trust.Of(call.Tainted) // a turn that has read foreign text no longer speaks for the owner
	if trust != event.Owner || t.Kind != "thread" && t.Kind != "group" && t.Kind != "hook" {
		return trust
	}
	if t.Trust == event.Owner { // after /clean
		return event.Known
	}
	return t.Trust
}
