package daemon_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/llm/llmtest"
)

func TestErrorsHaveTheFormOfOpenAI(t *testing.T) {
	t.Parallel()
	r, _ := listen(t, "", func(llmtest.Request) llmtest.Turn { return llmtest.Failed(401, "key sk-private is wrong") })
	p := r.endpoint("laptop")
	post := func(token, body string) (int, string, http.Header) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.ready.Address+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(res.Body)
		if err != nil || res.Body.Close() != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(raw), res.Header
	}
	for body, want := range map[string]string{
		`{`:                `400 "message":"the request's body`,
		`{"messages": []}`: `400 "param":"messages"`,
		`{"messages": [{"role": "system", "content": "x"}]}`:                                                                                                               `400 there is no message of the user`,
		`{"messages": [{"role": "user", "content": "x"}], "n": 2}`:                                                                                                         `400 "param":"n","code":"unsupported_parameter"`,
		`{"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function"}]}`:                                                                                `400 "param":"tools"`,
		`{"messages": [{"role": "user", "content": "x"}], "response_format": {"type": "json_object"}}`:                                                                     `400 "param":"response_format"`,
		`{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x/a.png"}}]}]}`:                                                     `400 must be a data: URL`,
		`{"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}`:                                                                                           `400 "param":"messages[0].content[0].type"`,
		`{"messages": [{"role": "robot", "content": "x"}, {"role": "user", "content": "x"}]}`:                                                                              `400 "param":"messages[0].role"`,
		`{"messages": [{"role": "user", "content": "` + strings.Repeat("x", 300_000) + `"}]}`:                                                                              `413 over 256 KB`,
		`{"messages": [{"role": "user", "content": "fail"}], "n": 1, "tools": [{}], "tool_choice": "none", "response_format": {"type": "text"}, "temperature": 1, "x": 1}`: `502 no model answers`,
	} {
		status, text, head := post(p.token, body)
		if got := fmt.Sprint(status, " ", text); !strings.HasPrefix(got, want[:3]) || !strings.Contains(got, want[4:]) || !strings.HasPrefix(text, `{"error":{"message":"`) || strings.Contains(text, "sk-private") {
			t.Errorf("%.200s: %d %s", body, status, text)
		}
		if head.Get("X-Should-Retry") != "false" {
			t.Errorf("%.200s may be repeated", body)
		}
	}
	own, err := os.ReadFile(filepath.Join(r.home, "state", "token"))
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"", "x", strings.TrimSpace(string(own)), p.token + "x"} {
		if status, text, _ := post(token, `{}`); status != http.StatusUnauthorized || !strings.Contains(text, `"code":"invalid_api_key"`) {
			t.Errorf("token %q: %d %s", token, status, text)
		}
	}
	for _, path := range []string{"/v1/endpoints", "/metrics", "/v1/model"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.ready.Address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+p.token)
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != http.StatusUnauthorized || res.Body.Close() != nil {
			t.Errorf("a client's token at %s: %v, %v", path, res.Status, err)
		}
	}
	if _, err := client.Do(t.Context(), r.client, api.RemoveEndpoint, "laptop", api.None{}); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := post(p.token, `{}`); status != http.StatusUnauthorized {
		t.Errorf("a removed token: %d", status)
	}
}

// A picture becomes an attachment of the message.
func TestPicturesOfClients(t *testing.T) {
	t.Parallel()
	r, model := listen(t, "", echo)
	p := r.endpoint("laptop")
	const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
	p.ask("", openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
		openai.TextContentPart("what is this?"), openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: pixel}),
		openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{Filename: openai.String("../a.txt"), FileData: openai.String("data:text/plain;base64,aGVsbG8=")}),
	}))
	if body := string(model.Requests()[0].Body); !strings.Contains(body, "iVBORw0KGgo") || !strings.Contains(body, "a.txt") {
		t.Errorf("%.2000s", body)
	}
}
