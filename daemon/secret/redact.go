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

// minLength is the shortest value that is redacted, in bytes. Shorter ones would match ordinary words.
const minLength = 6

// Redactor replaces known secrets in texts. It looks for exactly the added values and for their forms in URLs, JSON and base64; it
// guesses nothing. It is safe for concurrent use. The zero value knows no secrets.
type Redactor struct {
	mu     sync.Mutex // guards adding
	values map[string]string
	now    atomic.Pointer[table]
}

// table is the list of forms to search, longest first, so that a secret inside a longer one does not hide it.
type table struct {
	forms    []string
	replacer *strings.Replacer
}

// Add makes value appear as [secret NAME] from now on. It returns false for a value shorter than 6 bytes, which it ignores.
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
	return true
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
	// At one position the replacer takes the first pair that matches, so the longest form wins.
	t.replacer = strings.NewReplacer(pairs...)
	return t
}

// Text returns s with the known values replaced.
func (r *Redactor) Text(s string) string {
	if t := r.now.Load(); t != nil {
		return t.replacer.Replace(s)
	}
	return s
}

// settled returns how many bytes of s can be written. The rest could be the beginning of a value.
func (r *Redactor) settled(s string) int {
	t := r.now.Load()
	// Step from value to value. The first place that is still open is where the next write must continue.
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

// at returns the length of the value at the start of s, and whether all of s could be the beginning of a longer value.
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
