package console

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hob/daemon/event"
)

// The subjects of questions that approve calls of tools: those of a turn, and one from the command line.
const (
	aboutCalls = "turn-call"
	aboutCall  = "call"
)

// Question is something that hob asks a person.
type Question struct {
	Code    string   `json:"code"`
	Subject string   `json:"subject"`
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"`
	Turn    int64    `json:"turn,omitempty"`
}

func questionOf(e *event.Event) Question {
	q := Question{Code: text(e, "code"), Subject: text(e, "subject"), Text: text(e, "text"), Turn: turnOf(e)}
	if list, ok := e.Data["options"].([]any); ok {
		for _, o := range list {
			q.Options = append(q.Options, fmt.Sprint(o))
		}
	}
	return q
}

// Approval reports whether the question asks for a permission.
func (q Question) Approval() bool { return q.Subject == aboutCalls || q.Subject == aboutCall }

// offers reports whether a scope is among the options; without options all but "always" are.
func (q Question) offers(scope string) bool {
	if len(q.Options) == 0 {
		return scope != "always"
	}
	return slices.Contains(q.Options, scope)
}

// Show is the question as a person reads it.
func (q Question) Show() string {
	b := "? " + q.Text
	if q.Approval() {
		return b
	}
	for i, o := range q.Options {
		if !strings.Contains(q.Text, fmt.Sprintf("\n%d. %s", i+1, o)) { // an ask lists its options itself, with what they mean
			b += fmt.Sprintf("\n  %d) %s", i+1, o)
		}
	}
	return b
}

// Prompt is what stands before the answer that is typed at once.
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

// How says how the question is answered later.
func (q Question) How() string {
	if q.Approval() {
		return fmt.Sprintf("answer with: /approve %s or /deny %s (or: hob approvals approve %s)", q.Code, q.Code, q.Code)
	}
	return fmt.Sprintf("answer with: /answer %s TEXT (or: hob approvals answer %s TEXT)", q.Code, q.Code)
}

// Reply turns a typed line into the act that answers; ok is false for a line that is no answer.
func (q Question) Reply(line string) (verb string, args map[string]string, ok bool) {
	line = strings.TrimSpace(line)
	if line == "" || strings.HasPrefix(line, "/") {
		return "", nil, false
	}
	if q.Approval() {
		return q.permission(strings.ToLower(line))
	}
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(q.Options) {
		line = q.Options[n-1]
	}
	return "answer", map[string]string{"text": line}, true
}

func (q Question) permission(word string) (verb string, args map[string]string, ok bool) {
	scope := map[string]string{"y": "once", "yes": "once", "once": "once", "t": "turn", "turn": "turn", "a": "always", "always": "always"}[word]
	switch {
	case word == "n" || word == "no":
		return "deny", nil, true
	case scope == "once", scope != "" && q.offers(scope):
		return "approve", map[string]string{"scope": scope}, true
	}
	return "", nil, false
}
