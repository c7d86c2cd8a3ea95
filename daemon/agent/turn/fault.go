package turn

import (
	"regexp"
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
// the last call gave an error result, or if the prompt is a literal command ("run …") whose exit code is not 0.
func Fault(s Snapshot) string {
	run, command := s.Turn.Fire != 0, false
	for _, it := range s.Items {
		if it.Kind == llm.Input && it.Envelope != nil && it.Envelope.Kind == event.Fire { // of a job or a task
			run, command = true, Literal(event.TextOf(it.Parts[:min(1, len(it.Parts))]))
			break
		}
	}
	if !run {
		return ""
	}
	last := true
	for i := len(s.Items) - 1; i >= 0; i-- {
		it := s.Items[i]
		if it.Kind != llm.ResultItem {
			continue
		}
		text := event.TextOf(it.Parts)
		if last && it.IsError {
			return faultOf(it.Tool, text)
		}
		last = false
		if !command {
			return ""
		}
		if it.Tool == "exec" {
			return exited(exitForm(), text)
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
	return exited(reportForm(), report)
}

// exited returns the fault of a command by its exit code, "" for success. form finds the code in the text.
func exited(form *regexp.Regexp, text string) string {
	if found := form.FindStringSubmatch(text); found != nil && found[1] != "0" {
		return "the command ended with exit code " + found[1]
	}
	return ""
}

// faultOf shortens an error result to one line.
func faultOf(tool, text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if len(line) > longestFault {
		line = strings.ToValidUTF8(line[:longestFault], "") + "…"
	}
	return tool + ": " + line
}
