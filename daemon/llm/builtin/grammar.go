package builtin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/daemon/event"
)

// Names of the tools that commands turn into.
const (
	toolExec    = "exec"
	toolRead    = "read"
	toolWrite   = "write"
	toolList    = "ls"
	toolCron    = "cron"
	toolMessage = "message"
	toolGrep    = "grep"
	toolMemory  = "memory_search"
)

// plan is what one text comes to: a call, or words, or neither.
type plan struct {
	known bool            // the whole text is a command
	tool  string          // the tool to call; empty: none
	args  json.RawMessage //
	say   string          // what to answer at once
	help  bool            // the answer is the help page
}

// grammar reads commands. It is pure as far as its phrases are.
type grammar struct{ phrases Phrases }

const (
	maxHead  = 200 // bytes in front of a colon that may be a schedule
	maxTail  = 12  // words at the end of a reminder that may be a time
	maxColon = 8   // colons that may end a schedule
)

// parse reads one text. A text that is no command gives the zero plan, or one with a hint to say.
func (g *grammar) parse(text string) plan {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	for _, rule := range []func(string) (plan, bool){
		helped, said, g.remind, watches, g.scheduled, jobs, ran, read, listed, found, known, written, sent,
	} {
		if p, ok := rule(text); ok {
			return p
		}
	}
	return plan{}
}

func helped(text string) (plan, bool) {
	return plan{known: true, help: true}, is(text, "help", "/help", "help me", "what can you do")
}

func said(text string) (plan, bool) {
	rest, ok := strings.CutPrefix(lowered(text, 4), "say:")
	if !ok {
		rest, ok = after(text, "say")
	}
	rest = strings.TrimSpace(rest)
	return plan{known: true, say: rest}, ok && rest != ""
}

// action is a prompt as it is kept: words to be said become "say: TEXT", which no model is ever asked for.
func action(prompt string) string {
	if p, ok := said(prompt); ok {
		return "say: " + p.say
	}
	return prompt
}

// scheduled reads "SCHEDULE: PROMPT".
func (g *grammar) scheduled(text string) (plan, bool) {
	var wrong error
	for _, i := range colons(text) {
		words, prompt := strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+1:])
		_, rest, err := g.phrases.Prefix(words)
		switch {
		case err == nil && strings.TrimSpace(rest) == "" && prompt != "":
			return add(words, action(prompt)), true
		case err == nil && strings.TrimSpace(rest) == "":
			return plan{say: "What shall I do then? Write it behind the colon, for example: " + words + ": run date"}, true
		case err != nil && wrong == nil && !errors.Is(err, ErrNoPhrase):
			wrong = err
		}
	}
	if wrong != nil {
		return plan{say: "I could not read that time: " + wrong.Error()}, true
	}
	return plan{}, false
}

// colons are the places of the first colons on the first line that are not part of a time of day.
func colons(text string) []int {
	line, _, _ := strings.Cut(text, "\n")
	var at []int
	for i := 1; i < min(len(line), maxHead) && len(at) < maxColon; i++ {
		if line[i] != ':' {
			continue
		}
		if next, _ := utf8.DecodeRuneInString(line[i+1:]); !unicode.IsDigit(next) {
			at = append(at, i)
		}
	}
	return at
}

// remind reads "remind me TIME to TEXT" and "remind me to TEXT TIME".
func (g *grammar) remind(text string) (plan, bool) {
	rest, ok := after(text, "remind", "me")
	if !ok {
		return plan{}, false
	}
	_, tail, first := g.phrases.Prefix(rest)
	if first == nil {
		what := reminded(tail)
		if what == "" {
			return plan{say: "What shall I remind you of? For example: remind me in 20m to stretch"}, true
		}
		return add(strings.TrimSpace(strings.TrimSuffix(rest, tail)), "say: "+what), true
	}
	what, words, second := g.timed(reminded(rest))
	switch {
	case second == nil:
		return add(words, "say: "+what), true
	case !errors.Is(first, ErrNoPhrase):
		return plan{say: "I could not read that time: " + first.Error()}, true
	case !errors.Is(second, ErrNoPhrase):
		return plan{say: "I could not read that time: " + second.Error()}, true
	}
	return plan{say: "When? For example: remind me in 20m to stretch, or: remind me tomorrow at 9 to call"}, true
}

// timed splits a reminder whose time stands at its end. The error is the first that is more than ErrNoPhrase.
func (g *grammar) timed(text string) (what, words string, err error) {
	err = ErrNoPhrase
	starts := wordStarts(text)
	for _, i := range starts[max(0, len(starts)-maxTail):] {
		head := strings.TrimRight(text[:i], " \t\r\n,;")
		if head == "" {
			continue
		}
		_, rest, e := g.phrases.Prefix(text[i:])
		if e == nil && strings.Trim(rest, " \t\r\n.!") == "" {
			return head, strings.TrimRight(strings.TrimSuffix(text[i:], rest), " \t\r\n"), nil
		}
		if e != nil && !errors.Is(e, ErrNoPhrase) && errors.Is(err, ErrNoPhrase) {
			err = e
		}
	}
	return "", "", err
}

// reminded is what a reminder says, without the words that lead to it.
func reminded(text string) string {
	text = strings.TrimLeft(text, " \t\r\n:,")
	for _, word := range []string{"to", "that", "about", "of"} {
		if rest, ok := after(text, word); ok {
			return strings.TrimSpace(rest)
		}
	}
	return strings.TrimSpace(text)
}

// jobs reads everything about jobs that exist.
func jobs(text string) (plan, bool) {
	if is(text, "jobs", "list jobs", "list my jobs", "show jobs", "list reminders", "list my reminders") {
		return call(toolCron, "action", "list"), true
	}
	for _, c := range []struct{ words, action string }{
		{"pause", "pause"},
		{"resume", "resume"},
		{"delete", "remove"},
		{"remove", "remove"},
		{"run job", "run"},
		{"runs of", "runs"},
	} {
		rest, ok := after(text, strings.Fields(c.words)...)
		if !ok {
			continue
		}
		if name := jobName(rest); name != "" {
			return call(toolCron, "action", c.action, "name", name), true
		}
	}
	return plan{}, false
}

// jobName is the one word, a name or a number, that names a job; it is empty when there are more.
func jobName(text string) string {
	for _, word := range []string{"the", "job", "reminder"} {
		if rest, ok := after(text, word); ok && rest != "" {
			text = rest
		}
	}
	name := unquote(strings.TrimRight(text, ".! "))
	if strings.ContainsFunc(name, unicode.IsSpace) {
		return ""
	}
	return strings.TrimPrefix(name, "#") // jobs are listed as #3
}

func ran(text string) (plan, bool) {
	command, ok := after(text, "run")
	return call(toolExec, "command", command), ok && command != ""
}

func read(text string) (plan, bool) {
	rest, ok := after(text, "read")
	path := filePath(rest)
	return call(toolRead, "path", path), ok && path != ""
}

func listed(text string) (plan, bool) {
	if is(text, "ls", "list files", "list the files", "list my files") {
		return call(toolList, "path", "."), true
	}
	for _, words := range []string{"ls", "list files in", "list the files in"} {
		if rest, ok := after(text, strings.Fields(words)...); ok {
			path := filePath(rest)
			return call(toolList, "path", path), path != "" && !strings.HasPrefix(path, "-")
		}
	}
	return plan{}, false
}

// found reads "find TEXT", "find TEXT in FOLDER" and "find TEXT in *.go". The text is looked for as it stands.
func found(text string) (plan, bool) {
	rest, ok := after(text, "find")
	if !ok || rest == "" || strings.ContainsAny(rest, "\n\r") {
		return plan{}, false
	}
	what, where := rest, ""
	if i := strings.LastIndex(rest, " in "); i > 0 && unquote(rest) == rest {
		what, where = strings.TrimSpace(rest[:i]), filePath(rest[i+len(" in "):])
		if where == "" {
			return plan{}, false
		}
	}
	what = regexp.QuoteMeta(unquote(what))
	switch {
	case where == "":
		return call(toolGrep, "pattern", what), true
	case strings.ContainsAny(where, "*?[{"):
		return call(toolGrep, "pattern", what, "include", where), true
	default:
		return call(toolGrep, "pattern", what, "path", where), true
	}
}

// known reads "what do you know about TEXT".
func known(text string) (plan, bool) {
	rest, ok := after(text, "what", "do", "you", "know", "about")
	rest = strings.TrimRight(rest, "?. ")
	return call(toolMemory, "query", rest), ok && rest != ""
}

// written reads "write PATH: TEXT".
func written(text string) (plan, bool) {
	rest, ok := after(text, "write")
	if !ok {
		return plan{}, false
	}
	for i := 1; i < len(rest) && rest[i] != '\n'; i++ {
		if rest[i] != ':' || !spaceAt(rest, i+1) {
			continue
		}
		path, content := filePath(rest[:i]), strings.TrimSpace(rest[i+1:])
		return call(toolWrite, "path", path, "content", content), path != "" && content != ""
	}
	return plan{}, false
}

func spaceAt(text string, i int) bool {
	return i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r')
}

// sent reads "send ADDRESS TEXT".
func sent(text string) (plan, bool) {
	rest, ok := after(text, "send")
	if !ok {
		return plan{}, false
	}
	word, _, _ := strings.Cut(rest, " ")
	content := strings.TrimSpace(rest[len(word):])
	to, err := event.ParseAddress(strings.TrimSuffix(word, ":"))
	if err != nil || to == event.ToNone || content == "" || strings.ContainsFunc(word, unicode.IsSpace) {
		return plan{}, false
	}
	return call(toolMessage, "to", string(to), "content", content), true
}

// add makes the plan of a new job. The tool finds a name for it that is free.
func add(schedule, prompt string) plan {
	return call(toolCron, "action", "add", "schedule", schedule, "prompt", prompt)
}

// call makes a plan out of a tool and pairs of names and arguments, in this order on the wire.
func call(tool string, pairs ...any) plan {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // arguments are shown to people: && stays &&
	b.WriteByte('{')
	for i, s := range pairs {
		if i > 0 {
			b.WriteByte(",:"[i%2])
		}
		if err := e.Encode(s); err != nil {
			return plan{say: fmt.Sprintf("I could not write that down: %v", err)}
		}
		b.Truncate(b.Len() - 1) // the encoder ends each value with a line break
	}
	b.WriteByte('}')
	return plan{known: true, tool: tool, args: json.RawMessage(b.Bytes())}
}
