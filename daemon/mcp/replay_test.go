package mcp_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/config"
	"hob/daemon/mcp"
	"hob/daemon/mcp/mcptest"
	"hob/daemon/record"
	"hob/daemon/secret"
)

// Issue 33, 7: what a server sends is recorded and read again, over each transport and each revision: its tools, its results, its refusals, and what
// is no message. A secret in it is not.
func TestRecordedServers(t *testing.T) {
	t.Parallel()
	over(t, func(t *testing.T, s *mcptest.Server, c config.MCPServer, script mcptest.Script) {
		script.Tools = []json.RawMessage{mcptest.Tool("do", "Does it."), mcptest.Tool("tell", "Tells."), mcptest.Tool("twice", "a"), mcptest.Tool("twice", "b")}
		script.Results = map[string]json.RawMessage{"tell": json.RawMessage(`{"content":[{"type":"text","text":"it is canary-4711"}]}`)}
		script.Faults = map[string]mcptest.Fault{"tools/call do": mcptest.TextID}
		script.Stdout = "Welcome!\n"
		s.Play(script)
		var secrets secret.Redactor
		secrets.Add("key", "canary-4711")
		rec := &record.Recorder{Dir: t.TempDir(), Hide: secrets.Text, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		state, err := rec.Start(record.Head{Subject: "mcp.notes"})
		if err != nil {
			t.Fatal(err)
		}
		h := start(t, map[string]config.MCPServer{"notes": c}, func(d *mcp.Deps) { d.Recorder = rec })
		h.accept("notes")
		wantText(t, h.call(t.Context(), h.tool("notes__do"), `{}`), "ok do")
		wantText(t, h.call(t.Context(), h.tool("notes__tell"), `{}`), "canary")
		script.Faults = map[string]mcptest.Fault{"tools/call do": mcptest.Failed}
		s.Play(script)
		h.call(t.Context(), h.tool("notes__do"), `{}`)
		if _, err := rec.Stop(); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(state.File)
		if err != nil || strings.Contains(string(raw), "canary") {
			t.Errorf("the file has the secret: %v", err)
		}
		log, err := record.Read(state.File)
		if err != nil {
			t.Fatal(err)
		}
		list, tools, out, skipped := mcp.Replay(t.Context(), "notes", log)
		if !slices.Equal(tools, []string{"do", "tell"}) || len(out) != 1 || !strings.Contains(out[0], "several tools have this name") {
			t.Errorf("tools %q, left out %q", tools, out)
		}
		if c.URL == "" && (len(skipped) == 0 || skipped[0] != "Welcome!") {
			t.Errorf("skipped %q", skipped)
		}
		said, faults := "", ""
		for _, one := range list {
			said, faults = said+strings.Join(one.Messages, "\n"), faults+one.Fault+"\n"
		}
		if !strings.Contains(said, `"text":"ok do"`) || !strings.Contains(said, "it is [secret key]") || strings.TrimSpace(faults) == "" {
			t.Errorf("messages %s, faults %q", said, faults)
		}
	})
}

// What a service answers in place of a message is said as it is said of the connection.
func TestReplayedRefusals(t *testing.T) {
	t.Parallel()
	call := record.Entry{What: record.Request, N: 1, Method: "POST", URL: "https://h/mcp", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`}
	for _, c := range []struct {
		e    record.Entry
		want string
	}{
		{record.Entry{What: record.Response, N: 1, Status: 500}, "it answered"},
		{record.Entry{What: record.Response, N: 1, Status: 401}, "it wants a sign-in"},
		{record.Entry{What: record.Response, N: 1, Status: 200, Header: map[string]string{"Content-Type": "text/html"}, Body: "<p>"}, "not with JSON"},
		{record.Entry{What: record.Failed, N: 1, End: "connection refused"}, "connection refused"},
		{record.Entry{What: record.Response, N: 1, Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: `{"jsonrpc":"2.0","id":1,"resu`, Cut: true}, "unexpected EOF"},
	} {
		list, _, _, _ := mcp.Replay(t.Context(), "notes", record.Log{Entries: []record.Entry{call, c.e}})
		if len(list) != 1 || !strings.Contains(list[0].Fault, c.want) {
			t.Errorf("want %q, got %+v", c.want, list)
		}
	}
}
