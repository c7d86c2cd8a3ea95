package daemon_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/fsguard"
	"hob/daemon/llm/llmtest"
	"hob/daemon/mcpserver"
)

// bearer sends a token with each request.
type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(r)
}

// mcp connects a client of the SDK with a token.
func (p *program) mcp() *mcp.ClientSession {
	p.t.Helper()
	transport := &http.Transport{}
	p.t.Cleanup(transport.CloseIdleConnections)
	return p.connect(&http.Client{Transport: bearer{transport, p.token}}, "http://"+p.ready.Address+"/mcp")
}

func (r *running) connect(to *http.Client, address string) *mcp.ClientSession {
	r.t.Helper()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(r.t.Context(), &mcp.StreamableClientTransport{Endpoint: address, HTTPClient: to, MaxRetries: -1}, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			r.t.Error(err)
		}
	})
	return s
}

// use calls a tool, and returns its text, whether that is an error, and its document.
func use(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) (text string, failed bool, data map[string]any) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return err.Error(), true, nil
	}
	for _, c := range r.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	data, _ = r.StructuredContent.(map[string]any)
	return text, r.IsError, data
}

func offered(t *testing.T, s *mcp.ClientSession) map[string]*mcp.Tool {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*mcp.Tool{}
	for _, one := range list.Tools {
		found[one.Name] = one
	}
	return found
}

// Each client gets the tools that the rules may allow it, and the rules decide about each call.
func TestToolsByMCP(t *testing.T) {
	t.Parallel()
	r, _ := listen(t, "[endpoints.mine]\ntrust = \"owner\"\n", func(llmtest.Request) llmtest.Turn { return llmtest.Streamed(llmtest.Say("no")) })
	put(t, "milk\n", r.home, "workspace", "list.txt")
	put(t, "what only the owner reads\n", r.home, "workspace", "USER.md")
	put(t, "of somebody\n", r.home, "outside.txt")
	put(t, "from a stranger\n", r.home, "workspace", "attachments", "1", "a.txt")
	laptop, mine := r.endpoint("laptop").mcp(), r.endpoint("mine").mcp()
	to, base, ok := r.client.Socket()
	if !ok {
		t.Fatal("no socket")
	}
	local := r.connect(to, base+"/mcp")

	guest, owner := offered(t, laptop), offered(t, mine)
	if guest["read"] == nil || guest["exec"] != nil || guest["cron"] != nil || guest["memory_search"] != nil || len(guest) > 16 {
		t.Errorf("a known person's program sees %d tools", len(guest))
	}
	if owner["exec"] == nil || owner["cron"] == nil || owner["tool"] != nil || owner["complete_task"] != nil || len(offered(t, local)) != len(owner) {
		t.Errorf("the owner's program sees %d tools", len(owner))
	}
	// What a tool returns fits the schema that it was offered with.
	for _, call := range []struct {
		tool string
		args map[string]any
	}{{"read", map[string]any{"path": "list.txt"}}, {"ls", map[string]any{"path": "."}}, {"grep", map[string]any{"pattern": "milk"}}, {"glob", map[string]any{"pattern": "*"}}, {"sessions_list", nil}, {"cron", map[string]any{"action": "list"}}} {
		text, failed, data := use(t, mine, call.tool, call.args)
		if failed {
			t.Fatalf("%s: %s", call.tool, text)
		}
		fits(t, owner[call.tool], data)
	}
	for _, call := range []struct {
		tool string
		args map[string]any
	}{
		{"exec", map[string]any{"command": "true"}},
		{"read", map[string]any{"path": "USER.md"}},
		{"write", map[string]any{"path": "list.txt", "content": "x"}},
		{"cron", map[string]any{"action": "list"}},
		{"message", map[string]any{"to": "owner", "content": "x"}},
		{"read", map[string]any{"path": filepath.Join(r.home, "state", "token")}},
	} {
		if text, failed, _ := use(t, laptop, call.tool, call.args); !failed {
			t.Errorf("a known person's program calls %s: %s", call.tool, text)
		}
	}
	// A call that the rules deny has read nothing.
	for _, args := range []map[string]any{{"path": "../outside.txt"}, {"path": filepath.Join(r.home, "state", "token")}} {
		if text, failed, _ := use(t, laptop, "read", args); !failed {
			t.Errorf("read %v: %s", args, text)
		}
	}
	programs, err := client.List(t.Context(), r.client, api.Endpoints, client.Filter{})
	if err != nil || len(programs) != 2 || programs[0].Foreign != "" {
		t.Errorf("programs %+v, %v", programs, err)
	}
	// The owner's program may write until it has read foreign text; that of hob mcp serve always asks.
	if text, failed, _ := use(t, mine, "write", map[string]any{"path": "new.txt", "content": "x"}); failed {
		t.Errorf("write: %s", text)
	}
	if text, failed, _ := use(t, mine, "read", map[string]any{"path": "attachments/1/a.txt"}); failed {
		t.Errorf("read: %s", text)
	}
	for i, s := range []*mcp.ClientSession{mine, local} {
		args := map[string]any{"path": fmt.Sprintf("later%d.txt", i), "content": "x"}
		text, failed, _ := use(t, s, "write", args)
		open, err := client.List(t.Context(), r.client, api.Questions, client.Filter{State: "open"})
		if err != nil || len(open) != 1 || !failed || !strings.Contains(text, fmt.Sprintf("question %d:", open[0].ID)) || strings.Contains(text, open[0].Code) {
			t.Fatalf("write %d: %s, %+v, %v", i, text, open, err)
		}
		other := []*mcp.ClientSession{mine, local}[1-i]
		if _, err := client.Do(t.Context(), r.client, api.ApproveQuestion, open[0].Code, api.Approve{Scope: "once"}); err != nil {
			t.Fatal(err)
		}
		if text, failed, _ := use(t, other, "write", args); !failed {
			t.Errorf("one program uses the approval of another: %s", text)
		}
		if text, failed, _ := use(t, s, "write", args); failed {
			t.Errorf("after the approval: %s", text)
		}
		if _, failed, _ := use(t, s, "write", args); !failed {
			t.Error("an approval serves twice")
		}
		again, err := client.List(t.Context(), r.client, api.Questions, client.Filter{State: "open"})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range again {
			if _, err := client.Do(t.Context(), r.client, api.DenyQuestion, q.Code, api.None{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	marks, err := client.List(t.Context(), r.client, api.Marks, client.Filter{})
	if err != nil || !slices.ContainsFunc(marks, func(m api.Mark) bool { return strings.HasSuffix(m.Path, "later1.txt") }) {
		t.Errorf("marks %+v, %v", marks, err)
	}
	if b, err := os.ReadFile(filepath.Join(r.home, "workspace", "list.txt")); err != nil || string(b) != "milk\n" {
		t.Errorf("%q, %v", b, err)
	}
	rows, err := client.List(t.Context(), r.client, api.Audit, client.Filter{Limit: 200})
	if err != nil || !slices.ContainsFunc(rows, func(a api.AuditRow) bool { return a.Actor == "mcp" && a.Trust == "known" && a.Tool == "write" }) {
		t.Errorf("the audit has no call of the program, %v", err)
	}
}

// fits checks a document against the schema of a tool.
func fits(t *testing.T, tool *mcp.Tool, data map[string]any) {
	t.Helper()
	raw, err := json.Marshal(tool.OutputSchema)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err == nil {
		err = resolved.Validate(data)
	}
	if err != nil || data == nil {
		t.Errorf("%s: %v in %v", tool.Name, err, data)
	}
}

// A session of an older protocol belongs to the client that began it, and ends with hob.
func TestSessionsOfMCPAreTheirClients(t *testing.T) {
	t.Parallel()
	r, _ := listen(t, "", echo)
	a, b := r.endpoint("a"), r.endpoint("b")
	post := func(token, session, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.ready.Address+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Authorization": "Bearer " + token, "Mcp-Session-Id": session, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.Body.Close() != nil {
			t.Fatal(err)
		}
		return res.StatusCode, res.Header.Get("Mcp-Session-Id")
	}
	const hello = `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}`
	status, session := post(a.token, "", hello)
	if status != http.StatusOK || session == "" {
		t.Fatalf("initialize: %d", status)
	}
	const list = `{"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}`
	if status, _ := post(b.token, session, list); status != http.StatusNotFound {
		t.Errorf("another client's session: %d", status)
	}
	if status, _ := post(a.token, session, list); status != http.StatusOK {
		t.Errorf("its own session: %d", status)
	}
	own, err := os.ReadFile(filepath.Join(r.home, "state", "token"))
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"", "x", strings.TrimSpace(string(own))} {
		if status, _ := post(token, session, list); status != http.StatusUnauthorized {
			t.Errorf("token %q: %d", token, status)
		}
	}
	for range 40 {
		status, _ = post(a.token, "", hello)
	}
	if status != http.StatusServiceUnavailable {
		t.Errorf("40 sessions: %d", status)
	}
}

// No way of an answer brings a secret to a program: neither its text, nor its document, nor an error.
func TestMCPShowsNoSecrets(t *testing.T) {
	t.Parallel()
	r, _ := listen(t, "[tools.web]\nsearch_key = \"plain-key-774411\"\n[endpoints.mine]\ntrust = \"owner\"\n", echo)
	put(t, "the key is plain-key-774411\n", r.home, "workspace", "list.txt")
	s := r.endpoint("mine").mcp()
	for name, call := range map[string]struct {
		tool string
		args map[string]any
	}{
		"a file":   {"read", map[string]any{"path": "list.txt"}},
		"a search": {"grep", map[string]any{"pattern": "key"}},
		"an error": {"read", map[string]any{"path": "plain-key-774411"}},
	} {
		text, _, data := use(t, s, call.tool, call.args)
		if all := fmt.Sprint(text, data); strings.Contains(all, "774411") {
			t.Errorf("%s: %s", name, all)
		}
	}
}

// What a tainted turn says to a program is foreign text that the program has from then on: its calls by MCP ask, too. A turn that has read nothing foreign
// changes nothing, and another program's turns neither.
func TestForeignTextOfTheChatTaintsMCP(t *testing.T) {
	t.Parallel()
	r, _ := listen(t, "[endpoints.mine]\ntrust = \"owner\"\n[endpoints.other]\ntrust = \"owner\"\n", func(q llmtest.Request) llmtest.Turn {
		switch {
		case strings.Contains(q.Last(), "do look"):
			return llmtest.Streamed(llmtest.Use("read", `{"path": "attachments/1/a.txt"}`))
		case strings.Contains(q.Last(), "do write"):
			return llmtest.Streamed(llmtest.Use("write", `{"path": "d.txt", "content": "x"}`))
		}
		return echo(q)
	})
	put(t, "from a stranger\n", r.home, "workspace", "attachments", "1", "a.txt")
	mine, other := r.endpoint("mine"), r.endpoint("other")
	write := func(p *program, name string) bool {
		text, failed, _ := use(t, p.mcp(), "write", map[string]any{"path": name, "content": "x"})
		return failed && strings.Contains(text, "question")
	}
	mine.ask("sam", user("hello"))
	if write(mine, "a.txt") {
		t.Error("a call asks after an untainted turn")
	}
	if _, _, err := mine.stream(t.Context(), "sam", user("do look")); err != nil {
		t.Fatal(err)
	}
	if !write(mine, "b.txt") {
		t.Error("what the tainted turn told the program is used by MCP as the owner's words")
	}
	if got := mine.ask("eve", user("do write")); !strings.Contains(got, "question") {
		t.Errorf("another conversation of the program writes: %s", got)
	}
	if write(other, "c.txt") {
		t.Error("another program's call asks")
	}
}

// A program makes only so many calls in a minute, leaves only so many questions open, and fills only so much of the disk.
func TestLimitsOfMCP(t *testing.T) {
	t.Parallel()
	r, _ := listen(t, "[endpoints.mine]\ntrust = \"owner\"\n[endpoints.slow]\ncalls_per_minute = 5\n", echo)
	put(t, "milk\n", r.home, "workspace", "list.txt")
	put(t, "from a stranger\n", r.home, "workspace", "attachments", "1", "a.txt")
	slow := r.endpoint("slow").mcp()
	for i := range 6 {
		text, failed, _ := use(t, slow, "read", map[string]any{"path": "list.txt"})
		if failed != (i == 5) || failed && !strings.Contains(text, "calls_per_minute") {
			t.Errorf("call %d: %s", i+1, text)
		}
	}
	mine := r.endpoint("mine").mcp()
	if text, failed, _ := use(t, mine, "read", map[string]any{"path": "attachments/1/a.txt"}); failed {
		t.Fatal(text)
	}
	for i := range 6 {
		text, _, _ := use(t, mine, "write", map[string]any{"path": fmt.Sprintf("new%d.txt", i), "content": "x"})
		if asks := strings.Contains(text, "question"); asks != (i < 5) || !asks && !strings.Contains(text, "5 calls of this program wait") {
			t.Errorf("call %d: %s", i+1, text)
		}
	}
	scratch := fsguard.ScratchOf(filepath.Join(r.home, "workspace"), "endpoint:mine#2/mcp")
	file := map[string]any{"path": filepath.Join(scratch, "x.txt"), "content": "x"}
	if text, failed, _ := use(t, mine, "write", file); failed {
		t.Fatal(text)
	}
	if err := os.Truncate(filepath.Join(scratch, "x.txt"), 200<<20); err != nil {
		t.Fatal(err)
	}
	file["path"] = filepath.Join(scratch, "y.txt")
	if text, failed, _ := use(t, mine, "write", file); !failed || !strings.Contains(text, "scratch folder of this program") {
		t.Errorf("a full scratch folder: %s", text)
	}
}

// An approval is for the program that asked, also among those that hob mcp serve connects.
func TestApprovalsOfTheSocketAreTheirPrograms(t *testing.T) {
	t.Parallel()
	r, _ := listen(t, "", echo)
	to, base, ok := r.client.Socket()
	if !ok {
		t.Fatal("no socket")
	}
	bridge := func() *mcp.ClientSession {
		in, toIn := io.Pipe()
		fromOut, out := io.Pipe()
		over := make(chan error, 1)
		go func() {
			over <- mcpserver.Bridge(context.Background(), "1", in, out, to, base+"/mcp")
		}()
		s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: fromOut, Writer: toIn}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := errors.Join(s.Close(), toIn.Close(), <-over); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	a, b := bridge(), bridge()
	call := map[string]any{"path": "x.txt", "content": "x"}
	for _, s := range []*mcp.ClientSession{a, b} {
		if text, failed, _ := use(t, s, "write", call); !failed || !strings.Contains(text, "question") {
			t.Fatal(text)
		}
	}
	open, err := client.List(t.Context(), r.client, api.Questions, client.Filter{State: "open"})
	if err != nil || len(open) != 2 {
		t.Fatalf("%+v, %v", open, err)
	}
	if _, err := client.Do(t.Context(), r.client, api.ApproveQuestion, open[len(open)-1].Code, api.Approve{Scope: "once"}); err != nil {
		t.Fatal(err)
	}
	done := 0
	for range 2 {
		for _, s := range []*mcp.ClientSession{b, a} {
			if _, failed, _ := use(t, s, "write", call); !failed {
				done++
			}
		}
	}
	if done != 1 {
		t.Errorf("one approval served for %d calls", done)
	}
}

// A picture comes as a picture.
func TestPicturesByMCP(t *testing.T) {
	t.Parallel()
	r, _ := listen(t, "", echo)
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	put(t, picture.String(), r.home, "workspace", "a.png")
	got, err := r.endpoint("laptop").mcp().CallTool(t.Context(), &mcp.CallToolParams{Name: "read", Arguments: map[string]any{"path": "a.png"}})
	if err != nil || got.IsError || len(got.Content) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	shown, ok := got.Content[1].(*mcp.ImageContent)
	if !ok || shown.MIMEType != "image/png" {
		t.Fatalf("%+v", got.Content[1])
	}
	if size, err := png.DecodeConfig(bytes.NewReader(shown.Data)); err != nil || size.Width != 3 || size.Height != 2 {
		t.Errorf("%+v, %v", size, err)
	}
}

// In safe mode only the owner is served.
func TestSafeModeOfMCP(t *testing.T) {
	t.Parallel()
	r, _ := listen(t, "[endpoints.mine]\ntrust = \"owner\"\n", echo)
	put(t, "milk\n", r.home, "workspace", "list.txt")
	laptop, mine := r.endpoint("laptop").mcp(), r.endpoint("mine").mcp()
	read := func(s *mcp.ClientSession) bool {
		_, failed, _ := use(t, s, "read", map[string]any{"path": "list.txt"})
		return !failed
	}
	if !read(laptop) || !read(mine) {
		t.Error("no program reads")
	}
	rows, err := sql.Open("sqlite", filepath.Join(r.home, "state", "hob.db")+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rows.ExecContext(t.Context(), "INSERT INTO settings (key, value) VALUES ('safe_mode', 'a test')"); err != nil || rows.Close() != nil {
		t.Fatal(err)
	}
	if read(laptop) || !read(mine) {
		t.Error("in safe mode a known person's program is served, or the owner's is not")
	}
	if _, err := laptop.ListTools(t.Context(), nil); err == nil {
		t.Error("in safe mode a known person's program gets the list of tools")
	}
}
