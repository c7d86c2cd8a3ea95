package daemon_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/llm/llmtest"
	"hob/daemon/sys/systest"
)

// The tests of this file let a scripted model with a window of 8,192 tokens do the chores of small_models_chores_test.go. It knows what to do, but not
// how to say it: it makes the mistakes of small models (small_models_mistakes_test.go). After an error it knows no more than what the error tells it.
// A chore is done when its effect is there, whatever the model says.

// use is a call as the model writes it: the arguments are a text that may be no JSON.
type toolUse struct{ name, args string }

// said is one answer, and how it is written.
type said struct {
	text  string
	calls []toolUse

	bare       bool                   // no ids and no indexes
	cumulative bool                   // each piece of the arguments repeats those before
	hollow     bool                   // an empty object comes before the arguments
	finish     string                 // "": as the protocol says
	count      string                 // the usage; "": numbers
	asText     func([]toolUse) string // writes the calls into the text; nil: as calls
}

func (s said) clone() said {
	s.calls = slices.Clone(s.calls)
	return s
}

// wire writes the answer to a request of so many bytes as a stream of Chat Completions.
func (s said) wire(request int) string {
	var b strings.Builder
	send := func(delta map[string]any, finish any) {
		raw, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}}) // plain values
		fmt.Fprintf(&b, "data: %s\n\n", raw)
	}
	text, finish := s.text, "stop"
	if s.asText != nil && len(s.calls) > 0 {
		text, s.calls = text+s.asText(s.calls), nil
	}
	for _, piece := range llmtest.Pieces(text) {
		send(map[string]any{"content": piece}, nil)
	}
	for i, c := range s.calls {
		finish = "tool_calls"
		head := map[string]any{"index": i, "id": fmt.Sprintf("c%d", i), "type": "function"}
		if s.bare {
			head = map[string]any{"type": "function"}
		}
		pieces := []string{c.args}
		switch half := len(c.args) / 2; {
		case s.hollow:
			pieces = []string{"{}", c.args}
		case s.cumulative:
			pieces = []string{c.args[:half], c.args}
		}
		for _, p := range pieces {
			piece := maps.Clone(head)
			piece["function"] = map[string]any{"name": c.name, "arguments": p}
			send(map[string]any{"tool_calls": []any{piece}}, nil)
		}
	}
	if s.finish != "" {
		finish = s.finish
	}
	send(map[string]any{}, finish)
	count := s.count
	if count == "" {
		count = fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":50}`, request/4)
	}
	fmt.Fprintf(&b, "data: {\"choices\":[],\"usage\":%s}\n\ndata: [DONE]\n\n", count)
	return b.String()
}

// scripted is a small model that does one chore.
type scripted struct {
	mu       sync.Mutex
	steps    []step
	at       int
	forms    []mistake       // in each of its answers
	once     []mistake       // each in one answer
	made     map[string]bool // the mistakes that it has made
	said     said            // its last answer, as it was meant
	wrong    *said           // the same, if that was wrong
	right    said            // what it should have said
	again    bool            // it says its last answer again
	twice    bool            // it had to say something twice because of its form
	problems []string
}

func newScripted(c chore, mistakes ...mistake) *scripted {
	m := &scripted{steps: c.steps, made: map[string]bool{}}
	for _, k := range mistakes {
		if k.form != nil {
			m.forms = append(m.forms, k)
		} else {
			m.once = append(m.once, k)
		}
	}
	return m
}

// mostBytes is what fits into the window at four bytes a token, with the shortest answer.
const mostBytes = (8192 - 1024) * 4

func (m *scripted) turn(r llmtest.Request) llmtest.Turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(r.Body) > mostBytes {
		m.problems = append(m.problems, fmt.Sprintf("a request has %d bytes", len(r.Body)))
	}
	if len(r.Tools) == 0 {
		return llmtest.Streamed(llmtest.Say("Chores were done."))
	}
	s := m.answer(r).clone()
	for _, f := range m.forms {
		before := s.clone()
		f.form(&s)
		if before.wire(0) != s.wire(0) {
			m.made[f.name] = true
		}
	}
	return llmtest.Turn{Raw: s.wire(len(r.Body))}
}

func (m *scripted) answer(r llmtest.Request) said {
	var results []string
	for _, msg := range slices.Backward(r.Messages) {
		if msg.Role != "tool" {
			break
		}
		results = append([]string{msg.Content}, results...)
	}
	refused := slices.ContainsFunc(results, func(r string) bool {
		return strings.HasPrefix(r, "VALIDATION_ERROR: ") || strings.HasPrefix(r, "NOT_FOUND: there is no tool")
	})
	switch {
	case m.wrong != nil && len(m.wrong.calls) == 0:
		m.wrong = nil
		return m.right
	case refused:
		return m.corrected(strings.Join(results, "\n"))
	case m.again:
		m.again = false
		return m.right
	}
	m.wrong = nil
	if m.at == len(m.steps) {
		m.right = said{text: "It is done."}
		return m.right
	}
	m.right = m.steps[m.at](results)
	for _, c := range m.right.calls {
		if !strings.Contains(string(r.Body), c.name) {
			m.problems = append(m.problems, "it was not told of "+c.name)
		}
	}
	m.said, m.at = m.right, m.at+1
	for i, o := range m.once {
		s := m.right.clone()
		if !o.once(m, &s) {
			continue
		}
		m.once, m.made[o.name] = slices.Delete(slices.Clone(m.once), i, i+1), true
		if m.said = s; !m.again {
			m.wrong = &s
		}
		return s
	}
	return m.right
}

// corrected is the answer after an error. The model takes over the call that the error shows, with its own words in it. Of another tool it must be told
// the name. Where no call is shown it says the same again. If it has said what it meant, and hob has not understood it, it gives up its odd form.
func (m *scripted) corrected(told string) said {
	if len(m.right.calls) != 1 || len(m.said.calls) != 1 {
		m.forms, m.twice = nil, true
		return m.said
	}
	right, last := m.right.calls[0], m.said.calls[0]
	if last.name != right.name && !strings.Contains(told, " "+right.name) {
		return m.said
	}
	_, example, shown := strings.Cut(told, "right: call "+right.name+" with ")
	example, _, _ = strings.Cut(example, "\n")
	var call, meant, was map[string]json.RawMessage
	switch {
	case last.name != right.name:
		m.said = m.right
	case !shown || json.Unmarshal([]byte(example), &call) != nil || json.Unmarshal([]byte(right.args), &meant) != nil:
	case json.Unmarshal([]byte(last.args), &was) != nil || last.args == right.args: // it knows what it has said, and now how
		m.said, m.forms, m.twice = m.right, nil, len(m.forms) > 0
	default:
		for name := range call {
			if own, ok := meant[name]; ok {
				call[name] = own
			}
		}
		m.said = said{calls: []toolUse{{right.name, jsonText(call)}}}
	}
	return m.said
}

// smallHome returns a home with a model of 8,192 tokens.
func smallHome(t *testing.T, url string) string {
	home := t.TempDir()
	write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"7b\"\nbase_url = %q\ncontext_tokens = 8192\nmax_output_tokens = 2048\nplain = \"last\"\n", url))
	return home
}

// attempt lets the model do a chore in a new home, and returns what is wrong with the outcome; "" for nothing.
func attempt(t *testing.T, c chore, m *scripted) (wrong string) {
	server := llmtest.NewServer()
	defer server.Close()
	home := smallHome(t, server.URL)
	c.prepare(t, home)
	r := start(t, home)
	defer func() {
		if err := r.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	}()
	return carryOut(r, server, c, m)
}

// prepare writes the files of a chore.
func (c chore) prepare(t *testing.T, home string) {
	for name, text := range c.files {
		path := filepath.Join(home, "workspace", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// carryOut lets the model do a chore, and returns what is wrong with the outcome.
func carryOut(r *running, server *llmtest.Server, c chore, m *scripted) (wrong string) {
	server.Otherwise(m.turn)
	if c.before != "" {
		out, err := client.Do(r.t.Context(), r.client, api.CallTool, "cron", client.ToolCall{Input: []byte(c.before)})
		if err != nil || !out.Success && out.Error != "CONFLICT" {
			r.t.Fatalf("before: %+v, %v", out, err)
		}
	}
	answer := r.say(c.prompt)
	m.mu.Lock()
	defer m.mu.Unlock()
	if wrong = c.effect(r); wrong != "" {
		wrong += fmt.Sprintf(" (it said %q)", answer)
	}
	if len(m.problems) > 0 {
		wrong += "; " + strings.Join(m.problems, "; ")
	}
	return wrong
}

// TestSmallModelsDoChores (33.3): while the model makes each mistake in some chore, it finishes all chores.
func TestSmallModelsDoChores(t *testing.T) {
	list, queue := chores(), mistakes()
	if len(list) != 30 {
		t.Fatalf("there are %d chores", len(list))
	}
	for i := 0; i < len(list) || len(queue) > 0 && i < 3*len(list); i++ {
		c := list[i%len(list)]
		var k []mistake
		if len(queue) > 0 {
			k, queue = queue[:1], queue[1:]
		}
		t.Run(c.name, func(t *testing.T) {
			m := newScripted(c, k...)
			if wrong := attempt(t, c, m); wrong != "" {
				t.Errorf("with %d mistakes, made %v: %s", len(k), m.made, wrong)
			}
			if m.twice {
				t.Errorf("made %v: it was not understood the first time", m.made)
			}
			if len(k) > 0 && !m.made[k[0].name] { // it fits another chore
				queue = append(queue, k[0])
			}
		})
	}
	for _, k := range queue {
		t.Errorf("nothing was done with: %s", k.name)
	}
}

// leastDone is how many of the chores are done with three kinds of mistake at a time.
const leastDone = 26

// TestSmallModelsWithManyMistakes (33.3): with three kinds of mistake in each chore, by chance but always the same ones, nearly all are done.
func TestSmallModelsWithManyMistakes(t *testing.T) {
	seeds := uint64(1)
	if systest.Thorough() {
		seeds = 10
	}
	for seed := range seeds {
		var done atomic.Int32
		list, kinds, chance := chores(), mistakes(), rand.New(rand.NewPCG(33, seed))
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			for _, c := range list {
				var three []mistake
				var names []string
				for _, at := range chance.Perm(len(kinds))[:3] {
					three, names = append(three, kinds[at]), append(names, kinds[at].name)
				}
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					if wrong := attempt(t, c, newScripted(c, three...)); wrong == "" {
						done.Add(1)
					} else {
						t.Logf("not done, with %s: %s", strings.Join(names, " + "), wrong)
					}
				})
			}
		})
		if n := done.Load(); n < leastDone {
			t.Errorf("seed %d: %d of %d chores are done, want at least %d", seed, n, len(list), leastDone)
		}
	}
}

// TestOneConversationOfASmallModel (33.3): chores that read much, again and again in one conversation, which has several times as much text as the window
// holds. Each request fits, and each chore is done.
func TestOneConversationOfASmallModel(t *testing.T) {
	server := llmtest.NewServer()
	defer server.Close()
	home := smallHome(t, server.URL)
	readers := []string{
		"a number from one file in another", "two files read at once", "how many files there are", "a line in a very long file", "a search in many files",
		"something that was remembered", "a tool that is called straight", "a message", "a table",
	}
	list := slices.DeleteFunc(chores(), func(c chore) bool { return !slices.Contains(readers, c.name) })
	for _, c := range append(list, chore{files: map[string]string{"AGENTS.md": strings.Repeat("- Be kind to the cat.\n", 1500)}}) {
		c.prepare(t, home)
	}
	r := start(t, home)
	results := 0
	for range 4 {
		for _, c := range list {
			if wrong := carryOut(r, server, c, newScripted(c)); wrong != "" {
				t.Errorf("%s: %s", c.name, wrong)
			}
		}
	}
	summaries := 0
	for _, q := range server.Requests() {
		if len(q.Tools) == 0 {
			summaries++
		}
		results += len(q.Last())
	}
	if t.Logf("%d requests, %d summaries, %d bytes of results", len(server.Requests()), summaries, results); summaries == 0 || results < 4*8192 {
		t.Errorf("the conversation was not as long as it should be")
	}
}
