package turn

import (
	"regexp"
	"strings"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// longestFault is how much of an error result is told as the reason of a run that has failed, in bytes.
const longestFault = 300

// exitForms are how a command's result, and the report of one that went on in the background, begin.
var (
	exitForm   = regexp.MustCompile(`^exit code (-?\d+) \(`)
	reportForm = regexp.MustCompile(`^process \S+ has ended: exit code (-?\d+) \(`)
)

// Fault is why the run of a trigger has failed although its turn came to an end, "" when it has not: the command of a prompt that is a literal
// "run …" ended with a code other than 0, or the last call gave an error result.
func Fault(s State) string {
	if s.Turn.Fire == 0 {
		return ""
	}
	command := false
	for _, it := range s.Items {
		if it.Kind == llm.Input && it.Envelope != nil && it.Envelope.Kind == event.Fire {
			command = Literal(event.TextOf(it.Parts[:min(1, len(it.Parts))]))
			break
		}
	}
	last := true
	for i := len(s.Items) - 1; i >= 0; i-- {
		it := s.Items[i]
		if it.Kind != llm.ResultOf {
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
			return exited(exitForm, text)
		}
	}
	return ""
}

// Literal reports whether a prompt is a command to run as it stands: "run X".
func Literal(prompt string) bool {
	word, command, ok := strings.Cut(strings.TrimSpace(prompt), " ")
	return ok && strings.EqualFold(word, "run") && strings.TrimSpace(command) != ""
}

// ReportFault is why a run whose command went on in the background has failed, by the report of the command's end; "" when it has not.
func ReportFault(prompt, report string) string {
	if !Literal(prompt) {
		return ""
	}
	return exited(reportForm, report)
}

func exited(form *regexp.Regexp, text string) string {
	if found := form.FindStringSubmatch(text); found != nil && found[1] != "0" {
		return "the command ended with exit code " + found[1]
	}
	return ""
}

// faultOf is an error result in one line.
func faultOf(tool, text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if len(line) > longestFault {
		line = strings.ToValidUTF8(line[:longestFault], "") + "…"
	}
	return tool + ": " + line
}
