//go:build linux

package rig_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/channels/channelstest"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// The owner's topic, and the token that only he and hob have.
const (
	topic      = "owner-topic"
	topicToken = "tk_rig"
)

// world is everything outside: the model's server, the chat server, and what they have seen. It lives on when hob dies.
type world struct {
	model *llmtest.Server
	ntfy  *channelstest.Ntfy
	asked chan struct{} // a model request has come

	mu       sync.Mutex
	rng      *rand.Rand
	clock    int64 // of the chat server; every message has a second of its own
	answers  int
	requests int
	repeated int                          // the same request again
	broken   int                          // answers that broke off on purpose
	texts    int                          // that the model worked on for a tool
	newest   map[string][]llmtest.Message // by the first message of the session, the newest transcript
	wrong    []string                     // requests that no model server should get
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	ntfy, err := channelstest.NewNtfy("")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		model: llmtest.NewServer(), ntfy: ntfy, asked: make(chan struct{}, 1), rng: rand.New(rand.NewPCG(seed, 2)),
		newest: map[string][]llmtest.Message{}, clock: time.Now().Unix(),
	}
	ntfy.Protect(topic, topicToken)
	w.model.Otherwise(w.script)
	t.Cleanup(func() {
		w.model.Close()
		w.ntfy.Close()
	})
	return w
}

// config is config.toml for this world.
func (w *world) config(guard string, attempts, safeAfter int) string {
	return fmt.Sprintf(`
[model]
backend = "compatible"
model = "scripted"
base_url = %q
max_output_tokens = 4000
context_tokens = 100000000
[owner]
name = "Sam"
timezone = "UTC"
addresses = ["ntfy:%s"]
[channels.ntfy]
server = %q
topic = %q
token = "env:RIG_TOKEN"
owner = true
[guard]
mode = %q
[budget]
tokens_per_day = 2000000000
[daemon]
max_attempts = %d
safe_mode_after = %d
`, w.model.URL, topic, w.ntfy.URL(), topic, guard, attempts, safeAfter)
}

// publish is the owner writing in his chat app. It returns the message's id and its time.
func (w *world) publish(text string) (id string, at int64) {
	w.mu.Lock()
	w.clock++
	at = w.clock
	w.mu.Unlock()
	return w.ntfy.Inject(channelstest.NtfyMessage{Topic: topic, Message: text, Time: at}), at
}

// A token tells what the model does with a message: "please do exec-17".
var tokens = regexp.MustCompile(`\b(plain|long|file|exec|two|chain|stray|nap|big|note|cron|ask|tick|spawn|aside)-(\d+)\b`)

// script is the model: what it does depends on the last thing that a person said, and on how many results came since.
func (w *world) script(r llmtest.Request) llmtest.Turn {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests++
	select {
	case w.asked <- struct{}{}:
	default:
	}
	w.judge(r)
	token, results := wanted(r.Messages)
	if token == "" {
		w.wrong = append(w.wrong, fmt.Sprintf("I12 nothing in the request says what is wanted: %.200q", r.Last()))
	}
	w.answers++
	turn := llmtest.Streamed(reply(token, results, w.answers))
	turn.Hold = after(time.Duration(w.rng.IntN(6)) * time.Millisecond)
	return turn
}

func after(d time.Duration) <-chan struct{} {
	if d == 0 {
		return nil
	}
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

// pendings are the places of results that were not there yet when the next input came.
var pendings = regexp.MustCompile(`^(?:\[late result of|pending) #(\d+)`)

// wanted is the token that the newest message of a user asks for, and how many results of its calls there are. A late
// result asks to go on with what its call was made for.
func wanted(list []llmtest.Message) (token string, results int) {
	of, late := map[string]string{}, map[string]string{}
	count := map[string]int{}
	for _, m := range list {
		for _, c := range m.Calls {
			of[c.ID] = tokens.FindString(c.Function.Arguments)
		}
		k := pendings.FindStringSubmatch(m.Content)
		switch {
		case m.Role == "tool":
			count[of[m.CallID]]++
			if k != nil {
				late[k[1]] = of[m.CallID]
			}
		case m.Role == "user" && k != nil:
			token = late[k[1]]
		case m.Role == "user":
			token = tokens.FindString(m.Content)
		}
	}
	return token, count[token]
}

// reply is what the model answers. n is another number each time, so that no two answers are the same.
func reply(token string, results, n int) llm.Answer {
	kind, _, _ := strings.Cut(token, "-")
	done := llm.Answer{Text: fmt.Sprintf("answer %d to %s", n, token)}
	switch {
	case kind == "long":
		done.Text += strings.Repeat("\n"+strings.Repeat("all work and no play ", 20), 22)
	case kind == "two" && results == 0:
		return llm.Answer{Calls: []llm.Call{shell(n, 1, "echo "+token+" >> once.txt"), shell(n, 2, "echo "+token+".b >> once.txt")}}
	case kind == "chain" && results == 0:
		return llm.Answer{Text: "first the shell", Calls: []llm.Call{shell(n, 1, "echo "+token+" >> once.txt")}}
	case kind == "chain" && results == 1:
		return llm.Answer{Calls: []llm.Call{call(n, 1, "write", map[string]any{"path": "f/" + token, "content": token})}}
	case results == 0:
		if c, ok := single(kind, token, n); ok {
			return llm.Answer{Calls: []llm.Call{c}}
		}
	}
	return done
}

// single is the one call that a kind of message makes.
func single(kind, token string, n int) (llm.Call, bool) {
	switch kind {
	case "file":
		return call(n, 1, "write", map[string]any{"path": "f/" + token, "content": token}), true
	case "exec":
		return shell(n, 1, "echo "+token+" >> once.txt"), true
	case "stray":
		return shell(n, 1, "(setsid sleep 300 >/dev/null 2>&1 &); echo "+token+" >> once.txt; sleep 0.05"), true
	case "nap":
		return shell(n, 1, "(setsid sleep 300 >/dev/null 2>&1 &); echo "+token+" >> once.txt; sleep 300"), true
	case "big":
		return shell(n, 1, "echo "+token+" >> once.txt; seq 1 30000"), true
	case "note":
		return call(n, 1, "message", map[string]any{"to": "owner", "content": "a note about " + token}), true
	case "cron":
		return call(n, 1, "cron", map[string]any{"action": "add", "name": token, "schedule": "every 24h", "prompt": "please do plain-0"}), true
	case "ask":
		return call(n, 1, "ask", map[string]any{"questions": []any{map[string]any{"question": "What about " + token + "?"}}}), true
	}
	return llm.Call{}, false
}

func shell(n, i int, command string) llm.Call {
	return call(n, i, "exec", map[string]any{"command": command})
}

func call(n, i int, tool string, args map[string]any) llm.Call {
	raw, err := json.Marshal(args)
	if err != nil {
		panic("rig: " + err.Error()) // maps of plain values always have their JSON
	}
	return llm.Call{ID: fmt.Sprintf("call_%d_%d", n, i), Name: tool, Args: raw}
}

// judge holds a request against I12: it is valid, and it goes on where the session's last one ended.
func (w *world) judge(r llmtest.Request) {
	list := r.Messages
	if why := invalid(list); why != "" {
		w.wrong = append(w.wrong, "I12 invalid request: "+why)
		return
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
	if len(before) == len(list) {
		w.repeated++
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
