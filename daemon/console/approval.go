package console

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Parts of the text of a question that the daemon writes for machines as well: the canonical form of the call, and the line of the config
// that would allow it always (policy.ApprovalText).
const (
	exactlyPart = "  exactly: "
	alwaysPart  = "  always allowed by: "
)

// largestDiff is the size of a file, in bytes, up to which its change is shown as a diff.
const largestDiff = 1 << 20

// readable returns the text of an approval for a person: a command alone, a write as a diff, any other call as its fields. What it cannot
// read, it leaves as it is: nothing that is approved may be hidden.
func readable(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, exactlyPart):
			lines = append(lines, call(line[len(exactlyPart):])...)
		case !strings.HasPrefix(line, alwaysPart):
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// canonical are the fields of a call's canonical form that have a form of their own here.
type canonical struct {
	Tool       string          `json:"tool"`
	Argv       []string        `json:"argv"`
	Cwd        string          `json:"cwd"`
	Env        []string        `json:"env"`
	Where      string          `json:"where"`
	Address    string          `json:"address"`
	Network    bool            `json:"network"`
	Background bool            `json:"background"`
	Path       string          `json:"path"`
	Before     json.RawMessage `json:"before"`
	Content    string          `json:"content"`
	Args       json.RawMessage `json:"args"`
}

// call shows the canonical form of one call.
func call(form string) []string {
	var c canonical
	if json.Unmarshal([]byte(form), &c) != nil {
		return []string{exactlyPart + form}
	}
	switch {
	case c.Tool == "exec" && len(c.Argv) > 0:
		return c.command()
	case c.Tool == "write" && c.Path != "":
		return c.write()
	case c.Args != nil:
		return fields(c.Args)
	}
	return fields([]byte(form))
}

// command shows a shell command, and where it runs if that says something.
func (c canonical) command() []string {
	lines := indented("  $ ", c.Argv[len(c.Argv)-1])
	where := "in " + c.Cwd
	if c.Where != "" {
		where += ", " + c.Where
	}
	if c.Address != "" {
		where += " (" + c.Address + ")"
	}
	if c.Network {
		where += ", with the network"
	}
	if c.Background {
		where += ", in the background"
	}
	lines = append(lines, "    "+where)
	if len(c.Env) > 0 {
		lines = append(lines, "    with "+strings.Join(c.Env, " "))
	}
	return lines
}

// write shows what a write changes. The file as it is counts only if it is the one that the approval is bound to.
func (c canonical) write() []string {
	var before string
	if json.Unmarshal(c.Before, &before) != nil {
		before = "" // the old content is not known then
	}
	old, known := "", before == "absent"
	if info, err := os.Stat(c.Path); !known && err == nil && info.Mode().IsRegular() && info.Size() <= largestDiff {
		b, err := os.ReadFile(c.Path)
		sum := sha256.Sum256(b)
		old, known = string(b), err == nil && before == "sha256:"+hex.EncodeToString(sum[:])
	}
	if !known {
		return append([]string{"  the new content (the old one cannot be compared here):"}, indented("  + ", c.Content)...)
	}
	if old == "" {
		return indented("  + ", strings.TrimSuffix(c.Content, "\n"))
	}
	diff := strings.Split(strings.TrimSuffix(udiff.Unified("before", "after", old, c.Content), "\n"), "\n")
	if len(diff) < 3 {
		return []string{"  the content stays the same"}
	}
	lines := make([]string, 0, len(diff))
	for _, line := range diff[2:] { // without the names
		lines = append(lines, "  "+line)
	}
	return lines
}

// fields shows the members of an object, except those that only bind an approval to a state of the machine.
func fields(raw json.RawMessage) []string {
	list, ok := Members(raw)
	if !ok {
		return []string{exactlyPart + string(raw)}
	}
	list = slices.DeleteFunc(list, func(m Member) bool { return m.Key == "tool" || m.Key == "before" || m.Key == "cwd_id" })
	var lines []string
	for _, m := range list {
		var text string
		if json.Unmarshal(m.Value, &text) != nil {
			text = string(m.Value)
		}
		if sign := map[string]string{"old_text": "  - ", "new_text": "  + "}[m.Key]; sign != "" {
			for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
				lines = append(lines, sign+line)
			}
			continue
		}
		if strings.Contains(text, "\n") {
			lines = append(lines, "  "+m.Key+":")
			lines = append(lines, indented("    ", text)...)
			continue
		}
		lines = append(lines, "  "+m.Key+": "+text)
	}
	return lines
}

// indented puts a prefix before the first line of a text, and before each further line one of the same width.
func indented(prefix, text string) []string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		if i > 0 && !strings.Contains(prefix, "+") {
			prefix = strings.Repeat(" ", len(prefix))
		}
		lines[i] = prefix + lines[i]
	}
	return lines
}
