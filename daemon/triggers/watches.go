package triggers

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/policy"
	"hob/scheduler/filewatch"
	"hob/tools"
	"hob/tools/automation"
)

// WatchRows stores watches.
// store.Watches implements it. WatchNamed returns an event.Fault of the kind Missing if there is no such watch.
type WatchRows interface {
	AllWatches(ctx context.Context) ([]filewatch.Watch, error)
	WatchNamed(ctx context.Context, nameOrID string) (filewatch.Watch, error)
	// Progress returns the progress of the watches, by their ids.
	Progress(ctx context.Context) (map[int64]filewatch.Progress, error)
	Record(ctx context.Context, changes ...tools.Change) error
}

// Watches is the service for file watches: the tools, the API and the config create, list and change watches through it. Every field must be set.
type Watches struct {
	Rows    WatchRows
	Guard   func() *fsguard.Guard // as the config says now
	Now     func() time.Time
	Unheard func(event.Address) string // why nothing that is sent there would arrive; "": it would
	Most    func() int                 // how many folders the system can watch; 0: not known

	event.Prompts
}

var _ automation.Watches = Watches{}

// List returns all watches, by name.
func (s Watches) List(ctx context.Context) ([]filewatch.View, error) {
	list, err := s.Rows.AllWatches(ctx)
	if err != nil {
		return nil, err
	}
	progress, err := s.Rows.Progress(ctx)
	if err != nil {
		return nil, err
	}
	views := make([]filewatch.View, len(list))
	for i, w := range list {
		views[i] = s.waiting(w.View(progress[w.ID]))
	}
	return views, nil
}

// Find returns the watch with a name or id; false: there is none.
func (s Watches) Find(ctx context.Context, name string) (filewatch.View, bool, error) {
	view, err := s.Named(ctx, name)
	if f, ok := event.AsFault(err); ok && f.Kind == event.Missing {
		return filewatch.View{}, false, nil
	}
	return view, err == nil, err
}

// Named finds a watch by its name or id.
func (s Watches) Named(ctx context.Context, name string) (filewatch.View, error) {
	w, err := s.Rows.WatchNamed(ctx, name)
	if err != nil {
		return filewatch.View{}, err
	}
	progress, err := s.Rows.Progress(ctx)
	return s.waiting(w.View(progress[w.ID])), err
}

// Crowded returns a warning if a watch has more folders than the system can watch. It returns "" if not, or if counting takes too long.
func (s Watches) Crowded(ctx context.Context, view filewatch.View) string {
	most := s.Most()
	// A watch that polls needs no watches of the system.
	if most == 0 || view.Poll != "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, countingFor)
	defer cancel()
	if !filewatch.Exceeds(ctx, filewatch.Watch{Paths: view.Paths, Include: view.Include, Flat: view.Flat, Gitignore: view.Gitignore}, most) {
		return ""
	}
	return fmt.Sprintf("it has more folders than the system can watch (%d): the rest is looked at from time to time instead; "+
		"on Linux raise the limit: sudo sysctl fs.inotify.max_user_watches=1048576", most)
}

// countingFor limits the time for counting the folders of a new watch, because the caller waits for it.
const countingFor = 300 * time.Millisecond

// waiting notes that a watch needs a model that is not there, and the paths of a watch that do not exist. Lists show them, so that the owner sees why
// nothing fires.
func (s Watches) waiting(view filewatch.View) filewatch.View {
	view.NeedsModel = s.Lacks(view.Prompt, view.Plain)
	view.Waits = strings.Join(absentPaths(view.Paths, s.Guard()), ", ")
	return view
}

// absentPaths returns the paths that do not exist; of a pattern, the folder before it.
func absentPaths(paths []string, g *fsguard.Guard) (list []string) {
	for _, path := range paths {
		for strings.ContainsAny(path, "*?[{") && path != filepath.Dir(path) {
			path = filepath.Dir(path)
		}
		if place, err := g.Resolve("", path); err == nil && !place.Exists() {
			list = append(list, path)
		}
	}
	return list
}

// Plan turns a draft into a new watch. It stores nothing: the caller commits the change, usually after an approval.
func (s Watches) Plan(ctx context.Context, d filewatch.Draft) (filewatch.View, tools.Change, error) {
	allow, err := policy.RightsOfOthers(d.Allow, fsguard.Absolute)
	if err != nil {
		return filewatch.View{}, nil, refuseWatch(err)
	}
	owner := d.Trust == event.Owner
	// The trust of the requester is used up here: the runs of a watch are a machine's, see watchTrust.
	d.Deliver, d.Trust, d.Typed, d.Permissions.Allow = cmp.Or(d.Deliver, string(watchDelivery(d.ReplyTo))), watchTrust, d.Typed && owner, allow
	w, err := filewatch.New(d, s.Guard(), d.Now)
	if err != nil {
		return filewatch.View{}, nil, refuseWatch(err)
	}
	if w.Plain, err = s.Plain(w.Prompt, d.Plain, "", false); err != nil {
		return filewatch.View{}, nil, refuseWatch(err)
	}
	// A turn that has read foreign text cannot give the right to read the files.
	if owner && !d.Permissions.Tainted {
		w.Allow = append(w.Allow, readable(w)...)
	}
	if w.Name, err = s.freeName(ctx, w.Name, d.Name != ""); err != nil {
		return filewatch.View{}, nil, err
	}
	if why := s.Unheard(w.Deliver); why != "" {
		return filewatch.View{}, nil, tools.Refuse(tools.NotFound, noChannel, "%s", why)
	}
	view := w.View(filewatch.Progress{})
	view.NeedsModel = s.Lacks(w.Prompt, w.Plain)
	return view, filewatch.Put{Watch: w}, nil
}

// watchTrust is the trust of the runs of every watch, also of the owner's: they read file names and texts that anybody may have written.
const watchTrust = event.Machine

// watchDelivery is the default address for a watch's answers: the chat in which it was made. The local API means the owner.
func watchDelivery(replyTo event.Address) event.Address {
	if replyTo == "" || replyTo == event.CLI {
		return event.ToOwner
	}
	return replyTo
}

// refuseWatch turns a mistake in a watch into a result that the caller can read.
func refuseWatch(err error) error {
	return tools.Refuse(tools.Validation, "for example paths ~/Downloads/*.pdf, events create, settle 2s", "%v", err)
}

// freeName returns a name that no watch has. A requested name (asked) is never changed.
func (s Watches) freeName(ctx context.Context, name string, asked bool) (string, error) {
	return freeName(name, asked, "watch", "remove that one", func(try string) (bool, error) {
		_, taken, err := s.Find(ctx, try)
		return taken, err
	})
}

// watchReadOnly is the refusal to change a watch of the config at run time, as jobReadOnly.
func watchReadOnly(name string) error {
	return tools.Refuse(tools.Denied, "change [watches."+name+"] in config.toml", "watch %s is set in config.toml, which only you change", name)
}

// Alter turns a verb into a change of a watch. It stores nothing: the caller commits the change.
func (s Watches) Alter(_ context.Context, view filewatch.View, v automation.Verb) (filewatch.View, tools.Change, error) {
	switch v {
	case automation.Remove:
		if view.Origin == OriginConfig {
			return view, nil, watchReadOnly(view.Name)
		}
		return view, filewatch.Drop{ID: view.ID}, nil
	case automation.Pause, automation.Resume:
		paused := v == automation.Pause
		// Nothing to change: no commit and no approval.
		if view.Paused == paused {
			return view, nil, nil
		}
		view.Paused = paused
		return view, filewatch.Pause{ID: view.ID, Paused: paused}, nil
	}
	return view, nil, fmt.Errorf("unknown verb %q", v)
}

// readable returns the rights to read the watched files. The runs of a watch are untrusted, so they need these rights: the owner has named these
// files, but not the files beside them.
func readable(w filewatch.Watch) (list []string) {
	for _, path := range w.Paths {
		for _, to := range globsOf(path, w.Include, w.Flat) {
			if r := (policy.Right{Kind: "read", To: to}).String(); !slices.Contains(list, r) {
				list = append(list, r)
			}
		}
	}
	return list
}

// globsOf returns the paths and globs for one path of a watch. Globs below a folder are limited to the watch's include patterns, and with flat to the folder itself.
func globsOf(path string, include []string, flat bool) []string {
	switch {
	case strings.ContainsAny(path, "*?[{") || len(include) == 0 && !flat:
		return []string{path}
	case len(include) == 0:
		include = []string{"*"}
	}
	list := make([]string, len(include))
	for i, glob := range include {
		if !flat && !strings.Contains(glob, "/") { // a name at any depth
			glob = "**/" + glob
		}
		list[i] = strings.TrimSuffix(filepath.ToSlash(path), "/") + "/" + glob
	}
	return list
}
