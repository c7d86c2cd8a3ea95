package messaging

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/tools"
)

// Waiting times of ask.
const (
	defaultWait = 7 * 24 * time.Hour
	leastWait   = time.Minute
	mostWait    = 90 * 24 * time.Hour
)

// AskInput is the input of ask.
type AskInput struct {
	Questions []Question `json:"questions" jsonschema:"one to four" min:"1" max:"4"`
	Deadline  string     `json:"deadline,omitempty" jsonschema:"until: 2h, 17:00"`
}

// Question is one question.
type Question struct {
	Question string   `json:"question" jsonschema:"what to ask" min:"1"`
	Header   string   `json:"header,omitempty" jsonschema:"a word over it" max:"12"`
	Options  []Option `json:"options,omitempty" jsonschema:"two to four" min:"2" max:"4"`
	Multi    bool     `json:"multi,omitempty" jsonschema:"choose several"`
}

// Option is one answer to choose from.
type Option struct {
	Label       string `json:"label" jsonschema:"the answer, short" min:"1" max:"60"`
	Description string `json:"description,omitempty" jsonschema:"what it means"`
}

// AskOutput is the output of ask. The owner's answer becomes the result of the call later.
type AskOutput struct {
	Text  string    `json:"text" jsonschema:"the question as it is sent"`
	Until time.Time `json:"until" jsonschema:"how long the turn waits"`
}

// NewAsk builds the tool ask, which asks the owner and parks the turn until the answer comes.
func NewAsk() tools.Tool {
	return tools.New[AskInput, AskOutput](tools.Spec{
		Name: "ask", Group: "messaging", Core: true, Terminal: true, Example: `--input '{"questions": [{"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}]}'`,
		Description: "Ask the owner and wait. Only what you cannot find out or decide.",
	}, askIntent, askRun)
}

// askIntent names the owner as the recipient, so that the permission rules decide as for a message.
func askIntent(_ context.Context, call tools.Call, in AskInput) (tools.Intent, error) {
	if _, err := deadline(call, in); err != nil {
		return tools.Intent{}, err
	}
	canonical, err := tools.CanonicalCall("ask", in)
	return tools.Intent{
		Effect: tools.Keyed, Scopes: []tools.Scope{tools.Messages}, Addresses: []event.Address{event.ToOwner},
		Summary: "ask the owner: " + brief(in.Questions[0].Question), Canonical: canonical,
	}, err
}

// askRun parks the turn. Only a single question can have buttons, because one press answers one
// question.
func askRun(_ context.Context, call tools.Call, in AskInput, _ tools.Intent) (tools.Result, error) {
	until, err := deadline(call, in)
	if err != nil {
		return tools.Result{}, err
	}
	ask := tools.Ask{Text: questionText(in.Questions)}
	if len(in.Questions) == 1 {
		ask.Multi = in.Questions[0].Multi
		for _, o := range in.Questions[0].Options {
			ask.Options = append(ask.Options, o.Label)
		}
	}
	return tools.Result{
		Content: "asked; the turn waits until " + call.Shown(until),
		Data:    AskOutput{Text: ask.Text, Until: until},
		Next:    tools.Wait{Kind: tools.ForQuestion, Until: until, Ask: &ask},
	}, nil
}

// deadline returns until when the turn waits.
func deadline(call tools.Call, in AskInput) (time.Time, error) {
	if in.Deadline == "" {
		return call.Now.Add(defaultWait), nil
	}
	t, err := tools.Instant(in.Deadline, call.Now, call.Zone)
	if err != nil {
		return t, tools.Refuse(tools.Validation, "", "deadline: %v", err)
	}
	if wait := t.Sub(call.Now); wait < leastWait || wait > mostWait {
		return t, tools.Refuse(tools.Validation, "leave it out to wait 7 days", "deadline: want a time between 1 minute and 90 days from now")
	}
	return t, nil
}

// questionText formats the questions. A single question with plain options needs no list, because the
// buttons show them. Several questions are numbered and their options lettered, so that "1a 2b" is
// a valid answer.
func questionText(list []Question) string {
	if len(list) == 1 {
		return strings.TrimRight(head(list[0])+options(list[0], "%d. ", false), "\n")
	}
	var b strings.Builder
	for i, q := range list {
		fmt.Fprintf(&b, "%d. %s%s\n", i+1, head(q), options(q, "   %c) ", true))
	}
	b.WriteString("Answer in your own words, or like 1a 2b.")
	return b.String()
}

// head formats the question itself.
func head(q Question) string {
	h := q.Question
	if q.Header != "" {
		h = q.Header + ": " + h
	}
	if q.Multi {
		h += " (several may be chosen)"
	}
	return h + "\n"
}

// options formats the options with numbers or letters.
func options(q Question, mark string, letters bool) string {
	var b strings.Builder
	for i, o := range q.Options {
		n := i + 1
		if letters {
			n = 'a' + i
		}
		fmt.Fprintf(&b, mark+"%s", n, o.Label)
		if o.Description != "" {
			b.WriteString(": " + o.Description)
		}
		b.WriteString("\n")
	}
	return b.String()
}
