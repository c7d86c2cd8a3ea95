package builtin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

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
	toolTasks   = "task_list"
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

// parse parses one text without the polite words around it. The first rule that accepts it wins. If none does, the plan is zero, or contains
// a hint to say.
func (g *grammar) parse(text string) plan {
	text = courteous(strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")))
	// The order decides between commands that begin alike: "run job NAME" must reach jobs before ran makes it a shell command.
	for _, rule := range []func(string) (plan, bool){
		helped, said, g.remind, g.remember, lists, watches, g.scheduled, jobs, changed, g.delayed, ran, read, listed, found, known, forget, written, sent,
	} {
		if p, ok := rule(text); ok {
			return p
		}
	}
	return plan{}
}

// Each rule returns its plan and whether it accepts the text.
func helped(text string) (plan, bool) {
	return plan{known: true, help: true}, is(text, "help", "/help", "help me", "what can you do", "what can you do for me", "what can i do", "what can i say", "what do you do",
		"what do you understand", "how do you work", "how does this work", "commands", "show commands", "list commands", "usage", "") && text != ""
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

// ran parses "run COMMAND". The rest of the text, further lines included, goes to the shell as it is.
func ran(text string) (plan, bool) {
	command, ok := after(text, "run")
	return call(toolExec, "command", command), ok && command != ""
}

// read parses "read PATH" and "show PATH".
func read(text string) (plan, bool) {
	rest, ok := after(text, "read")
	path := filePath(rest)
	// Other verbs need a name that looks like a file: "show my reminders" is none.
	if rest, shown := first(text, "show me", "show", "open", "display"); shown {
		ok, path = hasEnding(rest), filePath(rest)
	}
	return call(toolRead, "path", path), ok && path != ""
}

// listed parses a request to list files.
func listed(text string) (plan, bool) {
	if is(text, "ls") {
		return call(toolList, "path", "."), true
	}
	for _, words := range []string{"ls", "list files in", "list the files in", "show files in", "show the files in", "show me the files in", "what files are in", "what is in", "what's in"} {
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

// written parses "write PATH: TEXT" and "write to PATH: TEXT". A space must follow the colon, since a path may contain one.
func written(text string) (plan, bool) {
	rest, ok := after(text, "write")
	if !ok {
		return plan{}, false
	}
	if place, ok := after(rest, "to"); ok {
		rest = place
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
