package sessions

import (
	"context"
	"fmt"
	"strings"

	"hob/daemon/event"
	"hob/tools"
)

// Word is what sessions_send takes.
type Word struct {
	Session string `json:"session_id" jsonschema:"id, or key of a live one" min:"1"`
	Content string `json:"content" jsonschema:"the text" min:"1"`
}

// Handed is what sessions_send answers.
type Handed struct {
	Session int64         `json:"session" jsonschema:"the conversation"`
	Key     string        `json:"key" jsonschema:"what it belongs to"`
	ReplyTo event.Address `json:"reply_to" jsonschema:"where its answer goes"`
}

// NewSessionsSend makes the tool sessions_send: a text for another of hob's conversations, by way of the inbox. It wakes that
// conversation, whose answer goes where it is always answered: so the gate decides as about a message to there.
func NewSessionsSend(t Talks) tools.Tool {
	s := sender{t}
	return tools.New[Word, Handed](tools.Spec{
		Name: "sessions_send", Group: "sessions", Positional: "session_id", Example: "job:morning --content 'the report is ready'",
		Description: "Put a text into another of hob's conversations: it goes on there with it.",
	}, s.intent, s.run)
}

type sender struct{ talks Talks }

func (s sender) intent(ctx context.Context, call tools.Call, in Word) (tools.Intent, error) {
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
	if call.Tainted { // what is said there stays, and is read when nobody looks
		scopes = append(scopes, tools.Schedule)
	}
	return tools.Intent{
		Effect: tools.Keyed, Scopes: scopes, Addresses: []event.Address{t.Reply},
		Summary: fmt.Sprintf("tell conversation %s: %s", t.Key, brief(in.Content)), Canonical: canonical,
	}, err
}

// target is the conversation, if something can be said in it.
func (s sender) target(ctx context.Context, call tools.Call, in Word) (tools.Talk, error) {
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

func (s sender) run(ctx context.Context, call tools.Call, in Word, _ tools.Intent) (tools.Result, error) {
	t, err := s.target(ctx, call, in)
	if err != nil {
		return tools.Result{}, err
	}
	row := event.In{
		Source: "session", ExtID: call.ID, Session: t.Key, Kind: event.Report, Rank: event.RankRest, Trust: trustOf(call), Tainted: call.Tainted,
		Sender: call.Key, ReplyTo: t.Reply, Parts: event.Say(in.Content), Received: call.Now,
	}
	return tools.Result{
		Content: fmt.Sprintf("conversation %s has it; its answer goes to %s", t.Key, t.Reply),
		Data:    Handed{Session: t.ID, Key: t.Key, ReplyTo: t.Reply}, Changes: []tools.Change{row},
	}, nil
}

// trustOf is who stands behind a text that a turn sends on: the owner only while nothing foreign can speak through it.
func trustOf(call tools.Call) event.Trust {
	if call.Tainted && (call.Trust == event.Owner || call.Trust == event.Known) {
		return event.Public
	}
	return call.Trust
}
