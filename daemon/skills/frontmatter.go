package skills

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxFront is the largest front matter, in bytes.
const maxFront = 16 << 10

// front is a decoded front matter: texts, lists of texts and maps of texts, by key.
type front map[string]any

// reads reports whether hob reads a key. What other keys hold is passed over: each agent has keys of its own there, and metadata with maps in maps.
func reads(key string) bool {
	switch key {
	case "name", "description", "license", "compatibility", "allowed-tools":
		return true
	}
	return false
}

// split parts a SKILL.md into its front matter and its body.
func split(text string) (head, body string, err error) {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(text, "\uFEFF"))
	first, rest, ok := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	if !ok || strings.TrimRightFunc(first, unicode.IsSpace) != "---" {
		return "", "", errors.New(`SKILL.md has no front matter: its first line must be "---", then name and description, then "---"`)
	}
	for at := 0; at <= len(rest) && at <= maxFront; {
		line, _, more := strings.Cut(rest[at:], "\n")
		if strings.TrimRightFunc(line, unicode.IsSpace) == "---" {
			return rest[:at], strings.TrimPrefix(rest[at+len(line):], "\n"), nil
		}
		if !more {
			break
		}
		at += len(line) + 1
	}
	return "", "", fmt.Errorf(`the front matter of SKILL.md has no end: a line "---" is missing in its first %d KB`, maxFront>>10)
}

// decode reads the part of YAML that front matters use: a value for each key, on its line, quoted, as a block (| and >), as a list or as
// a map of texts. Anchors, aliases, tags and deeper structures are refused, so that the size of the result is bounded by that of the text. A key
// that hob does not read is there without a value.
func decode(head string) (front, error) {
	d := decoder{lines: strings.Split(strings.TrimSuffix(head, "\n"), "\n")}
	out := front{}
	for d.at < len(d.lines) {
		line := d.lines[d.at]
		if blank(line) {
			d.at++
			continue
		}
		key, value, ok := keyOf(line)
		if !ok || line[0] == ' ' {
			return nil, d.fault("want KEY: VALUE")
		}
		if _, twice := out[key]; twice {
			return nil, d.fault("%s stands there twice", key)
		}
		d.at++
		if !reads(key) {
			d.pass()
			out[key] = nil
			continue
		}
		v, err := d.value(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		out[key] = v
	}
	return out, nil
}

// decoder walks over the lines of a front matter.
type decoder struct {
	lines []string
	at    int // the next line
}

// fault is an error about the line that is read.
func (d *decoder) fault(format string, args ...any) error {
	return fmt.Errorf("line %d of the front matter: %s", min(d.at+1, len(d.lines)), fmt.Sprintf(format, args...))
}

// blank reports whether a line has nothing to read.
func blank(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// indent counts the spaces before a line.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// keyOf splits a line at its first colon that ends a key.
func keyOf(line string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(strings.TrimSpace(line), ":")
	if !ok || key == "" || value != "" && value[0] != ' ' && value[0] != '\t' {
		return "", "", false
	}
	for _, c := range key {
		if c != '-' && c != '_' && c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return "", "", false
		}
	}
	return key, strings.TrimSpace(value), true
}

// pass goes on to the next key: over lines that are indented, entries of a list, and the end of a map or list that was opened with a bracket.
func (d *decoder) pass() {
	for d.at < len(d.lines) && (blank(d.lines[d.at]) || strings.ContainsRune(" \t-}]", rune(d.lines[d.at][0]))) {
		d.at++
	}
}

// value reads the value that begins after a key, and the indented lines that belong to it.
func (d *decoder) value(first string) (any, error) {
	if strings.HasPrefix(first, "#") {
		first = ""
	}
	switch {
	case first == "":
		return d.nested()
	case first[0] == '|' || first[0] == '>':
		return d.block(first)
	case first[0] == '[':
		return d.list(first)
	case strings.ContainsRune("&*!{%@`", rune(first[0])):
		return nil, d.fault("%q is YAML that a skill cannot use: write plain text, or put it in quotes", first[:1])
	}
	// A text goes on in the lines that are indented.
	text := []string{first}
	for d.at < len(d.lines) && (d.lines[d.at] == "" || d.lines[d.at][0] == ' ') {
		text = append(text, strings.TrimSpace(d.lines[d.at]))
		d.at++
	}
	return d.scalar(strings.TrimSpace(strings.Join(text, " ")))
}

// scalar reads a text, in quotes or plain.
func (d *decoder) scalar(s string) (string, error) {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		if i := strings.Index(s, " #"); i >= 0 {
			s = strings.TrimSpace(s[:i])
		}
		return s, nil
	}
	text, rest, err := unquote(s)
	if err != nil {
		return "", d.fault("%v", err)
	}
	if rest = strings.TrimSpace(rest); rest != "" && rest[0] != '#' {
		return "", d.fault("there is something after the closing quote")
	}
	return text, nil
}

// unquote reads a text in quotes from the start of s, and returns what follows it.
func unquote(s string) (text, rest string, err error) {
	var b strings.Builder
	quote := s[0]
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == quote && quote == '\'' && i+1 < len(s) && s[i+1] == '\'':
			b.WriteByte(c)
			i++
		case c == quote:
			return b.String(), s[i+1:], nil
		case c == '\\' && quote == '"' && i+1 < len(s):
			i++
			switch s[i] {
			case '"', '\\', '/':
				b.WriteByte(s[i])
			case 'n', 't':
				b.WriteByte(' ')
			default:
				return "", "", fmt.Errorf(`\%c is not known: want \" or \\`, s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "", fmt.Errorf("the quote %c is not closed", quote)
}

// list reads a list on one line: [a, "b"].
func (d *decoder) list(first string) (any, error) {
	list := []string{}
	s := strings.TrimSpace(first[1:])
	for s != "" && s[0] != ']' {
		var item string
		var err error
		if s[0] == '"' || s[0] == '\'' {
			if item, s, err = unquote(s); err != nil {
				return nil, d.fault("%v", err)
			}
			s = strings.TrimSpace(s)
		} else {
			i := strings.IndexAny(s, ",]")
			// Only the first character makes an anchor, an alias or a tag: "Bash(git:*)" is a text.
			if i < 0 || strings.ContainsAny(s[:i], "[{") || strings.ContainsRune("&*!", rune(s[0])) {
				break
			}
			item, s = strings.TrimSpace(s[:i]), s[i:]
		}
		list = append(list, item)
		s = strings.TrimSpace(strings.TrimPrefix(s, ","))
	}
	if rest := strings.TrimSpace(strings.TrimPrefix(s, "]")); s == "" || s[0] != ']' || rest != "" && rest[0] != '#' {
		return nil, d.fault("want a list of texts on one line: [a, b]")
	}
	return list, nil
}

// nested reads the indented lines below a key: a list, a map, or a text.
func (d *decoder) nested() (any, error) {
	var list, text []string
	pairs := map[string]string{}
	deep := -1
	for ; d.at < len(d.lines); d.at++ {
		line := d.lines[d.at]
		if blank(line) {
			continue
		}
		item := strings.TrimSpace(line)
		dash := item == "-" || strings.HasPrefix(item, "- ")
		if line[0] != ' ' && !dash {
			break
		}
		if deep < 0 {
			deep = indent(line)
		}
		key, value, pair := keyOf(line)
		structure := indent(line) != deep || strings.ContainsRune("&*![{|>", rune(strings.TrimSpace(strings.TrimPrefix(item, "-") + " x")[0])) || pair && value != "" && strings.ContainsRune("&*![{|>", rune(value[0]))
		switch {
		case len(text) > 0:
			text = append(text, item)
			continue
		case structure:
			return nil, d.fault("only a list of texts, or a map of texts, may stand here")
		}
		raw := strings.TrimSpace(strings.TrimPrefix(item, "-"))
		if pair && !dash {
			raw = value
		}
		one, err := d.scalar(raw)
		switch {
		case err != nil:
			return nil, err
		case dash:
			list = append(list, one)
		case pair:
			pairs[key] = one
		default:
			text = append(text, item)
		}
	}
	switch {
	case len(list)+len(text) > 0 && len(pairs) > 0 || len(list) > 0 && len(text) > 0:
		return nil, d.fault("a list, a map and a text are mixed")
	case len(list) > 0:
		return list, nil
	case len(pairs) > 0:
		return pairs, nil
	}
	return d.scalar(strings.Join(text, " "))
}

// block reads a block text: with | its line breaks stay, with > they become blanks. Signs that say what becomes of the end are accepted.
func (d *decoder) block(first string) (any, error) {
	sign, _, _ := strings.Cut(first, " ")
	if len(strings.TrimRight(sign[1:], "+-123456789")) > 0 {
		return nil, d.fault("want | or > alone on the line")
	}
	var lines []string
	deep := -1
	for ; d.at < len(d.lines); d.at++ {
		line := d.lines[d.at]
		if strings.TrimSpace(line) != "" && line[0] != ' ' {
			break
		}
		if deep < 0 && strings.TrimSpace(line) != "" {
			deep = indent(line)
		}
		lines = append(lines, line[min(max(deep, 0), indent(line)):])
	}
	join := " "
	if sign[0] == '|' {
		join = "\n"
	}
	return strings.TrimSpace(strings.Join(lines, join)), nil
}

// valid reports whether a text is UTF-8.
func valid(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("SKILL.md is not UTF-8 text")
	}
	return nil
}
