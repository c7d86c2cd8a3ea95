package daemon_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/llm/llmtest"
)

// No program gets a secret, neither in one piece nor in the pieces of a stream, neither as it is nor as a dead address.
func TestChatsShowNoSecrets(t *testing.T) {
	t.Parallel()
	const words, address, token = "plain 77 key 4411 and more of it", "https://sam:pw774411@db.example/774411", "eyJ774411.774411.774411"
	r, _ := listen(t, fmt.Sprintf("[tools.web]\nsearch_key = %q\n[tools.web.secrets]\na = { secret = %q, hosts = [\"a.test\"] }\nb = { secret = %q, hosts = [\"b.test\"] }\n[endpoints.mine]\ntrust = \"owner\"\n", words, address, token), func(llmtest.Request) llmtest.Turn {
		return llmtest.Streamed(llmtest.Say("it is " + words + " or " + address + " at https://x.example/?t=" + token + ", then " + words[:9]))
	})
	for _, name := range []string{"laptop", "mine"} { // what the first one gets is defanged
		p := r.endpoint(name)
		text, pieces, err := p.stream(t.Context(), "", user("tell"))
		whole := p.ask("", user("tell"))
		if err != nil || pieces < 4 || whole != text {
			t.Errorf("%s: %d pieces, %q, %q, %v", name, pieces, text, whole, err)
		}
		if strings.Contains(text, "4411") || !strings.HasSuffix(text, words[:9]) || strings.Count(text, "[secret ") != 3 {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// With its token a program loses what goes on for it: streams, turns that wait, inputs that wait for a turn, and open questions. Another's goes on.
func TestRemovalEndsWhatIsOpen(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	r, model := listen(t, "[endpoints.mine]\ntrust = \"owner\"\n", func(q llmtest.Request) llmtest.Turn {
		turn := echo(q)
		switch {
		case strings.Contains(q.Last(), "do write"):
			return llmtest.Streamed(llmtest.Use("write", `{"path": "/hob-test/x", "content": "x"}`))
		case strings.Contains(q.Last(), "slowly"):
			turn.Hold = hold
		}
		return turn
	})
	mine, other := r.endpoint("mine"), r.endpoint("other")
	mine.ask("sam", user("do write"))
	if text, failed, _ := use(t, mine.mcp(), "write", map[string]any{"path": "/hob-test/y", "content": "x"}); !failed {
		t.Fatal(text)
	}
	streams := func(p *program, user string, text string) <-chan error {
		ended := make(chan error, 1)
		go func() {
			_, _, err := p.stream(context.Background(), user, openai.UserMessage(text))
			ended <- err
		}()
		return ended
	}
	runs := streams(mine, "eve", "slowly 1")
	r.until("the request", func() bool { return len(model.Requests()) == 2 })
	waits, others := streams(mine, "kim", "slowly 2"), streams(other, "sam", "slowly 3")
	r.until("all", func() bool { return len(r.inputs()) == 4 })
	questions := func(state string) int {
		list, err := client.List(t.Context(), r.client, api.Questions, client.Filter{State: state})
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if n := questions("open"); n != 2 {
		t.Fatalf("%d questions", n)
	}
	if _, err := client.Do(t.Context(), r.client, api.RemoveEndpoint, "mine", api.None{}); err != nil {
		t.Fatal(err)
	}
	for what, ended := range map[string]<-chan error{"the stream of the turn that runs": runs, "the stream of the input that waits": waits} {
		if err := <-ended; err == nil {
			t.Errorf("%s ended as if it had an answer", what)
		}
	}
	close(hold)
	if err := <-others; err != nil {
		t.Errorf("another program: %v", err)
	}
	if n := questions("open"); n != 0 {
		t.Errorf("%d questions are open", n)
	}
	r.until("the end of its turns", func() bool {
		turns, err := client.List(t.Context(), r.client, api.Turns, client.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		open := 0
		for _, one := range turns {
			if one.State != "stopped" && one.State != "done" {
				open++
			}
		}
		return open == 0 && len(turns) == 3
	})
}
