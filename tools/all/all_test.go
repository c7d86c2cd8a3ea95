package all_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"go.uber.org/goleak"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/spawn"
	"hob/tools"
	"hob/tools/all"
	"hob/tools/automation"
	"hob/tools/fs"
	"hob/tools/messaging"
	"hob/tools/runtime"
	"hob/tools/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf keeps artifacts in memory.
type shelf map[string][]byte

func (s shelf) Keep(_ context.Context, _ string, data []byte) (string, error) {
	id := fmt.Sprintf("a%d", len(s)+1)
	s[id] = bytes.Clone(data)
	return id, nil
}

func (s shelf) Open(_ context.Context, id string) (sessions.Artifact, error) {
	data, ok := s[id]
	if !ok {
		return sessions.Artifact{}, sessions.ErrNoArtifact
	}
	return sessions.Artifact{Name: id, Size: int64(len(data)), Body: body{bytes.NewReader(data)}}, nil
}

type body struct{ io.ReadSeeker }

func (body) Close() error { return nil }

// jobs knows one job.
type jobs struct{}

func (jobs) job() automation.Job {
	return automation.Job{ID: 7, Name: "morning", Spec: "cron 0 9 * * *", Zone: "Europe/Berlin", Prompt: "brief me", Session: "main", Deliver: "owner", Missed: "once", Overlap: "fold"}
}

func (j jobs) List(context.Context) ([]automation.Job, error) { return []automation.Job{j.job()}, nil }

func (j jobs) Find(_ context.Context, n string) (automation.Job, bool, error) {
	return j.job(), n == "morning" || n == "7", nil
}

func (j jobs) Plan(_ context.Context, d automation.Draft) (automation.Job, tools.Change, error) {
	return j.job(), d, nil
}

func (j jobs) Alter(_ context.Context, job automation.Job, v automation.Verb, _ string) (automation.Job, tools.Change, error) {
	return job, v, nil
}
func (jobs) Runs(context.Context, automation.Job, int) ([]automation.Run, error) { return nil, nil }

type addresses struct{}

func (addresses) Resolve(_ context.Context, to string) (event.Address, error) {
	if to == "owner" || to == "cli:main" {
		return event.Address(to), nil
	}
	return "", messaging.ErrUnknown
}

func (addresses) Known(context.Context) ([]event.Address, error) {
	return []event.Address{"cli:main"}, nil
}

func set(t testing.TB) (tools.Set, string) {
	t.Helper()
	dir := t.TempDir()
	space := filepath.Join(dir, "workspace")
	if err := os.MkdirAll(space, 0o700); err != nil {
		t.Fatal(err)
	}
	g, err := fsguard.New(fsguard.Config{Workspace: space, State: filepath.Join(dir, "state"), Home: dir})
	if err != nil {
		t.Fatal(err)
	}
	group := spawn.New(slog.New(slog.DiscardHandler), nil)
	t.Cleanup(group.Wait)
	s, err := tools.NewSet(all.All(all.Deps{
		Guard: g, Seen: fs.NewSeen(), Spawn: group, Artifacts: shelf{"a0": []byte("one\ntwo\nthree\n")}, Jobs: jobs{}, Addresses: addresses{},
		Events: []string{"turn.finished"}, Environ: os.Environ(), Instance: "test", Exec: runtime.Limits{},
	})...)
	if err != nil {
		t.Fatal(err)
	}
	return s, space
}

func call(name, args, dir string) tools.Call {
	return tools.Call{
		ID: "t1_1", Turn: 1, Session: 1, Key: "main", Name: name, Args: json.RawMessage(args), Workdir: dir, ReplyTo: event.CLI,
		Trust: event.Owner, Zone: "Europe/Berlin", Now: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC),
	}
}

// good has valid arguments for every tool; a new tool must be added.
func good() map[string]string {
	return map[string]string{
		"read":        `{"path": "notes.md"}`,
		"write":       `{"path": "new/file.txt", "content": "hello\n"}`,
		"ls":          `{}`,
		"exec":        `{"command": "echo hello"}`,
		"cron":        `{"action": "list"}`,
		"message":     `{"to": "owner", "content": "hello"}`,
		"ask":         `{"questions": [{"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}]}`,
		"result_read": `{"id": "a0"}`,
		"wait_task":   `{"for": "10m"}`,
	}
}

func TestEveryToolIsDescribed(t *testing.T) {
	s, _ := set(t)
	if len(s.Specs()) != len(good()) {
		t.Fatalf("%d tools, %d with valid arguments in this test", len(s.Specs()), len(good()))
	}
	for _, spec := range s.Specs() {
		if n := float64(len(strings.Fields(spec.Description))) * 1.3; n > 40 {
			t.Errorf("%s: description of about %.0f tokens, want at most 40", spec.Name, n)
		}
		for _, part := range []struct {
			what string
			raw  json.RawMessage
		}{{"parameters", spec.Parameters}, {"output", spec.Output}} {
			if bytes.Contains(part.raw, []byte("null")) {
				t.Errorf("%s: %s allow null: %s", spec.Name, part.what, part.raw)
			}
			var root jsonschema.Schema
			if err := json.Unmarshal(part.raw, &root); err != nil {
				t.Fatalf("%s: %s: %v", spec.Name, part.what, err)
			}
			if root.Type != "object" || root.Properties == nil {
				t.Errorf("%s: %s are no object at the root: %s", spec.Name, part.what, part.raw)
			}
			described(t, spec.Name+" "+part.what, &root)
		}
		if spec.Positional != "" && !bytes.Contains(spec.Parameters, []byte(`"`+spec.Positional+`"`)) {
			t.Errorf("%s: positional %q is no parameter", spec.Name, spec.Positional)
		}
	}
}

// described checks that every parameter, at any depth, is described and that objects are closed.
func described(t *testing.T, at string, s *jsonschema.Schema) {
	t.Helper()
	if s == nil {
		return
	}
	if s.Type == "object" && s.Properties != nil && (s.AdditionalProperties == nil || s.AdditionalProperties.Not == nil) {
		t.Errorf("%s takes unknown names", at)
	}
	for name, p := range s.Properties {
		if p.Description == "" {
			t.Errorf("%s.%s is not described", at, name)
		}
		described(t, at+"."+name, p)
	}
	described(t, at+"[]", s.Items)
}

func TestSchemasKeepTheirOrder(t *testing.T) {
	first, _ := set(t)
	for range 5 {
		again, _ := set(t)
		for i, spec := range again.Specs() {
			if !bytes.Equal(spec.Parameters, first.Specs()[i].Parameters) {
				t.Fatalf("%s: the schema changes between runs", spec.Name)
			}
		}
	}
	read, _ := first.Find("read")
	text := string(read.Spec().Parameters)
	if strings.Index(text, `"path":`) > strings.Index(text, `"offset":`) || strings.Index(text, `"offset":`) > strings.Index(text, `"limit":`) {
		t.Errorf("parameters of read are not in the order of the struct: %s", text)
	}
}

func TestTheCoreIsSmall(t *testing.T) {
	s, _ := set(t)
	size := 0
	for _, spec := range s.Specs() {
		if spec.Core {
			size += len(spec.Name) + len(spec.Description) + len(spec.Parameters)
		}
	}
	if size > 7_000 { // 8 of about 20 core tools, of 3,000 tokens with the system text
		t.Errorf("the core tools take %d bytes of every request, want at most 7,000", size)
	}
	t.Logf("%d bytes", size)
}

func TestValidArgumentsPassAndTheResultFitsItsSchema(t *testing.T) {
	s, dir := set(t)
	if err := os.WriteFile(filepath.Join(dir, "notes.md"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tool := range s.All() {
		name := tool.Spec().Name
		c := call(name, good()[name], dir)
		if res, ok := tools.Validate(tool, c.Args); !ok {
			t.Fatalf("%s: %s", name, res.Content)
		}
		intent, err := tool.Intent(t.Context(), c)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if intent.Effect == "" || len(intent.Scopes) == 0 || intent.Summary == "" || len(intent.Canonical) == 0 {
			t.Errorf("%s: intent without effect, scope, summary or canonical bytes: %+v", name, intent)
		}
		res, err := tool.Run(t.Context(), c, intent)
		if err != nil || res.IsError {
			t.Fatalf("%s: %v %s", name, err, res.Content)
		}
		fits(t, tool, res.Data)
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

func TestUnknownNamesAreRefusedBeforeAnythingRuns(t *testing.T) {
	s, dir := set(t)
	for _, tool := range s.All() {
		name := tool.Spec().Name
		c := call(name, strings.Replace(good()[name], "{", `{"zzz_unknown": 1,`, 1), dir)
		c.Args = bytes.Replace(c.Args, []byte(",}"), []byte("}"), 1)
		res, ok := tools.Validate(tool, c.Args)
		if ok || res.Code != tools.Validation || !strings.Contains(res.Content, "zzz_unknown: unknown") {
			t.Errorf("%s: %+v", name, res)
		}
		if _, err := tool.Intent(t.Context(), c); err == nil || tools.ErrorResult(err).Code != tools.Validation {
			t.Errorf("%s: Intent took an unknown name: %v", name, err)
		}
		if res, err := tool.Run(t.Context(), c, tools.Intent{}); err != nil || res.Code != tools.Validation {
			t.Errorf("%s: Run took an unknown name: %v %+v", name, err, res)
		}
	}
}

func TestACancelledTurnCancelsTheCall(t *testing.T) {
	s, dir := set(t)
	for _, tool := range s.All() {
		name := tool.Spec().Name
		ctx, cancel := context.WithCancel(t.Context())
		c := call(name, good()[name], dir)
		intent, err := tool.Intent(ctx, c)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cancel()
		res, err := tool.Run(ctx, c, intent)
		if err != nil || !res.IsError || res.Code != tools.Cancelled {
			t.Errorf("%s: %v %+v", name, err, res)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err == nil {
		t.Error("write wrote although the turn was cancelled")
	}
}

func FuzzArguments(f *testing.F) {
	for name, args := range good() {
		f.Add(name, args)
	}
	f.Add("read", `{"path": "\u0000", "offset": -1e400, "limit": "9"}`)
	f.Add("ask", `{"questions": [{"question": "q", "options": null}, {"question": 1}]}`)
	f.Add("exec", `{"command": "rm -rf /{a,b{c,d}}", "env": {"A=B": "x", "": ""}}`)
	f.Fuzz(func(t *testing.T, name, args string) {
		s, dir := set(t)
		tool, ok := s.Find(name)
		if !ok {
			s.Nearest(name)
			return
		}
		res, valid := tools.Validate(tool, json.RawMessage(args))
		if valid == res.IsError {
			t.Fatalf("valid %v with result %+v", valid, res)
		}
		c := call(name, args, dir)
		intent, err := tool.Intent(t.Context(), c)
		if err != nil {
			res := tools.ErrorResult(err)
			if res.Code == tools.Unknown && !strings.Contains(res.Content, "no such") {
				t.Fatalf("Intent: %v", err)
			}
			return
		}
		if !valid {
			t.Fatal("Intent took what Validate refuses")
		}
		if name == "exec" || name == "write" {
			return // what they do is not for a fuzzer
		}
		res, err = tool.Run(t.Context(), c, intent)
		if err != nil || strings.Contains(res.Content, "internal error") {
			t.Fatalf("Run: %v %s", err, res.Content)
		}
	})
}
