// Package ignore says which files of a tree are not meant to be looked at: by .gitignore, .git/info/exclude and git's
// global excludes as git reads them, and by .ignore and .rgignore as ripgrep does. It looks at names and reads only the
// files of rules.
package ignore

import (
	"bytes"
	"strings"
)

// Verdict is what rules say of a path.
type Verdict int

// The verdicts.
const (
	None   Verdict = iota // no rule speaks of it
	Ignore                //
	Keep                  // a rule with "!" takes it back
)

// rule is one line of a file of rules, after gitignore(5).
type rule struct {
	text   string // what is matched: a name, or a path below the file's folder
	keep   bool   // "!"
	folder bool   // only folders
	whole  bool   // text is matched with the path, not with the last name of it
	shape  shape
}

// shape lets the usual rules be judged without a matcher.
type shape int

const (
	wild    shape = iota
	literal       // no special character
	suffix        // "*" and a literal
)

// rules are those of one file, in its order: the last one that matches counts.
type rules []rule

// parse reads a file of rules. Lines that can match nothing are left out.
func parse(raw []byte) rules {
	var list rules
	for line := range bytes.SplitSeq(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")), []byte("\n")) {
		if r, ok := parseLine(string(bytes.TrimSuffix(line, []byte("\r")))); ok {
			list = append(list, r)
		}
	}
	return list
}

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

// trimSpaces takes off the spaces at the end that no backslash protects.
func trimSpaces(line string) string {
	end := len(line)
	for end > 0 && line[end-1] == ' ' {
		end--
	}
	slashes := 0
	for slashes < end && line[end-1-slashes] == '\\' {
		slashes++
	}
	if slashes%2 == 1 && end < len(line) {
		end++
	}
	return line[:end]
}

// matches reports whether the rule speaks of a path below its file's folder; name is the path's last part.
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
	default:
		return match(r.text, text)
	}
}

func (l rules) verdict(path, name string, folder bool) Verdict {
	for i := len(l) - 1; i >= 0; i-- {
		if !l[i].matches(path, name, folder) {
			continue
		}
		if l[i].keep {
			return Keep
		}
		return Ignore
	}
	return None
}
