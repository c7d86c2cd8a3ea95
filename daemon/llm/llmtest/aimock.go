package llmtest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/daemon/sys/systest"
)

// fixtures say what the model server answers (github.com/CopilotKit/aimock, docs "fixtures").
const fixtures = `{"fixtures": [
	{"match": {"userMessage": "weather", "hasToolResult": false}, "response": {"content": "I will look.", "toolCalls": [
		{"name": "get_weather", "arguments": {"city": "Köln"}}, {"name": "get_weather", "arguments": {"city": "Ürümqi"}}]}},
	{"match": {"userMessage": "weather", "toolResultContains": "rain"}, "response": {"content": "It rains in Köln."}},
	{"match": {"userMessage": "picture"}, "response": {"content": "A picture."}},
	{"match": {"userMessage": "look", "sequenceIndex": 0}, "response": {"error": {"message": "this model does not support image input", "type": "invalid_request_error"}, "status": 400}},
	{"match": {"userMessage": "look", "sequenceIndex": 1}, "response": {"content": "I cannot see it."}},
	{"match": {"userMessage": "ponder"}, "response": {"reasoning": "Let me think about this one.", "content": "Done."}},
	{"match": {"userMessage": "cut"}, "response": {"content": "This sentence is longer than what comes of it."}, "latency": 20, "chunkSize": 5, "truncateAfterChunks": 4},
	{"match": {"userMessage": "hello"}, "response": {"content": "Hello to you, über all, in several pieces."}}
]}`

// Aimock starts a model server that nobody here wrote and returns its base_url. HOB_AIMOCK is the path of its program, llmock;
// without it the test is skipped. It
// speaks Chat Completions, Responses and Messages, and answers as fixtures says; flags make it misbehave.
func Aimock(t testing.TB, flags ...string) string {
	t.Helper()
	program := os.Getenv("HOB_AIMOCK")
	if _, err := os.Stat(program); err != nil { // #nosec G703 -- the program that the tests are told to use
		systest.Missing(t, "HOB_AIMOCK is not the path of llmock (npm package @copilotkit/aimock)")
	}
	file := filepath.Join(t.TempDir(), "fixtures.json")
	if err := os.WriteFile(file, []byte(fixtures), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, // #nosec G204 G702 -- the program that the tests are told to use
		append([]string{"--port", "0", "--fixtures", file, "--strict"}, flags...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		<-ended
		_ = cmd.Wait() // it was killed, and says so
	})
	late := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	var said strings.Builder
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if _, url, ok := strings.Cut(lines.Text(), "listening on "); ok {
			go func() {
				defer close(ended)
				_, _ = io.Copy(io.Discard, out) // so that it never waits for a reader
			}()
			return strings.TrimSpace(url) + "/v1"
		}
	}
	close(ended)
	t.Fatalf("llmock did not start: %v\n%s", lines.Err(), said.String())
	return ""
}
