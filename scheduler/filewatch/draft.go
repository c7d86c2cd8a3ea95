package filewatch

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/config/schema"
	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/glob"
	"hob/scheduler"
)

// Limits of a watch.
const (
	defaultSettle  = 2 * time.Second
	shortestSettle = 200 * time.Millisecond
	longestSettle  = time.Hour
	shortestPoll   = time.Second
	longestPoll    = 24 * time.Hour
	mostPaths      = 100
)

// Draft is a requested watch. A config section [watches.NAME], the input of the tool watch, and the flags of hob watch decode into it. An
// empty field takes its default. Fields describes the fields for people and models.
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
	Plain     *bool    `toml:"plain" json:"plain,omitempty" jsonschema:"never ask a model"` // see event.Prompts
	Rights    []string `toml:"allow" json:"-"`

	// The decoding code sets the remaining fields; they never come from the input.

	Origin      string                `toml:"-" json:"-"` // default: run-time
	Trust       event.Trust           `toml:"-" json:"-"`
	Typed       bool                  `toml:"-" json:"-"` // the owner typed this request
	ReplyTo     event.Address         `toml:"-" json:"-"` // address of the request, the default of Deliver
	Now         time.Time             `toml:"-" json:"-"`
	Permissions scheduler.Permissions `toml:"-" json:"-"` // the checked rights
}

// Fields describes the fields of a watch, in the order of the documentation.
func Fields() []scheduler.Field {
	return []scheduler.Field{
		{Note: schema.Note{Name: "name"}, Flag: "what to call it (default: made from the prompt)"},
		{
			Note: schema.Note{Name: "paths", Unset: "a mistake", Example: `["~/Downloads/*.pdf"]`, Doc: "The files, folders and globs to watch; relative paths are in the workspace. At least one is required."},
			Flag: "a file, a folder or a glob in quotes; may be repeated", FlagAs: "path",
		},
		{Note: schema.Note{Name: "prompt", Unset: "a mistake", Example: `"say: there is a new file"`, Doc: "What to do when they change. Required."}},
		{
			Note: schema.Note{Name: "include", Unset: "all files", Example: `["*.pdf", "docs/**"]`, Doc: "Only files in a folder that match one of these globs."},
			Flag: "only files in a folder that match this glob, as in '*.pdf'; may be repeated",
		},
		{
			Note: schema.Note{Name: "events", Unset: "all", Example: `["create", "write"]`, Pattern: `^(create|write|remove|rename)$`, Doc: "The kinds of changes that count."},
			Flag: "the changes that count: create, write, remove, rename (default all)", Commas: true,
		},
		{
			Note: schema.Note{Name: "settle", Unset: "`2s`", Example: `"2s"`, Doc: "How long a file must be unchanged before it is reported; 200ms to 1h."},
			Flag: "how long a file must be unchanged before it is reported (default 2s)",
		},
		{
			Note: schema.Note{Name: "deliver", Unset: "`owner`", Example: `"owner"`, Doc: "The recipient of its answer: channel:address, `owner` or `none`."},
			Flag: "where the answer goes: owner, none or an address",
		},
		{Note: schema.Note{Name: "flat", Example: "true", Doc: "Ignore subfolders."}, Flag: "leave subfolders out"},
		{Note: schema.Note{Name: "gitignore", Example: "true", Doc: "Ignore the files that .gitignore excludes."}, Flag: "leave out what .gitignore leaves out"},
		{Note: schema.Note{Name: "own", Example: "true", Doc: "Also report what hob's own file tools write."}, Flag: "what hob's own file tools write counts too"},
		{
			Note: schema.Note{Name: "poll", Unset: "the system reports changes", Example: `"30s"`, Doc: "Scan at this interval instead of waiting for events; 1s to 24h."},
			Flag: "scan at this interval instead of waiting for events, as in 30s",
		},
		scheduler.PlainField("watch"),
		{
			Note: schema.Note{Name: "allow", Unset: "none", Example: `["net:example.org"]`, Pattern: `^(net(:.+)?|read:[/~].*|message:.+)$`, Doc: "Rights that its runs have without asking: `net`, `net:HOST`, `read:PATH`, `message:ADDRESS`; they may always read the watched files."},
			Flag: "rights that its runs have without asking, besides reading the watched files: net, net:HOST, read:PATH, message:ADDRESS, separated by commas",
		},
	}
}

// New creates a watch from a draft. It resolves the paths and opens nothing. The error has one line for each fault of the draft. The caller
// sets the ID and makes sure that the name is unique.
func New(d Draft, guard *fsguard.Guard, now time.Time) (Watch, error) {
	// Check every field before returning, so that one answer names all faults.
	f := faults{}
	w := Watch{
		Trigger: scheduler.Trigger{
			Name: f.name(d), Prompt: strings.TrimSpace(d.Prompt), Deliver: f.Deliver(d.Deliver), Trust: d.Trust, Typed: d.Typed, Permissions: d.Permissions,
			Origin: cmp.Or(d.Origin, "run-time"), Created: now.UTC().Truncate(time.Second),
		},
		Paths: f.paths(d.Paths, guard), Include: f.include(d.Include), Events: f.events(d.Events),
		Settle: f.period("settle", d.Settle, defaultSettle, shortestSettle, longestSettle),
		Poll:   f.period("poll", d.Poll, 0, shortestPoll, longestPoll),
		Flat:   d.Flat, Gitignore: d.Gitignore, Own: d.Own,
	}
	f.Add(scheduler.CheckPrompt(w.Prompt, "say what to do when files change"))
	if d.Trust == "" {
		f.Add(errors.New("trust: the watch has no requester"))
	}
	if err := f.Err(); err != nil {
		return Watch{}, err
	}
	return w, nil
}

// Check returns the reason that a watch cannot be used, or nil. A stored watch may have been moved to another machine.
// The Watcher calls it before it starts a watch.
func (w Watch) Check(guard *fsguard.Guard) error {
	f := faults{}
	f.paths(w.Paths, guard)
	f.include(w.Include)
	if w.Settle < shortestSettle || w.Settle > longestSettle {
		f.Add(fmt.Errorf("settle %v: want between %v and %v", w.Settle, shortestSettle, longestSettle))
	}
	return f.Err()
}

// faults collects the faults of a draft.
type faults struct{ scheduler.Faults }

// name checks a watch's name, or makes one from the prompt. Names must differ from ids and flags, because commands take either.
func (f *faults) name(d Draft) string {
	name := strings.TrimSpace(d.Name)
	if name == "" {
		return scheduler.NameFrom(d.Prompt, "watch")
	}
	f.Add(scheduler.CheckName(name))
	return name
}

// paths resolves each path. The part before a wildcard is resolved like the kernel does.
func (f *faults) paths(list []string, guard *fsguard.Guard) []string {
	if len(list) == 0 || len(list) > mostPaths {
		f.Add(fmt.Errorf("paths: want between 1 and %d files, folders or globs", mostPaths))
	}
	var out []string
	for _, path := range list[:min(len(list), mostPaths)] {
		resolved, err := resolve(strings.TrimSpace(path), guard)
		if err != nil {
			f.Add(fmt.Errorf("path %q: %w", path, err))
			continue
		}
		if !slices.Contains(out, resolved) {
			out = append(out, resolved)
		}
	}
	return out
}

// resolve resolves the part of a path before its first pattern. hob's own state cannot be watched.
func resolve(path string, guard *fsguard.Guard) (string, error) {
	base, pattern := splitGlob(path)
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

// splitGlob splits a path before the first component with a wildcard. pattern is "" if there is none.
func splitGlob(path string) (base, pattern string) {
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

// include checks the patterns of file names.
func (f *faults) include(list []string) []string {
	var out []string
	for _, text := range list {
		text = strings.TrimSpace(text)
		if _, err := glob.New(text); err != nil {
			f.Add(fmt.Errorf("include: %w", err))
			continue
		}
		out = append(out, text)
	}
	return out
}

// events checks the kinds of changes and drops repeated ones.
func (f *faults) events(list []string) []Kind {
	var out []Kind
	for _, text := range list {
		k := Kind(strings.ToLower(strings.TrimSpace(text)))
		if !slices.Contains(Kinds(), k) {
			f.Add(fmt.Errorf("event %q: want create, write, remove or rename", text))
			continue
		}
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// period parses a duration within its bounds.
func (f *faults) period(field, text string, unset, least, most time.Duration) time.Duration {
	text = strings.TrimSpace(text)
	if text == "" {
		return unset
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		f.Add(fmt.Errorf("%s %q: want a period such as 500ms, 2s or 5m", field, text))
	case d < least || d > most:
		f.Add(fmt.Errorf("%s %q: want between %v and %v", field, text, least, most))
	}
	return d
}
