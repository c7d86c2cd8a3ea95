//go:build linux

package crashtest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/channels/channelstest"
	"hob/daemon/llm/llmtest"
)

// The owner's topic, and the token that only he and hob have.
const (
	topic      = "owner-topic"
	topicToken = "tk_rig"
)

// outside is everything outside hob: the model server, the chat server, and what both have seen. It survives hob's crashes.
type outside struct {
	model *llmtest.Server
	ntfy  *channelstest.Ntfy
	asked chan struct{} // a model request has come

	mu       sync.Mutex
	rng      *rand.Rand
	clock    int64 // of the chat server; every message has a second of its own
	answers  int
	requests int
	repeated int                          // the same request of the thread again
	again    map[string]int               // the same request of a sub-agent again, by its first message
	broken   int                          // answers that broke off on purpose
	texts    int                          // that the model worked on for a tool
	newest   map[string][]llmtest.Message // by the first message of the session, the newest transcript
	wrong    []string                     // requests that no model server should get
	posts    []string                     // addresses that files are sent to
}

func newOutside(t *testing.T, seed uint64) *outside {
	t.Helper()
	ntfy, err := channelstest.NewNtfy("")
	if err != nil {
		t.Fatal(err)
	}
	w := &outside{
		model: llmtest.NewServer(), ntfy: ntfy, asked: make(chan struct{}, 1), rng: rand.New(rand.NewPCG(seed, 2)),
		newest: map[string][]llmtest.Message{}, again: map[string]int{}, clock: time.Now().Unix(),
	}
	ntfy.Protect(topic, topicToken)
	w.model.Otherwise(w.script)
	t.Cleanup(func() {
		w.model.Close()
		w.ntfy.Close()
	})
	return w
}

// config is config.toml for this world, with the owner's addresses beside his topic.
func (w *outside) config(o options, more []string) string {
	sandbox := "auto"
	if o.bare {
		sandbox = "off"
	}
	return fmt.Sprintf(`
[model]
backend = "compatible"
model = "scripted"
base_url = %q
max_output_tokens = 4000
context_tokens = %d
[owner]
name = "Sam"
timezone = "UTC"
addresses = [%s]
[channels.ntfy]
server = %q
topic = %q
token = "env:RIG_TOKEN"
owner = true
[tools.web]
networks = ["127.0.0.0/8"]
[tools.exec]
sandbox = %q
[guard]
mode = %q
[budget]
tokens_per_day = 2000000000
[daemon]
max_attempts = %d
safe_mode_after = %d
`, w.model.URL, cmp.Or(o.window, 100_000_000), quoted(append([]string{"ntfy:" + topic}, more...)), w.ntfy.URL(), topic, sandbox, o.guard, o.attempts, o.safeAfter)
}

// quoted are strings as a list of TOML has them.
func quoted(list []string) string {
	out := ""
	for i, s := range list {
		if i > 0 {
			out += ", "
		}
		out += strconv.Quote(s)
	}
	return out
}

// publish is the owner writing in his chat app. It returns the message's id and its time.
func (w *outside) publish(text string) (id string, at int64) {
	w.mu.Lock()
	w.clock++
	at = w.clock
	w.mu.Unlock()
	return w.ntfy.Inject(channelstest.NtfyMessage{Topic: topic, Message: text, Time: at}), at
}

// script is the model: what it does depends on the last thing that a person said, and on how many results came since.
func (w *outside) script(r llmtest.Request) llmtest.Turn {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests++
	select {
	case w.asked <- struct{}{}:
	default:
	}
	q := wanted(r)
	w.judge(r, q)
	if q.token == "" {
		w.wrong = append(w.wrong, fmt.Sprintf("I12 nothing in the request says what is wanted: %.200q", r.Last()))
	}
	w.answers++
	turn := llmtest.Streamed(w.reply(q, w.answers))
	turn.Hold = after(time.Duration(w.rng.IntN(6)) * time.Millisecond)
	if strings.HasPrefix(q.token, "slow-") {
		turn.Hold = after(slowly)
	}
	return turn
}

// slowly is longer than hob waits before it shows that it is at work.
const slowly = 5 * time.Second

func after(d time.Duration) <-chan struct{} {
	if d == 0 {
		return nil
	}
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

// judge holds a request against I12: it is valid, and it goes on where the session's last one ended.
func (w *outside) judge(r llmtest.Request, q want) {
	list := r.Messages
	if why := invalid(list); why != "" {
		w.wrong = append(w.wrong, "I12 invalid request: "+why)
		return
	}
	if len(r.Tools) == 0 {
		w.texts++
		return // a text that is worked on for a tool has no conversation
	}
	key := list[1].Content
	before := w.newest[key]
	for i, m := range before {
		if i >= len(list) || !same(m, list[i]) {
			w.wrong = append(w.wrong, fmt.Sprintf("I12 the transcript of %.60q changed at message %d", key, i))
			break
		}
	}
	if before == nil && len(list) > 2 && list[2].Role != "user" {
		w.wrong = append(w.wrong, fmt.Sprintf("I12 the session of %.60q begins in the middle", key))
	}
	switch {
	case len(before) != len(list):
	case q.thread:
		w.repeated++
	default:
		w.again[key]++
	}
	w.newest[key] = list
}

func same(a, b llmtest.Message) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(x) == string(y)
}

// invalid says what a strict model server would refuse; "" is nothing.
func invalid(list []llmtest.Message) string {
	if len(list) < 2 || list[0].Role != "system" || list[1].Role != "user" {
		return "it does not begin with the system's and a user's message"
	}
	open := map[string]bool{}
	for i, m := range list[1:] {
		previous := list[i].Role
		switch {
		case m.Role != "tool" && len(open) > 0:
			return fmt.Sprintf("message %d comes before the results of %v", i+1, open)
		case m.Role == "tool" && !open[m.CallID]:
			return fmt.Sprintf("message %d is a result of %q, which is not open", i+1, m.CallID)
		case m.Role == "assistant" && previous == "assistant":
			return fmt.Sprintf("message %d is a second answer in a row", i+1)
		case m.Role == "system" || m.Role == "user" && m.Content == "":
			return fmt.Sprintf("message %d is %s and says %q", i+1, m.Role, m.Content)
		}
		delete(open, m.CallID)
		for _, c := range m.Calls {
			if c.ID == "" || open[c.ID] || !json.Valid([]byte(c.Function.Arguments)) {
				return fmt.Sprintf("message %d calls %s with the id %q and %q", i+1, c.Function.Name, c.ID, c.Function.Arguments)
			}
			open[c.ID] = true
		}
	}
	if end := list[len(list)-1].Role; end == "assistant" || len(open) > 0 {
		return "it ends with " + end
	}
	return ""
}
