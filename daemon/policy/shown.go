package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"hob/daemon/netguard"
	"hob/tools"
)

// Shown returns what a call would do as lines for people, each with two spaces before it: a command alone, a write as a diff, any other call as its
// fields. It leaves out only what binds an approval to a state of the machine. Nothing in a line can hide characters or begin another one.
func Shown(i tools.Intent) string {
	var c canonical
	var lines []string
	switch isObject := json.Unmarshal(i.Canonical, &c) == nil; {
	case isObject && c.Tool == "exec" && len(c.Argv) > 0:
		lines = c.command()
	case isObject && c.Tool == "write" && c.Path != "":
		lines = c.write(i.Old)
	case isObject && c.Args != nil:
		lines = fields(c.Args, false)
	default:
		lines = fields(i.Canonical, false, "tool", "before", "cwd_id", "path_id")
	}
	return shortened(strings.Join(lines, "\n"), func(part string) string {
		part = strings.ReplaceAll(part, "\t", "    ")
		each := strings.Split(part, "\n")
		for n := range each {
			each[n] = netguard.Visible(each[n])
		}
		return strings.Join(each, "\n")
	})
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
	lines = append(lines, indented("    ", where)...)
	if len(c.Env) > 0 {
		lines = append(lines, indented("    with ", strings.Join(c.Env, " "))...)
	}
	return lines
}

// write shows what a write changes. The old content counts only if it is the one that the approval is bound to.
func (c canonical) write(old []byte) []string {
	var before string
	_ = json.Unmarshal(c.Before, &before) // "" if it is no text: the old content is not known then
	sum := sha256.Sum256(old)
	switch {
	case !strings.HasPrefix(before, "absent") && before != "sha256:"+hex.EncodeToString(sum[:]):
		return append([]string{"  the new content (the old one cannot be compared here):"}, indented("  + ", c.Content)...)
	case len(old) == 0:
		return indented("  + ", strings.TrimSuffix(c.Content, "\n"))
	}
	diff := strings.Split(strings.TrimSuffix(udiff.Unified("before", "after", string(old), c.Content), "\n"), "\n")
	if len(diff) < 3 {
		return []string{"  the content stays the same"}
	}
	return indented("  ", strings.Join(diff[2:], "\n")) // without the names
}

// fields shows the members of an object, without some. Of a canonical form these are the members that only bind an approval to a state of the machine.
// flat: a text that could be taken for several members on one line is quoted.
func fields(raw []byte, flat bool, without ...string) (lines []string) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return indented("  call: ", string(raw))
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return indented("  call: ", string(raw))
		}
		name := fmt.Sprint(key)
		if slices.Contains(without, name) {
			continue
		}
		var text string
		var list []string
		switch {
		case json.Unmarshal(value, &text) == nil:
		case json.Unmarshal(value, &list) == nil:
			text = strings.Join(list, "\n")
		default:
			text = string(value)
		}
		if flat && strings.ContainsAny(text, ",\n") {
			text = strconv.Quote(text)
		}
		switch {
		case name == "old_text":
			lines = append(lines, indented("  - ", strings.TrimSuffix(text, "\n"))...)
		case name == "new_text":
			lines = append(lines, indented("  + ", strings.TrimSuffix(text, "\n"))...)
		case strings.Contains(text, "\n"):
			lines = append(append(lines, "  "+label(name)+":"), indented("    ", text)...)
		default:
			lines = append(lines, "  "+label(name)+": "+text)
		}
	}
	return lines
}

// Listed shows the members of an object on one line: "action: remove, name: tea".
func Listed(raw []byte) string {
	lines := fields(raw, true)
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return netguard.Visible(strings.Join(lines, ", "))
}

// label is the name of a member. One that could be taken for a line of hob's own is quoted.
func label(name string) string {
	plain := func(c rune) bool {
		return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	if name == "careful" || strings.ContainsFunc(name, func(c rune) bool { return !plain(c) }) {
		return fmt.Sprintf("%q", name)
	}
	return name
}

// indented puts a prefix before the first line of a text, and before each further line a sign of a diff again or blanks of the same width.
func indented(prefix, text string) []string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		if i > 0 && !strings.ContainsAny(prefix, "+-") {
			prefix = strings.Repeat(" ", len(prefix))
		}
		lines[i] = prefix + lines[i]
	}
	return lines
}
