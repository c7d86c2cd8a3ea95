// Package gate decides whether a due slot runs: free tests of the world before a paid run. What opens and what shuts is pure; Runner is
// the shell that serves due slots. It never runs a prompt, and how one looks at the world is another's business.
package gate

import (
	"encoding/json"
	"strconv"
	"strings"

	"hob/scheduler"
)

// Seen is what a gate saw of the world. It is compared with what the gate saw when the job last ran well; the first look counts as new.
type Seen struct {
	Command string `json:"command,omitempty"` // hash over the command and its output
	Page    Page   `json:"page,omitzero"`
	Files   string `json:"files,omitempty"` // hash over the globs and what they name
}

// Page is a version of what stands at a web address.
type Page struct {
	Link     string `json:"link,omitempty"`
	ETag     string `json:"etag,omitempty"`     // RFC 9110 section 8.8.3
	Modified string `json:"modified,omitempty"` // its Last-Modified, as the server wrote it
	Hash     string `json:"hash,omitempty"`     // of its content; "": the server said that it has not changed
}

// Output is what a command came to.
type Output struct {
	Hash string // over the command and its output
	Code int    // its exit code
}

// Text is a file whose content matters.
type Text struct {
	Text    string // cut to what a run is told
	Foreign string // why it counts as somebody else's text, "" when it does not
}

// Empty reports whether the text asks for nothing: it has only blank lines, headings and comments.
func (t Text) Empty() bool { return empty(t.Text) }

// remembered reads what was stored of an earlier look. What cannot be read was never seen: the gate opens.
func remembered(text string) Seen {
	var s Seen
	if json.Unmarshal([]byte(text), &s) != nil {
		return Seen{}
	}
	return s
}

// stored is what a look saw, as remembered reads it; "" when it saw nothing that is compared.
func (s Seen) stored() (string, error) {
	if s == (Seen{}) {
		return "", nil
	}
	doc, err := json.Marshal(s)
	return string(doc), err
}

// sight is what one part of a gate says: why it is shut, or else what it saw that opened it.
type sight struct{ shut, open string }

const unchanged = "gate: no change"

// byCommand judges a command that has ended.
func byCommand(g scheduler.Gate, last string, out Output) sight {
	switch {
	case g.Exit && out.Code != 0:
		return sight{shut: "gate: exit code " + strconv.Itoa(out.Code)}
	case g.Exit:
		return sight{open: "the command ended with code 0"}
	case out.Hash == last:
		return sight{shut: unchanged}
	default:
		return sight{open: "the command's output is new"}
	}
}

// byPage judges a web address. A server that gives a content a new ETag, or the same one to two contents, is not believed where the
// contents can be compared.
func byPage(last, now Page) sight {
	if now.Hash == "" || last.Link == now.Link && last.Hash == now.Hash {
		return sight{shut: unchanged}
	}
	return sight{open: "the page is new"}
}

// byFiles judges files.
func byFiles(last, now string) sight {
	if last == now {
		return sight{shut: unchanged}
	}
	return sight{open: "the files are new"}
}

// byContent judges a file that must have something in it.
func byContent(name string, text Text) sight {
	if empty(text.Text) {
		return sight{shut: name + " is empty"}
	}
	return sight{}
}

// empty reports whether a text asks for nothing: it has only blank lines, headings, comments (<!-- … -->) and boxes with nothing behind
// them.
func empty(text string) bool {
	for {
		before, rest, found := strings.Cut(text, "<!--")
		if !found {
			break
		}
		_, after, _ := strings.Cut(rest, "-->") // one without an end goes on to the end, as in HTML
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

// heading reports whether a line is a heading: one to six # and then a space or nothing (CommonMark, ATX headings).
func heading(line string) bool {
	rest := strings.TrimLeft(line, "#")
	marks := len(line) - len(rest)
	return marks > 0 && marks <= 6 && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
}
