package openai_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/daemon/llm/openai"

	"pgregory.net/rapid"
)

// sentTo returns the body of the one request that a model of this config sends for r.
func sentTo(t testing.TB, c llm.Config, r llm.Request) string {
	t.Helper()
	rec := &recorder{canned: canned{body: wire(done(0, messageOf("ok")), ended(""))}}
	c.HTTP = &http.Client{Transport: rec}
	if _, err := open(t, c).Answer(t.Context(), r, nil); err != nil {
		t.Fatalf("answer: %v", err)
	}
	return string(rec.bodies[0])
}

// inputOf is the input of a request, as the bytes that were sent.
func inputOf(t testing.TB, body string) string {
	t.Helper()
	_, input, ok := strings.Cut(body, `"input":`)
	if !ok || !json.Valid([]byte(body)) {
		t.Fatalf("no input in %s", body)
	}
	return strings.TrimSuffix(input, "}")
}

func TestResponsesRequestBytes(t *testing.T) {
	const want = `{"model":"m","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high","summary":"auto"},` +
		`"prompt_cache_key":"KEY","parallel_tool_calls":true,"tool_choice":"auto","instructions":"be kind & <short>",` +
		`"tools":[{"type":"function","name":"read","description":"Read.","parameters":{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}}},"strict":false},` +
		`{"type":"function","name":"exec","description":"Run.","parameters":{"type":"object"},"strict":false}],` +
		`"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"[telegram · Sam · 2026-11-21 09:00 Europe/Berlin] look\n[attached image a.jpg (image/jpeg), artifact x1]"}]},` +
		`{"type":"function_call","call_id":"t1_1","name":"read","arguments":"{ \"path\":\"a\" }"},` +
		`{"type":"function_call","call_id":"t1_2","name":"exec","arguments":"{\"command\":"},` +
		`{"type":"function_call_output","call_id":"t1_1","output":"A"},` +
		`{"type":"function_call_output","call_id":"t1_2","output":"VALIDATION_ERROR: no"},` +
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]},` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"a note"}]}]}`
	c := signedIn(nil)
	c.Thinking = "high"
	got := sentTo(t, c, conversation())
	_, key, _ := strings.Cut(got, `"prompt_cache_key":"`)
	key, _, _ = strings.Cut(key, `"`)
	if len(key) != 32 {
		t.Errorf("the key is %q", key)
	}
	if got := strings.Replace(got, key, "KEY", 1); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestResponsesRequestByConfig(t *testing.T) {
	keyed := func(c *llm.Config) { c.Auth, c.APIKey = nil, "sk-secret" }
	for _, c := range []struct {
		name   string
		change func(*llm.Config, *llm.Request)
		has    string
		hasNot string
	}{
		{"an account has its own limit", func(c *llm.Config, r *llm.Request) { c.MaxOutput, r.MaxOutput = 77, 5 }, "", "max_output_tokens"},
		{"a key's limit", func(c *llm.Config, _ *llm.Request) { keyed(c); c.MaxOutput = 77 }, `"max_output_tokens":77,`, ""},
		{"a smaller limit asked", func(c *llm.Config, r *llm.Request) { keyed(c); r.MaxOutput = 5 }, `"max_output_tokens":5,`, ""},
		{"a larger limit asked", func(c *llm.Config, r *llm.Request) { keyed(c); r.MaxOutput = 99999 }, `"max_output_tokens":8192,`, ""},
		{"an account needs instructions", func(_ *llm.Config, r *llm.Request) { r.System = "" }, `"instructions":"You are`, ""},
		{"a key needs none", func(c *llm.Config, r *llm.Request) { keyed(c); r.System = "" }, "", "instructions"},
		{"no tools", func(_ *llm.Config, r *llm.Request) { r.Tools = nil }, "", "tool"},
		{"thinking not said", func(*llm.Config, *llm.Request) {}, `"reasoning":{"summary":"auto"}`, "effort"},
		{"off", func(c *llm.Config, _ *llm.Request) { c.Thinking = "off" }, `"reasoning":{"effort":"none",`, ""},
		{"minimal", func(c *llm.Config, _ *llm.Request) { c.Thinking = "minimal" }, `{"effort":"minimal",`, ""},
		{"low", func(c *llm.Config, _ *llm.Request) { c.Thinking = "low" }, `{"effort":"low",`, ""},
		{"medium", func(c *llm.Config, _ *llm.Request) { c.Thinking = "medium" }, `{"effort":"medium",`, ""},
		{"xhigh", func(c *llm.Config, _ *llm.Request) { c.Thinking = "xhigh" }, `{"effort":"xhigh",`, ""},
		{"invalid text", func(_ *llm.Config, r *llm.Request) { r.System = "a\xffb" }, `a\ufffdb`, "\xff"},
		{"an empty assistant", func(_ *llm.Config, r *llm.Request) {
			r.Messages = []llm.Message{user("a"), {Role: llm.Assistant}, user("b")}
		}, `"text":"a"}]},{"type":"message","role":"user"`, "assistant"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, r := signedIn(nil), conversation()
			r.Messages = r.Messages[:1]
			c.change(&cfg, &r)
			got := sentTo(t, cfg, r)
			if !strings.Contains(got, c.has) || c.hasNot != "" && strings.Contains(got, c.hasNot) || !json.Valid([]byte(got)) {
				t.Errorf("want %q and not %q in\n%s", c.has, c.hasNot, got)
			}
		})
	}
}

func TestResponsesHeaders(t *testing.T) {
	rec := &recorder{canned: canned{body: wire(ended(""))}}
	c := signedIn(rec)
	tokens := 0
	c.Auth = func(context.Context) (llm.Credentials, error) {
		tokens++
		return llm.Credentials{Token: strings.Repeat("t", tokens), Account: "acc-1"}, nil
	}
	m := open(t, c)
	for i, want := range []string{"Bearer t", "Bearer tt"} {
		if _, err := m.Answer(t.Context(), hello(), nil); err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Authorization": want, "Chatgpt-Account-Id": "acc-1", "Originator": "hob", "Openai-Beta": "responses=experimental",
			"User-Agent": "hob", "Accept": "text/event-stream", "Content-Type": "application/json",
		} {
			if got := rec.header.Get(name); got != value {
				t.Errorf("%s is %q, want %q", name, got, value)
			}
		}
		if id := rec.header.Get("Session-Id"); id == "" || !bytes.Contains(rec.bodies[i], []byte(`"prompt_cache_key":"`+id+`"`)) {
			t.Errorf("the session %q is not that of %s", id, rec.bodies[i])
		}
	}
	if rec.url != "http://model.test/v1/responses" {
		t.Errorf("sent to %s", rec.url)
	}

	c.Auth, c.APIKey = nil, "sk-secret"
	if _, err := open(t, c).Answer(t.Context(), hello(), nil); err != nil {
		t.Fatal(err)
	}
	if got := rec.header.Get("Authorization"); got != "Bearer sk-secret" {
		t.Errorf("authorization %q", got)
	}
	for _, name := range []string{"Chatgpt-Account-Id", "Originator", "Openai-Beta", "Session-Id"} {
		if got := rec.header.Get(name); got != "" {
			t.Errorf("%s: %s is sent with a key", name, got)
		}
	}
}

func TestResponsesAddress(t *testing.T) {
	for _, c := range []struct{ name, key, url, want string }{
		{"an account", "", "", "https://chatgpt.com/backend-api/codex/responses"},
		{"a key", "sk", "", "https://api.openai.com/v1/responses"},
		{"elsewhere", "sk", "http://there.test/v1", "http://there.test/v1/responses"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := &recorder{canned: canned{body: wire(ended(""))}}
			cfg := signedIn(rec)
			cfg.BaseURL = c.url
			if c.key != "" {
				cfg.Auth, cfg.APIKey = nil, c.key
			}
			if _, err := open(t, cfg).Answer(t.Context(), hello(), nil); err != nil || rec.url != c.want {
				t.Errorf("sent to %s, %v", rec.url, err)
			}
		})
	}
	_, err := openai.New(llm.Config{Provider: "codex", Model: "m"})
	if f, ok := event.AsFault(err); !ok || f.Kind != event.Invalid || f.Hint == "" || f.Text != `the backend "codex" has no credentials` {
		t.Errorf("got %#v", err)
	}
}

func TestResponsesWithoutCredentials(t *testing.T) {
	rec := &recorder{canned: canned{body: wire(ended(""))}}
	c := signedIn(rec)
	gone := &llm.Error{Fault: llm.Auth, Text: "sign in again"}
	c.Auth = func(context.Context) (llm.Credentials, error) { return llm.Credentials{}, gone }
	_, err := open(t, c).Answer(t.Context(), hello(), nil)
	if !errors.Is(err, gone) || len(rec.bodies) != 0 {
		t.Errorf("got %v, and %d requests", err, len(rec.bodies))
	}
}

func TestResponsesSessionKey(t *testing.T) {
	key := func(change func(*llm.Request)) string {
		r := conversation()
		change(&r)
		_, rest, _ := strings.Cut(sentTo(t, signedIn(nil), r), `"prompt_cache_key":"`)
		key, _, _ := strings.Cut(rest, `"`)
		return key
	}
	first := key(func(*llm.Request) {})
	if longer := key(func(r *llm.Request) { r.Messages = append(r.Messages, user("more")) }); longer != first {
		t.Errorf("the session's key changed from %s to %s", first, longer)
	}
	for name, change := range map[string]func(*llm.Request){
		"system text": func(r *llm.Request) { r.System += "!" },
		"tools":       func(r *llm.Request) { r.Tools = r.Tools[:1] },
		"first input": func(r *llm.Request) { r.Messages[0] = user("look") },
	} {
		if key(change) == first {
			t.Errorf("another session by its %s has the same key", name)
		}
	}
}

// TestResponsesPrefix appends to a transcript and looks whether the bytes in front stay.
func TestResponsesPrefix(t *testing.T) {
	rec := &recorder{canned: canned{body: wire(ended(""))}}
	m := open(t, signedIn(rec))
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

// cabinet is a set of files.
type cabinet map[string]string

func (c cabinet) Bytes(_ context.Context, artifact string) ([]byte, error) {
	data, ok := c[artifact]
	if !ok {
		return nil, errors.New("it is gone")
	}
	return []byte(data), nil
}

func TestResponsesFiles(t *testing.T) {
	const png, jpeg, webp, gif = "\x89PNG\r\n\x1a\nx", "\xff\xd8\xffx", "RIFF\x00\x00\x00\x00WEBPVP8 ", "GIF89ax"
	files := cabinet{
		"png": png, "jpeg": jpeg, "webp": webp, "gif": gif, "pdf": "%PDF-1.7 x", "svg": "<svg/>", "text": "aüb",
		"bytes": "a\xffb", "huge": png + strings.Repeat("x", 8<<20), "empty": "",
	}
	url := func(kind, data string) string {
		return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString([]byte(data))
	}
	image := func(kind, data string) string {
		return `{"type":"input_image","detail":"auto","image_url":"` + url(kind, data) + `"}`
	}
	part := func(kind event.PartKind, mime, artifact string) event.Part {
		return event.Part{Kind: kind, Name: "n", MIME: mime, Artifact: artifact}
	}
	const strange = "; not shown: it is neither text nor an image of a kind that models read]"
	for _, c := range []struct {
		name  string
		part  event.Part
		line  string // how it is named
		shown string // what follows its name
	}{
		{"png", part(event.Image, "image/png", "png"), "[attached image n (image/png), artifact png]", image("image/png", png)},
		{"jpeg, sent as a file", part(event.File, "image/jpeg", "jpeg"), "[attached file n (image/jpeg), artifact jpeg]", image("image/jpeg", jpeg)},
		{"webp of an unknown type", part(event.Image, "", "webp"), "[attached image n, artifact webp]", image("image/webp", webp)},
		{"gif under a wrong type", part(event.Image, "image/png", "gif"), "[attached image n (image/png), artifact gif]", image("image/gif", gif)},
		{"no picture", part(event.Image, "image/png", "svg"), "[attached image n (image/png), artifact svg" + strange, ""},
		{"pdf", part(event.File, "application/pdf", "pdf"), "[attached file n (application/pdf), artifact pdf]", `{"type":"input_file","filename":"n","file_data":"` + url("application/pdf", "%PDF-1.7 x") + `"}`},
		{"no pdf", part(event.File, "application/pdf", "svg"), "[attached file n (application/pdf), artifact svg" + strange, ""},
		{"text", part(event.File, "text/plain; charset=utf-8", "text"), `[attached file n (text/plain; charset=utf-8), artifact text]\naüb\n[end of the file]`, ""},
		{"no text", part(event.File, "text/plain", "bytes"), "[attached file n (text/plain), artifact bytes" + strange, ""},
		{"too large", part(event.Image, "image/png", "huge"), "[attached image n (image/png), artifact huge; not shown: it has more than 8 MB]", ""},
		{"gone", part(event.Image, "image/png", "no"), "[attached image n (image/png), artifact no; not shown: it cannot be opened]", ""},
		{"empty", part(event.Image, "image/png", "empty"), "[attached image n (image/png), artifact empty" + strange, ""},
		{"no artifact", part(event.Image, "image/png", ""), "[attached image n (image/png)]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := signedIn(nil)
			cfg.Files = files
			parts := []event.Part{{Kind: event.Text, Text: "see"}, c.part, {Kind: event.Text, Text: "there"}}
			result := `"see\n` + c.line + `\nthere"`
			list := `[{"type":"input_text","text":` + result + `}]`
			if c.shown != "" {
				list = `[{"type":"input_text","text":"see\n` + c.line + `"},` + c.shown + `,{"type":"input_text","text":"there"}]`
				result = list
			}
			got := inputOf(t, sentTo(t, cfg, llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: parts}}}))
			if want := `[{"type":"message","role":"user","content":` + list + `}]`; got != want {
				t.Errorf("got  %.500s\nwant %.500s", got, want)
			}
			got = inputOf(t, sentTo(t, cfg, llm.Request{Messages: []llm.Message{{Role: llm.ToolRole, CallID: "t1_1", Parts: parts}}}))
			if want := `[{"type":"function_call_output","call_id":"t1_1","output":` + result + `}]`; got != want {
				t.Errorf("a result: got  %.500s\nwant %.500s", got, want)
			}
		})
	}
}

// TestResponsesRefusedImages: after a refusal of an image, images are named in words.
func TestResponsesRefusedImages(t *testing.T) {
	s := serve(t, llmtest.Failed(400, "The image data you provided does not represent a valid image."), llmtest.Streamed(llmtest.Say("ok")))
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c := signedIn(transport)
	c.Model, c.BaseURL, c.Files = "gpt", s.URL, cabinet{"x": "\x89PNG\r\n\x1a\nx"}
	m := open(t, c)
	r := llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []event.Part{{Kind: event.Image, MIME: "image/png", Artifact: "x"}}}}}
	_, err := m.Answer(t.Context(), r, nil)
	if e := faultIn(t, err, llm.NoImages); !llm.Retryable(&e) {
		t.Error("the next try does without")
	}
	if _, err := m.Answer(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} {
		if got := strings.Contains(string(s.Requests()[i].Body), "input_image"); got != want {
			t.Errorf("request %d shows it: %v", i, got)
		}
	}
}

// TestResponsesFilesOfAnEndedRequest: a file that could not be opened because everything ends is no reason to name it in words.
func TestResponsesFilesOfAnEndedRequest(t *testing.T) {
	c := signedIn(nil)
	c.Files = cabinet{}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the user said stop")
	cancel(stop)
	r := llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []event.Part{{Kind: event.Image, Artifact: "x"}}}}}
	if _, err := open(t, c).Answer(ctx, r, nil); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestResponsesTooLongARequestIsNotSent(t *testing.T) {
	rec := &recorder{canned: canned{body: wire(ended(""))}}
	_, err := open(t, signedIn(rec)).Answer(t.Context(), llm.Request{System: strings.Repeat("a", 17<<20)}, nil)
	faultIn(t, err, llm.TooLarge)
	r := hello()
	r.Tools = []llm.Tool{{Name: "x", Parameters: json.RawMessage(`{`)}}
	_, err = open(t, signedIn(rec)).Answer(t.Context(), r, nil)
	faultIn(t, err, llm.BadRequest)
	if len(rec.bodies) != 0 {
		t.Error("it was sent")
	}
}

// sealed is an item of encrypted reasoning as the server sends it.
func sealed(secret string) string {
	return `{"type":"reasoning","id":"rs_1","status":null,"summary":[{"type":"summary_text","text":"about ` + secret + `"}],"encrypted_content":"` + secret + `"}`
}

func TestResponsesReasoningIsReplayedInPlace(t *testing.T) {
	args := strings.Replace(callA, `"arguments":""`, `"arguments":"{}"`, 1)
	commentary := strings.Replace(messageOf("I look"), `"role"`, `"phase":"commentary","role"`, 1)
	a, _, _ := hear(t, wire(
		done(0, sealed("s1")), done(1, commentary), done(2, sealed("s2")), done(3, args), done(4, args), done(5, sealed("s3")), ended(""),
	))
	said := llm.Message{Role: llm.Assistant, Parts: event.Say(a.Text), Calls: []llm.Call{
		{ID: "t1_1", Name: "read", Args: json.RawMessage(`{}`)}, {ID: "t1_2", Name: "read", Args: json.RawMessage(`{}`)},
	}, Raw: a.Raw}
	const (
		s1    = `{"type":"reasoning","summary":[{"type":"summary_text","text":"about s1"}],"encrypted_content":"s1"}`
		s2    = `{"type":"reasoning","summary":[{"type":"summary_text","text":"about s2"}],"encrypted_content":"s2"}`
		s3    = `{"type":"reasoning","summary":[{"type":"summary_text","text":"about s3"}],"encrypted_content":"s3"}`
		text  = `{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"I look"}]}`
		one   = `{"type":"function_call","call_id":"t1_1","name":"read","arguments":"{}"}`
		two   = `{"type":"function_call","call_id":"t1_2","name":"read","arguments":"{}"}`
		plain = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look"}]}`
	)
	other := signedIn(nil)
	other.Model = "another"
	chat := said
	chat.Raw = json.RawMessage(`{"provider":"openai","model":"m","reasoning_content":"x"}`)
	textOnly, callOnly := said, said
	textOnly.Calls, callOnly.Parts = nil, nil
	more := said
	more.Calls = append(more.Calls[:2:2], llm.Call{ID: "t1_3", Name: "read", Args: json.RawMessage(`{}`)})
	for _, c := range []struct {
		name string
		cfg  llm.Config
		msg  llm.Message
		want []string
	}{
		{"in its order", signedIn(nil), said, []string{s1, text, s2, one, two}},
		{"another model sees none of it", other, said, []string{plain, one, two}},
		{"what another backend kept", signedIn(nil), chat, []string{plain, one, two}},
		{"the calls are gone", signedIn(nil), textOnly, []string{s1, text}},
		{"the text is gone", signedIn(nil), callOnly, []string{s1, s2, one, two}},
		{"a call more", signedIn(nil), more, []string{s1, text, s2, one, two, s3, strings.Replace(two, "t1_2", "t1_3", 1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := inputOf(t, sentTo(t, c.cfg, llm.Request{System: "s", Messages: []llm.Message{c.msg}}))
			if want := "[" + strings.Join(c.want, ",") + "]"; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	if a, _, _ := hear(t, wire(done(0, `{"type":"reasoning","summary":[{"text":"r"}]}`), done(1, messageOf("a")), ended(""))); a.Raw != nil {
		t.Errorf("nothing to keep, got %s", a.Raw)
	}
}

// TestResponsesStaleReasoning: a server that cannot read what it had encrypted is asked again without it.
func TestResponsesStaleReasoning(t *testing.T) {
	const refusal = `{"error":{"message":"The encrypted content gAAA could not be verified.","type":"invalid_request_error","code":"invalid_encrypted_content"}}`
	first := llmtest.Say("a")
	first.Reasoning = "hm"
	stale := llmtest.Turn{Status: 400, Body: refusal}
	s := serve(t, llmtest.Streamed(first), stale, llmtest.Streamed(llmtest.Say("b")), stale)
	m := codexAt(t, s)
	a, err := m.Answer(t.Context(), hello(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := hello()
	r.Messages = append(r.Messages, llm.Message{Role: llm.Assistant, Parts: event.Say(a.Text), Raw: a.Raw}, user("go on"))
	_, err = m.Answer(t.Context(), r, nil)
	if e := faultIn(t, err, llm.Overloaded); !llm.Retryable(&e) {
		t.Error("the next try does without it")
	}
	if _, err := m.Answer(t.Context(), r, nil); err != nil {
		t.Errorf("the next try: %v", err)
	}
	_, err = m.Answer(t.Context(), r, nil)
	faultIn(t, err, llm.BadRequest) // nothing is left to leave out
	for i, want := range []bool{false, true, false, false} {
		body := string(s.Requests()[i].Body)
		if got := strings.Contains(body, `"encrypted_content":"`+llmtest.Sealed("hm")+`"`); got != want {
			t.Errorf("request %d replays reasoning: %v\n%s", i, got, body)
		}
	}
}
