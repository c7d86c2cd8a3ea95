package secret

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// minLength is the shortest value that is redacted, in bytes: shorter ones would eat ordinary words.
const minLength = 6

// Redactor takes values that it was told of out of texts. It looks for exactly these values and for the forms that they
// take in addresses, in JSON and in base 64; it guesses nothing.
// It is safe for concurrent use; its zero value knows no values yet.
type Redactor struct {
	mu     sync.Mutex // guards adding
	values map[string]string
	now    atomic.Pointer[table]
}

// table is what is looked for, longest first, so that a secret inside another one does not hide it.
type table struct {
	forms    []string
	replacer *strings.Replacer
}

// Add makes value appear as [secret NAME] from now on. A value shorter than 6 bytes is not taken, which it reports.
func (r *Redactor) Add(name, value string) bool {
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
		if _, ok := r.values[form]; !ok {
			r.values[form] = "[secret " + name + "]"
		}
	}
	r.now.Store(build(r.values))
	return true
}

// forms are the ways that a value shows up.
func forms(value string) []string {
	all := []string{
		value, url.QueryEscape(value), url.PathEscape(value),
		base64.StdEncoding.EncodeToString([]byte(value)), base64.URLEncoding.EncodeToString([]byte(value)),
		base64.RawURLEncoding.EncodeToString([]byte(value)),
	}
	if b, err := json.Marshal(value); err == nil {
		inner := strings.Trim(string(b), `"`)
		all = append(all, inner)
		if b, err = json.Marshal(inner); err == nil { // as in the arguments of a call, which are JSON in JSON
			all = append(all, strings.Trim(string(b), `"`))
		}
	}
	return all
}

func build(values map[string]string) *table {
	t := &table{}
	for form := range values {
		t.forms = append(t.forms, form)
	}
	slices.SortFunc(t.forms, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	pairs := make([]string, 0, 2*len(t.forms))
	for _, form := range t.forms {
		pairs = append(pairs, form, values[form])
	}
	t.replacer = strings.NewReplacer(pairs...)
	return t
}

// Text returns s without the known values.
func (r *Redactor) Text(s string) string {
	if t := r.now.Load(); t != nil {
		return t.replacer.Replace(s)
	}
	return s
}

// settled is how many bytes of s can be written: from there on the text could be the beginning of a value.
func (r *Redactor) settled(s string) int {
	t := r.now.Load()
	for i := 0; t != nil && i < len(s); {
		whole, open := t.at(s[i:])
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

// at reports how long the value is that s begins with, and whether all of s is the beginning of a longer one.
func (t *table) at(s string) (whole int, open bool) {
	for _, form := range t.forms { // longest first
		switch {
		case form[0] != s[0]:
		case len(form) > len(s):
			open = open || strings.HasPrefix(form, s)
		case whole == 0 && strings.HasPrefix(s, form):
			whole = len(form)
		}
	}
	return whole, open
}
