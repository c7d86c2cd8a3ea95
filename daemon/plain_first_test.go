package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// N41: the owner's plain commands go to the interpreter before a model that works. The model sees them as said and done. The config can turn this off.
func TestPlainCommandsGoFirst(t *testing.T) {
	model := llmtest.NewServer()
	t.Cleanup(model.Close)
	model.Otherwise(func(llmtest.Request) llmtest.Turn { return llmtest.Streamed(llmtest.Say("from the model")) })
	home := t.TempDir()
	section := fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n", model.URL)
	write(t, home, section)
	r := start(t, home)
	for text, want := range map[string]string{
		"remind me in 50 minutes to look":            "I will remind you",
		"remember that the code is 4711":             "MEMORY.md",
		"remind me at 17:00 to wash up":              "I will remind you",
		"set a timer for 50 minutes":                 "I will remind you",
		"set a timer for 5 minutes\ntimer 7 minutes": "timer",
	} {
		if got := r.say(text); !strings.Contains(got, want) || strings.Contains(got, "from the model") || strings.Contains(got, "interpreter did this") {
			t.Errorf("%q is answered with %q", text, got)
		}
	}
	if got := r.say("list reminders"); !strings.Contains(got, "look") || !strings.Contains(got, "timer-3") {
		t.Errorf("the reminders are %q", got)
	}
	if got := r.say("cancel look"); !strings.Contains(got, "removed") {
		t.Errorf("cancel: %q", got)
	}
	if n := len(model.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	for n, text := range []string{"cancel netflix", "remind me of that tomorrow at 9", "hello", "run df"} {
		if got := r.say(text); got != "from the model" {
			t.Errorf("%q is answered with %q", text, got)
		}
		if len(model.Requests()) != n+1 {
			t.Errorf("%q: %d requests, want %d", text, len(model.Requests()), n+1)
		}
	}
	if body := string(model.Requests()[0].Body); !strings.Contains(body, "remind me in 50 minutes to look") || !strings.Contains(body, "say: look") || !strings.Contains(body, "I will remind you") {
		t.Errorf("the model does not see what was done:\n%s", body)
	}
	write(t, home, strings.Replace(section, "[model]", "[model]\nplain = \"last\"", 1))
	r.until("the model is first", func() bool { return r.say("remind me in 50 minutes to look") == "from the model" })
}

// N41: a plain command that comes while a model works joins no turn of the model, and does not end with it: it waits for its own turn.
// Other messages join, as ever.
func TestPlainCommandsDoNotJoinAModel(t *testing.T) {
	release, last := make(chan struct{}), make(chan struct{})
	held := func(a llm.Answer, until <-chan struct{}) llmtest.Turn {
		turn := llmtest.Streamed(a)
		turn.Hold = until
		return turn
	}
	model := llmtest.NewServer(held(llmtest.Use("ls", `{"path": "."}`), release), llmtest.Streamed(llmtest.Say("done")), held(llmtest.Say("too late"), last))
	t.Cleanup(model.Close)
	home := t.TempDir()
	write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n", model.URL))
	r := start(t, home)
	post := func(text string) event.Receipt {
		receipt, err := r.client.Post(t.Context(), client.Message{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		return receipt
	}
	ends := func(m event.Receipt) string {
		return r.wait(m.Event, func(e *event.Event, turn int64) bool { return e.Type == "turn.finished" && e.Turn == turn }, m.Inbox)
	}
	asked := func(n int) {
		r.until(fmt.Sprintf("request %d", n), func() bool { return len(model.Requests()) == n })
	}
	first := post("work")
	asked(1)
	joins, plain := post("faster, please"), post("remind me in 50 minutes to look")
	close(release)
	if got := ends(first) + ends(joins); got != "donedone" {
		t.Errorf("the turn of the model ends with %q", got)
	}
	if body := string(model.Requests()[1].Body); !strings.Contains(body, "faster, please") || strings.Contains(body, "remind me in 50") {
		t.Errorf("the second request has other messages:\n%s", body)
	}
	if got := ends(plain); !strings.Contains(got, "I will remind you") {
		t.Errorf("the reminder is answered with %q", got)
	}
	// A turn that is stopped takes no reminder with it.
	stopped := post("work again")
	asked(3)
	kept := post("remind me in 40 minutes to stay")
	post("/stop")
	ends(stopped)
	if got := ends(kept); !strings.Contains(got, "I will remind you") {
		t.Errorf("after a stop the reminder is answered with %q", got)
	}
	close(last)
}

// F16, N27: the first answer of the interpreter in a conversation says which mistake in the config has switched the model off.
func TestTheInterpreterSaysWhyTheModelIsOff(t *testing.T) {
	home := t.TempDir()
	r := start(t, home)
	if got := r.say("hi"); strings.Contains(got, "off") {
		t.Errorf("without a mistake: %q", got)
	}
	for _, c := range []struct{ doc, want string }{
		{"[model]\nbackend = ollama\n", "config.toml:2:"}, // nothing can be read yet
		{"[model]\nbackend = \"olama\"\nmodel = \"m\"\n", `config.toml:2:11: backend "olama" is not known, so [model] is off`},
		{"[model]\nbackend = \"ollama\"\nmodle = \"m\"\n", "config.toml:3:1:"},
		{"[model]\n\n\nbackend = ollama\n", "config.toml:4:"}, // the one before can be read, and has a mistake
	} {
		write(t, home, c.doc)
		said := ""
		r.until("a mistake is told", func() bool { said = r.say("say hello to me"); return strings.Contains(said, c.want) })
		if !strings.HasPrefix(said, "hello to me\n\n") {
			t.Errorf("with a mistake: %q", said)
		}
	}
	if got := r.say("hi"); strings.Contains(got, "config.toml") || strings.Contains(got, "olama") {
		t.Errorf("it is told twice: %q", got)
	}
	missing := t.TempDir()
	write(t, missing, "[model]\nbackend = \"openai\"\nmodel = \"m\"\napi_key = \"env:HOB_NO_SUCH_KEY\"\n")
	r = start(t, missing)
	if got := r.say("hi"); !strings.Contains(got, "HOB_NO_SUCH_KEY") || !strings.HasPrefix(got, "Hello") {
		t.Errorf("a key that is missing: %q", got)
	}
}
