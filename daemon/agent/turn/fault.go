package turn

import (
	"regexp"
	"slices"
	"strings"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/sys"
)

// longestFault is how much of an error result becomes the reason of a failed run, in bytes.
const longestFault = 300

// exitForm matches the start of a command's result, reportForm the start of the report of a background command.
var (
	exitForm   = sys.Regexp(`^exit code (-?\d+) \(`)
	reportForm = sys.Regexp(`^process \S+ has ended: exit code (-?\d+) \(`)
)

// Fault returns why the run of a trigger or a task counts as failed although its turn ended normally, "" when it did not fail. A run fails if
// the last call gave an error result, or if its last command ended with a code other than 0.
func Fault(s Snapshot) string {
	run, command := s.Turn.Fire != 0, false
	for _, it := range s.Items {
		if it.Kind == llm.Input && it.Envelope != nil && it.Envelope.Kind == event.Fire { // of a job or a task
			run, command = true, Literal(event.TextOf(it.Parts[:min(1, len(it.Parts))]))
			break
		}
	}
	calls := calls(s.Items, true)
	if !run || len(calls) == 0 {
		return ""
	}
	if last := calls[len(calls)-1]; last.isError {
		return last.tool + ": " + last.why
	}
	for _, m := range slices.Backward(calls) {
		switch {
		case m.tool != "exec":
		case m.exited && command:
			return "the command " + m.why
		case m.exited:
			return m.what() + " " + m.why
		default:
			return ""
		}
	}
	return ""
}

// Literal reports whether a prompt is a literal command: "run X".
func Literal(prompt string) bool {
	word, command, ok := strings.Cut(strings.TrimSpace(prompt), " ")
	return ok && strings.EqualFold(word, "run") && strings.TrimSpace(command) != ""
}

// ReportFault is Fault for a command that ended in the background after its turn. report is the text about its end.
func ReportFault(prompt, report string) string {
	if !Literal(prompt) {
		return ""
	}
	if code := exitCode(reportForm(), report); code != "" {
		return "the command ended with exit code " + code
	}
	return ""
}

// exitCode returns the code other than 0 that form finds in a text, "" for none.
func exitCode(form *regexp.Regexp, text string) string {
	if found := form.FindStringSubmatch(text); found != nil && found[1] != "0" {
		return found[1]
	}
	return ""
}
