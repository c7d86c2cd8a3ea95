package runtime

import (
	"regexp"
	"strings"
)

// escapes are the sequences by which programs steer a terminal (ECMA-48, 5.4 and 5.6): CSI, OSC with its text, and the short ones.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])")

// plain is what a terminal's output says, without colours and the like. A line that was overwritten (\r) is shown as it stood last.
func plain(text string) string {
	text = escapes.ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if !strings.Contains(text, "\r") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		l = strings.TrimRight(l, "\r")
		lines[i] = l[strings.LastIndexByte(l, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}
