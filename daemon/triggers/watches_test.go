package triggers_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"hob/config"
	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/triggers"
	"hob/scheduler"
	"hob/scheduler/filewatch"
	"hob/tools"
	"hob/tools/automation"
)

// watchRows keeps watches in memory, as the store does.
type watchRows struct {
	list     []filewatch.Watch
	progress map[int64]filewatch.Progress
	last     int64
}

func (r *watchRows) AllWatches(context.Context) ([]filewatch.Watch, error) { return r.list, nil }

func (r *watchRows) WatchNamed(_ context.Context, name string) (filewatch.Watch, error) {
	for _, w := range r.list {
		if w.Name == name {
			return w, nil
		}
	}
	return filewatch.Watch{}, event.NewFault(event.Missing, "", "there is no watch %s", name)
}

func (r *watchRows) Progress(context.Context) (map[int64]filewatch.Progress, error) {
	return r.progress, nil
}

func (r *watchRows) Record(_ context.Context, changes ...tools.Change) error {
	for _, c := range changes {
		switch c := c.(type) {
		case filewatch.Put:
			if c.Watch.ID == 0 {
				r.last++
				c.Watch.ID = r.last
			} else {
				r.drop(c.Watch.ID)
			}
			r.list = append(r.list, c.Watch)
		case filewatch.Drop:
			r.drop(c.ID)
		default:
			return errors.New("what is that?")
		}
	}
	return nil
}

func (r *watchRows) drop(id int64) {
	kept := r.list[:0]
	for _, w := range r.list {
		if w.ID != id {
			kept = append(kept, w)
		}
	}
	r.list = kept
}

func newWatches(t *testing.T) (triggers.Watches, *watchRows, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g, err := fsguard.New(fsguard.Config{Workspace: filepath.Join(dir, "space"), State: filepath.Join(dir, "state"), Home: dir})
	if err != nil {
		t.Fatal(err)
	}
	r := &watchRows{progress: map[int64]filewatch.Progress{}}
	return triggers.Watches{
		Rows: r, Guard: func() *fsguard.Guard { return g }, Now: func() time.Time { return time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC) },
		Unheard: offAt("telegram:5"), Most: func() int { return 3 },
	}, r, dir
}

// U41: a watch on more folders than the system allows says so when it is made.
func TestAWatchOnTooManyFoldersSaysSo(t *testing.T) {
	watches, _, dir := newWatches(t)
	for _, name := range []string{"few/a/b", "many/a/b", "many/a/c"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	many := filewatch.View{Paths: []string{filepath.Join(dir, "many")}}
	for name, c := range map[string]struct {
		change func(*filewatch.View)
		want   bool
	}{
		"too many":           {func(*filewatch.View) {}, true},
		"as many as allowed": {func(w *filewatch.View) { w.Paths = []string{filepath.Join(dir, "few")} }, false},
		"flat":               {func(w *filewatch.View) { w.Flat = true }, false},
		"polled":             {func(w *filewatch.View) { w.Poll = "1m0s" }, false},
		"with gitignore":     {func(w *filewatch.View) { w.Gitignore = true }, false},
	} {
		w := many
		c.change(&w)
		if text := watches.Crowded(t.Context(), w); strings.Contains(text, "can watch (3)") != c.want || strings.Contains(text, "fs.inotify.max_user_watches") != c.want {
			t.Errorf("%s: %q", name, text)
		}
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	watches.Most = func() int { return 0 }
	if text := watches.Crowded(t.Context(), many); text != "" || filewatch.Exceeds(late, filewatch.Watch{Paths: many.Paths}, 3) {
		t.Errorf("not known: %q", text)
	}
}

func TestPlanOfAWatch(t *testing.T) {
	watches, r, dir := newWatches(t)
	d := filewatch.Draft{Prompt: "name the new paper", Paths: []string{filepath.Join(dir, "d", "*.pdf")}, Events: []string{"create"}, Trust: event.Owner, Typed: true, ReplyTo: "ntfy:a", Now: watches.Now()}
	view, change, err := watches.Plan(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	put, ok := change.(filewatch.Put)
	if !ok || put.Watch.Trust != event.Machine || !put.Watch.Typed || put.Watch.Deliver != "ntfy:a" || put.Watch.Settle != 2*time.Second {
		t.Errorf("%+v", change)
	}
	want := filewatch.View{
		Name: "name-the-new-paper", Paths: d.Paths, Events: []string{"create"}, Settle: "2s", Prompt: d.Prompt, Deliver: "ntfy:a", Origin: "run-time", Created: watches.Now(),
		Allow: []string{"read:" + filepath.Join(dir, "d", "*.pdf")},
	}
	if !reflect.DeepEqual(view, want) {
		t.Errorf("%+v, want %+v", view, want)
	}
	if err := r.Record(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	foreign := d // what foreign text may have asked for opens no folder
	foreign.Permissions.Tainted = true
	if view, _, err := watches.Plan(t.Context(), foreign); err != nil || len(view.Allow) > 0 {
		t.Errorf("a tainted turn's watch has %v, %v", view.Allow, err)
	}
	if again, _, err := watches.Plan(t.Context(), d); err != nil || again.Name != "name-the-new-paper-2" {
		t.Errorf("a second one of that name: %s, %v", again.Name, err)
	}
	for _, c := range []struct {
		change func(*filewatch.Draft)
		code   tools.Code
		want   string
	}{
		{func(d *filewatch.Draft) { d.Name = "name-the-new-paper" }, tools.Conflict, "there is a watch named name-the-new-paper already"},
		{func(d *filewatch.Draft) { d.Deliver = "telegram:5" }, tools.NotFound, "there is no channel telegram"},
		{func(d *filewatch.Draft) { d.Events = []string{"move"}; d.Settle = "1ms" }, tools.Validation, "settle"},
		{func(d *filewatch.Draft) { d.Paths = []string{filepath.Join(dir, "state")} }, tools.Validation, "hob's own state"},
		{func(d *filewatch.Draft) { d.Allow = "net,exec" }, tools.Validation, "right exec: only a job can have it"},
		{func(d *filewatch.Draft) { d.Allow = "everything" }, tools.Validation, "everything"},
	} {
		bad := d
		c.change(&bad)
		_, change, err := watches.Plan(t.Context(), bad)
		if res := tools.ErrorResult(err); change != nil || res.Code != c.code || !strings.Contains(res.Content, c.want) {
			t.Errorf("want %s %q: %v, %v", c.code, c.want, change, err)
		}
	}
}

// The runs of a watch may read the watched files and no others.
func TestWhatIsWatchedMayBeRead(t *testing.T) {
	watches, _, _ := newWatches(t)
	for _, c := range []struct {
		paths, include []string
		flat           bool
		want           string
	}{
		{[]string{"/srv/a"}, nil, false, "read:/srv/a"},
		{[]string{"/srv/a", "/srv/a"}, nil, false, "read:/srv/a"},
		{[]string{"/srv/*.pdf"}, nil, false, "read:/srv/*.pdf"},
		{[]string{"/srv/{a,b}/*.pdf"}, nil, true, "read:/srv/{a,b}/*.pdf"},
		{[]string{"/srv/a"}, []string{"*.md", "d/*.txt"}, false, "read:/srv/a/**/*.md read:/srv/a/d/*.txt"},
		{[]string{"/srv/a"}, []string{"*.md"}, true, "read:/srv/a/*.md"},
		{[]string{"/srv/a"}, nil, true, "read:/srv/a/*"},
		{[]string{"/"}, []string{"*.md"}, false, "read:/**/*.md"},
	} {
		d := filewatch.Draft{Name: "w", Prompt: "x", Paths: c.paths, Include: c.include, Flat: c.flat, Trust: event.Owner, Now: watches.Now()}
		if view, _, err := watches.Plan(t.Context(), d); err != nil || strings.Join(view.Allow, " ") != c.want {
			t.Errorf("%v, %v, flat %v: %q, %v, want %s", c.paths, c.include, c.flat, view.Allow, err, c.want)
		}
	}
}

func TestVerbsOfAWatch(t *testing.T) {
	watches, r, _ := newWatches(t)
	for _, c := range []struct {
		view filewatch.View
		verb automation.Verb
		want tools.Change // nil: it is refused, or as wished already
		same bool
	}{
		{filewatch.View{ID: 3}, automation.Remove, filewatch.Drop{ID: 3}, false},
		{filewatch.View{ID: 3, Origin: triggers.OriginConfig}, automation.Remove, nil, false},
		{filewatch.View{ID: 3, Origin: triggers.OriginConfig}, automation.Pause, filewatch.Pause{ID: 3, Paused: true}, false},
		{filewatch.View{ID: 3, Paused: true}, automation.Pause, nil, true},
		{filewatch.View{ID: 3, Paused: true}, automation.Resume, filewatch.Pause{ID: 3}, false},
		{filewatch.View{ID: 3}, automation.Resume, nil, true},
		{filewatch.View{ID: 3}, automation.RunNow, nil, false},
	} {
		view, change, err := watches.Alter(t.Context(), c.view, c.verb)
		if change != c.want || (err == nil) != (c.want != nil || c.same) {
			t.Errorf("%s of %+v: %v, %v", c.verb, c.view, change, err)
		}
		if p, ok := change.(filewatch.Pause); ok && view.Paused != p.Paused {
			t.Errorf("%s is shown as %+v", c.verb, view)
		}
	}
	r.list, r.progress[1] = []filewatch.Watch{{}}, filewatch.Progress{Ready: true, Trouble: "far"}
	r.list[0].ID, r.list[0].Name = 1, "w"
	list, err := watches.List(t.Context())
	if err != nil || len(list) != 1 || !list[0].Ready || list[0].Trouble != "far" {
		t.Errorf("%+v, %v", list, err)
	}
	if _, found, err := watches.Find(t.Context(), "x"); found || err != nil {
		t.Errorf("found what is not there: %v", err)
	}
	if one, found, err := watches.Find(t.Context(), "w"); !found || err != nil || !one.Ready {
		t.Errorf("%+v %v %v", one, found, err)
	}
}

// watchSections reads the watches of a config.
func watchSections(t *testing.T, doc string) (list []triggers.Wanted) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	snap, problems, err := config.Load(path, nil)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	for _, s := range snap.Watches {
		list = append(list, triggers.Wanted{Name: s.Name, Decode: s.Decode})
	}
	return list
}

func TestWatchesOfTheConfig(t *testing.T) {
	watches, r, _ := newWatches(t)
	sync := func(doc string) []string {
		t.Helper()
		off, err := watches.Sync(t.Context(), watchSections(t, doc))
		if err != nil {
			t.Fatal(err)
		}
		return off
	}
	const notes = "[watches.notes]\npaths = [\"n\"]\nprompt = \"look\"\nallow = [\"net:a.org\"]\n"
	for _, c := range []struct {
		name, doc string
		id        int64 // of the row that there is then; 0: none
		prompt    string
		off       string
	}{
		{"a new one", notes, 1, "look", ""},
		{"the same", notes, 1, "look", ""},
		{"other words, the same files", strings.Replace(notes, "look", "see", 1), 1, "see", ""},
		{"other files begin anew", strings.Replace(notes, `"n"`, `"m"`, 1), 2, "look", ""},
		{"a mistake leaves the old one", "[watches.notes]\npaths = []\nprompt = \"x\"\n", 2, "look", "watches.notes is off: paths"},
		{"a right that no watch gets", strings.Replace(notes, "net:a.org", "exec", 1), 2, "look", "right exec: only a job can have it"},
		{"gone", "# nothing\n", 0, "", ""},
	} {
		off := sync(c.doc)
		if c.off == "" && len(off) > 0 || c.off != "" && (len(off) != 1 || !strings.Contains(off[0], c.off)) {
			t.Errorf("%s: off %q", c.name, off)
		}
		if c.id == 0 && len(r.list) == 0 {
			continue
		}
		if len(r.list) != 1 || r.list[0].ID != c.id || r.list[0].Prompt != c.prompt || r.list[0].Origin != triggers.OriginConfig || r.list[0].Trust != event.Machine {
			t.Errorf("%s: %+v", c.name, r.list)
		}
	}
	// What was made at run time stays, and its name with it; what was paused stays so.
	_, change, err := watches.Plan(t.Context(), filewatch.Draft{Name: "notes", Prompt: "mine", Paths: []string{"/srv"}, Trust: event.Owner, Now: watches.Now()})
	if err != nil || r.Record(t.Context(), change) != nil {
		t.Fatal(err)
	}
	if off := sync(notes); len(off) != 1 || !strings.Contains(off[0], "made at run time") || r.list[0].Prompt != "mine" {
		t.Errorf("off %q, %+v", off, r.list)
	}
	r.list[0].Origin, r.list[0].Paused = triggers.OriginConfig, true
	if off := sync(notes); len(off) != 0 || !r.list[0].Paused || r.list[0].Prompt != "look" {
		t.Errorf("off %q, %+v", off, r.list)
	}
}

// A section takes the place of a row of its name that is spoilt, and of no other.
func TestWatchSectionReplacesASpoiltRow(t *testing.T) {
	const notes = "[watches.notes]\npaths = [\"n\"]\nprompt = \"look\"\n"
	watches, r, _ := newWatches(t)
	made := filewatch.Watch{Trigger: scheduler.Trigger{ID: 90, Name: "notes", Origin: "run-time", Prompt: "mine"}}
	r.list = []filewatch.Watch{made}
	if off, err := watches.Sync(t.Context(), watchSections(t, notes)); err != nil || len(off) != 1 || r.list[0].Prompt != "mine" {
		t.Errorf("one that was made at run time: %+v, off %q, %v", r.list, off, err)
	}
	r.list = []filewatch.Watch{{Trigger: scheduler.Trigger{ID: 90, Name: "notes", Trouble: scheduler.Trouble{Broken: "its row cannot be read"}}}}
	if off, err := watches.Sync(t.Context(), watchSections(t, notes)); err != nil || len(off) > 0 || len(r.list) != 1 || r.list[0].Prompt != "look" || r.list[0].Broken != "" || r.list[0].Origin != triggers.OriginConfig {
		t.Errorf("one that is spoilt: %+v, off %q, %v", r.list, off, err)
	}
}

func TestCheckOfAWatchSection(t *testing.T) {
	for doc, want := range map[string]string{
		"paths = [\"~/d/*.pdf\"]\nprompt = \"x\"\nsettle = \"5s\"\n": "",
		"paths = [\"d\"]\n": "prompt",
		"prompt = \"x\"\n":  "paths",
		"paths = [\"d\"]\nprompt = \"x\"\nevents = [\"move\"]\n":                   "event",
		"paths = [\"d\"]\nprompt = \"x\"\nallow = [\"write:/d\"]\n":                "allow: right write:/d: only a job can have it",
		"paths = [\"d\"]\nprompt = \"x\"\nsettle = \"1ms\"\ndeliver = \"nowhere\"": "settle",
		"prompt = \"x\"\nallow = [\"write:/e\"]\n":                                 "files, folders or globs\nallow: right write:/e", // both are told
	} {
		_, _, err := triggers.CheckWatch(watchSections(t, "[watches.w]\n"+doc)[0].Decode, time.Now())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", doc, err, want)
		}
	}
	if len(triggers.WatchKeys()) == 0 {
		t.Error("the section is not described")
	}
}
