package skills

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/daemon/sys"
	"hob/daemon/text"
)

// Limits of a SKILL.md (https://agentskills.io/specification), in characters and bytes.
const (
	maxName        = 64
	maxDescription = 1_024
	maxField       = 500
	maxSkillFile   = 64 << 10
	maxAllowed     = 50 // names in allowed-tools
)

// head is the checked front matter of a skill.
type head struct {
	Name          string
	Description   string
	License       string
	Compatibility string
	Tools         []string // allowed-tools; nil: all
}

var nameForm = sys.Regexp(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// checkName says what is wrong with the name of a skill.
func checkName(name string) error {
	if len(name) > maxName || !nameForm().MatchString(name) {
		return fmt.Errorf("name %q: want at most %d of a-z, 0-9 and single hyphens between them", short(name, maxName), maxName)
	}
	return nil
}

// parse reads a SKILL.md. Its error lists everything that is wrong, a line for each.
func parse(folder string, text []byte) (h head, body string, err error) {
	if err := valid(text); err != nil {
		return h, "", err
	}
	front, body, err := split(string(text))
	if err != nil {
		return h, "", err
	}
	f, err := decode(front)
	if err != nil {
		return h, "", err
	}
	var faults []error
	h.Name = f.text("name", maxName, &faults)
	switch {
	case h.Name == "":
		faults = append(faults, errors.New("name is missing in the front matter"))
	case h.Name != folder:
		faults = append(faults, fmt.Errorf("name %q is not the name of the folder, %q", short(h.Name, maxName), short(folder, maxName)))
	default:
		faults = append(faults, checkName(h.Name))
	}
	if h.Description = f.text("description", maxDescription, &faults); h.Description == "" {
		faults = append(faults, errors.New("description is missing in the front matter: it tells when the skill is of use"))
	}
	h.License, h.Compatibility = f.text("license", maxField, &faults), f.text("compatibility", maxField, &faults)
	h.Tools = f.tools(&faults)
	if strings.TrimSpace(body) == "" {
		faults = append(faults, errors.New("SKILL.md says nothing after its front matter"))
	}
	return h, body, errors.Join(faults...)
}

// text returns a field as one line.
func (f front) text(key string, most int, faults *[]error) string {
	v, ok := f[key].(string)
	if !ok {
		if f[key] != nil {
			*faults = append(*faults, fmt.Errorf("%s: want a text", key))
		}
		return ""
	}
	line := strings.Join(strings.Fields(v), " ")
	if n := utf8.RuneCountInString(line); n > most {
		*faults = append(*faults, fmt.Errorf("%s has %d characters, at most %d are allowed", key, n, most))
	}
	// Such characters make a text look different from what a model reads.
	for _, c := range line {
		if !unicode.IsPrint(c) {
			*faults = append(*faults, fmt.Errorf("%s holds the invisible character U+%04X", key, c))
			break
		}
	}
	return line
}

// tools reads allowed-tools: a list, or one text with names between blanks or commas. A pattern such as Bash(git:*) counts as its tool,
// because hob narrows by tools only.
func (f front) tools(faults *[]error) []string {
	var names []string
	switch v := f["allowed-tools"].(type) {
	case nil:
		return nil
	case []string:
		names = v
	case string:
		names = fieldsOutside(v)
	default:
		*faults = append(*faults, errors.New("allowed-tools: want names of tools"))
	}
	out := []string{}
	for _, n := range names {
		n, _, _ = strings.Cut(strings.TrimSpace(n), "(")
		if n = toolName(n); n == "" || slices.Contains(out, n) {
			continue
		}
		if len(n) > maxName || strings.ContainsFunc(n, func(c rune) bool { return c > unicode.MaxASCII || !unicode.IsPrint(c) || c == ' ' }) {
			*faults = append(*faults, fmt.Errorf("allowed-tools: %q is no name of a tool", short(n, maxName)))
			continue
		}
		out = append(out, n)
	}
	if len(out) > maxAllowed {
		*faults = append(*faults, fmt.Errorf("allowed-tools has %d names, at most %d are allowed", len(out), maxAllowed))
	}
	return out
}

// fieldsOutside splits at blanks and commas that stand in no parentheses.
func fieldsOutside(s string) []string {
	open := 0
	return strings.FieldsFunc(s, func(c rune) bool {
		switch c {
		case '(':
			open++
		case ')':
			open = max(open-1, 0)
		}
		return open == 0 && (c == ',' || unicode.IsSpace(c))
	})
}

// toolName translates the names that other agents have for the same tools.
func toolName(name string) string {
	name = strings.ToLower(name)
	others := map[string]string{
		"bash": "exec", "shell": "exec", "multiedit": "edit", "webfetch": "web_fetch", "websearch": "web_search", "todowrite": "todo",
		"notebookedit": "notebook_edit", "task": "sessions_spawn", "askuserquestion": "ask",
	}
	if own, ok := others[name]; ok {
		return own
	}
	return name
}

// short cuts a text for a message, and replaces what is not printable.
func short(s string, most int) string {
	s = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return '\uFFFD'
		}
		return c
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return text.Shorten(s, most)
}
