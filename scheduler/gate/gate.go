// Package gate decides whether a due slot runs: a free test before a paid run. Each part of a gate looks at one thing (hours, a file, a
// page, a command) and compares it with what it saw when the job last succeeded. The comparisons are pure functions (gate.go). Runner
// evaluates the gates of due slots and commits the verdicts (runner.go). An Evaluator collects what is compared (package daemon/triggers/gates).
//
// The package never runs a prompt.
package gate

import (
	"encoding/json"
	"strconv"
	"strings"

	"hob/scheduler"
)

// Seen is what a gate saw. It is compared with what it saw when the job last succeeded; the first look counts as new.
type Seen struct {
	Command string `json:"command,omitempty"` // hash of the command and its output
	Page    Page   `json:"page,omitzero"`
	Files   string `json:"files,omitempty"` // hash of the globs and the files they name
}

// Page is a version of a web page.
type Page struct {
	Link     string `json:"link,omitempty"`
	ETag     string `json:"etag,omitempty"`     // RFC 9110 section 8.8.3
	Modified string `json:"modified,omitempty"` // Last-Modified, as the server wrote it
	Hash     string `json:"hash,omitempty"`     // of the content; "": the server reported no change
}

// Output is the result of a command.
type Output struct {
	Hash string // hash of the command and its output
	Code int    // its exit code
}

// Text is a file whose content matters.
type Text struct {
	Text    string // cut to the part that a run gets
	Foreign string // why it counts as foreign text; "" if it does not
}

// Empty reports whether the text requests nothing: it contains only blank lines, headings and comments.
func (t Text) Empty() bool { return empty(t.Text) }

// remembered decodes an earlier look. An undecodable one counts as never seen, so the gate opens.
func remembered(text string) Seen {
	var s Seen
	if json.Unmarshal([]byte(text), &s) != nil {
		return Seen{}
	}
	return s
}

// stored encodes a look for remembered; "" if nothing is to be compared.
func (s Seen) stored() (string, error) {
	if s == (Seen{}) {
		return "", nil
	}
	doc, err := json.Marshal(s)
	return string(doc), err
}

// partResult is the result of one part: why it is closed, or what opened it.
type partResult struct{ closed, opened string }

const unchanged = "gate: no change"

// byCommand judges a finished command.
func byCommand(g scheduler.Gate, last string, out Output) partResult {
	switch {
	case g.Exit && out.Code != 0:
		return partResult{closed: "gate: exit code " + strconv.Itoa(out.Code)}
	case g.Exit:
		return partResult{opened: "the command ended with code 0"}
	case out.Hash == last:
		return partResult{closed: unchanged}
	}
	return partResult{opened: "the command's output is new"}
}

// byPage judges a web page. ETags are not trusted where contents can be compared: some servers give one content several ETags, or two
// contents the same one.
func byPage(last, now Page) partResult {
	if now.Hash == "" || last.Link == now.Link && last.Hash == now.Hash {
		return partResult{closed: unchanged}
	}
	return partResult{opened: "the page is new"}
}

// byFiles judges files.
func byFiles(last, now string) partResult {
	if last == now {
		return partResult{closed: unchanged}
	}
	return partResult{opened: "the files are new"}
}

// byContent judges a file that must have content.
func byContent(name string, text Text) partResult {
	if empty(text.Text) {
		return partResult{closed: name + " is empty"}
	}
	return partResult{}
}

// empty reports whether a text requests nothing: it contains only blank lines, headings, comments (<!-- … -->) and empty check boxes.
func empty(text string) bool {
	for {
		before, rest, found := strings.Cut(text, "<!--")
		if !found {
			break
		}
		_, after, _ := strings.Cut(rest, "-->") // an unclosed comment extends to the end, as in HTML
		text = before + "\n" + after
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if heading(line) || strings.Trim(line, "-*+_=[] \t\ufeff") == "" {
			continue
		}
		return false
	}
	return true
}

// heading reports whether a line is a heading: one to six #, then a space or nothing (CommonMark, ATX headings).
func heading(line string) bool {
	rest := strings.TrimLeft(line, "#")
	marks := len(line) - len(rest)
	return marks > 0 && marks <= 6 && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
}
