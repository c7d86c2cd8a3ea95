//go:build linux

package crashtest_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"hob/daemon/llm/llmtest"
)

// numbered are the messages of the conversation that is compacted; a summary names the newest that it covers.
var numbered = regexp.MustCompile(`\b(?:Message|COVERS) (\d{4})\b`)

// reader is a model that looks whether each request is one rendering of the conversation: all messages, or a summary and all
// messages after it.
type reader struct {
	mu       sync.Mutex
	wrong    []string
	todo     bool // the list was made
	covering int  // requests with a summary
}

// newest is the highest number in a text, -1 for none.
func newest(text string) int {
	n := -1
	for _, found := range numbered.FindAllStringSubmatch(text, -1) {
		if one, err := strconv.Atoi(found[1]); err == nil {
			n = max(n, one)
		}
	}
	return n
}

func (m *reader) script(r llmtest.Request) llmtest.Turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(r.Tools) == 0 { // the request for a summary
		return llmtest.Streamed(llmtest.Say(fmt.Sprintf("Goals: COVERS %04d", newest(r.Last()))))
	}
	if why := invalid(r.Messages); why != "" {
		m.wrong = append(m.wrong, "invalid request: "+why)
	}
	next, all := 0, ""
	for _, msg := range r.Messages[1:] {
		all += msg.Content
		for _, c := range msg.Calls {
			all += c.Function.Arguments
		}
		switch {
		case strings.HasPrefix(msg.Content, "[summary of the conversation"):
			next = newest(msg.Content) + 1
			m.covering++
		case strings.HasPrefix(msg.Content, "[from hob's own rows") || strings.HasPrefix(msg.Content, "[hob]") || msg.Role != "user":
		default:
			for _, found := range numbered.FindAllStringSubmatch(msg.Content, -1) {
				if n, err := strconv.Atoi(found[1]); err != nil || n != next {
					m.wrong = append(m.wrong, fmt.Sprintf("message %04d stands where %04d belongs", n, next))
					next = n
				}
				next++
			}
		}
		m.todo = m.todo || msg.Role == "tool"
	}
	if m.todo && !strings.Contains(all, "paint the lighthouse") {
		m.wrong = append(m.wrong, fmt.Sprintf("the todo list is missing before message %04d", next))
	}
	if last := r.Last(); strings.Contains(last, "make the list") {
		return llmtest.Streamed(llmtest.Use("todo", `{"todos":[{"content":"paint the lighthouse","status":"pending"}]}`))
	}
	return llmtest.Streamed(llmtest.Say(fmt.Sprintf("noted %04d", next)))
}

// TestCompactionUnderKills kills hob before and after the commits of compactions: every later request is the old or the new rendering
// of the conversation, never a mixture, and nothing is lost.
func TestCompactionUnderKills(t *testing.T) {
	t.Parallel()
	r := newHarness(t, options{bin: binary(t, tested), seed: *seed, window: 9_000})
	m := &reader{}
	r.world.model.Otherwise(m.script)
	n := 0
	talk := func(count int) {
		for range count {
			text := fmt.Sprintf("Message %04d: %s", n, strings.Repeat("the tide comes in. ", 30))
			if n == 1 {
				text = fmt.Sprintf("Message %04d: make the list", n)
			}
			r.say(fmt.Sprintf("talk-%d", n), "", text)
			n++
		}
	}
	points := []string{"compact.before:1", "compact.after:1", "compact.summarised:1"}
	if *kills >= thorough {
		points = append(points, "compact.before:2", "compact.after:2", "compact.summarised:2", "compact.before:3", "compact.after:3")
	}
	for _, point := range points {
		talk(40)
		r.dieAt(point)
	}
	talk(1)
	r.up()
	if err := r.settle(); err != nil {
		t.Fatal(err)
	}
	r.stop()
	_, broken := r.check()
	b := r.readRecords()
	if got := b.number("SELECT count(*) FROM items WHERE kind = 'input'"); got != int64(n) {
		broken = append(broken, fmt.Sprintf("%d of %d inputs are kept", got, n))
	}
	if m.covering == 0 || b.number("SELECT count(*) FROM compactions WHERE cut > 0") == 0 {
		broken = append(broken, "nothing was summarised")
	}
	for _, why := range append(broken, m.wrong...) {
		t.Error(why)
	}
	t.Logf("%d messages, %d kills, %d compactions", n, r.crashes, b.number("SELECT count(*) FROM compactions"))
}
