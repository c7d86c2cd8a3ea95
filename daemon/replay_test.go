package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"hob/daemon"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/all"
	"hob/daemon/llm/llmtest"
	"hob/daemon/record"
	"hob/daemon/secret"
)

// Issue 33, 7: what each backend has read is read again from its recording, whatever the protocol: text, thinking, calls and a refusal.
func TestReplayOfEveryBackend(t *testing.T) {
	t.Parallel()
	for _, b := range all.All() {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			use := llmtest.Use("read", `{"path":"a"}`)
			use.Text, use.Reasoning = "I look.", "a file"
			s := llmtest.NewServer(llmtest.Streamed(use), llmtest.Failed(401, "no such key"))
			defer s.Close()
			var secrets secret.Redactor
			secrets.Add("key", "canary-4711")
			rec := &record.Recorder{Dir: t.TempDir(), Hide: secrets.Text, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
			m, err := b.New(llm.Config{
				Provider: b.Name, Model: "m", BaseURL: s.URL, APIKey: "canary-4711",
				Watch: func(way http.RoundTripper) http.RoundTripper { return rec.Web("model", way) },
			})
			if err != nil {
				t.Fatal(err)
			}
			state, err := rec.Start(record.Head{Subject: "model", Backend: b.Name, Model: "m"})
			if err != nil {
				t.Fatal(err)
			}
			request := llm.Request{
				Messages: []llm.Message{{Role: llm.User, Parts: []event.Part{{Kind: event.Text, Text: "Read it."}}}},
				Tools:    []llm.Tool{{Name: "read", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}},
			}
			a, err := m.Answer(t.Context(), request, nil)
			if err != nil || len(a.Calls) != 1 {
				t.Fatalf("%+v, %v", a, err)
			}
			_, refusal := m.Answer(t.Context(), request, nil)
			if _, err := rec.Stop(); err != nil || refusal == nil {
				t.Fatal(err, refusal)
			}
			raw, err := os.ReadFile(state.File)
			if err != nil || strings.Contains(string(raw), "canary") {
				t.Errorf("the file has the key: %v", err)
			}
			r, err := daemon.Replay(t.Context(), state.File)
			if err != nil || len(r.Read) != 2 {
				t.Fatalf("%+v, %v", r, err)
			}
			h := r.Read[0]
			if h.Text != a.Text || h.Thinking != utf8.RuneCountInString(a.Reasoning) || !slices.Equal(h.Calls, []string{"read " + string(a.Calls[0].Args)}) || h.Fault != "" {
				t.Errorf("replayed %+v, was %+v", h, a)
			}
			if r.Read[1].Fault != refusal.Error() || r.Read[1].Status != 401 {
				t.Errorf("replayed %+v, was %v", r.Read[1], refusal)
			}
		})
	}
}

// A recorded stream of package openai's tests says in a recording what it says there, so a recording of a user can become one of them.
func TestReplayOfTheCorpus(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("llm", "openai", "testdata", "recorded")
	raw, err := os.ReadFile(filepath.Join(folder, "want.json"))
	if err != nil {
		t.Fatal(err)
	}
	var wants map[string]struct {
		Provider, Text string
		Calls          []string
	}
	if err := json.Unmarshal(raw, &wants); err != nil || len(wants) < 12 {
		t.Fatal(len(wants), err)
	}
	for name, want := range wants {
		body, err := os.ReadFile(filepath.Join(folder, name+".sse"))
		if err != nil {
			t.Fatal(err)
		}
		if want.Provider == "" {
			want.Provider = "compatible"
		}
		const asks = `{"messages":[],"tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}]}`
		h := replayed(t, record.Head{Format: 1, Subject: "model", Backend: want.Provider, Model: "m"},
			record.Entry{What: record.Request, N: 1, Method: http.MethodPost, Body: asks},
			record.Entry{What: record.Response, N: 1, Status: 200, Header: map[string]string{"Content-Type": "text/event-stream"}, Body: string(body)})
		if len(h) != 1 || h[0].Text != want.Text || strings.Join(h[0].Calls, "\n") != strings.Join(want.Calls, "\n") {
			t.Errorf("%s: %+v, want %+v", name, h, want)
		}
	}
}

// replayed writes a recording and reads it.
func replayed(t *testing.T, head record.Head, entries ...record.Entry) []*record.Heard {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file.jsonl")
	var text []byte
	for _, one := range append([]any{head}, anyOf(entries)...) {
		line, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, line...), '\n')
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := daemon.Replay(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	return r.Read
}

// A panic of a parser is the fault of the exchange that it has read, and the rest is read.
func TestReplayOfAModelThatPanics(t *testing.T) {
	t.Parallel()
	n := 0
	backend := llm.Backend{Name: "odd", New: func(c llm.Config) (llm.Model, error) {
		return odd(func(ctx context.Context) (llm.Answer, error) {
			if err := fetch(ctx, c.HTTP, "http://h/"); err != nil {
				return llm.Answer{}, err
			}
			if n++; n == 1 {
				panic("nil map")
			}
			return llm.Answer{Text: "hello"}, nil
		}), nil
	}}
	log := record.Log{Head: record.Head{Backend: "odd"}}
	for n := range 2 {
		log.Entries = append(log.Entries, record.Entry{What: record.Request, N: n, Body: `{"messages":[]}`}, record.Entry{What: record.Response, N: n, Status: 200})
	}
	list, err := daemon.ReplayModel(t.Context(), log, []llm.Backend{backend})
	if err != nil || len(list) != 2 || list[0].Fault != "hob panicked: nil map" || list[1].Fault != "" || list[1].Text != "hello" {
		t.Errorf("%s, %v", asJSON(t, list), err)
	}
}

// odd is a model whose Answer is a function.
type odd func(context.Context) (llm.Answer, error)

func (f odd) Answer(ctx context.Context, _ llm.Request, _ func(llm.Delta)) (llm.Answer, error) {
	return f(ctx)
}

func (f odd) Info() llm.Info { return llm.Info{} }

// A WebSocket in the recording of a model or a program, which hob never opens, costs no time.
func TestReplayDoesNotWaitForAWebSocket(t *testing.T) {
	for _, head := range []record.Head{{Format: 1, Subject: "model", Backend: "compatible", Model: "m"}, {Format: 1, Subject: "mcp.notes"}} {
		var entries []record.Entry
		for n := range 50 {
			entries = append(
				entries, record.Entry{What: record.Request, N: n, Method: http.MethodPost, URL: "http://h/", Body: `{"messages":[],"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
				record.Entry{What: record.Response, N: n, Status: 101}, record.Entry{What: record.Sent, Body: "x"},
			)
		}
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			if h := replayed(t, head, entries...); len(h) < 50 || !h[len(h)-1].Parsed {
				t.Errorf("%s: read %d", head.Subject, len(h))
			}
			if time.Since(began) != 0 {
				t.Errorf("%s took %s", head.Subject, time.Since(began))
			}
		})
	}
}

// A replay ends when it is told to.
func TestReplayEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	for subject, body := range map[string]string{"model": `{"messages":[]}`, "mcp.notes": `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "channels.phone": ""} {
		file := filepath.Join(t.TempDir(), "file.jsonl")
		text := `{"hob_recording":1,"subject":"` + subject + `","backend":"compatible","model":"m","kind":"ntfy","config":{"topic":"talk"}}` + "\n" +
			asJSON(t, record.Entry{What: record.Request, N: 1, Method: http.MethodPost, URL: "http://h/", Body: body}) + "\n" + asJSON(t, record.Entry{What: record.Response, N: 1, Status: 200})
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := daemon.Replay(ended, file)
		if !errors.Is(err, context.Canceled) || slices.ContainsFunc(r.Read, func(h *record.Heard) bool { return h.Parsed }) {
			t.Errorf("%s: %v, %s", subject, err, asJSON(t, r.Read))
		}
	}
}

func anyOf(entries []record.Entry) (list []any) {
	for _, e := range entries {
		list = append(list, e)
	}
	return list
}

// exchange is a request with its response, as two lines of a recording.
func exchange(method, url, body string) string {
	quoted := strconv.Quote(body)
	return `{"what":"request","n":3,"method":"` + method + `","url":"` + url + `"}` + "\n" + `{"what":"response","n":3,"status":200,"body":` + quoted + "}\n"
}

// A hostile file is an error or a short list, never a panic or an endless loop.
func FuzzReplay(f *testing.F) {
	for _, subject := range []string{"model", "mcp.notes", "channels.phone"} {
		f.Add(`{"hob_recording":1,"subject":"` + subject + `","backend":"compatible","model":"m"}` + "\n" +
			`{"what":"request","n":1,"method":"POST","url":"http://h/","body":"{\"messages\":[],\"id\":1,\"method\":\"tools/list\",\"jsonrpc\":\"2.0\"}"}` + "\n" +
			`{"what":"response","n":1,"status":200,"header":{"Content-Type":"application/json"},"body":"{\"id\":1,\"result\":{\"tools\":[]}}"}` + "\n" +
			`{"what":"response","n":-1,"status":-7,"header":{"":"\n"}}` + "\n" + `{"what":"request","n":2,"method":" ","body":"{\"input\":[],\"tools\":[{},null]}"}` + "\n" +
			`{"what":"response","n":2,"status":0}` + "\n" + `{"what":"received","body":"{\"method\":\"x\"}"}` + "\n" + `{"what":"sent","base64":true,"body":"!"}`)
	}
	for _, kind := range []string{"discord", "email", "irc", "matrix", "ntfy", "signal", "slack", "telegram"} {
		f.Add(`{"hob_recording":1,"subject":"channels.phone","kind":"` + kind + `","config":{"token":"env:A","topic":"t","server":"h","account":"+491701234567","app_token":"env:A","bot_token":"env:A",` +
			`"homeserver":"http://h","url":"http://h","api_base":"http://h","nick":"hob","imap":"h","smtp":"h","address":"hob@example.org","password":"env:A"},"owner":["phone:42","x"]}` + "\n" +
			`{"what":"cursor","body":"{\"heard\":-1,\"since\":\"s\",\"offset\":9}"}` + "\n" + exchange("POST", "http://h/bot[secret x]/getMe", `{"ok":true,"result":{"id":1}}`) +
			exchange("POST", "http://h/bot[secret x]/getUpdates", `{"ok":true,"result":[{"update_id":1,"message":{"text":"a","chat":{"id":1}}}]}`) +
			exchange("GET", "http://h/_matrix/client/v3/account/whoami", `{"user_id":"@hob:h"}`) + exchange("GET", "http://h/_matrix/client/v3/sync", `{"next_batch":"s2","rooms":{}}`) +
			exchange("GET", "http://h/t/json", `{"id":"m","time":1,"event":"message","topic":"t","message":"a"}`+"\n") + exchange("GET", "http://h/api/v1/events", "data:{}\n\n") +
			exchange("POST", "http://h/api/v1/rpc", `{"result":[]}`) + exchange("GET", "https://discord.com/api/v10/users/@me", `{"id":"1"}`) +
			exchange("GET", "https://discord.com/api/v10/gateway/bot", `{"url":"wss://gateway.discord.gg"}`) + exchange("POST", "http://h/auth.test", `{"ok":true,"user_id":"U1","team_id":"T1"}`) +
			exchange("POST", "http://h/apps.connections.open", `{"ok":true,"url":"ws://h/link"}`) +
			`{"what":"request","n":9,"method":"GET","url":"http://h/link"}` + "\n" + `{"what":"response","n":9,"status":101}` + "\n" +
			`{"what":"received","body":"{\"type\":\"hello\",\"op\":10,\"d\":{\"heartbeat_interval\":1}}"}` + "\n" + `{"what":"received","base64":true,"body":"/w=="}` + "\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "file.jsonl")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := daemon.Replay(t.Context(), file)
		if _, ok := event.AsFault(err); err != nil && !ok {
			t.Errorf("%v is no sentence for a person", err)
		}
	})
}
