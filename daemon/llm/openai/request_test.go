package openai_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/all"
	"hob/daemon/llm/llmtest"
	"hob/daemon/llm/openai"

	"pgregory.net/rapid"
)

// recorder keeps the bodies that were sent.
type recorder struct {
	canned
	bodies [][]byte
	header http.Header
	url    string
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var b bytes.Buffer
	if _, err := b.ReadFrom(req.Body); err != nil {
		return nil, err
	}
	r.bodies, r.header, r.url = append(r.bodies, b.Bytes()), req.Header, req.URL.String()
	return r.canned.RoundTrip(req)
}

func recording() *recorder { return &recorder{canned: canned{body: data(says("ok"), stopped)}} }

func sent(t testing.TB, c llm.Config, r llm.Request) string {
	t.Helper()
	rec := recording()
	c.HTTP = &http.Client{Transport: rec}
	if _, err := open(t, c).Answer(t.Context(), r, nil); err != nil {
		t.Fatalf("answer: %v", err)
	}
	return string(rec.bodies[0])
}

func conversation() llm.Request {
	envelope := &llm.Envelope{Source: "telegram", Sender: "Sam", At: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), Zone: "Europe/Berlin", Trust: event.Owner}
	return llm.Request{
		System: "be kind & <short>",
		Tools: []llm.Tool{
			{Name: "read", Description: "Read.", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}}}`)},
			{Name: "exec", Description: "Run.", Parameters: json.RawMessage(`{"type":"object"}`)},
		},
		Messages: []llm.Message{
			{Role: llm.User, Envelope: envelope, Parts: []event.Part{{Kind: event.Text, Text: "look"}, {Kind: event.Image, Name: "a.jpg", MIME: "image/jpeg", Artifact: "x1"}}},
			{Role: llm.Assistant, Calls: []llm.Call{{ID: "t1_1", Name: "read", Args: json.RawMessage(`{ "path":"a" }`)}, {ID: "t1_2", Name: "exec", Args: json.RawMessage(`{"command":`)}}},
			{Role: llm.ToolRole, CallID: "t1_1", Parts: event.Say("A")},
			{Role: llm.ToolRole, CallID: "t1_2", Parts: event.Say("VALIDATION_ERROR: no"), IsError: true},
			{Role: llm.Assistant, Parts: event.Say("done")},
			{Role: llm.User, Parts: event.Say("a note")},
		},
	}
}

func TestRequestBytes(t *testing.T) {
	const want = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":8192,` +
		`"tools":[{"type":"function","function":{"name":"read","description":"Read.","parameters":{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}}}}},` +
		`{"type":"function","function":{"name":"exec","description":"Run.","parameters":{"type":"object"}}}],` +
		`"messages":[{"role":"system","content":"be kind & <short>"},` +
		`{"role":"user","content":"[telegram · Sam · 2026-11-21 09:00 Europe/Berlin] look\n[attached image a.jpg (image/jpeg), artifact x1]"},` +
		`{"role":"assistant","tool_calls":[{"id":"t1_1","type":"function","function":{"name":"read","arguments":"{ \"path\":\"a\" }"}},` +
		`{"id":"t1_2","type":"function","function":{"name":"exec","arguments":"{\"command\":"}}]},` +
		`{"role":"tool","content":"A","tool_call_id":"t1_1"},` +
		`{"role":"tool","content":"VALIDATION_ERROR: no","tool_call_id":"t1_2"},` +
		`{"role":"assistant","content":"done"},` +
		`{"role":"user","content":"a note"}]}`
	if got := sent(t, config(nil), conversation()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRequestByBackend(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*llm.Config, *llm.Request)
		has    string
		hasNot string
	}{
		{"openai's limit", func(c *llm.Config, _ *llm.Request) { c.Provider = "openai" }, `"max_completion_tokens":8192`, `"max_tokens"`},
		{"own limit", func(c *llm.Config, _ *llm.Request) { c.MaxOutput = 77 }, `"max_tokens":77`, `completion`},
		{"smaller limit asked", func(_ *llm.Config, r *llm.Request) { r.MaxOutput = 5 }, `"max_tokens":5,`, ""},
		{"larger limit asked", func(_ *llm.Config, r *llm.Request) { r.MaxOutput = 99999 }, `"max_tokens":8192,`, ""},
		{"thinking", func(c *llm.Config, _ *llm.Request) { c.Thinking = "high" }, `"reasoning_effort":"high"`, `"reasoning":`},
		{"no thinking", func(c *llm.Config, _ *llm.Request) { c.Thinking = "off" }, `"reasoning_effort":"none"`, ""},
		{"openrouter's thinking", func(c *llm.Config, _ *llm.Request) { c.Provider, c.Thinking = "openrouter", "low" }, `"reasoning":{"effort":"low"}`, "reasoning_effort"},
		{"thinking not said", func(*llm.Config, *llm.Request) {}, "", "reasoning"},
		{"no tools", func(_ *llm.Config, r *llm.Request) { r.Tools = nil }, "", `"tools"`},
		{"no system text", func(_ *llm.Config, r *llm.Request) { r.System = "" }, `"messages":[{"role":"user"`, "system"},
		{"invalid text", func(_ *llm.Config, r *llm.Request) { r.System = "a\xffb" }, `a\ufffdb`, "\xff"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, r := config(nil), conversation()
			c.change(&cfg, &r)
			got := sent(t, cfg, r)
			if !strings.Contains(got, c.has) || c.hasNot != "" && strings.Contains(got, c.hasNot) {
				t.Errorf("want %q and not %q in\n%s", c.has, c.hasNot, got)
			}
			if !json.Valid([]byte(got)) {
				t.Error("not JSON")
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_API_KEY": "sk-env", "OPENAI_ORG_ID": "org", "OPENAI_PROJECT_ID": "project", "OPENAI_BASE_URL": "http://elsewhere.test/v1",
	} {
		t.Setenv(name, value)
	}
	rec := recording()
	c := config(rec)
	if _, err := open(t, c).Answer(t.Context(), hello(), nil); err != nil {
		t.Fatal(err)
	}
	if got := rec.header.Get("Authorization"); got != "Bearer sk-secret" {
		t.Errorf("authorization %q", got)
	}
	if rec.url != "http://model.test/v1/chat/completions" {
		t.Errorf("sent to %s", rec.url)
	}
	c.APIKey = ""
	if _, err := open(t, c).Answer(t.Context(), hello(), nil); err != nil {
		t.Fatal(err)
	}
	for name, values := range rec.header {
		if name == "Authorization" || strings.HasPrefix(name, "Openai-") || strings.HasPrefix(name, "X-Stainless") {
			t.Errorf("header %s: %v is sent", name, values)
		}
	}
}

func TestTooLongARequestIsNotSent(t *testing.T) {
	rec := recording()
	_, err := open(t, config(rec)).Answer(t.Context(), llm.Request{System: strings.Repeat("a", 17<<20)}, nil)
	faultIn(t, err, llm.TooLarge)
	if len(rec.bodies) != 0 {
		t.Error("it was sent")
	}
}

func TestABrokenSchemaIsSaid(t *testing.T) {
	r := hello()
	r.Tools = []llm.Tool{{Name: "x", Parameters: json.RawMessage(`{`)}}
	_, err := open(t, config(recording())).Answer(t.Context(), r, nil)
	faultIn(t, err, llm.BadRequest)
}

// TestPrefix appends to a transcript and looks whether the bytes in front stay.
func TestPrefix(t *testing.T) {
	rec := recording()
	m := open(t, config(rec))
	texts := rapid.SliceOfN(rapid.String(), 1, 4)
	rapid.Check(t, func(rt *rapid.T) {
		rec.bodies = nil
		r := llm.Request{System: rapid.String().Draw(rt, "system"), Tools: conversation().Tools}
		for i, text := range texts.Draw(rt, "texts") {
			msg := user(text)
			if i%2 == 1 {
				msg = llm.Message{Role: llm.Assistant, Parts: event.Say(text), Calls: []llm.Call{{ID: "c", Name: "read", Args: json.RawMessage(text)}}}
			}
			r.Messages = append(r.Messages, msg)
			for range 2 {
				if _, err := m.Answer(t.Context(), r, nil); err != nil {
					rt.Fatal(err)
				}
			}
		}
		for i := 0; i < len(rec.bodies); i += 2 {
			if !bytes.Equal(rec.bodies[i], rec.bodies[i+1]) {
				rt.Fatalf("the same request gave other bytes")
			}
			if i > 0 && !bytes.HasPrefix(rec.bodies[i], bytes.TrimSuffix(rec.bodies[i-2], []byte("]}"))) {
				rt.Fatalf("%s\nis not the beginning of\n%s", rec.bodies[i-2], rec.bodies[i])
			}
		}
	})
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  llm.Config
		want string
	}{
		{"no model", llm.Config{Provider: "openai"}, "the model has no name"},
		{"no address", llm.Config{Provider: "compatible", Model: "m"}, `no address is known for the backend "compatible"`},
		{"unknown backend", llm.Config{Provider: "opnai", Model: "m"}, `no address is known for the backend "opnai"`},
		{"no web address", llm.Config{Provider: "compatible", Model: "m", BaseURL: "localhost:80"}, `base_url "localhost:80" is not a web address`},
		{"unknown thinking", llm.Config{Provider: "openai", Model: "m", Thinking: "hard"}, `thinking "hard" is not known`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := openai.New(c.cfg)
			f, ok := event.AsFault(err)
			if !ok || f.Text != c.want || f.Hint == "" || f.Kind != event.Invalid {
				t.Errorf("got %#v", err)
			}
		})
	}
}

func TestInfo(t *testing.T) {
	addresses := map[string]string{}
	for _, b := range all.All() {
		addresses[b.Name] = b.BaseURL
	}
	for _, c := range []struct {
		provider, url string
		local         bool
		context       int
	}{
		{"lmstudio", "", true, 32_768},
		{"ollama", "", true, 32_768},
		{"ollama", "http://localhost:11434/v1", true, 32_768},
		{"ollama", "http://[::1]:11434/v1", true, 32_768},
		{"ollama", "http://nas:11434/v1", false, 32_768},
		{"openrouter", "", false, 200_000},
		{"openai", "", false, 200_000},
		{"compatible", "http://127.0.0.1:1/v1", false, 32_768},
	} {
		m := open(t, llm.Config{Provider: c.provider, Model: "m", BaseURL: c.url, Price: llm.Price{Input: 3}})
		want := llm.Info{Provider: c.provider, Model: "m", Local: c.local, Context: c.context, MaxOutput: 8192, Price: llm.Price{Input: 3}}
		got := m.Info()
		if url := cmp.Or(c.url, addresses[c.provider]); !strings.HasPrefix(got.Server, url+"#") || strings.Contains(got.Server, "sk-") {
			t.Errorf("%s at %s: its server is %q", c.provider, c.url, got.Server)
		}
		want.Server = got.Server
		if got != want {
			t.Errorf("%s at %s: got %+v, want %+v", c.provider, c.url, got, want)
		}
	}
	for name, url := range addresses {
		if (url == "") != (name == "compatible") {
			t.Errorf("%s has the address %q", name, url)
		}
	}
}

// Models share a server when they share its address and its key.
func TestServers(t *testing.T) {
	at := func(url, key, model string) string {
		return open(t, llm.Config{Provider: "compatible", Model: model, BaseURL: url, APIKey: key}).Info().Server
	}
	one := at("http://one/v1", "sk-1", "a")
	if one != at("http://one/v1", "sk-1", "b") || one == at("http://one/v1", "sk-2", "a") || one == at("http://two/v1", "sk-1", "a") || strings.Contains(one, "sk-1") {
		t.Errorf("the server is %q", one)
	}
}

func TestSuite(t *testing.T) {
	s := serve(t)
	s.Otherwise(func(r llmtest.Request) llmtest.Turn {
		if strings.HasSuffix(r.Last(), "use tools") {
			return llmtest.Streamed(llmtest.UseAll(llmtest.Use("read", `{"path":"a"}`), llmtest.Use("exec", `{"command":"b"}`)))
		}
		a := llmtest.Say("hello to you, über all")
		a.Reasoning = "they said hello"
		return llmtest.Streamed(a)
	})
	m := at(t, s, "compatible")
	llmtest.Suite(t, func(*testing.T) llmtest.Subject {
		return llmtest.Subject{
			Model: m, Plain: hello(),
			Calls: llm.Request{Tools: conversation().Tools, Messages: []llm.Message{user("use tools")}},
		}
	})
}
