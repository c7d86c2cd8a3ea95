// Package messaging holds the tools that write to people: message and ask. message becomes a row of
// the outbox, ask a question that parks the turn. They never send anything themselves, and never
// guess an address.
package messaging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/text"
	"hob/tools"
)

// ErrUnknown is the error of Resolve for an unknown address.
var ErrUnknown = errors.New("unknown address")

// Addresses knows the addresses that hob can write to.
type Addresses interface {
	// Resolve converts the recipient of a call into an address; ErrUnknown if there is none.
	Resolve(ctx context.Context, to string) (event.Address, error)
	// Known lists the known addresses, the owner's first.
	Known(ctx context.Context) ([]event.Address, error)
}

// MessageInput is the input of message.
type MessageInput struct {
	To      string `json:"to" jsonschema:"owner, or channel:address" min:"1"`
	Content string `json:"content" jsonschema:"the text" min:"1"`
	ReplyTo string `json:"reply_to,omitempty" jsonschema:"id of the message it answers"`

	Attachments []string `json:"attachments,omitempty" jsonschema:"files" max:"10"`
	Buttons     []string `json:"buttons,omitempty" jsonschema:"answers to choose" max:"8"`
}

// longestButton limits the label of a button, in characters.
const longestButton = 60

// MessageOutput is the output of message.
type MessageOutput struct {
	To         event.Address `json:"to" jsonschema:"where it goes"`
	Key        string        `json:"key" jsonschema:"key of its outbox row"`
	Characters int           `json:"characters" jsonschema:"length"`
	Files      int           `json:"files,omitempty" jsonschema:"how many go with it"`
}

// NewMessage builds the tool message, which queues a text, with attachments if there are any, in
// the outbox. helper is the command that draws pictures, see document.Read.
func NewMessage(a Addresses, g *fsguard.Guard, s Artifacts, helper []string) tools.Tool {
	m := messenger{a, g, s, helper}
	return tools.New[MessageInput, MessageOutput](tools.Spec{
		Name: "message", Group: "messaging", Core: true, Positional: "to", Example: "owner --content 'the backup is done'",
		Description: "Send a message now. Your final answer is sent without it.",
	}, m.intent, m.run)
}

// messenger implements message.
type messenger struct {
	addresses Addresses
	guard     *fsguard.Guard
	artifacts Artifacts
	helper    []string
}

// draft is a resolved message: its address and its attached files.
type draft struct {
	to    event.Address
	files []enclosure
}

// intent resolves address and files for the permission rules.
func (m messenger) intent(ctx context.Context, call tools.Call, in MessageInput) (tools.Intent, error) {
	l, err := m.draft(ctx, call, in)
	if err != nil {
		return tools.Intent{}, err
	}
	to, scopes := l.to, []tools.Scope{tools.Messages}
	var paths []tools.Path
	var ids []string
	confirm := ""
	for _, f := range l.files {
		confirm = cmp.Or(confirm, f.why)
		paths, ids = append(paths, tools.Path{Path: f.Path, Area: tools.Area(f.Area), Guarded: f.Guarded}), append(ids, f.Path+" "+f.id)
	}
	if len(paths) > 0 {
		scopes = append(scopes, tools.FSRead)
	}
	canonical, err := tools.Canonical(struct {
		Tool    string        `json:"tool"`
		To      event.Address `json:"to"`
		ReplyTo string        `json:"reply_to,omitempty"`
		Content string        `json:"content"`
		Files   []string      `json:"files,omitempty"`
		Buttons []string      `json:"buttons,omitempty"`
	}{"message", to, in.ReplyTo, in.Content, ids, in.Buttons})
	return tools.Intent{
		Effect: tools.Keyed, Scopes: scopes, Addresses: []event.Address{to}, Paths: paths,
		Summary: fmt.Sprintf("message %s: %s", to, brief(in.Content)), Canonical: canonical, Confirm: confirm, Keep: l,
	}, err
}

// draft resolves the address and the files.
func (m messenger) draft(ctx context.Context, call tools.Call, in MessageInput) (draft, error) {
	to, err := m.resolve(ctx, in)
	if err != nil {
		return draft{}, err
	}
	l := draft{to: to}
	for _, path := range in.Attachments {
		f, err := m.look(call.Workdir, path)
		if err != nil {
			return l, err
		}
		if f.why = f.live(call); f.why != "" {
			m.redraw(ctx, &f)
		}
		l.files = append(l.files, f)
	}
	return l, nil
}

// resolve finds the address. It refuses an unknown one, and lists the known ones.
func (m messenger) resolve(ctx context.Context, in MessageInput) (event.Address, error) {
	if strings.TrimSpace(in.Content) == "" {
		return "", tools.Refuse(tools.Validation, "", "content: there is no text in it")
	}
	if slices.ContainsFunc(in.Buttons, func(label string) bool {
		return strings.TrimSpace(label) == "" || utf8.RuneCountInString(label) > longestButton
	}) {
		return "", tools.Refuse(tools.Validation, "", "buttons: want answers of 1 to %d characters", longestButton)
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
	// Never guess an address: list the known ones and let the model choose.
	names := make([]string, 0, len(known))
	for _, k := range known {
		names = append(names, string(k))
	}
	hint := "hob knows no address except owner yet"
	if near := tools.Nearest(in.To, names, 3); len(near) > 0 {
		hint = text.DidYouMean(near)
	} else if len(names) > 0 {
		hint = text.ThereAre(names, 12)
	}
	return "", tools.Refuse(tools.NotFound, hint, "hob does not know the address %q", text.Shorten(in.To, 80))
}

// run stores the attachments and queues the message.
func (m messenger) run(ctx context.Context, call tools.Call, in MessageInput, intent tools.Intent) (tools.Result, error) {
	l, ok := intent.Keep.(draft)
	if !ok {
		var err error
		if l, err = m.draft(ctx, call, in); err != nil {
			return tools.Result{}, err
		}
	}
	to := l.to
	files, err := m.enclose(ctx, l.files)
	if err != nil {
		return tools.Result{}, err
	}
	n := utf8.RuneCountInString(in.Content)
	size := fmt.Sprintf("%d characters", n)
	if len(files) > 0 {
		size += fmt.Sprintf(", files: %d", len(files))
	}
	if slices.ContainsFunc(l.files, func(f enclosure) bool { return f.drawn != nil }) {
		size += "; pictures were drawn anew: only what can be seen of them goes, at most 2,000 pixels wide or high, without motion"
	}
	return tools.Result{
		Content: fmt.Sprintf("queued for %s (%s)", to, size),
		Data:    MessageOutput{To: to, Key: call.ID, Characters: n, Files: len(files)},
		Changes: []tools.Change{event.Out{
			Key: call.ID, Cause: event.Cause{Kind: event.ByTurn, ID: call.Turn}, To: to, Body: in.Content, Buttons: in.Buttons, ReplyRef: in.ReplyTo, Urgency: event.Normal, Files: files,
		}},
	}, nil
}

// brief shortens a text to one line of at most 80 characters.
func brief(s string) string { return text.Line(s, 80) }
