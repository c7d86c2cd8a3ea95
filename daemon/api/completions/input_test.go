package completions_test

import (
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/completions"
	"hob/daemon/event"
)

// What the owner's program asks for is tainted as soon as a call by MCP has brought it foreign text.
func TestForeignTextOfMCPTaintsTheChat(t *testing.T) {
	c, err := completions.Parse([]byte(`{"messages": [{"role": "user", "content": "x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for foreign, tainted := range map[string]bool{"": false, "a page": true} {
		if in := c.Input(api.Endpoint{Name: "mine", Trust: event.Owner, Foreign: foreign}, api.ChatRequest{}); in.Tainted != tainted {
			t.Errorf("foreign %q: tainted %v", foreign, in.Tainted)
		}
	}
}

// Different messages have different digests, whatever stands in them.
func TestDigests(t *testing.T) {
	file := func(name, data string) string {
		return `{"type": "file", "file": {"filename": "` + name + `", "file_data": "data:text/plain;base64,` + data + `"}}`
	}
	text := func(text string) string { return `{"type": "text", "text": "` + text + `"}` }
	const picture = `{"type": "image_url", "image_url": {"url": "data:text/plain;base64,aGk="}}`
	seen := map[string]string{}
	for _, content := range []string{
		`"x"`, `"x\u0000y"`,
		"[" + picture + "," + text("x") + "]", "[" + file("", "aGk=") + "," + text("x") + "]", "[" + file("a", "aGk=") + "," + text("x") + "]", "[" + file("b", "aGk=") + "," + text("x") + "]",
		"[" + file("a", "aGk=") + "," + file("b", "aGk=") + "," + text("x") + "]", "[" + file("b", "aGk=") + "," + file("a", "aGk=") + "," + text("x") + "]",
		"[" + file("a", "aGk=") + "," + text("data:text/plain;base64,aGk=\\u0000x") + "]",
		`"data:text/plain;base64,aGk=\u0000x"`, `"[file]\nx"`, `"[image]\nx"`, `"4:text1:x"`,
	} {
		for _, role := range []string{"user", "system"} {
			for _, person := range []string{"", "a", "1:a"} {
				body := `{"user": "` + person + `", "messages": [{"role": "` + role + `", "content": ` + content + `}, {"role": "user", "content": "go"}]}`
				c, err := completions.Parse([]byte(body))
				if err != nil {
					t.Errorf("%s: %v", body, err)
					continue
				}
				o := c.Opening(api.Endpoint{ID: 1, Name: "laptop"})
				if other, ok := seen[o.Digest]; ok {
					t.Errorf("the same digest: %s and %s", body, other)
				}
				seen[o.Digest] = body
			}
		}
	}
}
