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

// The names of the tools that commands use.
const (
	toolExec    = "exec"
	toolRead    = "read"
	toolWrite   = "write"
	toolList    = "ls"
	toolCron    = "cron"
	toolMessage = "message"
	toolGrep    = "grep"
)

// plan is the meaning of one text: a call, a text to say, or neither.
type plan struct {
	known bool            // the whole text is a command
	tool  string          // the tool to call; empty: none
	args  json.RawMessage //
	say   string          // the answer, or a hint
	help  bool            // answer with the help page
}

// grammar parses commands. It has no state of its own.
type grammar struct{ phrases Phrases }

const (
	maxHead  = 200 // bytes before a colon that may be a schedule
	maxTail  = 12  // words at the end of a reminder that may be a time
	maxColon = 8   // colons that may end a schedule
)

// parse parses one text. The first rule that accepts it wins. If none does, the plan is zero, or contains a hint to say.
func (g *grammar) parse(text string) plan {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	// The order decides between commands that begin alike: "run job NAME" must reach jobs before ran makes it a shell command.
	for _, rule := range []func(string) (plan, bool){
		helped, said, g.remind, g.remember, watches, g.scheduled, jobs, ran, read, listed, found, known, forget, written, sent,
	} {
		if p, ok := rule(text); ok {
			return p
		}
	}
	return plan{}
}

// Each rule returns its plan and whether it accepts the text.
func helped(text string) (plan, bool) {
	return plan{known: true, help: true}, is(text, "help", "/help", "help me", "what can you do")
}

// said parses "say TEXT".
func said(text string) (plan, bool) {
	// The form with a colon is the one that action writes into a job's prompt.
	rest, ok := strings.CutPrefix(lowered(text, 4), "say:")
	if !ok {
		rest, ok = after(text, "say")
	}
	rest = strings.TrimSpace(rest)
	return plan{known: true, say: rest}, ok && rest != ""
}

// action normalizes the prompt of a job: an instruction to say something becomes "say: TEXT". The agent sends such a prompt without asking
// a model.
func action(prompt string) string {
	if p, ok := said(prompt); ok {
		return "say: " + p.say
	}
	return prompt
}

// scheduled parses "SCHEDULE: PROMPT". The text may hold several colons, so each is tried as the end of the schedule.
func (g *grammar) scheduled(text string) (plan, bool) {
	var wrong error
	for _, i := range colons(text) {
		words, prompt := strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+1:])
		_, rest, err := g.phrases.Prefix(words)
		switch {
		case err == nil && strings.TrimSpace(rest) == "" && prompt != "":
			return add(words, action(prompt)), true
		case err == nil && strings.TrimSpace(rest) == "":
			return plan{say: "What shall I do then? Write it after the colon, for example: " + words + ": run date"}, true
		// This part was meant as a time but is wrong. A later colon may still give a correct schedule.
		case err != nil && wrong == nil && !errors.Is(err, ErrNoPhrase):
			wrong = err
		}
	}
	if wrong != nil {
		return plan{say: "I could not read that time: " + wrong.Error()}, true
	}
	return plan{}, false
}

// colons returns the positions of the first colons on the first line that are not part of a time of day.
func colons(text string) []int {
	line, _, _ := strings.Cut(text, "\n")
	var at []int
	for i := 1; i < min(len(line), maxHead) && len(at) < maxColon; i++ {
		if line[i] != ':' {
			continue
		}
		// In "at 9:30: run date" only the second colon can end the schedule.
		if next, _ := utf8.DecodeRuneInString(line[i+1:]); !unicode.IsDigit(next) {
			at = append(at, i)
		}
	}
	return at
}

// remind parses "remind me TIME to TEXT" and "remind me to TEXT TIME".
func (g *grammar) remind(text string) (plan, bool) {
	rest, ok := after(text, "remind", "me")
	if !ok {
		return plan{}, false
	}
	// "remind me in 20m to stretch": the time comes first.
	_, tail, first := g.phrases.Prefix(rest)
	if first == nil {
		what := reminded(tail)
		if what == "" {
			return plan{say: "What shall I remind you of? For example: remind me in 20m to stretch"}, true
		}
		return add(strings.TrimSpace(strings.TrimSuffix(rest, tail)), "say: "+what), true
	}
	// "remind me to stretch in 20m": the time comes last.
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

// timed splits a reminder with the time at its end. It tries the longest possible time first. The error is the first one that explains more
// than ErrNoPhrase.
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

// reminded returns the subject of a reminder, without the words that introduce it.
func reminded(text string) string {
	text = strings.TrimLeft(text, " \t\r\n:,")
	for _, word := range []string{"to", "that", "about", "of"} {
		if rest, ok := after(text, word); ok {
			return strings.TrimSpace(rest)
		}
	}
	return strings.TrimSpace(text)
}

// jobs parses all commands about existing jobs.
func jobs(text string) (plan, bool) {
	if is(text, "jobs", "list jobs", "list my jobs", "show jobs", "list reminders", "list my reminders") {
		return call(toolCron, "action", "list"), true
	}
	for _, c := range []struct{ words, action string }{
		// The user's words, and the action of the cron tool.
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

// jobName returns the single word, a name or a number, that names a job. It is empty when there are more words.
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
	return strings.TrimPrefix(name, "#") // lists show jobs as #3
}

// ran parses "run COMMAND". The rest of the text, further lines included, goes to the shell as it is.
func ran(text string) (plan, bool) {
	command, ok := after(text, "run")
	return call(toolExec, "command", command), ok && command != ""
}

// read parses "read PATH".
func read(text string) (plan, bool) {
	rest, ok := after(text, "read")
	path := filePath(rest)
	return call(toolRead, "path", path), ok && path != ""
}

// listed parses a request to list files.
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

// found parses "find TEXT", "find TEXT in FOLDER" and "find TEXT in *.go". The search is literal.
func found(text string) (plan, bool) {
	rest, ok := after(text, "find")
	if !ok || rest == "" || strings.ContainsAny(rest, "\n\r") {
		return plan{}, false
	}
	what, where := rest, ""
	// The last " in " separates the place, since the searched text may contain another. A quoted text has no place.
	if i := strings.LastIndex(rest, " in "); i > 0 && unquote(rest) == rest {
		what, where = strings.TrimSpace(rest[:i]), filePath(rest[i+len(" in "):])
		if where == "" {
			return plan{}, false
		}
	}
	// The grep tool takes a pattern, and the user wrote plain text.
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

// written parses "write PATH: TEXT". A space must follow the colon, since a path may contain one.
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

// spaceAt reports whether white space is at position i; false after the end.
func spaceAt(text string, i int) bool {
	return i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r')
}

// sent parses "send ADDRESS TEXT".
func sent(text string) (plan, bool) {
	rest, ok := after(text, "send")
	if !ok {
		return plan{}, false
	}
	// The first word is the address, with a colon after it or not.
	word, _, _ := strings.Cut(rest, " ")
	content := strings.TrimSpace(rest[len(word):])
	to, err := event.ParseAddress(strings.TrimSuffix(word, ":"))
	if err != nil || to == event.ToNone || content == "" || strings.ContainsFunc(word, unicode.IsSpace) {
		return plan{}, false
	}
	return call(toolMessage, "to", string(to), "content", content), true
}

// add returns the plan of a new job. The tool chooses a free name for it.
func add(schedule, prompt string) plan {
	return call(toolCron, "action", "add", "schedule", schedule, "prompt", prompt)
}

// call returns the plan of a tool call. pairs are names and arguments, which keep their order on the wire.
func call(tool string, pairs ...any) plan {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // people read the arguments: && stays &&
	b.WriteByte('{')
	for i, s := range pairs {
		// A name follows a comma, and its value follows a colon.
		if i > 0 {
			b.WriteByte(",:"[i%2])
		}
		if err := e.Encode(s); err != nil {
			return plan{say: fmt.Sprintf("I could not write that down: %v", err)}
		}
		b.Truncate(b.Len() - 1) // the encoder appends a line break to each value
	}
	b.WriteByte('}')
	return plan{known: true, tool: tool, args: json.RawMessage(b.Bytes())}
}
