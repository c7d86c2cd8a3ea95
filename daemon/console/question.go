package console

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/text"
)

// Subjects of questions that approve tool calls: the calls of a turn, and a call from the command line.
const (
	aboutCalls = "turn-call"
	aboutCall  = "call"
)

// Question is a question that hob asks the user.
type Question struct {
	Code    string   `json:"code"`
	Subject string   `json:"subject"`
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"`
	Turn    int64    `json:"turn,omitempty"`
	Pattern string   `json:"pattern,omitempty"` // what "always" would allow; "": it is not offered
	To      string   `json:"to,omitempty"`      // the address where it was asked
}

// questionOf reads a question from its event.
func questionOf(e *event.Event) Question {
	q := Question{Code: stringOf(e, "code"), Subject: stringOf(e, "subject"), Text: stringOf(e, "text"), Turn: turnOf(e), Pattern: stringOf(e, "pattern"), To: stringOf(e, "to")}
	if list, ok := e.Data["options"].([]any); ok {
		for _, o := range list {
			q.Options = append(q.Options, fmt.Sprint(o))
		}
	}
	return q
}

// Approval reports whether the question asks for a permission.
func (q Question) Approval() bool { return q.Subject == aboutCalls || q.Subject == aboutCall }

// offers reports whether a scope is one of the options. A question without options offers all but "always".
func (q Question) offers(scope string) bool {
	if len(q.Options) == 0 {
		return scope != "always"
	}
	return slices.Contains(q.Options, scope)
}

// Show returns the question as text.
func (q Question) Show() string {
	b := "? " + q.Text
	if q.Approval() {
		return b
	}
	for i, o := range q.Options {
		if !strings.Contains(q.Text, fmt.Sprintf("\n%d. %s", i+1, o)) { // a question of the ask tool lists its options in its text
			b += fmt.Sprintf("\n  %d) %s", i+1, o)
		}
	}
	return b
}

// Plain returns the question as text for a person at a terminal: without hashes and JSON.
func (q Question) Plain() string {
	if !q.Approval() {
		return q.Show()
	}
	shown := "? " + text.ForPeople(q.Text)
	if q.Pattern != "" {
		shown += "\n  always would allow: " + q.Pattern
	}
	return shown
}

// show shows the question and how to answer it. On a terminal the prompt asks for the answer, so only the way to answer later is left to
// say.
func (q Question) show(out screen, v *view) {
	if v == nil {
		out.Ask(q.Plain())
		out.Note(q.How())
		return
	}
	out.Break()
	if v.verbose {
		out.Ask(q.Show())
	} else {
		out.Ask(q.Plain())
	}
	at := ""
	if channel := event.Address(q.To).Channel(); channel != "" && channel != event.CLI.Channel() {
		at = "asked in " + channel + "; "
	}
	out.Note(at + "later: " + q.commands())
}

// commands are the chat commands that answer the question.
func (q Question) commands() string {
	if q.Approval() {
		return fmt.Sprintf("/approve %[1]s or /deny %[1]s", q.Code)
	}
	return "/answer " + q.Code + " TEXT"
}

// Prompt returns the prompt for an answer typed at once.
func (q Question) Prompt() string {
	if !q.Approval() {
		if len(q.Options) > 0 {
			return "number or text: "
		}
		return "answer: "
	}
	text := "allow? [y]es"
	if q.offers("turn") {
		text += ", [t]his turn"
	}
	if q.offers("always") {
		text += ", [a]lways"
	}
	return text + ", [n]o: "
}

// How describes how to answer the question later.
func (q Question) How() string {
	if q.Approval() {
		return fmt.Sprintf("answer with: %s (or: hob approvals approve %s)", q.commands(), q.Code)
	}
	return fmt.Sprintf("answer with: %s (or: hob approvals answer %s TEXT)", q.commands(), q.Code)
}

// Reply is the answer to a question: a text, or the scope of a permission. A Reply without both denies the permission.
type Reply struct {
	Text  string
	Scope api.Scope
}

// Reply turns a typed line into an answer to the question; ok is false for a line that is no answer.
func (q Question) Reply(line string) (r Reply, ok bool) {
	line = strings.TrimSpace(line)
	// A command is sent as a message, even while a question is open.
	if line == "" || strings.HasPrefix(line, "/") {
		return Reply{}, false
	}
	if q.Approval() {
		return q.permission(strings.ToLower(line))
	}
	// The number of an option stands for its text, which is what the daemon gets.
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(q.Options) {
		line = q.Options[n-1]
	}
	return Reply{Text: line}, true
}

// permission turns the answer to an approval into a Reply.
func (q Question) permission(word string) (r Reply, ok bool) {
	scope := map[string]api.Scope{"y": "once", "yes": "once", "once": "once", "t": "turn", "turn": "turn", "a": "always", "always": "always"}[word]
	switch {
	case word == "n" || word == "no":
		return Reply{}, true
	case scope == "once", scope != "" && q.offers(string(scope)):
		return Reply{Scope: scope}, true
	}
	return Reply{}, false
}

// answer sends the reply to the daemon.
func (q Question) answer(ctx context.Context, c API, r Reply) (err error) {
	switch {
	case r.Text != "":
		_, err = client.Do(ctx, c, api.AnswerQuestion, q.Code, api.Answer{Text: r.Text})
	case r.Scope != "":
		_, err = client.Do(ctx, c, api.ApproveQuestion, q.Code, api.Approve{Scope: r.Scope})
	default:
		_, err = client.Do(ctx, c, api.DenyQuestion, q.Code, api.None{})
	}
	return err
}
