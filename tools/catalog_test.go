package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hob/tools"
)

func shop() tools.Tool {
	spec := func(name, group, about string) tools.Spec {
		return tools.Spec{Name: name, Group: group, Description: about, Parameters: json.RawMessage(`{"type":"object","properties":{"` + name + `_arg":{"type":"string"}}}`)}
	}
	list := []tools.Spec{
		spec("tmux", "runtime", "Terminals that outlive hob."), spec("web_search", "web", "Search the web."), spec("http", "web", "Ask an API."),
		spec("task_add", "work", "Add a task to the backlog."), spec("everything__echo", "mcp", "Echo a message."),
	}
	for range 20 {
		list = append(list, spec("filler", "misc", "Nothing in particular."))
	}
	return tools.NewCatalog(list)
}

func do(t *testing.T, args string) tools.Result {
	t.Helper()
	call := tools.Call{Name: tools.CatalogTool, Args: json.RawMessage(args)}
	i, err := shop().Intent(t.Context(), call)
	if err != nil {
		return tools.ErrorResult(err)
	}
	if i.Effect != tools.Read || len(i.Scopes) > 0 {
		t.Errorf("%s: intent %+v", args, i)
	}
	r, err := shop().Run(t.Context(), call, i)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSearch(t *testing.T) {
	for args, want := range map[string]string{
		`{"action":"search","query":"tasks backlog"}`:           "task_add: Add a task to the backlog.\n(describe one for its parameters)",
		`{"action":"search","query":"terminal"}`:                "tmux: Terminals that outlive hob.\n(describe one for its parameters)",
		`{"action":"search","query":"web"}`:                     "web_search: Search the web.\nhttp: Ask an API.\n(describe one for its parameters)",
		`{"action":"search","query":"HTTP_ARG"}`:                "http: Ask an API.\ntmux",
		`{"action":"search","query":"echo","server":"missing"}`: "no tool fits; an empty query lists all",
		`{"action":"search","query":"quantum"}`:                 "no tool fits; an empty query lists all",
		`{"action":"search","server":"everything"}`:             "everything__echo: Echo a message.\n(describe one for its parameters)",
	} {
		if got := do(t, args); got.IsError || !strings.HasPrefix(got.Content, want) {
			t.Errorf("%s: %q, want %q", args, got.Content, want)
		}
	}
	many := do(t, `{"action":"search","query":"particular"}`)
	if n := len(many.Data.(tools.CatalogOutput).Tools); n != 12 || !strings.Contains(many.Content, "(8 more; narrow the query)") {
		t.Errorf("a query lists %d: %q", n, many.Content)
	}
}

// TestSearchForNothingListsAll: every name, and of the descriptions as much as has room.
func TestSearchForNothingListsAll(t *testing.T) {
	all := do(t, `{"action":"search","query":" "}`)
	if n := len(all.Data.(tools.CatalogOutput).Tools); n != 25 || strings.Contains(all.Content, "more") || !strings.Contains(all.Content, "task_add: Add a task to the backlog.\n") {
		t.Errorf("it lists %d: %q", n, all.Content)
	}
	about := strings.Repeat("ä", 100)
	for n, want := range map[int]string{
		1:   "t0: " + about + "\n",
		18:  "t17: " + about + "\n",
		36:  "t35: " + about[:2*49] + "…\n", // 50 characters of 1,800
		180: "t179\n",
	} {
		var specs []tools.Spec
		for i := range n {
			specs = append(specs, tools.Spec{Name: fmt.Sprintf("t%d", i), Description: about})
		}
		r, err := tools.NewCatalog(specs).Run(t.Context(), tools.Call{Name: tools.CatalogTool, Args: json.RawMessage(`{"action":"search"}`)}, tools.Intent{})
		if err != nil || !strings.Contains(r.Content, want) || strings.Count(r.Content, "\n") != n {
			t.Errorf("%d tools: %q, %v", n, r.Content, err)
		}
	}
}

func TestDescribe(t *testing.T) {
	got := do(t, `{"action":"describe","name":"http"}`)
	if got.IsError || !strings.Contains(got.Content, `"http_arg"`) || len(got.Data.(tools.CatalogOutput).Tools[0].Parameters) == 0 {
		t.Errorf("%+v", got)
	}
	for args, want := range map[string]tools.Code{
		`{"action":"describe","name":"htp"}`:                   tools.NotFound,
		`{"action":"describe"}`:                                tools.Validation,
		`{"action":"call","name":"nothing"}`:                   tools.NotFound,
		`{"action":"call","name":"tool","arguments":{}}`:       tools.Validation,
		`{"action":"call"}`:                                    tools.Validation,
		`{"action":"call","name":"http","arguments":"a text"}`: tools.Validation,
		`{"action":"buy"}`:                                     tools.Validation,
	} {
		if got := do(t, args); got.Code != want {
			t.Errorf("%s: %s %q, want %s", args, got.Code, got.Content, want)
		}
	}
	if got := do(t, `{"action":"describe","name":"htp"}`); !strings.Contains(got.Hint, "http") {
		t.Errorf("hint %q", got.Hint)
	}
}

func TestInner(t *testing.T) {
	for args, want := range map[string]string{
		`{"action":"call","name":"http","arguments":{"url":"x"}}`: `http {"url":"x"}`,
		`{"action":"call","name":"http"}`:                         `http {}`,
		`{"action":"call","name":"tool","arguments":{}}`:          "",
		`{"action":"search","name":"http"}`:                       "",
		`{"action":"call"}`:                                       "",
		`not json`:                                                "",
	} {
		name, inner, ok := tools.Inner(json.RawMessage(args))
		if got := strings.TrimSpace(name + " " + string(inner)); got != want || ok != (want != "") {
			t.Errorf("%s: %q %v, want %q", args, got, ok, want)
		}
	}
}
