package openai_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"hob/daemon/event"
	"hob/daemon/llm"

	"pgregory.net/rapid"
)

// artifacts maps the name of an artifact to its bytes.
type artifacts map[string]string

func (s artifacts) Bytes(ctx context.Context, artifact string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if artifact == "huge" {
		return nil, event.NewFault(event.TooLarge, "", "artifact huge is larger than 8 MB")
	}
	data, ok := s[artifact]
	if !ok {
		return nil, errors.New("open /somewhere: no such file")
	}
	return []byte(data), nil
}

const (
	png  = "\x89PNG\r\n\x1a\nrest"
	jpeg = "\xff\xd8\xff\xe0rest"
	gif  = "GIF89arest"
	webp = "RIFF\x10\x00\x00\x00WEBPVP8 rest"
	pdf  = "%PDF-1.7\nrest"
)

func file(artifact, name, mime string) event.Part {
	return event.Part{Kind: event.File, Artifact: artifact, Name: name, MIME: mime}
}

// contentOf is the content of the last message that is sent for these parts, as JSON.
func contentOf(t testing.TB, c llm.Config, parts ...event.Part) string {
	t.Helper()
	body := sent(t, c, llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: parts}}})
	var shape struct {
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal([]byte(body), &shape); err != nil {
		t.Fatal(err)
	}
	return string(shape.Messages[0].Content)
}

func TestFiles(t *testing.T) {
	url := func(mime, data string) string {
		return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString([]byte(data))
	}
	image := func(line, mime, data string) string {
		return fmt.Sprintf(`[{"type":"text","text":%q},{"type":"image_url","image_url":{"url":%q}}]`, line, url(mime, data))
	}
	pdfPart := func(line, name string) string {
		return fmt.Sprintf(`[{"type":"text","text":%q},{"type":"file","file":{"filename":%q,"file_data":%q}}]`, line, name, url("application/pdf", pdf))
	}
	const neither = "it is neither text nor an image of a kind that models read"
	for _, c := range []struct {
		name, backend string
		data          string
		part          event.Part
		want          string
	}{
		{"png", "compatible", png, event.Part{Kind: event.Image, Artifact: "x", Name: "a.png", MIME: "image/png"}, image("[attached image a.png (image/png), artifact x]", "image/png", png)},
		{"jpeg under a wrong name", "ollama", jpeg, file("x", "a.png", "image/png"), image("[attached file a.png (image/png), artifact x]", "image/jpeg", jpeg)},
		{"gif without a type", "lmstudio", gif, file("x", "", ""), image("[attached file, artifact x]", "image/gif", gif)},
		{"webp", "openai", webp, file("x", "", "application/octet-stream"), image("[attached file (application/octet-stream), artifact x]", "image/webp", webp)},
		{"no image at all", "openai", "<html>\x00", event.Part{Kind: event.Image, Artifact: "x", MIME: "image/png"}, `"[attached image (image/png), artifact x; not shown: ` + neither + `]"`},
		{"another kind of image", "openai", "BMrest", event.Part{Kind: event.Image, Artifact: "x", MIME: "image/bmp"}, `"[attached image (image/bmp), artifact x; not shown: ` + neither + `]"`},
		{"pdf for openai", "openai", pdf, file("x", "a.pdf", "application/pdf"), pdfPart("[attached file a.pdf (application/pdf), artifact x]", "a.pdf")},
		{"pdf for openrouter, without a name", "openrouter", pdf, file("x", "", ""), pdfPart("[attached file, artifact x]", "document.pdf")},
		{"pdf for others", "compatible", pdf, file("x", "a.pdf", "application/pdf"), `"[attached file a.pdf (application/pdf), artifact x; not shown: this server takes no PDF files]"`},
		{"text", "compatible", "one\ntwo", file("x", "a.txt", "text/plain"), `"[attached file a.txt (text/plain), artifact x]\none\ntwo\n[end of the file]"`},
		{"json with parameters", "openai", "{}\n", file("x", "a.json", "Application/JSON; charset=utf-8"), `"[attached file a.json (Application/JSON; charset=utf-8), artifact x]\n{}\n[end of the file]"`},
		{"xml of a kind of its own", "openai", "<a/>", file("x", "a.svg", "image/svg+xml"), `"[attached file a.svg (image/svg+xml), artifact x]\n<a/>\n[end of the file]"`},
		{"text without a type", "openai", "\uFEFFü", file("x", "", ""), `"[attached file, artifact x]\nü\n[end of the file]"`},
		{"empty", "openai", "", file("x", "", "text/csv"), `"[attached file (text/csv), artifact x]\n[end of the file]"`},
		{"text that is none", "openai", "a\xffb", file("x", "", "text/plain"), `"[attached file (text/plain), artifact x; not shown: ` + neither + `]"`},
		{"text with a zero byte", "openai", "a\x00b", file("x", "", "text/plain"), `"[attached file (text/plain), artifact x; not shown: ` + neither + `]"`},
		{"something else", "openai", "PK\x03\x04", file("x", "a.zip", "application/zip"), `"[attached file a.zip (application/zip), artifact x; not shown: ` + neither + `]"`},
		{"missing", "openai", "", file("gone", "a.txt", "text/plain"), `"[attached file a.txt (text/plain), artifact gone; not shown: it cannot be opened]"`},
		{"the store says why", "openai", "", file("huge", "", ""), `"[attached file, artifact huge; not shown: artifact huge is larger than 8 MB]"`},
		{"more than 8 MB", "openai", png + strings.Repeat("x", 8<<20), file("x", "", ""), `"[attached file, artifact x; not shown: it has more than 8 MB]"`},
		{"no artifact", "openai", "", event.Part{Kind: event.Image, Name: "a.png"}, `"[attached image a.png]"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(nil)
			cfg.Provider, cfg.Files = c.backend, artifacts{"x": c.data}
			if got := contentOf(t, cfg, c.part); got != c.want {
				t.Errorf("got\n%.600s\nwant\n%.600s", got, c.want)
			}
		})
	}
}

func TestLongTextIsCut(t *testing.T) {
	for _, c := range []struct {
		window int
		name   string
		shown  int // bytes
		end    string
	}{
		{1 << 20, "", 200 << 10, "ü\n[cut here: 200 KB of 301 KB are shown]"},
		{32_768, "log.txt", 24 << 10, "ü\n[cut here: 24 KB of 301 KB are shown]"}, // a quarter of the window
		{32_768, "attachments/7/log.txt", 24 << 10, "ü\n[cut here: 24 KB of 301 KB are shown; read the rest in attachments/7/log.txt]"},
	} {
		cfg := config(nil)
		cfg.Context, cfg.Files = c.window, artifacts{"x": "a" + strings.Repeat("ü", 150<<10)} // a limit of even length falls into the middle of an ü
		var got string
		if err := json.Unmarshal([]byte(contentOf(t, cfg, file("x", c.name, "text/plain"))), &got); err != nil {
			t.Fatal(err)
		}
		if !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) || strings.Count(got, "ü") != (c.shown-1)/2 {
			t.Errorf("%d bytes with %d ü", len(got), strings.Count(got, "ü"))
		}
		if !strings.HasSuffix(got, c.end) {
			t.Errorf("it ends with %q", got[len(got)-90:])
		}
	}
}

func TestPartsStayInOrder(t *testing.T) {
	cfg := config(nil)
	cfg.Files = artifacts{"i": png, "t": "text"}
	r := llm.Request{Messages: []llm.Message{{
		Role: llm.User, Envelope: conversation().Messages[0].Envelope,
		Parts: []event.Part{{Kind: event.Text, Text: "before"}, file("i", "", ""), {Kind: event.Text, Text: "between"}, file("t", "", ""), file("i", "", ""), {Kind: event.Text, Text: "behind"}},
	}}}
	url := base64.StdEncoding.EncodeToString([]byte(png))
	want := `"messages":[{"role":"user","content":[{"type":"text","text":"[telegram · Sam · 2026-11-21 09:00 Europe/Berlin] before\n[attached file, artifact i]"},` +
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + url + `"}},` +
		`{"type":"text","text":"between\n[attached file, artifact t]\ntext\n[end of the file]\n[attached file, artifact i]"},` +
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + url + `"}},` +
		`{"type":"text","text":"behind"}]}]}`
	if got := sent(t, cfg, r); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestMessagesWithoutFilesStayTexts compares with a server that opens none.
func TestMessagesWithoutFilesStayTexts(t *testing.T) {
	r := conversation()
	r.Messages[0].Parts = r.Messages[0].Parts[:1]
	opens := config(nil)
	opens.Files = artifacts{}
	if got, want := sent(t, opens, r), sent(t, config(nil), r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestImagesOfResultsFollowTheLastOne(t *testing.T) {
	cfg := config(nil)
	cfg.Files = artifacts{"i": png, "t": "text"}
	calls := []llm.Call{{ID: "c1", Name: "read", Args: json.RawMessage("{}")}, {ID: "c2", Name: "read", Args: json.RawMessage("{}")}}
	r := llm.Request{Messages: []llm.Message{
		{Role: llm.Assistant, Calls: calls},
		{Role: llm.ToolRole, CallID: "c1", Parts: []event.Part{{Kind: event.Text, Text: "seen"}, file("i", "", "")}},
		{Role: llm.ToolRole, CallID: "c2", Parts: []event.Part{file("t", "", "")}},
		{Role: llm.Assistant, Parts: event.Say("done")},
	}}
	want := `{"role":"tool","content":"seen\n[attached file, artifact i]","tool_call_id":"c1"},` +
		`{"role":"tool","content":"[attached file, artifact t]\ntext\n[end of the file]","tool_call_id":"c2"},` +
		`{"role":"user","content":[{"type":"text","text":"[from the result of c1] [attached file, artifact i]"},` +
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + base64.StdEncoding.EncodeToString([]byte(png)) + `"}}]},` +
		`{"role":"assistant","content":"done"}]}`
	if got := sent(t, cfg, r); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// All images of a transcript are sent again with each request: when there are too many, the later ones are named in words, and the
// conversation goes on.
func TestFilesOfATranscriptAreBounded(t *testing.T) {
	cfg := config(nil)
	cfg.Files = artifacts{"5": png + strings.Repeat("x", 5<<20), "2": png + strings.Repeat("x", 2<<20)}
	got := contentOf(t, cfg, file("5", "", ""), file("5", "", ""), file("2", "", ""))
	if n := strings.Count(got, "image_url"); n != 4 || !strings.Contains(got, "[attached file, artifact 5; not shown: with it the conversation would have more than 10 MB of files]") {
		t.Errorf("%d images are shown", n/2)
	}
	message := llm.Message{Role: llm.User, Parts: []event.Part{file("5", "", ""), file("2", "", "")}}
	got = sent(t, cfg, llm.Request{Messages: []llm.Message{message, message, {Role: llm.User, Parts: event.Say("and now?")}}})
	if n := strings.Count(got, "image_url"); n != 6 || strings.Count(got, "; not shown: ") != 1 || !strings.HasSuffix(got, `{"role":"user","content":"and now?"}]}`) {
		t.Errorf("%d images are shown over a conversation", n/2)
	}
}

func TestAStopWhileFilesAreOpened(t *testing.T) {
	cfg := config(recording())
	cfg.Files = artifacts{"x": png}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("the user said stop")
	cancel(stop)
	_, err := open(t, cfg).Answer(ctx, llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []event.Part{file("x", "", "")}}}}, nil)
	if !errors.Is(err, stop) || llm.Retryable(err) {
		t.Errorf("got %v", err)
	}
}

// TestPrefixWithFiles appends message by message, the results of an answer one by one, and looks whether the bytes in front stay.
func TestPrefixWithFiles(t *testing.T) {
	rec := recording()
	cfg := config(rec)
	cfg.Files = artifacts{"i": png, "t": "text"}
	m := open(t, cfg)
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]event.Part{{Kind: event.Text, Text: "a"}, {Kind: event.Text}, file("i", "", ""), file("t", "", ""), file("gone", "", "")}), 0, 4)
		rec.bodies = nil
		var r llm.Request
		step := func(msg llm.Message) {
			r.Messages = append(r.Messages, msg)
			if _, err := m.Answer(t.Context(), r, nil); err != nil {
				rt.Fatal(err)
			}
		}
		images := 0
		for turn := range rapid.IntRange(1, 4).Draw(rt, "turns") {
			step(llm.Message{Role: llm.User, Parts: parts.Draw(rt, "input")})
			answer := llm.Message{Role: llm.Assistant}
			for i := range rapid.IntRange(0, 3).Draw(rt, "calls") {
				answer.Calls = append(answer.Calls, llm.Call{ID: fmt.Sprintf("t%d_%d", turn, i), Name: "read", Args: json.RawMessage("{}")})
			}
			step(answer)
			for _, c := range answer.Calls {
				step(llm.Message{Role: llm.ToolRole, CallID: c.ID, Parts: parts.Draw(rt, "result")})
			}
		}
		for _, msg := range r.Messages {
			for _, p := range msg.Parts {
				if p.Artifact == "i" {
					images++
				}
			}
		}
		for i := 1; i < len(rec.bodies); i++ {
			if !bytes.HasPrefix(rec.bodies[i], bytes.TrimSuffix(rec.bodies[i-1], []byte("]}"))) {
				rt.Fatalf("%s\nis not the beginning of\n%s", rec.bodies[i-1], rec.bodies[i])
			}
		}
		if got := bytes.Count(rec.bodies[len(rec.bodies)-1], []byte(`"type":"image_url"`)); got != images {
			rt.Fatalf("%d of %d images are shown", got, images)
		}
	})
}

// turning is a transport that answers request after request with one of its own.
type turning struct {
	recorder
	next []canned
}

func (n *turning) RoundTrip(r *http.Request) (*http.Response, error) {
	n.canned = n.next[0]
	n.next = n.next[1:]
	return n.recorder.RoundTrip(r)
}

func TestARefusalOfImages(t *testing.T) {
	object := func(message string) string { return fmt.Sprintf(`{"error":{"message":%q}}`, message) }
	for _, c := range []struct {
		name string
		no   canned
		want llm.Fault
	}{
		{"ollama", canned{status: 400, body: object("this model does not support image input")}, llm.NoImages},
		{"openai", canned{status: 400, body: object("Invalid content type. image_url is only supported by certain models.")}, llm.NoImages},
		{"openrouter", canned{status: 404, body: object("No endpoints found that support image input")}, llm.NoImages},
		{"deepseek", canned{status: 422, body: object("messages[0]: unknown variant `image_url`, expected `text`")}, llm.NoImages},
		{"vllm", canned{status: 400, body: object("m is not a multimodal model")}, llm.NoImages},
		{"groq", canned{status: 400, body: object("messages[0].content must be a string")}, llm.NoImages},
		{"media type", canned{status: 415, body: object("no Vision here")}, llm.NoImages},
		{"llama.cpp", canned{status: 500, body: object("image input is not supported - hint: if this is unexpected, you may need to provide the mmproj")}, llm.NoImages},
		{"lmstudio, in the stream", canned{body: "event: error\n" + data(object("Model does not support images. Please use a model that does."))}, llm.NoImages},
		{"a status in the stream", canned{body: data(`{"error":{"code":400,"message":"no image, please"}}`)}, llm.NoImages},
		{"a pdf", canned{status: 400, body: object("PDF input is not available")}, llm.NoImages},
		{"something else", canned{status: 400, body: object("temperature is out of range")}, llm.BadRequest},
		{"the model's name", canned{status: 404, body: object("no model qwen-vision")}, llm.NotFound},
		{"too busy for images", canned{status: 503, body: object("the image workers are busy")}, llm.Overloaded},
		{"a key for images only", canned{status: 401, body: object("this key does not support images")}, llm.Auth},
		{"too many tokens", canned{status: 400, body: object("the image exceeds the context length")}, llm.TooLarge},
		{"a redirect", canned{status: 302, header: http.Header{"Location": {"http://images.test/"}}}, llm.NotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := &turning{next: []canned{c.no, {body: data(says("ok"), stopped)}}}
			cfg := config(n)
			cfg.Files = artifacts{"x": png}
			if c.name == "the model's name" {
				cfg.Model = "qwen-vision"
			}
			m := open(t, cfg)
			r := llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []event.Part{file("x", "a.png", "")}}}}
			_, err := m.Answer(t.Context(), r, nil)
			e := faultIn(t, err, c.want)
			if e.Text == "" {
				t.Error("the server's words are lost")
			}
			if _, err := m.Answer(t.Context(), r, nil); err != nil {
				t.Fatal(err)
			}
			again := string(n.bodies[1])
			named := strings.Contains(again, `"content":"[attached file a.png, artifact x; not shown: the model refuses to look at images and files]"`)
			if blind := c.want == llm.NoImages; named != blind || strings.Contains(again, "image_url") == blind {
				t.Errorf("then it sent %s", again)
			}
		})
	}
}

func TestARefusalWithoutImagesIsNoRefusalOfImages(t *testing.T) {
	n := &turning{next: []canned{{status: 400, body: `{"error":"image?"}`}, {body: data(says("ok"), stopped)}}}
	cfg := config(n)
	cfg.Files = artifacts{"x": png, "t": "text"}
	m := open(t, cfg)
	_, err := m.Answer(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []event.Part{file("t", "", ""), file("gone", "", "image/png")}}}}, nil)
	faultIn(t, err, llm.BadRequest)
	if _, err := m.Answer(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []event.Part{file("x", "", "")}}}}, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(n.bodies[1]), "image_url") {
		t.Errorf("it no longer sends images: %s", n.bodies[1])
	}
}
