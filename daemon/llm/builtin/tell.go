package builtin

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/sys"
)

// outcomes returns the answer of a turn whose calls are done: the outcome of each message, in order.
func (s *state) outcomes() string {
	var parts []string
	waiting := map[string]string{} // "pending #k" → call ID
	for _, msg := range s.messages {
		if text := strings.TrimSpace(s.tell(msg, waiting)); text != "" {
			parts = append(parts, text)
		}
	}
	// Calls whose late result is not in the transcript yet are still running or wait for an approval.
	for range waiting {
		parts = append(parts, "One thing is still waiting. I will tell you when it is done.")
	}
	if len(parts) == 0 {
		return s.help()
	}
	return strings.Join(parts, "\n\n")
}

// tell returns the text for one message. waiting collects calls whose results are still pending.
func (s *state) tell(msg llm.Message, waiting map[string]string) string {
	text := event.TextOf(msg.Parts)
	switch {
	case msg.Role == llm.ToolRole && strings.HasPrefix(text, "pending #"):
		waiting[text] = msg.CallID
		return ""
	case msg.Role == llm.ToolRole:
		if n, gone := s.missed(msg); gone && s.looked(n) {
			return "" // the call to watch reports the outcome
		}
		if name, gone := s.nowhere(msg); gone {
			return "There is no job or watch named " + name + ". " + similar(s.messages)
		}
		return s.outcome(reached(s.calls[msg.CallID]), text, msg.IsError)
	case msg.Role != llm.User:
		return ""
	case s.input(msg):
		return s.direct(msg)
	default:
		return s.late(text, waiting)
	}
}

// lateForm is the form in which a delayed result returns.
var lateForm = sys.Regexp(`(?s)^\[late result of #(\d+)\] (.*)$`)

// late returns the text of a result that arrived after its turn. Other notes of hob are not shown.
func (s *state) late(text string, waiting map[string]string) string {
	found := lateForm().FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	// The number connects the late result with the call that was left pending.
	place := "pending #" + found[1]
	id := waiting[place]
	delete(waiting, place)
	return s.outcome(reached(s.calls[id]), found[2], errorForm().MatchString(found[2]))
}

// direct answers an input that needs no tool. An input with a call is answered by the call's result.
func (s *state) direct(msg llm.Message) string {
	text := event.TextOf(msg.Parts)
	if msg.Envelope != nil && msg.Envelope.Kind == event.Report {
		return text // a report of a background process or subagent is not a command
	}
	if skill := skillOf(msg); skill != "" {
		s.notDone = true
		return "The skill " + skill + " needs a language model. " + s.m.connect()
	}
	// Parsing again shows which input needed a call, so the interpreter keeps no state between requests.
	p := s.g.parse(s.words(msg))
	switch {
	case len(s.lines(msg)) > 0 && s.reachable(s.lines(msg)[0]):
		return "" // each of them is answered by its result
	case strings.TrimSpace(text) == "" && slices.ContainsFunc(msg.Parts, attached):
		return "Thank you, I have kept that. As the built-in interpreter I cannot look into it."
	case p.help:
		return s.help()
	case p.say != "":
		s.notDone = s.notDone || !p.known // then it asks for what is missing
		return p.say
	case p.tool == "":
		if answer := s.talk(words(msg)); answer != "" {
			return answer
		}
		s.notDone = true
		return s.lost(words(msg))
	case !s.reachable(p):
		s.notDone = true
		return "I understand that, but I cannot do it here: the tool " + p.tool + " is not available; hob tool list --all says why."
	default:
		return ""
	}
}

// attached reports whether a part is something other than text.
func attached(p event.Part) bool { return p.Kind != event.Text }

// errorForm is the beginning of an error result: its code, then its text.
var errorForm = sys.Regexp(`^(?:VALIDATION_ERROR|NOT_FOUND|CONFLICT|PERMISSION_DENIED|IO_ERROR|TIMEOUT|RATE_LIMITED|APPROVAL_REQUIRED|` +
	`CONFIG_ERROR|LLM_ASSIST_REQUIRED|CANCELLED|OUTCOME_UNKNOWN|UNKNOWN): `)

// outcome turns the result of one call into text for the user.
func (s *state) outcome(c llm.Call, text string, failed bool) string {
	if failed {
		return failure(text)
	}
	switch c.Name {
	case toolExec:
		text, whole := withoutStored(text)
		return output(text) + whole
	case toolRead:
		return unnumbered(text)
	case toolCron:
		return alteration(s.scheduledAs(jobOf(c), text))
	case toolMessage:
		return "It is on its way: " + text
	case toolList, toolWrite, toolGrep, toolMemory, toolTasks:
		return text
	case toolRecall:
		return unnumbered(text)
	case toolWatch:
		return alteration(text)
	case toolRemember, toolForget:
		return capital(text)
	default:
		return strings.TrimSpace(c.Name + ": " + text)
	}
}

// alteration makes a sentence of what was done to a job or watch. Other results may begin with its name, which stays as it is.
func alteration(text string) string {
	if strings.HasPrefix(text, "the job ") || strings.HasPrefix(text, "the watch ") {
		return capital(text)
	}
	return text
}

// capital makes a sentence of a result.
func capital(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[size:]
}

// failure turns an error result into text for the user: without the code, with the hint.
func failure(text string) string {
	text = strings.TrimSpace(errorForm().ReplaceAllString(text, ""))
	text = strings.Replace(text, "\nhint: ", "\nHint: ", 1)
	if text == "" {
		return "That did not work."
	}
	return "That did not work: " + text
}

// storedForm is the line before the beginning of a result that was stored because it is large. keptForm is that of an output that exec has
// cut; what it names is the whole.
var (
	storedForm = sys.Regexp(`^(\[\d+ bytes, stored as (\w+): page through it with result_read\]\n)`)
	keptForm   = sys.Regexp(`^exit code [^\n]*\n(\(the whole output is kept: result_read (\w+)\)\n)`)
)

// withoutStored removes the lines that tell a model where a large result is kept, and returns the sentence that tells a person.
func withoutStored(text string) (rest, whole string) {
	id := ""
	for _, form := range []func() *regexp.Regexp{storedForm, keptForm} {
		if at := form().FindStringSubmatchIndex(text); at != nil {
			id, text = text[at[4]:at[5]], text[:at[2]]+text[at[3]:]
		}
	}
	if id == "" {
		return text, ""
	}
	return text, "\n\nThat is only a part. All of it: hob tool result_read " + id
}

// exitForm is the first line of a command's result.
var exitForm = sys.Regexp(`(?i)^[\[(]?exit(?: code| status)?[ :=]+(-?\d+)`)

// output returns what a command printed. It mentions the exit code only after a failure.
func output(text string) string {
	first, rest, _ := strings.Cut(text, "\n")
	found := exitForm().FindStringSubmatch(first)
	if found == nil {
		return text
	}
	rest = strings.Trim(rest, "\r\n")
	if rest == "(no output)" {
		rest = ""
	}
	switch {
	case found[1] != "0" && rest == "":
		return "It ended with exit code " + found[1] + " and printed nothing."
	case found[1] != "0":
		return rest + "\n\nIt ended with exit code " + found[1] + "."
	case rest == "":
		return "Done. It printed nothing."
	default:
		return rest
	}
}

// unnumbered removes the line numbers of a page of a file, if every line has one.
func unnumbered(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	// The last line may be the tool's remark about the rest of the file. It has no number.
	tail := ""
	if last := lines[len(lines)-1]; strings.HasPrefix(last, "(") {
		lines, tail = lines[:len(lines)-1], last
	}
	if strings.HasPrefix(tail, "(end of file)") {
		tail = ""
	}
	// Every line must have the next number, or the text is not a numbered page.
	before := 0
	for i, line := range lines {
		number, rest, ok := strings.Cut(line, "\t")
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if !ok || err != nil || i > 0 && n != before+1 {
			return text
		}
		lines[i], before = rest, n
	}
	page := strings.Join(lines, "\n")
	if strings.TrimSpace(page) == "" && tail == "" {
		return "The file is empty."
	}
	return strings.Trim(page+"\n\n"+tail, "\n")
}
