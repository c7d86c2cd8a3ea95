package daemon_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hob/daemon"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// logText collects a log.
type logText struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

// count returns how often a text was logged.
func (l *logText) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.all.String(), text)
}

// acceptedRows writes ten accepted lists into a stopped home. Nine have no list where it should be, so that decoding one is an error in the log; s9 offers
// 15 tools.
func acceptedRows(t *testing.T, home string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(home, "state", "hob.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for i := range 10 {
		list := `{"reach":{"command":"/bin/true"},"tools":7}`
		if i == 9 {
			var offers []string
			for k := range 15 {
				offers = append(offers, fmt.Sprintf(`{"name":"parcel_%d","description":"Tells where parcel %d is.","input":{"type":"object"}}`, k, k))
			}
			list = strings.Replace(list, "7", "["+strings.Join(offers, ",")+"]", 1)
		}
		if _, err := db.ExecContext(t.Context(), "INSERT INTO mcp_lists (server, hash, list, state, at) VALUES (?, ?, ?, 'accepted', ?)", fmt.Sprintf("s%d", i), fmt.Sprintf("%064d", i), list, i); err != nil {
			t.Fatal(err)
		}
	}
}

// A start decodes the accepted list of no MCP server, because most starts need none. The first turn decodes each of them once and finds their tools.
func TestStartDecodesNoListOfAServer(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer()
	defer model.Close()
	home := t.TempDir()
	config := fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"scripted\"\nbase_url = %q\n", model.URL)
	for i := range 10 {
		config += fmt.Sprintf("[mcp.servers.s%d]\ncommand = \"/bin/true\"\n", i)
	}
	write(t, home, config)
	if err := start(t, home).stop(); err != nil {
		t.Fatal(err)
	}
	acceptedRows(t, home)
	var logged logText
	const decoded = "an accepted list of an MCP server cannot be read"
	r := start(t, home, func(o *daemon.Options) { o.Log = slog.New(slog.NewTextHandler(&logged, nil)) })
	if n := logged.count(decoded); n != 0 {
		t.Errorf("the start has decoded %d lists", n)
	}
	model.Push(llmtest.Streamed(llm.Answer{Calls: []llm.Call{{ID: "c1", Name: "tool", Args: json.RawMessage(`{"action":"search","query":"where is my parcel"}`)}}}), llmtest.Streamed(llmtest.Say("noted")))
	r.say("where is it?")
	list := model.Requests()
	if last := string(list[len(list)-1].Body); !strings.Contains(last, "s9__parcel_") {
		t.Errorf("the tools are not found: %.2000s", last[max(0, len(last)-2000):])
	}
	if n := logged.count(decoded); n != 9 {
		t.Errorf("the turn has decoded %d of the 9 lists that cannot be", n)
	}
	if v := r.server("s0"); v.State != "changed" || !strings.Contains(v.Problem, "cannot be read") || !strings.Contains(v.Problem, "hob mcp accept s0") {
		t.Errorf("the owner does not see that the list is damaged: %+v", v)
	}
	if v := r.server("s9"); v.State != "ready" || v.Problem != "" || len(v.Tools) != 15 {
		t.Errorf("%+v", v)
	}
}
