package walk

import (
	"bytes"
	"strings"
)

// Verdict is the decision of the rules about a path.
type Verdict int

// The verdicts.
const (
	NoRule  Verdict = iota // no rule matches
	Ignored                //
	Kept                   // a rule with "!" includes it again
)

// rule is one line of a rule file, see gitignore(5).
type rule struct {
	text   string // the pattern: a name, or a path below the file's folder
	keep   bool   // "!"
	folder bool   // it matches folders only
	whole  bool   // text is matched against the path, not only its last name
	shape  shape
}

// shape marks common rules that need no matcher.
// Most rules of real projects have one of these, and each rule is tried on each name of a walk.
type shape int

const (
	wild    shape = iota
	literal       // no special character
	suffix        // "*" and a literal
)

// rules are the rules of one file in order. The last one that matches decides.
type rules []rule

// parse parses a rule file. Lines that can match nothing are dropped.
// It accepts a byte order mark at the beginning and line ends of Windows, as git does.
func parse(raw []byte) rules {
	var list rules
	for line := range bytes.SplitSeq(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")), []byte("\n")) {
		if r, ok := parseLine(string(bytes.TrimSuffix(line, []byte("\r")))); ok {
			list = append(list, r)
		}
	}
	return list
}

// parseLine parses one line in the order of gitignore(5), PATTERN FORMAT; false: a comment or an empty pattern. A backslash before "#" or
// "!" stays in the text, and the matcher removes it.
func parseLine(line string) (rule, bool) {
	if strings.HasPrefix(line, "#") {
		return rule{}, false
	}
	line = trimSpaces(line)
	r := rule{}
	if strings.HasPrefix(line, "!") {
		r.keep = true
		line = line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.folder = true
		line = line[:len(line)-1]
	}
	// A slash at the beginning or in the middle ties the pattern to the folder of its file. One at the end does not: it is gone by now.
	r.whole = strings.Contains(line, "/")
	r.text = strings.TrimPrefix(line, "/")
	if r.text == "" {
		return r, false
	}
	switch {
	case !strings.ContainsAny(r.text, `*?[\`):
		r.shape = literal
	case r.text[0] == '*' && !r.whole && !strings.ContainsAny(r.text[1:], `*?[\`):
		r.shape = suffix
	}
	return r, true
}

// trimSpaces removes trailing spaces that no backslash protects.
func trimSpaces(line string) string {
	end := len(line)
	for end > 0 && line[end-1] == ' ' {
		end--
	}
	slashes := 0
	for slashes < end && line[end-1-slashes] == '\\' {
		slashes++
	}
	// An odd number of backslashes protects the first of the spaces.
	if slashes%2 == 1 && end < len(line) {
		end++
	}
	return line[:end]
}

// matches reports whether the rule matches a path below its file's folder. name is the last element of the path.
func (r *rule) matches(path, name string, folder bool) bool {
	if r.folder && !folder {
		return false
	}
	text := name
	if r.whole {
		text = path
	}
	switch r.shape {
	case literal:
		return text == r.text
	case suffix:
		return strings.HasSuffix(text, r.text[1:])
	}
	return match(r.text, text)
}

// verdict returns the decision of the last rule that matches.
func (l rules) verdict(path, name string, folder bool) Verdict {
	for i := len(l) - 1; i >= 0; i-- {
		if !l[i].matches(path, name, folder) {
			continue
		}
		if l[i].keep {
			return Kept
		}
		return Ignored
	}
	return NoRule
}
