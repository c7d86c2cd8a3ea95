package text

import "strings"

// The beginnings of the lines of an approval's question that are for programs: the form of the call that is approved, and the line of the config that
// would allow it always.
const (
	AsJSON        = "  as JSON: "
	AlwaysAllowed = "  always allowed by: "
)

// ForPeople returns the text of a question without the lines that are for programs.
func ForPeople(question string) string {
	var lines []string
	for line := range strings.SplitSeq(question, "\n") {
		if !strings.HasPrefix(line, AsJSON) && !strings.HasPrefix(line, AlwaysAllowed) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
