package memory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	index "hob/daemon/memory"
	"hob/tools"
	"hob/tools/memory"
)

// itemRows keeps context items as the store does, without a database.
type itemRows struct {
	rows map[string]tools.ContextItem
	set  map[string]tools.Tool
	dir  string
	off  []string // tools that the config does not allow
	page page
}

// page is a web_fetch that answers with it.
type page struct{ text, moved string }

func (p page) Page() (text, moved string) { return p.text, p.moved }

type fetch struct{ s *itemRows }

func (fetch) Spec() tools.Spec { return tools.Spec{Name: "web_fetch"} }

func (fetch) Intent(_ context.Context, c tools.Call) (tools.Intent, error) {
	return tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.Net}, Hosts: []string{"example.org"}, Links: []string{string(c.Args)}, Foreign: "web: example.org"}, nil
}

func (f fetch) Run(context.Context, tools.Call, tools.Intent) (tools.Result, error) {
	if f.s.page == (page{}) {
		return tools.Fail(tools.NotFound, "", "404"), nil
	}
	return tools.Result{Data: f.s.page}, nil
}

func (s *itemRows) ContextItem(_ context.Context, drive, path string) (tools.ContextItem, bool, error) {
	it, ok := s.rows[drive+":"+path]
	return it, ok, nil
}

func (s *itemRows) ContextItems(_ context.Context, f event.Filter) (list []tools.ContextItem, err error) {
	for _, it := range s.rows {
		if it.Content = ""; f.State == "" || it.Drive == f.State {
			list = append(list, it)
		}
	}
	slices.SortFunc(list, func(a, b tools.ContextItem) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

func newItems(t testing.TB, marked ...string) *itemRows {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	s := &itemRows{rows: map[string]tools.ContextItem{}, set: map[string]tools.Tool{}, dir: dir}
	must(t, os.MkdirAll(filepath.Join(dir, "workspace"), 0o700))
	g, err := fsguard.New(fsguard.Config{Workspace: filepath.Join(dir, "workspace"), State: filepath.Join(dir, "state"), Home: dir, Marked: func(path string) string {
		if slices.Contains(marked, filepath.Base(path)) {
			return "written after reading mail"
		}
		return ""
	}})
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(dir, "state"), 0o700))
	redact := func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret model.api_key]") }
	for _, tool := range memory.NewContext(memory.ContextDeps{
		Items: s, Guard: g, Facts: &memory.Facts{Redact: redact}, Index: foundIn{}, Fetch: fetch{s}, Allowed: func(name string) bool { return !slices.Contains(s.off, name) },
	}) {
		s.set[tool.Spec().Name] = tool
	}
	return s
}

// foundIn finds one own item, and one that others wrote if the word theirs is in the query.
type foundIn struct{}

func (foundIn) Search(_ context.Context, q index.Query) (r index.Result, _ error) {
	r.Passages = []index.Passage{{Path: "agent:plans/mine", Text: "mine"}}
	if strings.Contains(q.Text, "theirs") {
		r.Passages = append(r.Passages, index.Passage{Path: "agent:plans/theirs", Text: "theirs", Foreign: "web: example.org"})
	}
	return r, nil
}

// do validates, judges and runs a call, and applies its changes.
func (s *itemRows) do(t testing.TB, tool string, c tools.Call, in any) (tools.Intent, tools.Result) {
	t.Helper()
	raw, err := json.Marshal(in)
	must(t, err)
	c.Name, c.Args, c.Workdir, c.Now = tool, raw, filepath.Join(s.dir, "workspace"), time.Now()
	if c.Trust == "" {
		c.Trust = event.Owner
	}
	if res, ok := tools.Validate(s.set[tool], c.Args); !ok {
		return tools.Intent{}, res
	}
	i, err := s.set[tool].Intent(t.Context(), c)
	if err != nil {
		return i, tools.ErrorResult(err)
	}
	res, err := s.set[tool].Run(t.Context(), c, i)
	must(t, err)
	for _, c := range res.Changes {
		switch c := c.(type) {
		case tools.PutContext:
			it := tools.ContextItem{Drive: c.Drive, Path: c.Path, Content: c.Content, Bytes: len(c.Content), Foreign: c.Foreign, ForeignName: c.Tainted, Updated: time.Now()}
			s.rows[it.Name()] = it
		case tools.DropContext:
			delete(s.rows, c.Drive+":"+c.Path)
		default:
			t.Errorf("%s changes %T", tool, c)
		}
	}
	return i, res
}

type in map[string]any

func TestContextRoundTrip(t *testing.T) {
	s := newItems(t)
	write := in{"drive": "agent", "path": "projects/garden", "content": "tomatoes: row 3\nbeans: row 4\n"}
	i, res := s.do(t, "context_write", tools.Call{}, write)
	if res.IsError || i.Effect != tools.Keyed || !slices.Equal(i.Scopes, []tools.Scope{tools.MemoryScope}) || len(res.Changes) != 1 || !strings.Contains(string(i.Canonical), "row 3") {
		t.Fatalf("%+v %+v", i, res)
	}
	i, res = s.do(t, "context_read", tools.Call{}, in{"drive": "agent", "path": "projects/garden", "offset": 1})
	if out, ok := res.Data.(memory.ContextReadOutput); !ok || out.Text != "beans: row 4" || out.Total != 2 || res.Foreign != "" || i.Effect != tools.Read || !slices.Equal(i.Scopes, []tools.Scope{tools.MemoryScope}) {
		t.Errorf("%+v", res)
	}
	if _, res = s.do(t, "context_read", tools.Call{}, in{"drive": "agent", "path": "projects/garden", "limit": 1}); !strings.Contains(res.Content, "continue with offset=1") {
		t.Errorf("%s", res.Content)
	}
	if _, res = s.do(t, "context_write", tools.Call{}, write); res.Code != tools.Conflict || !strings.Contains(res.Content, "with the same text") {
		t.Errorf("twice: %s", res.Content)
	}
	write["content"] = "peas"
	if _, res = s.do(t, "context_write", tools.Call{}, write); res.Code != tools.Conflict || !strings.Contains(res.Hint, "overwrite") || s.rows["agent:projects/garden"].Content == "peas" {
		t.Errorf("another text: %s", res.Content)
	}
	write["on_conflict"] = "overwrite"
	if _, res = s.do(t, "context_write", tools.Call{}, write); res.IsError || s.rows["agent:projects/garden"].Content != "peas" {
		t.Errorf("overwrite: %s", res.Content)
	}
	for k := range 12 {
		s.do(t, "context_write", tools.Call{}, in{"drive": "agent", "path": fmt.Sprintf("projects/house/rooms/%d", k), "content": "x"})
	}
	_, res = s.do(t, "context_tree", tools.Call{}, in{"max_depth": 2})
	if !strings.Contains(res.Content, "agent:projects/garden (4 bytes") || !strings.Contains(res.Content, "agent:projects/house/ (12 items)") || len(res.Data.(memory.ContextTreeOutput).Items) != 13 {
		t.Errorf("tree: %s", res.Content)
	}
	if _, res = s.do(t, "context_tree", tools.Call{}, in{"path": "projects/house", "max_depth": 2}); strings.Contains(res.Content, "garden") || !strings.Contains(res.Content, "rooms/7 (1 byte") {
		t.Errorf("below: %s", res.Content)
	}
	for path, near := range map[string]string{"projects/gardn": "agent:projects/garden", "projects/house": "agent:projects/house/rooms/0, ", "zzz": "context_tree (hob"} {
		_, res = s.do(t, "context_read", tools.Call{}, in{"drive": "agent", "path": path})
		if res.Code != tools.NotFound || !strings.Contains(res.Hint, near) || strings.Count(res.Hint, "agent:") > 5 {
			t.Errorf("%s: %s", path, res.Content)
		}
	}
	if _, res = s.do(t, "context_delete", tools.Call{}, in{"drive": "agent", "path": "projects/garden"}); res.IsError || s.rows["agent:projects/garden"].Path != "" {
		t.Errorf("delete: %s", res.Content)
	}
	if _, res = s.do(t, "context_delete", tools.Call{}, in{"drive": "agent", "path": "projects/garden"}); res.Code != tools.NotFound {
		t.Errorf("again: %s", res.Content)
	}
}

// Whatever a name or a text holds, the answer is a sentence with a hint, and nothing is kept.
func TestRefusedContextItems(t *testing.T) {
	s := newItems(t)
	for _, c := range []struct{ drive, path, content, want string }{
		{"agent", "../../etc/passwd", "x", `".." cannot be`},
		{"agent", "a/../b", "x", `".." cannot be`},
		{"agent", "a//b", "x", "cannot be a part"},
		{"agent", "a/", "x", "cannot be a part"},
		{"agent", " a", "x", "cannot be a part"},
		{"agent", `a\b`, "x", "cannot be a part"},
		{"agent", "/etc/passwd", "x", "not absolute"},
		{"agent", "a\nb", "x", "U+000A"},
		{"agent", "a\x00b", "x", "U+0000"},
		{"agent", "a\x1b[2Kb", "x", "U+001B"},
		{"agent", "a\u202eb", "x", "U+202E"},
		{"agent", "a\u200bb", "x", "U+200B"},
		{"agent", "a\xffb", "x", "UTF-8"},
		{"agent", strings.Repeat("a", 3000), "x", "path"},
		{"agent", strings.Repeat("ä", 1999), "x", "are the most"},
		{"agent", strings.Repeat("a/", 40) + "a", "x", "41 parts"},
		{"agent", "", "x", "path"},
		{"agent", "hunter2", "x", "holds the secret"},
		{"agent", "a", "the key is hunter2", "holds the secret"},
		{"agent", "a", "the key is [secret model.api_key]", "holds the secret"},
		{"agent", "a", "", "nothing to keep"},
		{"agent", "a", " \n ", "nothing to keep"},
		{"agent", "a", "x\x1b]0;y\x07", "control character"},
		{"agent", "a", strings.Repeat("x", 10<<20), "at most 524288"},
		{"url", "ftp://example.org", "x", "http"},
		{"url", "https://user:pw@example.org", "x", "credentials"},
		{"url", "http://0x7f.1/", "x", "path"},
		{"url", "https://exa mple.org", "x", "path"},
		{"url", "file:///etc/passwd", "x", "http"},
		{"disk", "a\x00b", "x", "U+0000"},
		{"disk", strings.Repeat("a/", 1500), "x", "path"},
		{"cloud", "a", "x", "drive"},
	} {
		for _, tool := range []string{"context_write", "context_read", "context_refresh", "context_delete"} {
			args := in{"drive": c.drive, "path": c.path}
			if tool == "context_write" {
				args["content"] = c.content
			} else if c.content != "x" {
				continue
			}
			_, res := s.do(t, tool, tools.Call{}, args)
			if !res.IsError || res.Code == tools.Unknown || !strings.Contains(res.Content, c.want) || res.Hint == "" && c.path != "" && len(c.path) < 2000 && c.drive != "cloud" || len(res.Content) > 3000 {
				t.Errorf("%s %s:%.40q: %.300s", tool, c.drive, c.path, res.Content)
			}
		}
	}
	if len(s.rows) != 0 {
		t.Errorf("%d items are kept", len(s.rows))
	}
}

// A text that may come from others is kept as such: its reader is tainted, and its name is shown to tainted turns only.
func TestForeignContextItems(t *testing.T) {
	s := newItems(t)
	tainted := tools.Call{Tainted: true}
	s.do(t, "context_write", tools.Call{}, in{"drive": "agent", "path": "plans/mine", "content": "mine"})
	s.do(t, "context_write", tainted, in{"drive": "agent", "path": "plans/theirs", "content": "theirs"})
	if it := s.rows["agent:plans/theirs"]; it.Foreign == "" || !it.ForeignName {
		t.Errorf("%+v", it)
	}
	s.do(t, "context_write", tools.Call{Limited: true}, in{"drive": "agent", "path": "plans/limited", "content": "x"})
	if it := s.rows["agent:plans/limited"]; !strings.Contains(it.Foreign, "limits") {
		t.Errorf("%+v", it)
	}
	i, res := s.do(t, "context_read", tools.Call{}, in{"drive": "agent", "path": "plans/theirs"})
	if i.Foreign == "" || res.Foreign == "" {
		t.Errorf("a foreign item is read, and its reader is not tainted: %+v", res)
	}
	if _, res = s.do(t, "context_read", tools.Call{}, in{"drive": "agent", "path": "plans/mine"}); res.Foreign != "" {
		t.Errorf("an own item is foreign: %s", res.Foreign)
	}
	if _, res = s.do(t, "context_read", tools.Call{}, in{"drive": "agent", "path": "plans"}); strings.Contains(res.Content, "theirs") || !strings.Contains(res.Content, "plans/mine") {
		t.Errorf("the hint of a clean turn: %s", res.Content)
	}
	if _, res = s.do(t, "context_read", tainted, in{"drive": "agent", "path": "plans"}); !strings.Contains(res.Content, "theirs") {
		t.Errorf("the hint of a tainted turn: %s", res.Content)
	}
	if _, res = s.do(t, "context_tree", tools.Call{}, in{}); res.Foreign == "" {
		t.Error("the tree shows foreign names, and its reader is not tainted")
	}
	for query, foreign := range map[string]string{"mine": "", "theirs": "agent:plans/theirs: web: example.org"} {
		if _, res = s.do(t, "context_search", tools.Call{}, in{"query": query}); res.Foreign != foreign || !strings.Contains(res.Content, query) {
			t.Errorf("found %s: foreign %q, want %q", query, res.Foreign, foreign)
		}
	}
}

// Nobody but the owner learns whether there is an item.
func TestContextItemsAreTheOwners(t *testing.T) {
	s := newItems(t)
	s.do(t, "context_write", tools.Call{}, in{"drive": "agent", "path": "a/b", "content": "x"})
	for _, c := range []tools.Call{{Trust: event.Known}, {Trust: event.Public}, {Trust: event.Machine}, {Trust: event.Owner, Guest: true}} {
		for _, tool := range slices.Sorted(maps.Keys(s.set)) {
			var said []string
			for _, path := range []string{"a/b", "a/c"} {
				args := in{"drive": "agent", "path": path}
				switch tool {
				case "context_write":
					args["content"] = "y"
				case "context_search":
					args = in{"query": path}
				}
				_, res := s.do(t, tool, c, args)
				said = append(said, res.Content)
			}
			if said[0] != said[1] || !strings.Contains(said[0], "only the owner") {
				t.Errorf("%s as %+v: %q", tool, c, said)
			}
		}
	}
}

func TestRefresh(t *testing.T) {
	s := newItems(t, "mail.txt")
	file := func(name, text string) string {
		path := filepath.Join(s.dir, "workspace", name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	file("plan.txt", "\ufeffone\r\ntwo \x1b hunter2\xff")
	_, res := s.do(t, "context_write", tools.Call{}, in{"drive": "disk", "path": "./x/../plan.txt", "content": ""})
	if !strings.Contains(res.Content, "context_refresh reads it") {
		t.Fatalf("%s", res.Content)
	}
	i, res := s.do(t, "context_refresh", tools.Call{}, in{"drive": "disk", "path": "plan.txt"})
	if it := s.rows["disk:"+filepath.Join(s.dir, "workspace", "plan.txt")]; it.Content != "one\ntwo \uFFFD [secret model.api_key]\uFFFD" || it.Foreign != "" || res.IsError {
		t.Errorf("%q %s", it.Content, res.Content)
	}
	if !slices.Equal(i.Scopes, []tools.Scope{tools.MemoryScope, tools.FSRead}) || len(i.Paths) != 1 || i.Paths[0].Write || i.Effect != tools.Keyed {
		t.Errorf("%+v", i)
	}
	for _, c := range []struct{ name, text, foreign string }{{"mail.txt", "from others", "written after reading mail"}, {"../outside.txt", "elsewhere", "outside"}} {
		path := file(c.name, c.text)
		s.do(t, "context_write", tools.Call{}, in{"drive": "disk", "path": c.name, "content": ""})
		if _, res := s.do(t, "context_refresh", tools.Call{}, in{"drive": "disk", "path": c.name}); !strings.Contains(s.rows["disk:"+path].Foreign, c.foreign) {
			t.Errorf("%s: %+v %s", c.name, s.rows["disk:"+path], res.Content)
		}
	}
	const link = "https://example.org/hours"
	s.do(t, "context_write", tools.Call{}, in{"drive": "url", "path": "example.org/hours", "content": "old"})
	for _, c := range []struct {
		page page
		want string
	}{
		{page{}, "404"}, {page{moved: "https://evil.test/"}, "leads to another place"}, {page{text: " \n"}, "no text"}, {page{text: strings.Repeat("x", 10<<20)}, "has more than the 524288 bytes"},
	} {
		s.page = c.page
		if _, res := s.do(t, "context_refresh", tools.Call{}, in{"drive": "url", "path": link}); !res.IsError || !strings.Contains(res.Content, c.want) || s.rows["url:"+link].Content != "old" {
			t.Errorf("%.40q: %s", c.page, res.Content)
		}
	}
	s.page = page{text: "open at nine"}
	i, res = s.do(t, "context_refresh", tools.Call{}, in{"drive": "url", "path": link})
	if it := s.rows["url:"+link]; it.Content != "open at nine" || it.Foreign != "web: example.org" || i.Foreign != "web: example.org" || !slices.Contains(i.Scopes, tools.Net) || len(i.Links) != 1 {
		t.Errorf("%+v %+v %s", it, i, res.Content)
	}
	for name, text := range map[string]string{"gone.txt": "", "program": "a\x00b", "large.txt": strings.Repeat("x", mostOfItem+99)} {
		path := file(name, text)
		s.do(t, "context_write", tools.Call{}, in{"drive": "disk", "path": name, "content": "old"})
		if text == "" {
			must(t, os.Remove(path))
		}
		if _, res := s.do(t, "context_refresh", tools.Call{}, in{"drive": "disk", "path": name}); !res.IsError || res.Hint == "" || s.rows["disk:"+path].Content != "old" || strings.Contains(res.Content, "524289") {
			t.Errorf("%s: %s", name, res.Content)
		}
	}
	if _, res := s.do(t, "context_delete", tools.Call{}, in{"drive": "disk", "path": "gone.txt"}); res.IsError {
		t.Errorf("an item whose file is gone: %s", res.Content)
	}
	s.do(t, "context_write", tools.Call{}, in{"drive": "agent", "path": "a", "content": "x"})
	if _, res := s.do(t, "context_refresh", tools.Call{}, in{"drive": "agent", "path": "a"}); res.Code != tools.Validation {
		t.Errorf("agent: %s", res.Content)
	}
	// Who has switched web_fetch or read off has switched this off too.
	s.off = []string{"web_fetch", "read"}
	for drive, path := range map[string]string{"url": link, "disk": "plan.txt"} {
		if _, res := s.do(t, "context_refresh", tools.Call{}, in{"drive": drive, "path": path}); res.Code != tools.ConfigError {
			t.Errorf("%s: %s", drive, res.Content)
		}
	}
}

// mostOfItem is the limit of an item, in bytes.
const mostOfItem = 512 << 10
