package daemon_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"hob/channels/channelstest"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/llm/llmtest"
)

// The owner in his two places, and somebody else.
const (
	onSignal         = "11111111-1111-4111-8111-111111111111"
	onTelegram int64 = 7
	elsewhere  int64 = 66
)

// twoChannels is a daemon with a channel that shows buttons, Telegram, and one that does not, Signal.
type twoChannels struct {
	*running
	telegram *channelstest.Telegram
	signal   *channelstest.Signal
	seen     map[string]int // how many of the messages of a place were looked at
}

func startTwoChannels(t *testing.T, model func(said string) llmtest.Turn) *twoChannels {
	t.Helper()
	tg, err := channelstest.NewTelegram("", "42:secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tg.Close)
	sig, err := channelstest.NewSignal("", "+491701234567")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sig.Close)
	thinks := llmtest.NewServer()
	t.Cleanup(thinks.Close)
	thinks.Otherwise(func(r llmtest.Request) llmtest.Turn { return model(r.Last()) })
	home := t.TempDir()
	put(t, "42:secret", home, "token")
	write(t, home, fmt.Sprintf(`[model]
backend = "compatible"
model = "m"
base_url = %q
[owner]
addresses = ["telegram:%d", "signal:%s"]
[channels.telegram]
token = "file:token"
api_base = %q
[channels.signal]
account = "+491701234567"
url = %q
`, thinks.URL, onTelegram, onSignal, tg.URL(), sig.URL()))
	return &twoChannels{start(t, home), tg, sig, map[string]int{}}
}

// hearsOnSignal waits for the next message there that has a text in it.
func (p *twoChannels) hearsOnSignal(text string) (found string) {
	p.t.Helper()
	p.until("Signal shows "+text, func() bool {
		for list := p.signal.Sent(); p.seen["signal"] < len(list); {
			p.seen["signal"]++
			if m := list[p.seen["signal"]-1]; strings.Contains(m.Text, text) {
				found = m.Text
				return true
			}
		}
		return false
	})
	return found
}

// hearsOnTelegram waits for the next message there that has a text in it.
func (p *twoChannels) hearsOnTelegram(text string) (found channelstest.TelegramSent) {
	p.t.Helper()
	p.until("Telegram shows "+text, func() bool {
		for list := p.telegram.Sent(); p.seen["telegram"] < len(list); {
			p.seen["telegram"]++
			if m := list[p.seen["telegram"]-1]; strings.Contains(m.Text, text) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// press presses the button of a message that has a label.
func (p *twoChannels) press(m channelstest.TelegramSent, label string) {
	p.t.Helper()
	for _, row := range m.Buttons {
		for _, b := range row {
			if b.Text == label {
				p.telegram.Press(onTelegram, m.ID, b.Data)
				return
			}
		}
	}
	p.t.Fatalf("there is no button %q: %+v", label, m.Buttons)
}

// open are the codes of the questions that are.
func (p *twoChannels) open() (codes []string) {
	p.t.Helper()
	list, err := client.List(p.t.Context(), p.client, api.Questions, event.Filter{})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, q := range list {
		if q.State == "open" {
			codes = append(codes, q.Code)
		}
	}
	return codes
}

// call is a turn of the model's that calls a tool.
func call(t *testing.T, tool string, args any) llmtest.Turn {
	t.Helper()
	doc, err := json.Marshal(args)
	if err != nil {
		t.Error(err)
	}
	return llmtest.Streamed(llmtest.Use(tool, string(doc)))
}

// TestAnswers asks the owner on a channel without buttons and on one that has them: to choose, and to approve.
func TestAnswers(t *testing.T) {
	t.Parallel() // most of it is waiting
	type object = map[string]any
	p := startTwoChannels(t, func(said string) llmtest.Turn {
		switch {
		case strings.HasSuffix(said, "tea"):
			return call(t, "ask", object{"questions": []object{{"question": "Which tea?", "options": []object{{"label": "green"}, {"label": "black"}}}}})
		case strings.HasSuffix(said, "tell"):
			return call(t, "message", object{"to": fmt.Sprintf("telegram:%d", elsewhere), "content": "hello there"})
		case strings.HasSuffix(said, "offer"):
			return call(t, "message", object{"to": "owner", "content": "Cake?", "buttons": []string{"/stop", "a slice"}})
		case strings.HasSuffix(said, "offer here"):
			return call(t, "message", object{"to": "signal:" + onSignal, "content": "Cake?", "buttons": []string{"/stop", "a slice"}})
		default:
			return llmtest.Streamed(llmtest.Say("so: " + said))
		}
	})
	p.telegram.Knows(elsewhere)
	p.telegram.Knows(onTelegram)

	p.signal.Say(onSignal, "tea")
	asked := p.hearsOnSignal("Which tea?")
	if !strings.Contains(asked, "1. green\n2. black\n") || !strings.Contains(asked, "(Answer with the number") || strings.Contains(asked, "/approve") {
		t.Errorf("without buttons it is asked: %q", asked)
	}
	p.signal.Say(onSignal, "2")
	if got := p.hearsOnSignal("so: "); !strings.Contains(got, "black") || strings.Contains(got, "2") {
		t.Errorf("the model was told %q", got)
	}
	p.signal.Say(onSignal, "tea")
	p.hearsOnSignal("Which tea?")
	p.signal.Say(onSignal, "/answer "+p.open()[0]+" 1")
	p.hearsOnSignal("green")

	p.signal.Say(onSignal, "tell")
	asked = p.hearsOnSignal("/approve")
	line := regexp.MustCompile(`(?m)^/(approve|deny) [0-9A-Z]{4}$`)
	if lines := line.FindAllString(asked, -1); len(lines) != 2 {
		t.Errorf("the answers do not stand on lines of their own: %q", asked)
	}
	for _, text := range []string{"1", "yes", "Yes, this once", "#1"} {
		p.signal.Say(onSignal, text)
		p.hearsOnSignal("so: ")
	}
	if len(p.open()) != 1 {
		t.Fatal("a number or a word has answered for a command")
	}
	p.signal.Say(onSignal, line.FindString(asked))
	if m := p.hearsOnTelegram("hello there"); m.Chat != elsewhere {
		t.Errorf("sent to %d", m.Chat)
	}

	p.telegram.Say(onTelegram, "tea")
	shown := p.hearsOnTelegram("Which tea?")
	if lines := strings.Split(shown.Text, "\n"); !strings.HasPrefix(lines[len(lines)-1], "(or answer in words") || len(lines) != 6 {
		t.Errorf("with buttons it is asked: %q", shown.Text)
	}
	p.press(shown, "black")
	p.hearsOnTelegram("black")
	p.telegram.Say(onTelegram, "tell")
	shown = p.hearsOnTelegram("/approve")
	if strings.Count(shown.Text, "/approve") != 1 || line.MatchString(shown.Text) {
		t.Errorf("with buttons it is asked: %q", shown.Text)
	}
	p.press(shown, "No")
	p.hearsOnTelegram("so: ")
	if len(p.open()) > 0 {
		t.Errorf("still open: %q", p.open())
	}

	p.signal.Say(onSignal, "offer here")
	if got := p.hearsOnSignal("Cake?"); !strings.HasSuffix(got, "1. /stop\n2. a slice") {
		t.Errorf("without buttons it is offered: %q", got)
	}
	p.telegram.Say(onTelegram, "offer")
	offered := p.hearsOnTelegram("Cake?")
	if offered.Text != "Cake?" {
		t.Errorf("with buttons it is offered: %q", offered.Text)
	}
	for _, label := range []string{"a slice", "/stop"} { // its words are no command, whatever they are
		p.press(offered, label)
		if got := p.hearsOnTelegram("so: [telegram"); !strings.HasSuffix(got.Text, label) {
			t.Errorf("the model was told %q", got.Text)
		}
	}
}
