package secret

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// A value of fewer than minLength bytes is not redacted. One of fewer than wordLength is redacted only as a word of its own: inside other words it
// would make ordinary text unreadable, and that text would tell what it is.
const (
	minLength  = 6
	wordLength = 8
)

// Redactor replaces known secrets in texts. It looks for exactly the added values and for their forms in URLs, JSON and base64; it
// guesses nothing. It is safe for concurrent use. The zero value knows no secrets.
type Redactor struct {
	mu     sync.Mutex // guards adding
	values map[string]string
	now    atomic.Pointer[table]
}

// table has the forms to search.
type table struct {
	forms    [256][]string // by their first byte, longest first, so that a secret inside a longer one does not hide it
	names    map[string]string
	replacer *strings.Replacer // finds the forms as they are
	address  bool              // a form may be part of an address, whose dots may stand in brackets
	words    bool              // a form is shorter than wordLength
}

// Add makes value appear as [secret NAME] from now on. It returns false for a value that cannot be kept out of every text: one of fewer than 8 bytes
// is replaced only where it is a word of its own, one of fewer than 6 nowhere.
func (r *Redactor) Add(name, value string) bool {
	// Resolve trims values as well, so this is the form that is sent.
	value = strings.TrimSpace(value)
	if len(value) < minLength {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.values == nil {
		r.values = map[string]string{}
	}
	for _, form := range forms(value) {
		// The first name of a value is kept, so that its placeholder does not change.
		if _, ok := r.values[form]; !ok {
			r.values[form] = "[secret " + name + "]"
		}
	}
	// Readers take no lock: they use the old table until the new one is complete.
	r.now.Store(build(r.values))
	return len(value) >= wordLength
}

// forms returns the forms in which a value can appear.
func forms(value string) []string {
	all := []string{
		value, url.QueryEscape(value), url.PathEscape(value),
		base64.StdEncoding.EncodeToString([]byte(value)), base64.URLEncoding.EncodeToString([]byte(value)),
		base64.RawURLEncoding.EncodeToString([]byte(value)),
	}
	if b, err := json.Marshal(value); err == nil {
		inner := strings.Trim(string(b), `"`)
		all = append(all, inner)
		if b, err = json.Marshal(inner); err == nil { // the arguments of a call are JSON inside JSON
			all = append(all, strings.Trim(string(b), `"`))
		}
	}
	return all
}

// build makes the search table for all known forms.
func build(values map[string]string) *table {
	t := &table{names: maps.Clone(values)}
	all := slices.SortedFunc(maps.Keys(values), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	pairs := make([]string, 0, 2*len(all))
	for _, form := range all {
		pairs = append(pairs, form, values[form])
		t.forms[form[0]] = append(t.forms[form[0]], form)
		if strings.HasPrefix(form, "![") { // netguard.Defang takes the mark of a picture away
			t.forms['['] = append(t.forms['['], form)
		}
		t.words = t.words || len(form) < wordLength
		t.address = t.address || strings.ContainsAny(form, ".:@<!") || strings.ContainsFunc(form, func(c rune) bool { return c >= utf8.RuneSelf })
	}
	// At one position the replacer takes the first pair that matches, so the longest form wins.
	t.replacer = strings.NewReplacer(pairs...)
	return t
}

// Text returns s with the known values replaced, also where netguard.Defang has put brackets into them.
func (r *Redactor) Text(s string) string { return r.text(s, 0, len(s)) }

// text returns s from place i to end with the known values replaced. No value is on both sides of a border.
func (r *Redactor) text(s string, i, end int) string {
	t := r.now.Load()
	switch {
	case t == nil:
		return s[i:end]
	case !t.words && (!t.address || !strings.ContainsAny(s, "[]")):
		return t.replacer.Replace(s[i:end])
	}
	var b strings.Builder
	done := i
	for i < end {
		form, n, _ := t.at(s, i)
		if n == 0 {
			i++
			continue
		}
		b.WriteString(s[done:i] + t.names[form])
		i += n
		done = i
	}
	return b.String() + s[done:end]
}

// settled returns the place in s, from i on, up to which it can be written. The rest could be the beginning of a value.
func (r *Redactor) settled(s string, i int) int {
	t := r.now.Load()
	// Step from value to value. The first place that is still open is where the next write must continue.
	for t != nil && i < len(s) {
		_, whole, open := t.at(s, i)
		switch {
		case open:
			return i
		case whole > 0:
			i += whole
		default:
			i++
		}
	}
	return len(s)
}

// at returns the longest value at place i of s with its length there, and whether the rest of s could be the beginning of a longer value.
func (t *table) at(s string, i int) (value string, whole int, open bool) {
	for _, form := range t.forms[s[i]] {
		n, more := matched(form, s[i:], t.address)
		if len(form) < wordLength && (n > 0 || more) {
			before, _ := utf8.DecodeLastRuneInString(s[:i])
			after, _ := utf8.DecodeRuneInString(s[i+n:])
			if inWord(before) || n > 0 && inWord(after) {
				continue
			}
			more = more || !utf8.FullRuneInString(s[i+n:]) // what follows decides whether it is a word of its own
		}
		if open = open || more; whole == 0 && n > 0 {
			value, whole = form, n
		}
	}
	return value, whole, open
}

// inWord reports whether a character continues a word.
func inWord(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// mostBrackets is how many brackets may stand between two characters of a value: those of "[.][@]".
const mostBrackets = 2

// matched returns how much of s is a value, and whether all of s could be its beginning. In an address netguard.Defang puts brackets around dots and the
// like.
func matched(form, s string, address bool) (n int, open bool) {
	skipped := 0
	for i := 0; i < len(form); {
		switch {
		case n == len(s):
			return 0, true
		case s[n] == form[i]:
			i, n, skipped = i+1, n+1, 0
		case address && s[n] == '[' && strings.HasPrefix(form[i:], "!["):
			i++
		case address && (s[n] == '[' || s[n] == ']') && skipped < mostBrackets:
			n, skipped = n+1, skipped+1
		default:
			return 0, false
		}
	}
	return n, false
}
