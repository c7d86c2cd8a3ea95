package all_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"go.uber.org/goleak"

	"hob/config"
	"hob/daemon/event"
	"hob/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mostOfDescription bounds the description of a tool, in tokens of about four bytes.
const mostOfDescription = 40

// mostShown is how large a result may be before it is stored as an artifact, in bytes, unless the tool pages itself.
const mostShown = 32 << 10

func call(name, args, dir string) tools.Call {
	return tools.Call{
		ID: "t1_1", Turn: 1, Session: 1, Key: "main", Name: name, Args: json.RawMessage(args), Workdir: dir, ReplyTo: event.CLI,
		Trust: event.Owner, Zone: "Europe/Berlin", Now: noon,
	}
}

// takes are the parameters of every tool as they are promised (docs/tools.md is made of the code): in this order, with * behind those that
// are required. A new tool must be added.
func takes() map[string]string {
	return map[string]string{
		"read": "path* offset limit pages", "write": "path* content* on_conflict", "edit": "path old_text new_text replace_all edits", "apply_patch": "patch*",
		"grep": "pattern* path include output_mode before after context ignore_case multiline type head_limit offset", "glob": "pattern* path head_limit",
		"ls": "path* depth all", "mcp_resources": "server*", "mcp_resource_read": "server* uri*", "notebook_edit": "path* new_source* cell_id cell_type mode",
		"exec":    "command* description workdir env timeout background pty host network outside",
		"process": "action* process_id input signal filter wait", "tmux": "action* session window pane command",
		"cron":    "action* id name schedule prompt tz session deliver missed max_late overlap allow gate plain limits",
		"watch":   "action* id name paths include events settle prompt deliver flat gitignore own poll allow plain",
		"message": "to* content* reply_to attachments buttons", "ask": "questions* deadline",
		"agents_list": "", "sessions_list": "limit offset kind", "sessions_history": "session_id* limit offset search", "sessions_send": "session_id* content*",
		"sessions_spawn": "prompt* title preset model background resume timeout", "subagents": "action id timeout", "sessions_status": "session_id",
		"memory_search": "query* max_results max_bytes min_score scope", "memory_get": "path* from lines", "memory_write": "content* about path supersedes", "memory_forget": "what*",
		"context_write": "drive* path* content* on_conflict", "context_read": "drive* path* offset limit", "context_tree": "drive path max_depth", "context_search": "query* drive limit",
		"context_refresh": "drive* path*", "context_delete": "drive* path*", "result_read": "id* offset limit search",
		"todo": "todos*", "plan": "action* summary", "web_fetch": "url* prompt max_chars", "web_search": "query* allowed_domains blocked_domains limit",
		"http": "method* url* headers body", "task_add": "title prompt blocked_by not_before priority plain", "task_list": "state limit",
		"task_update": "id* title prompt blocked_by not_before priority plain state", "complete_task": "summary*", "fail_task": "reason*",
		"wait_task": "until for event", "calendar_list_events": "from to calendar account query limit offset", "calendar_get_event": "id*", "calendar_create_event": "title* start* end zone calendar account location description attendees", "gmail_search": "query* limit page", "gmail_read": "id* whole", "gmail_send": "to* cc bcc subject* text* reply_to",
		"anthropic_usage": "report* from to", "linkedin_jobs": "keyword* location since type remote experience sort limit offset", "linkedin_job_detail": "id*", "skill": "action* name args", "capabilities_refresh": "", "tool": "action* query server name arguments",
	}
}

// good has valid arguments for every tool, which run in a web world. A new tool must be added.
func (w *allTools) good() map[string]string {
	return map[string]string{
		"read": `{"path": "notes.md"}`, "write": `{"path": "new/file.txt", "content": "hello\n"}`,
		"edit":        `{"path": "notes.md", "old_text": "two", "new_text": "three"}`,
		"apply_patch": `{"patch": "*** Begin Patch\n*** Add File: new/patched.txt\n+hello\n*** End Patch\n"}`,
		"grep":        `{"pattern": "one"}`, "glob": `{"pattern": "*.md"}`, "ls": `{"path": "."}`,
		"notebook_edit": `{"path": "book.ipynb", "new_source": "print(1)", "mode": "insert"}`,
		"exec":          `{"command": "echo hello"}`, "process": `{"action": "list"}`, "tmux": `{"action": "list"}`, "cron": `{"action": "list"}`,
		"watch":         `{"action": "list"}`,
		"mcp_resources": `{"server": "notes"}`, "mcp_resource_read": `{"server": "notes", "uri": "note://today"}`,
		"message":     `{"to": "owner", "content": "hello"}`,
		"ask":         `{"questions": [{"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}]}`,
		"agents_list": `{}`, "sessions_list": `{}`, "sessions_history": `{"session_id": "main"}`, "sessions_send": `{"session_id": "chat:1", "content": "hello"}`,
		"sessions_spawn": `{"prompt": "look"}`, "subagents": `{}`, "sessions_status": `{}`, "memory_search": `{"query": "Anna"}`, "memory_get": `{"path": "MEMORY.md"}`,
		"memory_write": `{"content": "Sam likes tea."}`, "memory_forget": `{"what": "Anna"}`,
		"context_write": `{"drive": "agent", "path": "projects/garden", "content": "tomatoes"}`, "context_read": fmt.Sprintf(`{"drive": "url", "path": %q}`, w.url+"/page"),
		"context_tree": `{}`, "context_search": `{"query": "tomatoes"}`, "context_refresh": fmt.Sprintf(`{"drive": "url", "path": %q}`, w.url+"/page"),
		"context_delete": fmt.Sprintf(`{"drive": "url", "path": %q}`, w.url+"/page"),
		"result_read":    `{"id": "a0"}`, "todo": `{"todos": [{"content": "test", "status": "pending"}]}`, "plan": `{"action": "enter"}`,
		"web_fetch": fmt.Sprintf(`{"url": %q}`, w.url+"/page"), "web_search": `{"query": "example"}`, "http": fmt.Sprintf(`{"method": "GET", "url": %q}`, w.url+"/page"),
		"task_add": `{"title": "sort"}`, "task_list": `{}`, "task_update": `{"id": 1, "priority": 3}`, "complete_task": `{"summary": "done"}`, "fail_task": `{"reason": "no"}`,
		"calendar_list_events": `{}`, "calendar_get_event": `{"id": "caldav:/x.ics"}`, "calendar_create_event": `{"title": "x", "start": "2026-11-23T10:00"}`, "gmail_search": `{"query": "x"}`, "gmail_read": `{"id": "m1"}`, "gmail_send": `{"to": ["a@example.org"], "subject": "x", "text": "y"}`,
		"anthropic_usage": `{"report": "cost"}`, "linkedin_jobs": `{"keyword": "go developer"}`, "linkedin_job_detail": `{"id": "3439174366"}`, "wait_task": `{"for": "10m"}`, "skill": `{"action": "list"}`, "capabilities_refresh": `{}`, "tool": `{"action": "search", "query": "tasks"}`,
	}
}

func TestEveryToolIsKnownHere(t *testing.T) {
	w := newAllTools(t)
	var names []string
	for _, s := range w.Specs() {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	for what, list := range map[string]map[string]string{"takes": takes(), "good": w.good()} {
		if known := slices.Sorted(maps.Keys(list)); !slices.Equal(names, known) {
			t.Errorf("there are %q, %s has %q", names, what, known)
		}
	}
}

func TestEveryToolIsDescribed(t *testing.T) {
	for _, spec := range newAllTools(t).Specs() {
		if n := (len(spec.Description) + 3) / 4; n > mostOfDescription {
			t.Errorf("%s: a description of %d tokens, want at most %d", spec.Name, n, mostOfDescription)
		}
		for what, raw := range map[string]json.RawMessage{"parameters": spec.Parameters, "request": spec.Sent(), "output": spec.Output} {
			if bytes.Contains(raw, []byte("null")) {
				t.Errorf("%s: %s allow null: %s", spec.Name, what, raw)
			}
			var root jsonschema.Schema
			if err := json.Unmarshal(raw, &root); err != nil {
				t.Fatalf("%s: %s: %v", spec.Name, what, err)
			}
			if root.Type != "object" || root.Properties == nil && what == "output" {
				t.Errorf("%s: %s are no object at the root: %s", spec.Name, what, raw)
			}
			typed(t, spec.Name+" "+what, &root)
			if what != "output" {
				described(t, spec.Name+" "+what, &root, what == "parameters")
			}
		}
		if spec.Positional != "" && !slices.Contains(strings.Fields(strings.ReplaceAll(takes()[spec.Name], "*", "")), spec.Positional) {
			t.Errorf("%s: positional %q is no parameter", spec.Name, spec.Positional)
		}
		if spec.Example == "" && takes()[spec.Name] != "" {
			t.Errorf("%s: help shows no example", spec.Name)
		}
	}
}

// typed checks that every field, at any depth, has a type.
func typed(t *testing.T, at string, s *jsonschema.Schema) {
	t.Helper()
	if s == nil {
		return
	}
	if s.Type == "" && len(s.Types) == 0 && at != "tool output.tools[].parameters" { // which is a schema itself
		t.Errorf("%s has no type", at)
	}
	for name, p := range s.Properties {
		typed(t, at+"."+name, p)
	}
	if s.Items != nil {
		typed(t, at+"[]", s.Items)
	}
}

// described checks that every parameter, at any depth, is described, and that objects take no unknown names.
func described(t *testing.T, at string, s *jsonschema.Schema, closed bool) {
	t.Helper()
	if s == nil {
		return
	}
	if closed && s.Type == "object" && s.Properties != nil && (s.AdditionalProperties == nil || s.AdditionalProperties.Not == nil) {
		t.Errorf("%s takes unknown names", at)
	}
	for name, p := range s.Properties {
		if p.Description == "" {
			t.Errorf("%s.%s is not described", at, name)
		}
		described(t, at+"."+name, p, closed)
	}
	described(t, at+"[]", s.Items, closed)
}

// TestParametersAreThoseThatWerePromised in their order, which is that of the structs and the same each time.
func TestParametersAreThoseThatWerePromised(t *testing.T) {
	first, again := newAllTools(t), newAllTools(t)
	for i, spec := range first.Specs() {
		var root struct {
			Properties json.RawMessage `json:"properties"`
			Required   []string        `json:"required"`
		}
		if err := json.Unmarshal(spec.Parameters, &root); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range order(t, root.Properties) {
			if slices.Contains(root.Required, name) {
				name += "*"
			}
			got = append(got, name)
		}
		if want := takes()[spec.Name]; strings.Join(got, " ") != want {
			t.Errorf("%s takes %s, want %s", spec.Name, strings.Join(got, " "), want)
		}
		other := again.Specs()[i]
		if !bytes.Equal(spec.Parameters, other.Parameters) || !bytes.Equal(spec.Sent(), other.Sent()) || !bytes.Equal(spec.Output, other.Output) {
			t.Errorf("%s: its schemas change between runs", spec.Name)
		}
	}
}

// TestTheCore is the list of the tools that every request carries; daemon counts what they take there.
func TestTheCore(t *testing.T) {
	var core []string
	for _, s := range newAllTools(t).Specs() {
		if s.Core {
			core = append(core, s.Name)
		}
	}
	slices.Sort(core)
	want := strings.Fields("apply_patch ask cron edit exec glob grep ls memory_get memory_search memory_write message process read result_read sessions_spawn skill todo tool web_fetch write")
	if !slices.Equal(core, want) {
		t.Errorf("%q, want %q", core, want)
	}
}

// available says whether a tool can work here; tmux may not be installed.
func available(tool tools.Tool) bool {
	a, ok := tool.(tools.Available)
	return !ok || a.Missing() == ""
}

func TestValidArgumentsPassAndTheResultFitsItsSchema(t *testing.T) {
	w := newWebWorld(t)
	for _, tool := range w.All() {
		name := tool.Spec().Name
		if !available(tool) {
			t.Logf("%s is missing here", name)
			continue
		}
		c := call(name, w.good()[name], w.space)
		if res, ok := tools.Validate(tool, c.Args); !ok {
			t.Fatalf("%s: %s", name, res.Content)
		}
		intent, err := tool.Intent(t.Context(), c)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		reads := intent.Effect == tools.Read
		if intent.Effect == "" || intent.Summary == "" || len(intent.Canonical) == 0 && !reads {
			t.Errorf("%s: intent without effect, summary or canonical bytes: %+v", name, intent)
		}
		if own := name == "todo" || name == "plan" || tool.Spec().Terminal; len(intent.Scopes) == 0 && !reads && !own {
			t.Errorf("%s: an effect beyond the turn and its conversation, without a scope: %+v", name, intent)
		}
		if tool.Spec().ReadOnly && intent.Effect != tools.Read {
			t.Errorf("%s says that it only reads, and has effect %s", name, intent.Effect)
		}
		res, err := tool.Run(t.Context(), c, intent)
		if err != nil || res.IsError || res.Content == "" && res.Next == nil {
			t.Fatalf("%s: %v %+v", name, err, res)
		}
		if res.Data != nil {
			fits(t, tool, res.Data)
		}
	}
}

func fits(t *testing.T, tool tools.Tool, data any) {
	t.Helper()
	var schema jsonschema.Schema
	if err := json.Unmarshal(tool.Spec().Output, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(value); err != nil {
		t.Errorf("%s: result %s does not fit its schema: %v", tool.Spec().Name, raw, err)
	}
}

// TestAllFaultsAreListedAtOnce gives every tool an unknown name and each of its parameters with a wrong type.
func TestAllFaultsAreListedAtOnce(t *testing.T) {
	w := newAllTools(t)
	for _, tool := range w.All() {
		spec := tool.Spec()
		var root jsonschema.Schema
		if err := json.Unmarshal(spec.Parameters, &root); err != nil {
			t.Fatal(err)
		}
		args, want := map[string]any{"zzz_unknown": 1}, []string{"zzz_unknown: unknown"}
		for name, p := range root.Properties {
			if args[name] = any([]any{}); p.Type == "array" {
				args[name] = map[string]any{}
			}
			want = append(want, name+": want ")
		}
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		c := call(spec.Name, string(raw), w.space)
		res, ok := tools.Validate(tool, c.Args)
		_, refused := tool.Intent(t.Context(), c)
		ran, err := tool.Run(t.Context(), c, tools.Intent{})
		if ok || refused == nil || err != nil {
			t.Fatalf("%s takes %s: %v, %v", spec.Name, raw, refused, err)
		}
		for who, r := range map[string]tools.Result{"Validate": res, "Intent": tools.ErrorResult(refused), "Run": ran} {
			if r.Code != tools.Validation {
				t.Errorf("%s: %s answers %s", spec.Name, who, r.Code)
			}
			for _, fault := range want {
				if !strings.Contains(r.Content, fault) {
					t.Errorf("%s: %s does not say %q: %s", spec.Name, who, fault, r.Content)
				}
			}
		}
	}
}

// TestRequiredParametersAreMissed leaves all of them out.
func TestRequiredParametersAreMissed(t *testing.T) {
	for _, tool := range newAllTools(t).All() {
		res, _ := tools.Validate(tool, json.RawMessage("{}"))
		for _, name := range strings.Fields(takes()[tool.Spec().Name]) {
			if required, ok := strings.CutSuffix(name, "*"); ok && !strings.Contains(res.Content, required+": missing") {
				t.Errorf("%s without %s: %s", tool.Spec().Name, required, res.Content)
			}
		}
	}
}

// files are all files below a folder, with their content and time of change.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := []byte(nil)
		if info.Mode().IsRegular() {
			if text, err = os.ReadFile(path); err != nil { // #nosec G122 -- the test's own folder
				return err
			}
		}
		all[path] = fmt.Sprint(info.Mode(), info.ModTime().UnixNano(), string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestIntentsTouchNothing(t *testing.T) {
	w := newAllTools(t)
	before := files(t, w.dir)
	for _, tool := range w.All() {
		name := tool.Spec().Name
		if _, err := tool.Intent(t.Context(), call(name, w.good()[name], w.space)); err != nil && available(tool) {
			t.Errorf("%s: %v", name, err)
		}
		if after := files(t, w.dir); !maps.Equal(before, after) {
			t.Errorf("%s: its intent changed files: %v, then %v", name, slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
			before = after
		}
	}
}

func TestACancelledTurnCancelsTheCall(t *testing.T) {
	w := newWebWorld(t)
	before := files(t, w.space)
	for _, tool := range w.All() {
		name := tool.Spec().Name
		if !available(tool) {
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		c := call(name, w.good()[name], w.space)
		intent, err := tool.Intent(ctx, c)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cancel()
		start := time.Now()
		res, err := tool.Run(ctx, c, intent)
		if err != nil || !res.IsError || res.Code != tools.Cancelled || time.Since(start) > time.Second {
			t.Errorf("%s: after %s %v %+v", name, time.Since(start), err, res)
		}
	}
	if !maps.Equal(before, files(t, w.space)) {
		t.Error("a tool of a cancelled turn changed files")
	}
}

// TestLargeResultsAreBounded gives those that page themselves far more than they may show.
func TestLargeResultsAreBounded(t *testing.T) {
	w := newAllTools(t)
	big := strings.Repeat("a line that says one thing and another\n", 10_000)
	for _, name := range []string{"big.txt", "MEMORY.md"} {
		if err := os.WriteFile(filepath.Join(w.space, name), []byte(big), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3000 {
		if err := os.WriteFile(filepath.Join(w.space, fmt.Sprintf("many-%04d.txt", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	large := map[string]struct {
		args string
		most int // bytes: the contract's limit, and room for what stands around
	}{
		"read": {`{"path": "big.txt"}`, 64 << 10}, "grep": {`{"pattern": "one"}`, mostShown}, "glob": {`{"pattern": "*.txt"}`, 64 << 10},
		"exec": {`{"command": "cat big.txt"}`, 104 << 10}, "memory_search": {`{"query": "one thing", "min_score": 0, "max_results": 20}`, mostShown},
		"context_search": {`{"query": "one thing", "limit": 20}`, mostShown}, "context_read": {`{"drive": "url", "path": "https://127.0.0.1:1/page", "limit": 1000}`, mostShown},
		"memory_get": {`{"path": "MEMORY.md", "lines": 1000}`, mostShown}, "process": {`{"action": "list"}`, mostShown},
		"tmux": {`{"action": "list"}`, mostShown}, "subagents": {`{"action": "list"}`, mostShown}, "result_read": {`{"id": "a0", "limit": 100000}`, 104 << 10},
	}
	for _, tool := range w.All() {
		spec := tool.Spec()
		if l, ok := large[spec.Name]; ok != spec.SelfPaging {
			t.Errorf("%s pages itself: %v; this test has a limit: %v", spec.Name, spec.SelfPaging, ok)
		} else if ok && available(tool) {
			c := call(spec.Name, l.args, w.space)
			intent, err := tool.Intent(t.Context(), c)
			if err != nil {
				t.Fatalf("%s: %v", spec.Name, err)
			}
			res, err := tool.Run(t.Context(), c, intent)
			if err != nil || len(res.Content) > l.most {
				t.Errorf("%s: %d bytes, want at most %d; %v", spec.Name, len(res.Content), l.most, err)
			}
		}
	}
}

// FuzzArguments gives anything to any tool: it is refused or understood, nothing panics, and finding out what a call would touch
// touches nothing.
func FuzzArguments(f *testing.F) {
	for name, args := range (&allTools{url: "https://127.0.0.1:1"}).good() {
		f.Add(name, args)
	}
	f.Add("read", `{"path": "\u0000", "offset": -1e400, "limit": "9"}`)
	f.Add("ask", `{"questions": [{"question": "q", "options": null}, {"question": 1}]}`)
	f.Add("exec", `{"command": "rm -rf /{a,b{c,d}}", "env": {"A=B": "x", "": ""}}`)
	f.Add("edit", `{"edits": [{"path": "notes.md", "old_text": "", "new_text": 1}], "path": ""}`)
	f.Add("apply_patch", "{\"patch\": \"--- a/../x\\n+++ b/x\\n@@ -1 +1 @@\\n-a\\n+b\"}")
	f.Add("glob", `{"pattern": "!(a|{b,**})[", "path": "~"}`)
	f.Add("web_fetch", `{"url": "http://user:x@[::1%25eth0]:0/#"}`)
	f.Add("cron", `{"action": "add", "schedule": "at 99:99", "tz": "Local"}`)
	f.Add("tool", `{"action": "call", "name": "tool", "arguments": {"action": "call"}}`)
	f.Fuzz(func(t *testing.T, name, args string) {
		w := newAllTools(t)
		tool, ok := w.Find(name)
		if !ok {
			w.Nearest(name)
			return
		}
		res, valid := tools.Validate(tool, json.RawMessage(args))
		if valid == res.IsError {
			t.Fatalf("valid %v with result %+v", valid, res)
		}
		before := files(t, w.dir)
		intent, err := tool.Intent(t.Context(), call(name, args, w.space))
		if after := files(t, w.dir); !maps.Equal(before, after) {
			t.Fatalf("the intent changed files: %v", slices.Sorted(maps.Keys(after)))
		}
		if err != nil {
			if r := tools.ErrorResult(err); strings.Contains(r.Content, "internal error") {
				t.Fatal(r.Content)
			}
			return
		}
		if !valid {
			t.Fatal("Intent took what Validate refuses")
		}
		if intent.Effect != tools.Read || slices.Contains(intent.Scopes, tools.Net) || slices.Contains(intent.Scopes, tools.Exec) {
			return // what it does is not for a fuzzer
		}
		for _, p := range intent.Paths {
			if p.Area != tools.Workspace {
				return
			}
		}
		if res, err = tool.Run(t.Context(), call(name, args, w.space), intent); err != nil || strings.Contains(res.Content, "internal error") {
			t.Fatalf("Run: %v %s", err, res.Content)
		}
	})
}

// TestTheConfigKnowsEachTool: a name in allow, deny or core of [tools] is looked up in the config's own list.
func TestTheConfigKnowsEachTool(t *testing.T) {
	if want := slices.Sorted(maps.Keys(takes())); !slices.Equal(config.ToolNames(), want) {
		t.Errorf("config.ToolNames is %q, want %q", config.ToolNames(), want)
	}
}
