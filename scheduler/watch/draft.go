package watch

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/glob"
	"hob/scheduler"
)

// Bounds of a watch.
const (
	defaultSettle  = 2 * time.Second
	shortestSettle = 200 * time.Millisecond
	longestSettle  = time.Hour
	shortestPoll   = time.Second
	longestPoll    = 24 * time.Hour
	longestName    = 64 // as of a job
	mostPaths      = 100
)

// Draft is a watch as it is asked for. Empty fields take their defaults.
type Draft struct {
	Name    string // default: made from the prompt
	Prompt  string
	Paths   []string // files, folders, globs; "~" is the owner's home; relative ones stand in the workspace
	Include []string
	Events  []string // default: all
	Settle  string   // a period such as 2s; default 2 s
	Poll    string   // a period; default: none
	Deliver string   // channel:address, owner (default) or none
	Trust   event.Trust
	Typed   bool
	scheduler.Mandate
	Flat, Gitignore, Own bool
	Origin               string // default: run-time
}

// New makes a watch out of a draft. It looks where the paths lead, and opens nothing. The error joins one line for every fault of
// the draft. The caller gives the ID and sees to it that the name is unique.
func New(d Draft, guard *fsguard.Guard, now time.Time) (Watch, error) {
	f := faults{}
	w := Watch{
		Trigger: scheduler.Trigger{
			Name: f.name(d), Prompt: strings.TrimSpace(d.Prompt), Deliver: f.deliver(d.Deliver), Trust: d.Trust, Typed: d.Typed, Mandate: d.Mandate,
			Origin: cmp.Or(d.Origin, "run-time"), Created: now.UTC().Truncate(time.Second),
		},
		Paths: f.paths(d.Paths, guard), Include: f.include(d.Include), Events: f.events(d.Events),
		Settle: f.period("settle", d.Settle, defaultSettle, shortestSettle, longestSettle),
		Poll:   f.period("poll", d.Poll, 0, shortestPoll, longestPoll),
		Flat:   d.Flat, Gitignore: d.Gitignore, Own: d.Own,
	}
	if w.Prompt == "" {
		f.add(errors.New("prompt: it is empty; say what is to be done when files change"))
	}
	if d.Trust == "" {
		f.add(errors.New("trust: nobody stands behind the watch"))
	}
	if len(f.list) > 0 {
		return Watch{}, errors.Join(f.list...)
	}
	return w, nil
}

// Check says why a watch cannot be used, nil when it can: one that was stored may stand on another machine by now.
func (w Watch) Check(guard *fsguard.Guard) error {
	f := faults{}
	f.paths(w.Paths, guard)
	f.include(w.Include)
	if w.Settle < shortestSettle || w.Settle > longestSettle {
		f.add(fmt.Errorf("settle %v: want between %v and %v", w.Settle, shortestSettle, longestSettle))
	}
	return errors.Join(f.list...)
}

// faults gathers what is wrong with a draft.
type faults struct{ list []error }

func (f *faults) add(err error) { f.list = append(f.list, err) }

func (f *faults) name(d Draft) string {
	name := strings.TrimSpace(d.Name)
	switch {
	case name == "":
		return nameFrom(d.Prompt)
	case utf8.RuneCountInString(name) > longestName:
		f.add(fmt.Errorf("name %q: it is longer than %d characters", name, longestName))
	case name[0] == '-':
		f.add(fmt.Errorf("name %q: it would look like a flag; let it begin with a letter or a digit", name))
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' }):
		f.add(fmt.Errorf("name %q: want only letters, digits, - and _", name))
	case strings.Trim(name, "0123456789") == "":
		f.add(fmt.Errorf("name %q: want a letter in it, or it would look like an id", name))
	}
	return name
}

// nameFrom makes a name of the first words of a prompt, "watch" when there are none.
func nameFrom(prompt string) string {
	words := strings.FieldsFunc(strings.ToLower(prompt), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	name := ""
	for _, w := range words[:min(len(words), 4)] {
		if next := strings.TrimPrefix(name+"-"+w, "-"); utf8.RuneCountInString(next) <= 32 {
			name = next
		}
	}
	if strings.Trim(name, "0123456789-") == "" {
		return "watch"
	}
	return name
}

func (f *faults) deliver(text string) event.Address {
	to, err := event.ParseAddress(cmp.Or(strings.TrimSpace(text), string(event.ToOwner)))
	if err != nil {
		f.add(fmt.Errorf("deliver: %w", err))
	}
	return to
}

// paths resolves each path: the part before a wildcard as the kernel would go.
func (f *faults) paths(list []string, guard *fsguard.Guard) []string {
	if len(list) == 0 || len(list) > mostPaths {
		f.add(fmt.Errorf("paths: want between 1 and %d files, folders or globs", mostPaths))
	}
	var out []string
	for _, path := range list[:min(len(list), mostPaths)] {
		resolved, err := resolve(strings.TrimSpace(path), guard)
		if err != nil {
			f.add(fmt.Errorf("path %q: %w", path, err))
			continue
		}
		if !slices.Contains(out, resolved) {
			out = append(out, resolved)
		}
	}
	return out
}

func resolve(path string, guard *fsguard.Guard) (string, error) {
	base, pattern := cutGlob(path)
	if base == "" && pattern != "" {
		base = "."
	}
	place, err := guard.Resolve("", base)
	if err != nil {
		return "", err
	}
	if place.Area == fsguard.State {
		return "", fmt.Errorf("%w cannot be watched", fsguard.ErrState)
	}
	if pattern == "" {
		return place.Path, nil
	}
	full := strings.TrimSuffix(filepath.ToSlash(place.Path), "/") + "/" + pattern
	_, err = glob.New(full)
	return full, err
}

// cutGlob parts a path before its first component with a wildcard in it; pattern is "" when there is none.
func cutGlob(path string) (base, pattern string) {
	for at := 0; at < len(path); {
		end := strings.IndexByte(path[at:], '/')
		if end < 0 {
			end = len(path) - at
		}
		if strings.ContainsAny(path[at:at+end], "*?[{\\") && filepath.VolumeName(path) == "" || strings.Contains(path[at:at+end], "!(") {
			return path[:at], path[at:]
		}
		at += end + 1
	}
	return path, ""
}

func (f *faults) include(list []string) []string {
	var out []string
	for _, text := range list {
		text = strings.TrimSpace(text)
		if _, err := glob.New(text); err != nil {
			f.add(fmt.Errorf("include: %w", err))
			continue
		}
		out = append(out, text)
	}
	return out
}

func (f *faults) events(list []string) []Kind {
	var out []Kind
	for _, text := range list {
		k := Kind(strings.ToLower(strings.TrimSpace(text)))
		if !slices.Contains(Kinds(), k) {
			f.add(fmt.Errorf("event %q: want create, write, remove or rename", text))
			continue
		}
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

func (f *faults) period(field, text string, unset, least, most time.Duration) time.Duration {
	text = strings.TrimSpace(text)
	if text == "" {
		return unset
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		f.add(fmt.Errorf("%s %q: want a period such as 500ms, 2s or 5m", field, text))
	case d < least || d > most:
		f.add(fmt.Errorf("%s %q: want between %v and %v", field, text, least, most))
	}
	return d
}
