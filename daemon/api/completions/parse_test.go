package completions_test

import (
	"runtime"
	"strings"
	"testing"

	"hob/daemon/api/completions"
)

// A list of millions costs no memory, wherever it stands in a request.
func TestHugeListsAreNotDecoded(t *testing.T) {
	const size = 8 << 20
	list := func(one string) string { return "[" + strings.Repeat(one+",", size/(len(one)+1)) + one + "]" }
	const hello = `"messages": [{"role": "user", "content": "hello"}]`
	for name, body := range map[string]string{
		"messages":   `{"messages": ` + list("{}") + `}`,
		"nulls":      `{"messages": ` + list("null") + `}`,
		"parts":      `{"messages": [{"role": "user", "content": ` + list("{}") + `}]}`,
		"old parts":  `{"messages": [{"role": "tool", "content": ` + list("{}") + `}, {"role": "user", "content": "hello"}]}`,
		"tools":      `{"tools": ` + list("{}") + `, ` + hello + `}`,
		"functions":  `{"functions": ` + list("[]") + `, ` + hello + `}`,
		"choice":     `{"tool_choice": ` + list("{}") + `, "tools": [{}], ` + hello + `}`,
		"modalities": `{"modalities": ` + list(`"x"`) + `, ` + hello + `}`,
		"audio":      `{"audio": ` + list("{}") + `, ` + hello + `}`,
		"picture":    `{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": ` + list("{}") + `}]}]}`,
	} {
		raw := []byte(body)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := completions.Parse(raw)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 2<<20 {
			t.Errorf("%s: %d bytes for a body of %d, %v", name, took, len(raw), err)
		}
	}
}

// What clients send is read as before: a text, parts, null, and both forms of a picture.
func TestFormsOfContent(t *testing.T) {
	c, err := completions.Parse([]byte(`{"tools": [ ], "functions": null, "tool_choice": {"type": "auto"}, "modalities": ["text"], "audio": null, "messages": [
		{"role": "assistant", "content": null}, {"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
		{"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": "data:image/png;base64,aGk="}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]}]}`))
	if err != nil || c.Text != "look" || len(c.Files) != 2 || string(c.Files[1].Data) != "hi" || len(c.Others) != 2 || c.Others[1].Text != "a\nb" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := completions.Parse([]byte(`{"tools": [{}], "tool_choice": "none", "messages": [{"role": "user", "content": "x"}]}`)); err != nil {
		t.Error(err)
	}
	for _, body := range []string{`{"messages": [null]}`, `{"messages": [{"role": "user", "content": 1}]}`, `{"messages": [{"role": "user", "content": [null, {"type": "text", "text": "x"}]}]}`, `{"messages": {}}`} {
		if _, err := completions.Parse([]byte(body)); err == nil {
			t.Errorf("%s is taken", body)
		}
	}
}

// TestWrongTypes wants errors in the words of JSON.
func TestWrongTypes(t *testing.T) {
	for body, want := range map[string]string{
		`[]`:                         "want an object, got a list",
		`{"messages": "x"}`:          `"messages": want a list, got a text`,
		`{"messages": [5]}`:          `"messages": want an object, got a number`,
		`{"stream": "yes"}`:          `"stream": want true or false, got a text`,
		`{"user": 7}`:                `"user": want a text, got a number`,
		`{"messages": [{"role":5}]}`: `"messages.role": want a text, got a number`,
	} {
		if _, err := completions.Parse([]byte(body)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
}
