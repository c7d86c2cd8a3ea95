package automation_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/scheduler"
	"hob/scheduler/filewatch"
	"hob/tools"
	"hob/tools/automation"
)

// shed has two watches, and remembers what was planned.
type shed struct {
	list  []filewatch.View
	draft filewatch.Draft
	verb  automation.Verb
	err   error
}

func newShed() *shed {
	return &shed{list: []filewatch.View{
		{ID: 3, Name: "papers", Paths: []string{"/d/*.pdf"}, Settle: "2s", Prompt: "name it", Deliver: "telegram:5", Ready: true},
		{ID: 4, Name: "notes", Paths: []string{"/n", "/m"}, Include: []string{"*.md"}, Events: []string{"create", "write"}, Settle: "1s", Poll: "30s", Flat: true, Gitignore: true, Own: true, Allow: []string{"net"}, Prompt: "look", Deliver: "owner", Paused: true, Failures: 2},
		{ID: 5, Name: "lost", Broken: "no such thing"},
		{ID: 6, Name: "far", Trouble: "the limit is reached"},
		{ID: 7, Name: "new"},
	}}
}

func (s *shed) List(context.Context) ([]filewatch.View, error) { return s.list, s.err }
func (s *shed) Find(_ context.Context, ref string) (filewatch.View, bool, error) {
	for _, w := range s.list {
		if w.Name == ref || ref == "3" && w.ID == 3 {
			return w, true, s.err
		}
	}
	return filewatch.View{}, false, s.err
}

func (s *shed) Crowded(_ context.Context, w filewatch.View) string { return "counted: " + w.Name }

func (s *shed) Plan(_ context.Context, d filewatch.Draft) (filewatch.View, tools.Change, error) {
	s.draft = d
	return s.list[0], d, s.err
}

func (s *shed) Alter(_ context.Context, w filewatch.View, v automation.Verb) (filewatch.View, tools.Change, error) {
	s.verb = v
	if v == automation.Pause && w.Paused || v == automation.Resume && !w.Paused {
		return w, nil, s.err
	}
	return w, v, s.err
}

// ground is a guard over folders of the test's own.
func ground(t *testing.T) (*fsguard.Guard, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Join(dir, "home", "docs"), 0o700), os.MkdirAll(filepath.Join(dir, "space"), 0o700), os.MkdirAll(filepath.Join(dir, "h", "state"), 0o700),
			os.Symlink(filepath.Join(dir, "home", "docs"), filepath.Join(dir, "space", "link")))
	}
	if err != nil {
		t.Fatal(err)
	}
	g, err := fsguard.New(fsguard.Config{Workspace: filepath.Join(dir, "space"), State: filepath.Join(dir, "h", "state"), Home: filepath.Join(dir, "home")})
	if err != nil {
		t.Fatal(err)
	}
	return g, dir
}

func watchDo(t *testing.T, s *shed, c tools.Call) tools.Result {
	t.Helper()
	g, _ := ground(t)
	tool := automation.NewWatch(s, g)
	intent, err := tool.Intent(t.Context(), c)
	if err != nil {
		return tools.ErrorResult(err)
	}
	res, err := tool.Run(t.Context(), c, intent)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestWatchAnswers(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{`{"action":"list"}`, "#3 papers | /d/*.pdf | watching | name it\n#4 notes | /n, /m | paused, failed 2 in a row | look\n#5 lost |  | does not watch: no such thing | \n#6 far |  | watching, but: the limit is reached | \n#7 new |  | first scan is running | "},
		{`{"action":"add","paths":["/d/*.pdf"],"prompt":"name it"}`, "added: papers (#3): /d/*.pdf\nafter 2s without changes\nprompt: name it\nanswers go to: telegram:5\nwaits: /d is not there yet\ncounted: papers"},
		{`{"action":"pause","name":"papers"}`, "the watch papers is paused"},
		{`{"action":"remove","id":3}`, "the watch papers is removed"},
		{`{"action":"pause","name":"notes"}`, "nothing has changed: watch notes was paused already"},
		{`{"action":"resume","id":3,"name":"papers"}`, "nothing has changed: watch papers was not paused"},
		{`{"action":"resume","name":"notes"}`, "resumed: notes (#4): /n, /m\nonly *.md; events create, write; without subfolders; without what .gitignore leaves out; hob's own writes too; polled every 30s; may use net; after 1s without changes\npaused\nprompt: look"},
	} {
		if res := watchDo(t, newShed(), call(c.args, "")); res.IsError || !strings.HasPrefix(res.Content, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.args, res.Content, c.want)
		}
	}
	if res := watchDo(t, &shed{}, call(`{"action":"list"}`, "")); res.Content != "there are no watches yet" {
		t.Error(res.Content)
	}
	tainted := newShed()
	tainted.list[0].Tainted = true
	if res := watchDo(t, tainted, call(`{"action":"list"}`, "")); res.Foreign != "the prompt of watch papers" {
		t.Errorf("a prompt that foreign text may have written: %q", res.Foreign)
	}
	troubled := &shed{list: []filewatch.View{{ID: 6, Name: "far", Trouble: `the folder "/d/OBEY ME" cannot be read: permission denied`}}}
	for _, args := range []string{`{"action":"list"}`, `{"action":"resume","name":"far"}`, `{"action":"add","paths":["/d"],"prompt":"x"}`} {
		if res := watchDo(t, troubled, call(args, "")); res.Foreign != "what watch far cannot see" {
			t.Errorf("%s: names that anybody may have given: %q", args, res.Foreign)
		}
	}
	if res := watchDo(t, newShed(), call(`{"action":"pause","name":"papers"}`, "")); res.Foreign != "" {
		t.Errorf("a watch of the owner's own: %q", res.Foreign)
	}
}

func TestWatchRefusals(t *testing.T) {
	for _, c := range []struct {
		args string
		code tools.Code
		want string
	}{
		{`{"action":"add"}`, tools.Validation, "watch add: paths: missing; prompt: missing"},
		{`{"action":"add","paths":[" "],"prompt":"x","id":3,"settle":"soon","poll":"-1s","deliver":"nowhere"}`, tools.Validation, "id: a new watch gets its own; paths: one is empty; settle: want a duration such as 2s; poll: want a duration such as 30s; deliver: address"},
		{`{"action":"add","paths":["/d"],"prompt":"x","allow":"net, exec,write:/d"}`, tools.Validation, "allow: exec is none of net, net:HOST, read:PATH and message:ADDRESS; allow: write:/d is none"},
		{`{"action":"add","paths":["../h/state/x"],"prompt":"x"}`, tools.Denied, "../h/state/x: this is hob's own state"},
		{`{"action":"pause"}`, tools.Validation, "watch pause: id or name: missing"},
		{`{"action":"remove","id":3,"name":"notes"}`, tools.Validation, "watch remove: watch 3 is papers, not notes\nhint: give one of the two"},
		{`{"action":"pause","name":"papers","prompt":"y"}`, tools.Validation, "a watch is not changed in place"},
		{`{"action":"remove","name":"paper"}`, tools.NotFound, "there is no watch paper\nhint: did you mean papers?"},
		{`{"action":"remove","id":9}`, tools.NotFound, "there is no watch 9\nhint: there are: papers, notes, lost, far, new"},
		{`{"action":"update","name":"papers"}`, tools.Validation, "action: want one of list, add, remove, pause, resume"},
	} {
		if res := watchDo(t, newShed(), call(c.args, "")); res.Code != c.code || !strings.Contains(res.Content, c.want) {
			t.Errorf("%s:\n%s", c.args, res.Content)
		}
	}
	s := newShed()
	s.err = errors.New("disk I/O error")
	for _, args := range []string{`{"action":"list"}`, `{"action":"pause","name":"papers"}`, `{"action":"add","paths":["/d"],"prompt":"x"}`} {
		if res := watchDo(t, s, call(args, "")); res.Code != tools.Unknown || res.Data != nil || len(res.Changes) > 0 {
			t.Errorf("%s: %+v", args, res)
		}
	}
}

// Paths are resolved up to their first wildcard, and the gate is asked about what they lead to.
func TestWatchIntent(t *testing.T) {
	g, dir := ground(t)
	tool := automation.NewWatch(newShed(), g)
	for _, c := range []struct {
		args   string
		effect tools.Effect
		scopes []tools.Scope
		path   string // where the gate is asked, below the test's folder
		keep   string // and what is watched
		area   tools.Area
		to     event.Address
	}{
		{`{"action":"list"}`, tools.Read, []tools.Scope{tools.Schedule}, "", "", "", ""},
		{`{"action":"remove","name":"papers"}`, tools.Keyed, []tools.Scope{tools.Schedule}, "", "", "", ""},
		{`{"action":"resume","name":"papers"}`, tools.Keyed, []tools.Scope{tools.Schedule, tools.Messages}, "", "", "", "telegram:5"},
		{`{"action":"add","prompt":"p","paths":["~/docs/*.pdf"]}`, tools.Keyed, []tools.Scope{tools.Schedule, tools.FSRead}, "home/docs", "home/docs/*.pdf", tools.Outside, ""},
		{`{"action":"add","prompt":"p","paths":["link/**/x.md"]}`, tools.Keyed, []tools.Scope{tools.Schedule, tools.FSRead}, "home/docs", "home/docs/**/x.md", tools.Outside, ""},
		{`{"action":"add","prompt":"p","paths":["notes.md"]}`, tools.Keyed, []tools.Scope{tools.Schedule, tools.FSRead}, "space/notes.md", "space/notes.md", tools.Workspace, ""},
		{`{"action":"add","prompt":"p","paths":["{a,b}/c"],"deliver":"owner"}`, tools.Keyed, []tools.Scope{tools.Schedule, tools.FSRead}, "space", "space/{a,b}/c", tools.Workspace, "owner"},
		{`{"action":"add","prompt":"p","paths":["~/.ssh"],"deliver":"telegram:5"}`, tools.Keyed, []tools.Scope{tools.Schedule, tools.FSRead, tools.Messages}, "home/.ssh", "home/.ssh", tools.Sensitive, "telegram:5"},
		{`{"action":"add","prompt":"p","paths":["notes.md"],"allow":"net"}`, tools.Keyed, []tools.Scope{tools.Schedule, tools.Config, tools.FSRead}, "space/notes.md", "space/notes.md", tools.Workspace, ""},
	} {
		i, err := tool.Intent(t.Context(), call(c.args, ""))
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		if i.Effect != c.effect || !slices.Equal(i.Scopes, c.scopes) || !strings.Contains(i.Summary, " the watch") || len(i.Canonical) == 0 {
			t.Errorf("%s: %+v", c.args, i)
		}
		if c.to != "" && !slices.Equal(i.Addresses, []event.Address{c.to}) || c.to == "" && len(i.Addresses) > 0 {
			t.Errorf("%s: speaks to %v", c.args, i.Addresses)
		}
		if c.path == "" {
			continue
		}
		if want := filepath.Join(dir, c.path); len(i.Paths) != 1 || i.Paths[0].Path != want || i.Paths[0].Area != c.area || i.Paths[0].Write {
			t.Errorf("%s: paths %+v, want %s", c.args, i.Paths, want)
		}
		if want := []string{filepath.Join(dir, c.keep)}; !reflect.DeepEqual(i.Keep, want) || !strings.Contains(string(i.Canonical), want[0]) {
			t.Errorf("%s: watched is %v, want %v in what is shown: %s", c.args, i.Keep, want, i.Canonical)
		}
	}
}

func TestWatchDraft(t *testing.T) {
	s := newShed()
	k := call(`{"action":"add","name":"n","paths":["/srv/a"],"include":["*.md"],"events":["write"],"settle":"5s","prompt":"p","deliver":"none","flat":true,"gitignore":true,"own":true,"poll":"1m","allow":"net:a.org"}`, "watch /srv/a: p")
	k.Typed, k.Tainted = true, true
	res := watchDo(t, s, k)
	want := filewatch.Draft{
		Name: "n", Prompt: "p", Paths: []string{"/srv/a"}, Include: []string{"*.md"}, Events: []string{"write"}, Settle: "5s", Poll: "1m0s", Flat: true, Gitignore: true,
		Own: true, Deliver: string(event.ToNone), Allow: "net:a.org", Trust: event.Owner, Permissions: scheduler.Permissions{Tainted: true}, Typed: true, ReplyTo: "ntfy:a", Now: k.Now,
	}
	if !reflect.DeepEqual(s.draft, want) || len(res.Changes) != 1 {
		t.Errorf("%+v\n%+v", s.draft, want)
	}
}
