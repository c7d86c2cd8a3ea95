package turn

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/text"
	"hob/tools"
)

// Limits of the lines about failed calls below an answer.
const (
	mostFailures = 5
	longestWhat  = 60  // runes of a call's object
	longestWhy   = 160 // bytes of the reason
)

// Results that are no errors, but no success either.
const (
	noAnswer    = "no answer: " // of ask
	silentChild = "the sub-agent ended and said nothing"
)

// made is a call with its result.
type made struct {
	tool    string
	args    json.RawMessage
	object  string // the path, command or address that it is about, with its action, for people; "": it names none
	same    string // what a call with other arguments must share with it to do the same; "": nothing is enough
	why     string // why it did not do what it was made for, "" if it did
	exited  bool   // it is a command that ended with a code other than 0
	isError bool
}

// FinalText returns the text of an ended turn as people get it. In front of the text of a failed run it says that the run failed, and below a text
// it names each call that did not work, unless a later call of the turn did the same, and says that the run was late. Others than the owner get
// only the number of those calls. Nothing here comes from what the model says about its calls.
func FinalText(s Snapshot, f Finish, text string, toOwner bool) string {
	why, lines := "", []string{}
	for _, m := range failures(s.Items) {
		if f.Fault == "" || !strings.Contains(f.Fault, m.why) {
			lines = append(lines, m.line())
		}
	}
	if f.State == Done && f.Fault != "" && s.Turn.Unattended() { // a person who waits in a chat reads the answer itself
		why = "This run failed.\n\n"
		if toOwner {
			why = "This run failed: " + strings.TrimSuffix(f.Fault, ".") + ".\n\n"
		}
	}
	switch n := len(lines); {
	case n > 0 && !toOwner:
		lines = []string{fmt.Sprintf("(hob: calls that did not work: %d)", n)}
	case n > mostFailures:
		lines = append(lines[:mostFailures-1], fmt.Sprintf("(hob: and %d more calls did not work)", n-mostFailures+1))
	}
	if s.Turn.Late != "" && toOwner {
		lines = append(lines, "(hob: this run began "+s.Turn.Late+" late)")
	}
	if len(lines) == 0 {
		return why + text
	}
	return why + strings.TrimSpace(text+"\n\n"+strings.Join(lines, "\n"))
}

// FailureLine returns the line that FinalText has for a call, "" if the call worked.
func FailureLine(call, result llm.Item) string {
	for _, m := range failures([]llm.Item{call, result}) {
		return m.line()
	}
	return ""
}

// failures returns the calls that failed, were refused or ended with a code, oldest first and each once. It leaves out a call if a later one that
// worked did the same, and the calls of the built-in interpreter, because its answer is their result.
func failures(items []llm.Item) (list []made) {
	calls := calls(items, false)
	for i, m := range calls {
		same := func(n made) bool { return n.tool == m.tool && n.line() == m.line() }
		if m.why != "" && !slices.ContainsFunc(calls[i+1:], m.repairedBy) && !slices.ContainsFunc(list, same) {
			list = append(list, m)
		}
	}
	return list
}

// calls returns the calls that have a result, in their order. Those of the built-in interpreter are left out unless all is true.
func calls(items []llm.Item, all bool) (list []made) {
	results := map[string]llm.Item{}
	for _, it := range items {
		if it.Kind == llm.ResultItem {
			results[it.CallID] = it
		}
	}
	for _, it := range items {
		result, ended := results[it.CallID]
		if it.Kind != llm.CallItem || it.Provider == llm.Builtin && !all || !ended {
			continue
		}
		var m made
		m.tool, m.args = tools.Called(it.Tool, it.Args)
		m.object, m.same = objectOf(m.args)
		m.why, m.exited = failed(m.tool, result)
		m.isError = result.IsError
		list = append(list, m)
	}
	return list
}

// repairedBy reports whether a later call did what this one did not: with the same arguments, or to the same file, command or name. Two
// messages to one address are not the same. A call with wrong arguments, or one that was cut off, is repaired by one that may name more.
func (m made) repairedBy(n made) bool {
	return n.why == "" && n.tool == m.tool && (bytes.Equal(n.args, m.args) || n.same == m.same && m.same != "" ||
		strings.HasPrefix(n.object, m.object) && (strings.HasPrefix(m.why, string(tools.Validation)) || strings.HasPrefix(m.why, string(tools.Cancelled))))
}

// failed returns why a call did not do what it was made for, "" if it did.
func failed(tool string, result llm.Item) (why string, exit bool) {
	text := event.TextOf(result.Parts)
	line, _, _ := strings.Cut(text, "\n")
	code := exitCode(exitForm(), text)
	switch {
	case tool == "exec" && !result.IsError && code != "":
		return "ended with exit code " + code, true
	case result.IsError, tool == "ask" && strings.HasPrefix(text, noAnswer), tool == tools.SpawnTool && text == silentChild:
		return shortened(line, longestFault), false
	}
	return "", false
}

func (m made) what() string { return strings.TrimSpace(m.tool + " " + m.object) }

// line is the remark about a failed call. The code of an error becomes plain words: "NOT_FOUND: …" becomes "not found: …".
func (m made) line() string {
	if m.exited {
		return "(hob: " + m.what() + " " + m.why + ")"
	}
	why := m.why
	if code, rest, ok := strings.Cut(why, ": "); ok && code == strings.ToUpper(code) {
		why = strings.ToLower(strings.ReplaceAll(code, "_", " ")) + ": " + rest
	}
	return "(hob: " + m.what() + ": " + shortened(why, longestWhy) + ")"
}

// objectOf returns what a call is about: its action, and the first of its arguments that names an object. same is described at made.
func objectOf(args json.RawMessage) (object, same string) {
	var in map[string]any
	if json.Unmarshal(args, &in) != nil {
		return "", ""
	}
	action, _ := in["action"].(string)
	for i, key := range []string{"command", "path", "name", "to", "url", "uri", "query", "title", "id"} {
		s, _ := in[key].(string)
		if strings.TrimSpace(s) == "" {
			continue
		}
		if i < 3 {
			same = fmt.Sprintln(action, s, in["new_text"], in["edits"]) // two edits of one file are not the same
		}
		// The text goes between quotes, on one line of Markdown.
		s = strings.Join(strings.Fields(strings.NewReplacer("`", "'", `"`, "'").Replace(s)), " ")
		return strings.TrimSpace(action + ` "` + text.Shorten(s, longestWhat) + `"`), same
	}
	return action, ""
}

// shortened cuts a text to about n bytes.
func shortened(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
