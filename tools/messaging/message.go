// Package messaging holds the tools that speak to people. They make rows for the outbox and questions; they
// never send anything themselves, and never guess an address.
package messaging

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"hob/daemon/event"
	"hob/tools"
)

// ErrUnknown is Resolve's answer to an address that hob does not know.
var ErrUnknown = errors.New("unknown address")

// Addresses are the places that hob can write to.
type Addresses interface {
	// Resolve turns what a call names into an address; ErrUnknown when hob has none such.
	Resolve(ctx context.Context, to string) (event.Address, error)
	// Known lists the addresses that hob knows, the owner's first.
	Known(ctx context.Context) ([]event.Address, error)
}

// Note is what message takes.
type Note struct {
	To      string `json:"to" jsonschema:"owner, or channel:address" min:"1"`
	Content string `json:"content" jsonschema:"the text" min:"1"`
	ReplyTo string `json:"reply_to,omitempty" jsonschema:"platform id of the message it answers"`
}

// Queued is what message answers.
type Queued struct {
	To         event.Address `json:"to" jsonschema:"where it goes"`
	Key        string        `json:"key" jsonschema:"key of its outbox row"`
	Characters int           `json:"characters" jsonschema:"length"`
}

// NewMessage makes the tool message: a text to somebody, by way of the outbox.
func NewMessage(a Addresses) tools.Tool {
	m := messenger{a}
	return tools.New[Note, Queued](tools.Spec{
		Name: "message", Group: "messaging", Core: true, Positional: "to", Example: "owner --content 'the backup is done'",
		Description: "Send a message now, in mid-turn or elsewhere. Your final answer is sent without it.",
	}, m.intent, m.run)
}

type messenger struct{ addresses Addresses }

func (m messenger) intent(ctx context.Context, _ tools.Call, in Note) (tools.Intent, error) {
	to, err := m.resolve(ctx, in)
	if err != nil {
		return tools.Intent{}, err
	}
	canonical, err := tools.Canonical(struct {
		Tool    string        `json:"tool"`
		To      event.Address `json:"to"`
		ReplyTo string        `json:"reply_to,omitempty"`
		Content string        `json:"content"`
	}{"message", to, in.ReplyTo, in.Content})
	return tools.Intent{
		Effect: tools.Keyed, Scopes: []tools.Scope{tools.Messages}, Addresses: []event.Address{to},
		Summary: fmt.Sprintf("message %s: %s", to, brief(in.Content)), Canonical: canonical, Keep: to,
	}, err
}

// resolve finds the address; an unknown one is refused with the known ones.
func (m messenger) resolve(ctx context.Context, in Note) (event.Address, error) {
	if strings.TrimSpace(in.Content) == "" {
		return "", tools.Refuse(tools.Validation, "", "content: there is no text in it")
	}
	to, err := m.addresses.Resolve(ctx, strings.TrimSpace(in.To))
	if to == event.ToNone && err == nil {
		return "", tools.Refuse(tools.Validation, "", "to: none is nowhere")
	}
	if !errors.Is(err, ErrUnknown) {
		return to, err
	}
	known, err := m.addresses.Known(ctx)
	if err != nil {
		return "", err
	}
	names := make([]string, 0, len(known))
	for _, k := range known {
		names = append(names, string(k))
	}
	hint := "hob knows no address yet but owner"
	if near := tools.Nearest(in.To, names, 3); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, ", ") + "?"
	} else if len(names) > 0 {
		hint = "known are " + strings.Join(names[:min(len(names), 12)], ", ")
	}
	return "", tools.Refuse(tools.NotFound, hint, "hob does not know the address %q", short(in.To))
}

func (m messenger) run(ctx context.Context, call tools.Call, in Note, intent tools.Intent) (tools.Result, error) {
	to, ok := intent.Keep.(event.Address)
	if !ok {
		var err error
		if to, err = m.resolve(ctx, in); err != nil {
			return tools.Result{}, err
		}
	}
	n := utf8.RuneCountInString(in.Content)
	return tools.Result{
		Content: fmt.Sprintf("queued for %s (%d characters)", to, n),
		Data:    Queued{To: to, Key: call.ID, Characters: n},
		Changes: []tools.Change{event.Out{
			Key: call.ID, Cause: event.Cause{Kind: event.ByTurn, ID: call.Turn}, To: to, Body: in.Content, ReplyRef: in.ReplyTo, Urgency: event.Normal,
		}},
	}, nil
}

func brief(text string) string { return short(strings.Join(strings.Fields(text), " ")) }

func short(text string) string {
	if r := []rune(text); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return text
}
