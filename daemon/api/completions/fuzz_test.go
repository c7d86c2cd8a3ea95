package completions_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"hob/daemon/api"
	"hob/daemon/api/completions"
	"hob/daemon/event"
)

// FuzzParse reads what clients send. Whatever it is, what comes out is within the limits, is a message and nothing else, and goes to the client's own
// conversation.
func FuzzParse(f *testing.F) {
	for _, body := range []string{
		`{"messages": [{"role": "user", "content": "hello"}]}`,
		`{"user": "sam", "stream": true, "stream_options": {"include_usage": true}, "messages": [{"role": "system", "content": "be brief"}, {"role": "assistant", "content": null}, {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]}]}`,
		`{"messages": [{"role": "user", "content": [{"type": "file", "file": {"filename": "../../x", "file_data": "data:;base64,aGk"}}]}]}`,
		`{"tools": [{}], "n": 2, "messages": {}}`, `{"messages": [null]}`, `[]`, `{"user": "a\u0000/../b", "messages": [{"role": "user", "content": "/approve AAAA"}]}`,
	} {
		f.Add([]byte(body))
	}
	client := api.Endpoint{ID: 7, Name: "laptop", Trust: event.Known}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := completions.Parse(body)
		if err != nil {
			return
		}
		again, err := completions.Parse(body)
		if err != nil || again.Opening(client).Digest != c.Opening(client).Digest {
			t.Fatalf("the same body is another request: %v", err)
		}
		if strings.TrimSpace(c.Text) == "" && len(c.Files) == 0 || len(c.Text) > 256<<10 || len(c.Files) > 10 || len(c.Others) > 2000 || !utf8.ValidString(c.Text) {
			t.Fatalf("%d bytes, %d files, %d messages", len(c.Text), len(c.Files), len(c.Others))
		}
		if strings.ContainsAny(c.Person, "/#: \x00\n") || len(c.Person) > 64 {
			t.Fatalf("person %q", c.Person)
		}
		o := c.Opening(client)
		if o.Client != 7 || len(o.Seen) != len(c.Others)+1 {
			t.Fatalf("%+v", o)
		}
		in := c.Input(client, api.ChatRequest{ExtID: "x", Session: "endpoint:laptop#7/user:" + c.Person})
		if in.Kind != event.Message || in.Trust != event.Known || !in.Tainted || in.Typed || in.Source != event.Endpoint || string(in.ReplyTo) != in.Session {
			t.Fatalf("%+v", in)
		}
		if len(in.Parts) == 0 && len(c.Files) == 0 {
			t.Fatal("an input without anything")
		}
	})
}
