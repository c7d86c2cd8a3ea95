package llm

import (
	"regexp"
	"slices"
	"strings"

	"hob/daemon/sys"
)

// The parts that models and their servers add to the name of a tool: a mark of the chat template, an ordinal (Kimi: functions.read:0), parentheses, and
// a name space in front (gpt-oss: functions., Gemini: default_api.).
var (
	templateMark = sys.Regexp(`<\|.*?\|>.*$|<｜.*?｜>.*$()`)
	ordinal      = sys.Regexp(`(?::\d+|\(\s*\)|\[\d+\])$()`)
	nameSpace    = sys.Regexp(`^.*[.:/]()`)
	glued        = sys.Regexp(`^functions(\w+?)\d+$`) // Kimi K2.5 leaves out the signs between them
)

// ToolName returns the tool that a model means by a name: the one of that name or, if there is none, the only one that is left when a name space, an
// ordinal, white space, the case and marks of the chat template are taken off. ok is false if no tool or more than one could be meant.
func ToolName(tools []string, said string) (name string, ok bool) {
	if slices.Contains(tools, said) {
		return said, true
	}
	plain := strings.TrimSpace(said)
	for _, part := range []func() *regexp.Regexp{templateMark, ordinal, nameSpace, glued} {
		plain = strings.TrimSpace(part().ReplaceAllString(plain, "$1"))
		matches := 0
		for _, tool := range tools {
			if fold(tool) == fold(plain) && plain != "" {
				name, matches = tool, matches+1
			}
		}
		if matches > 0 {
			return name, matches == 1
		}
	}
	return "", false
}

// fold returns a name in one case, and with one kind of dash.
func fold(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }
