package all_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/mail"
	index "hob/daemon/memory"
	"hob/daemon/netguard"
	"hob/daemon/sys"
	"hob/scheduler"
	"hob/scheduler/filewatch"
	"hob/tools"
	"hob/tools/all"
	"hob/tools/anthropic"
	"hob/tools/automation"
	"hob/tools/calendar"
	"hob/tools/fs"
	"hob/tools/gmail"
	"hob/tools/linkedin"
	"hob/tools/mcp"
	"hob/tools/memory"
	"hob/tools/messaging"
	"hob/tools/runtime"
	"hob/tools/sessions"
	"hob/tools/skills"
	"hob/tools/tasks"
	"hob/tools/web"
)

// artifactStore keeps artifacts in memory.
type artifactStore map[string][]byte

func (s artifactStore) Keep(_ context.Context, _ string, data []byte) (string, error) {
	id := fmt.Sprintf("a%d", len(s)+1)
	s[id] = bytes.Clone(data)
	return id, nil
}

func (s artifactStore) KeepForeign(ctx context.Context, name, _ string, data []byte) (string, error) {
	return s.Keep(ctx, name, data)
}

func (s artifactStore) Enclose(ctx context.Context, path string, size int64, data io.Reader) (event.Enclosed, error) {
	b, err := io.ReadAll(data)
	if err != nil {
		return event.Enclosed{}, err
	}
	id, err := s.Keep(ctx, path, b)
	sum := sha256.Sum256(b)
	return event.Enclosed{Artifact: id, SHA256: hex.EncodeToString(sum[:]), Name: filepath.Base(path), Path: path, Size: size}, err
}

func (s artifactStore) Open(_ context.Context, id string) (sessions.Artifact, error) {
	data, ok := s[id]
	if !ok {
		return sessions.Artifact{}, sessions.ErrNoArtifact
	}
	return sessions.Artifact{Name: id, Size: int64(len(data)), Body: body{bytes.NewReader(data)}}, nil
}

type body struct{ io.ReadSeeker }

func (body) Close() error { return nil }

// watches knows no watch.
type watches struct{}

func (watches) List(context.Context) ([]filewatch.View, error) { return nil, nil }
func (watches) Find(context.Context, string) (filewatch.View, bool, error) {
	return filewatch.View{}, false, nil
}

func (watches) Crowded(context.Context, filewatch.View) string { return "" }

func (watches) Plan(context.Context, filewatch.Draft) (filewatch.View, tools.Change, error) {
	return filewatch.View{}, nil, nil
}

func (watches) Alter(_ context.Context, w filewatch.View, _ automation.Verb) (filewatch.View, tools.Change, error) {
	return w, nil, nil
}

type jobs struct{}

func (jobs) job() scheduler.View {
	return scheduler.View{ID: 7, Name: "morning", Spec: "cron 0 9 * * *", Zone: "Europe/Berlin", Prompt: "brief me", Session: "main", Deliver: "owner", Missed: "once", Overlap: "fold"}
}

func (j jobs) List(context.Context) ([]scheduler.View, error) { return []scheduler.View{j.job()}, nil }

func (j jobs) Find(_ context.Context, n string) (scheduler.View, bool, error) {
	return j.job(), n == "morning" || n == "7", nil
}

func (j jobs) Plan(_ context.Context, d scheduler.Draft) (scheduler.View, tools.Change, error) {
	return j.job(), d, nil
}

func (j jobs) Alter(_ context.Context, job scheduler.View, v automation.Verb, _ string) (scheduler.View, tools.Change, error) {
	return job, v, nil
}

func (jobs) Judge(context.Context, tools.Call, string, bool) (tools.Intent, error) {
	return tools.Intent{}, nil
}

func (jobs) Runs(context.Context, scheduler.View, int) ([]automation.Run, error) { return nil, nil }

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

// rows are one task, one sub-agent and two conversations.
type rows struct{}

func (rows) Backlog(context.Context, ...int64) (tasks.Backlog, error) {
	return tasks.Backlog{1: {ID: 1, Title: "collect", Prompt: "collect it", State: tasks.Queued}}, nil
}

func (r rows) Tasks(ctx context.Context, _ event.Filter) ([]tasks.Task, error) {
	b, err := r.Backlog(ctx)
	return tasks.Sorted([]tasks.Task{b[1]}), err
}
func (rows) Reserve(context.Context) (int64, error)      { return 2, nil }
func (rows) Serves(context.Context, int64) (bool, error) { return true, nil }

func (rows) agent() tools.Agent { return tools.Agent{ID: "t1_9", State: "done", Ended: noon} }

func (r rows) Agents(context.Context, int64, int) ([]tools.Agent, error) {
	return []tools.Agent{r.agent()}, nil
}

func (r rows) Agent(_ context.Context, _ int64, id string) (tools.Agent, bool, error) {
	return r.agent(), id == "t1_9", nil
}

func (rows) Talks(context.Context, string, int, int) ([]tools.Talk, error) {
	return []tools.Talk{
		{ID: 2, Key: "chat:1", Kind: "chat", Trust: event.Owner, Live: true, Created: noon, Reply: "cli:main"},
		{ID: 1, Key: "main", Kind: "main", Trust: event.Owner, Live: true, Created: noon, Reply: "cli:main"},
	}, nil
}

func (r rows) Talk(ctx context.Context, name string) (tools.Talk, bool, error) {
	list, err := r.Talks(ctx, "", 2, 0)
	for _, t := range list {
		if t.Key == name || strconv.FormatInt(t.ID, 10) == name {
			return t, true, err
		}
	}
	return tools.Talk{}, false, err
}

func (rows) Lines(context.Context, int64, string, int, int) ([]tools.Line, int, error) {
	return []tools.Line{{Seq: 1, Role: "user", Kind: "input", Text: "hello"}}, 1, nil
}

func (rows) Self(context.Context) (sessions.Self, error) {
	return sessions.Self{Name: "hob", Model: "p/m", State: "idle", Tools: []string{"read"}}, nil
}
func (rows) Left(context.Context) (sessions.Left, error) { return sessions.Left{}, nil }

func (rows) Report(context.Context, runtime.Report) error { return nil }

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// allTools is a workspace, and all tools over it with fakes at the edge.
type allTools struct {
	tools.Set
	dir   string // all of it: the owner's home
	space string
	url   string // a web server, which has a page and answers searches
}

// notes is an MCP server that is a program without network.
type notes struct{}

func (notes) Call(context.Context, mcp.Def, tools.Call, json.RawMessage) (tools.Result, error) {
	return tools.Result{Content: "done"}, nil
}

func (notes) Resources(context.Context, tools.Call, string) (tools.Result, error) {
	return tools.Result{Content: "note://today: today", Foreign: "notes", Data: mcp.ResourcesOutput{Resources: []mcp.Resource{{URI: "note://today", Name: "today"}}}}, nil
}

func (notes) Read(context.Context, tools.Call, string, string) (tools.Result, error) {
	return tools.Result{Content: "tea", Foreign: "notes", Data: mcp.ReadOutput{Parts: 1}}, nil
}
func (notes) Names() []string { return []string{"notes"} }

// days is a calendar with one event.
type days struct{}

func (days) Accounts() []string { return []string{"caldav"} }

func (d days) Events(ctx context.Context, _ calendar.Span) (calendar.Found, error) {
	e, err := d.Event(ctx, "", nil)
	return calendar.Found{Events: []calendar.Event{e}}, err
}

func (days) Event(context.Context, string, *time.Location) (calendar.Event, error) {
	return calendar.Event{ID: "caldav:/x.ics", Account: "caldav", Calendar: "Home", Title: "Dentist", Start: noon, End: noon.Add(time.Hour)}, nil
}

func (days) Plan(context.Context, calendar.Draft) (calendar.Plan, error) {
	return calendar.Plan{Account: "caldav", Calendar: "Home", Host: "dav.example.org"}, nil
}

func (d days) Create(ctx context.Context, _ calendar.Draft) (calendar.Event, error) {
	return d.Event(ctx, "", nil)
}

// services are accounts at the web world's server.
type services struct {
	client *netguard.Client
	url    string
}

func (services) Set() bool { return true }

func (s services) Open(context.Context) (*anthropic.Client, error) {
	return anthropic.Open(s.client, anthropic.Settings{Key: "k", URL: s.url}), nil
}

// jobSite is LinkedIn there.
type jobSite struct{ services }

func (s jobSite) Open(context.Context) (*linkedin.Client, error) {
	return linkedin.Open(s.client, linkedin.Settings{URL: s.url}), nil
}

// letters is a mailbox with one mail.
type letters struct{}

func (letters) Set() bool { return true }

func (letters) Open(context.Context) (gmail.Mailbox, error) { return letters{}, nil }

func (letters) SearchMail(context.Context, gmail.Query) (gmail.Page, error) {
	return gmail.Page{Hits: []gmail.Hit{{ID: "m1", Thread: "t1", From: "b@example.org", Subject: "Tea", At: noon}}}, nil
}

func (letters) ReadMail(context.Context, string) (gmail.Mail, error) {
	return gmail.Mail{Hit: gmail.Hit{ID: "m1", Thread: "t1", From: "b@example.org", At: noon}, Body: mail.Body{Text: "At four?"}}, nil
}

func (letters) PlanMail(context.Context) (gmail.Plan, error) {
	return gmail.Plan{Account: "google", From: "anna@example.org"}, nil
}

func (letters) SendMail(context.Context, gmail.Draft) (gmail.Sent, error) {
	return gmail.Sent{ID: "m2", Thread: "t2"}, nil
}

// noSkills is an owner who has accepted none.
type noSkills struct{}

func (noSkills) Accepted() []skills.Skill { return nil }

func (noSkills) Body(string) (skills.Skill, string, error) {
	return skills.Skill{}, "", skills.ErrUnknown
}

// all makes the tools as the daemon does. A nil client makes one that reaches nothing.
func (w *allTools) all(t testing.TB, client *netguard.Client) []tools.Tool {
	t.Helper()
	g, err := fsguard.New(fsguard.Config{Workspace: w.space, State: filepath.Join(w.dir, "state"), Home: w.dir})
	if err != nil {
		t.Fatal(err)
	}
	group := sys.NewGroup(slog.New(slog.DiscardHandler), nil)
	registry := runtime.NewRegistry(rows{})
	group.Go(t.Context(), "background commands", registry.Run)
	t.Cleanup(group.Wait)
	list := all.All(all.Services{
		Artifacts: artifactStore{"a0": []byte("one\ntwo\nthree\n")}, Seen: fs.NewSeen(), Memory: all.Memory{Index: found{}, Facts: new(memory.Facts), Items: oneItem{w.url + "/page"}}, Spawn: group, Registry: registry, Triggers: all.Triggers{Jobs: jobs{}, Gates: jobs{}, Watches: watches{}}, Addresses: addresses{},
		Backlog: rows{}, Agents: rows{}, Talks: rows{}, Self: all.Self{Gauge: rows{}, Skills: noSkills{}, Specs: func() []tools.Spec { return nil }}, Models: func(string) error { return nil },
		Outside: all.Outside{MCP: notes{}, Calendars: days{}, Mail: letters{}, Usage: services{client, w.url}, LinkedIn: jobSite{services{client, w.url}}, Resolve: func(context.Context, string, string) (string, error) {
			return "", errors.New("there are no secrets here")
		}},
		Marked: func() []string { return nil }, Events: []string{"turn.finished"}, Environ: os.Environ(), Instance: "test",
		State: filepath.Join(w.dir, "state"), Journal: filepath.Join(w.dir, "state", "edits"),
	}, all.Setup{
		Guard: g, Limits: runtime.Limits{}, Client: client, Secrets: map[string]web.Secret{}, Search: web.SearchDeps{Engine: "searxng", URL: w.url}, Allowed: func(string) bool { return true },
	})
	var deferred []tools.Spec
	for _, tool := range list {
		if s := tool.Spec(); !s.Core {
			deferred = append(deferred, s)
		}
	}
	return append(list, tools.NewCatalog(deferred))
}

func newAllTools(t testing.TB) *allTools {
	t.Helper()
	return madeWorld(t, "https://127.0.0.1:1", netguard.NewClient(netguard.Config{}))
}

// newWebWorld has a web server.
func newWebWorld(t testing.TB) *allTools {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) { answer(t, w, "text/plain", "a page") })
	mux.HandleFunc("/search", func(w http.ResponseWriter, _ *http.Request) {
		answer(t, w, "application/json", `{"results": [{"url": "https://example.org/", "title": "Example", "content": "of it"}]}`)
	})
	mux.HandleFunc("/v1/organizations/cost_report", func(w http.ResponseWriter, _ *http.Request) {
		answer(t, w, "application/json", `{"data": [{"starting_at": "2026-11-23T00:00:00Z", "results": [{"amount": "5", "currency": "USD"}]}], "has_more": false}`)
	})
	mux.HandleFunc("/jobs-guest/jobs/api/seeMoreJobPostings/search", func(w http.ResponseWriter, _ *http.Request) {
		answer(t, w, "text/html", `<div class="base-search-card" data-entity-urn="urn:li:jobPosting:3439174366"><h3 class="base-search-card__title">Gopher</h3></div>`)
	})
	mux.HandleFunc("/jobs-guest/jobs/api/jobPosting/3439174366", func(w http.ResponseWriter, _ *http.Request) {
		answer(t, w, "text/html", `<h2 class="topcard__title">Gopher</h2><div class="description__text">digs</div>`)
	})
	s := httptest.NewUnstartedServer(mux)
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it would tell of each connection that goes
	s.StartTLS()
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return madeWorld(t, s.URL, netguard.NewClient(netguard.Config{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Roots: pool, Timeout: time.Minute}))
}

func answer(t testing.TB, w http.ResponseWriter, kind, text string) {
	w.Header().Set("Content-Type", kind)
	if _, err := io.WriteString(w, text); err != nil {
		t.Error(err)
	}
}

func madeWorld(t testing.TB, url string, client *netguard.Client) *allTools {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &allTools{dir: dir, space: filepath.Join(dir, "workspace"), url: url}
	for name, text := range map[string]string{
		"notes.md": "one\ntwo\n", "MEMORY.md": "# Memory\n\nAnna sings.\n", "book.ipynb": `{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}`,
	} {
		path := filepath.Join(w.space, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if w.Set, err = tools.NewSet(w.all(t, client)...); err != nil {
		t.Fatal(err)
	}
	return w
}

// oneItem is a context item of the drive url.
type oneItem struct{ path string }

func (o oneItem) ContextItem(_ context.Context, drive, path string) (tools.ContextItem, bool, error) {
	return tools.ContextItem{Drive: drive, Path: path, Bytes: 7, Content: strings.Repeat("of then\n", 10_000)}, drive == "url" && path == o.path, nil
}

func (o oneItem) ContextItems(context.Context, event.Filter) ([]tools.ContextItem, error) {
	return []tools.ContextItem{{Drive: "url", Path: o.path, Bytes: 7}}, nil
}

// found is a memory in which each search finds the same long passages.
type found struct{}

func (found) Search(_ context.Context, q index.Query) (index.Result, error) {
	text := strings.Repeat("one thing after another\n", max(q.MaxBytes/(25*q.MaxPassages), 1))
	r := index.Result{Files: 1}
	for range q.MaxPassages {
		r.Passages = append(r.Passages, index.Passage{Kind: index.File, Path: "MEMORY.md", From: 1, To: 9, Score: 0.5, Text: text})
	}
	return r, nil
}

// TestTheSummaryNamesNoTool checks that each group of tools has its part of the summary of what hob can do, and that the parts, which the
// prompt holds, name none of the tools: a name there would be a promise that a denied tool breaks.
func TestTheSummaryNamesNoTool(t *testing.T) {
	specs := newAllTools(t).Specs()
	text := skills.Facts{Specs: func() []tools.Spec { return specs }, Skills: oneSkill{}}.Summary()
	groups := map[string]bool{}
	for _, s := range specs {
		groups[s.Group] = true
		if skills.Names(text, s.Name) {
			t.Errorf("the summary names %s:\n%s", s.Name, text)
		}
	}
	for g := range groups {
		only := slices.DeleteFunc(slices.Clone(specs), func(s tools.Spec) bool { return s.Group != g })
		if part := (skills.Facts{Specs: func() []tools.Spec { return only }, Skills: oneSkill{}}).Summary(); g != "catalog" && strings.Count(part, "\n## ") != 1 {
			t.Errorf("the group %s has no part of its own:\n%s", g, part)
		}
	}
	if !strings.Contains(text, "deploy-it") {
		t.Errorf("the accepted skill is missing:\n%s", text)
	}
}

type oneSkill struct{ noSkills }

func (oneSkill) Accepted() []skills.Skill { return []skills.Skill{{Name: "deploy-it"}} }
