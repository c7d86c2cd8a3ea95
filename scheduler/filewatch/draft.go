package filewatch

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

	"hob/config/schema"
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

// Draft is a watch as it is asked for. A section [watches.NAME] of the config, the input of the tool watch and the flags of hob watch decode into
// it. Empty fields take their defaults. Fields describes the fields that people and models give.
type Draft struct {
	Name      string   `toml:"-" json:"name,omitempty" jsonschema:"what it is called" max:"64"`                             // default: made from the prompt
	Paths     []string `toml:"paths" json:"paths,omitempty" jsonschema:"files, folders or globs such as ~/Downloads/*.pdf"` // relative ones are in the workspace
	Include   []string `toml:"include" json:"include,omitempty" jsonschema:"only files below a folder that match one of these globs"`
	Events    []string `toml:"events" json:"events,omitempty" jsonschema:"create, write, remove, rename; default all"`
	Settle    string   `toml:"settle" json:"settle,omitempty" jsonschema:"how long a file must rest before it is told, default 2s"`
	Prompt    string   `toml:"prompt" json:"prompt,omitempty" jsonschema:"what to do then; 'say: TEXT' is sent as it is"`
	Deliver   string   `toml:"deliver" json:"deliver,omitempty" jsonschema:"owner, none or channel:address"`
	Flat      bool     `toml:"flat" json:"flat,omitempty" jsonschema:"leave subfolders out"`
	Gitignore bool     `toml:"gitignore" json:"gitignore,omitempty" jsonschema:"leave out what .gitignore leaves out"`
	Own       bool     `toml:"own" json:"own,omitempty" jsonschema:"count what hob's own file tools write too"`
	Poll      string   `toml:"poll" json:"poll,omitempty" jsonschema:"look this often instead of waiting for events, as in 30s"`
	Allow     string   `toml:"-" json:"allow,omitempty" jsonschema:"rights: net, net:HOST, read:PATH, message:ADDRESS; what is watched may be read"`
	Rights    []string `toml:"allow" json:"-"`

	// The rest is set by the one who decodes the draft, never by what is decoded.

	Origin  string            `toml:"-" json:"-"` // default: run-time
	Trust   event.Trust       `toml:"-" json:"-"`
	Typed   bool              `toml:"-" json:"-"` // the owner typed this call
	ReplyTo event.Address     `toml:"-" json:"-"` // where it is asked for: the default of Deliver
	Now     time.Time         `toml:"-" json:"-"`
	Mandate scheduler.Mandate `toml:"-" json:"-"` // what the caller has worked out of the rights
}

// Fields describes the fields of a watch, in the order in which people read about them.
func Fields() []scheduler.Field {
	return []scheduler.Field{
		{Note: schema.Note{Name: "name"}, Flag: "what to call it (default: made from the prompt)"},
		{
			Note: schema.Note{Name: "paths", Unset: "a mistake", Example: `["~/Downloads/*.pdf"]`, Doc: "Files, folders and globs that are watched, relative ones in the workspace; there must be one."},
			Flag: "a file, a folder or a glob in quotes; several times for several", FlagAs: "path",
		},
		{Note: schema.Note{Name: "prompt", Unset: "a mistake", Example: `"say: there is a new file"`, Doc: "What is to be done when they change; it must be there."}},
		{
			Note: schema.Note{Name: "include", Unset: "all files", Example: `["*.pdf", "docs/**"]`, Doc: "Only files below a folder that match one of these globs."},
			Flag: "only files below a folder that match this glob, as in '*.pdf'; several times for several",
		},
		{
			Note: schema.Note{Name: "events", Unset: "all", Example: `["create", "write"]`, Pattern: `^(create|write|remove|rename)$`, Doc: "The kinds of changes that count."},
			Flag: "the changes that count: create, write, remove, rename (default all)", Commas: true,
		},
		{
			Note: schema.Note{Name: "settle", Unset: "`2s`", Example: `"2s"`, Doc: "How long a file must have rested before it is told; 200ms to 1h."},
			Flag: "how long a file must rest before it is told (default 2s)",
		},
		{
			Note: schema.Note{Name: "deliver", Unset: "`owner`", Example: `"owner"`, Doc: "Where its answer goes: channel:address, `owner` or `none`."},
			Flag: "where the answer goes: owner, none or an address",
		},
		{Note: schema.Note{Name: "flat", Example: "true", Doc: "Leave subfolders out."}, Flag: "leave subfolders out"},
		{Note: schema.Note{Name: "gitignore", Example: "true", Doc: "Leave out what .gitignore leaves out."}, Flag: "leave out what .gitignore leaves out"},
		{Note: schema.Note{Name: "own", Example: "true", Doc: "What hob's own file tools write counts too."}, Flag: "what hob's own file tools write counts too"},
		{
			Note: schema.Note{Name: "poll", Unset: "hob is told by the system", Example: `"30s"`, Doc: "Look this often instead of waiting for events; 1s to 24h."},
			Flag: "look this often instead of waiting for events, as in 30s",
		},
		{
			Note: schema.Note{Name: "allow", Unset: "none", Example: `["net:example.org"]`, Pattern: `^(net(:.+)?|read:[/~].*|message:.+)$`, Doc: "Rights that it has without asking: `net`, `net:HOST`, `read:PATH`, `message:ADDRESS`; what is watched may be read."},
			Flag: "rights that it has without asking beside reading what is watched: net, net:HOST, read:PATH, message:ADDRESS, with commas between them",
		},
	}
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
