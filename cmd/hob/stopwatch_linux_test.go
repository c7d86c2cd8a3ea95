package main_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/channels/channelstest"
	"hob/daemon/llm/llmtest"
	"hob/daemon/sys"
)

// How fast a person is who sees hob for the first time.
const (
	keystroke = 250 * time.Millisecond // 48 words a minute
	reading   = 3 * time.Second        // a question and what is above it
	unlocking = 10 * time.Second       // taking the phone, opening the chat
)

// stopwatch measures what a person needs. HOB_STOPWATCH=ROUND makes the person take that time with the installed hob, as .ci/firsthour does in a
// container; otherwise the time of typing and reading is only counted, and hob's own is measured.
type stopwatch struct {
	*wizardry
	round   string
	began   time.Time
	counted time.Duration
	answers int
}

// newStopwatch starts the clock, a model server that wants a key, and a Telegram. In a container they keep their addresses over a reboot.
func newStopwatch(t *testing.T) *stopwatch {
	t.Helper()
	s := &stopwatch{round: os.Getenv("HOB_STOPWATCH")}
	if s.round == "" {
		s.wizardry = newWizardry(t)
	} else {
		s.wizardry = &wizardry{T: t, home: os.Getenv("HOME")}
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:18080")
		if err != nil {
			t.Fatal(err)
		}
		s.model = llmtest.NewServerOn(l)
		t.Cleanup(s.model.Close)
		s.model.Otherwise(tried)
		if s.phone, err = channelstest.NewTelegram("127.0.0.1:18081", "42:secret"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.phone.Close)
	}
	s.began = time.Now()
	return s
}

// runs types a command of hob.
func (s *stopwatch) runs(args ...string) *conversation {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 5*time.Minute) // its end closes the terminal
	s.Cleanup(cancel)
	s.takes(keystroke * time.Duration(len("hob "+args[0])+1))
	cmd, screen, terminal := onTerminal(ctx, s.T, args...)
	// No server of this machine is found by itself, as with a provider somewhere else.
	cmd.Env = append(s.env(), "OLLAMA_HOST=127.0.0.1:9")
	if s.round != "" {
		cmd.Path, cmd.Err, cmd.Env = "/usr/bin/hob", nil, append(os.Environ(), "TERM=dumb")
	}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	_ = terminal.Close() // the command has its own
	return &conversation{wizardry: s.wizardry, cmd: cmd, screen: screen}
}

// takes passes the time of a person.
func (s *stopwatch) takes(d time.Duration) {
	if s.round == "" {
		s.counted += d
		return
	}
	sys.Sleep(s.Context(), d)
}

// types reads what is shown, and types a line key by key.
func (s *stopwatch) types(c *conversation, line string) {
	s.Helper()
	s.takes(reading)
	for _, key := range line + "\n" {
		s.takes(keystroke)
		if _, err := c.screen.WriteString(string(key)); err != nil {
			s.Fatal(err)
		}
	}
}

// within fails if more time has passed.
func (s *stopwatch) within(what string, most time.Duration) {
	s.Helper()
	took := time.Since(s.began) + s.counted
	s.Logf("%s: %s of at most %s, %d answers", what, took.Round(100*time.Millisecond), most, s.answers)
	if took > most {
		s.Errorf("%s took %s", what, took)
	}
}

// TestStopwatchWithoutAKey is the first useful chore on a fresh machine: a reminder that arrives.
func TestStopwatchWithoutAKey(t *testing.T) {
	s := newStopwatch(t)
	if s.round != "" && s.round != "chore" {
		t.Skip("another round")
	}
	c := s.runs("up")
	c.sees(`hob ready`)
	c.sees(`> `)
	s.types(c, "remind me in 5 seconds to stretch")
	c.sees(`I will remind you .*: stretch`)
	c.sees(`\n[^\n]*stretch`) // it arrives
	s.within("the first chore without a key", time.Minute)
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := c.ends(); code != 0 || strings.Contains(c.shown, "\x1b") { // TERM is dumb
		t.Errorf("exit code %d:\n%q", code, c.shown)
	}
}

// setsUp answers the wizard: a model with a key, the name, the zone, a phone and, where there is a service manager, the service.
func (s *stopwatch) setsUp() {
	s.Helper()
	c := s.runs("setup", "--channel-key", "api_base="+s.phone.URL())
	for _, q := range []struct{ question, answer string }{
		{`Which model shall think for hob \[\d+\]: `, "another"},
		{`address of the server.*: `, s.model.URL},
		{`key \(.*\): `, "sk-test-0123456789abcdef"},
		{`Your name.*\[none\]: `, "Sam"},
		{`Your time zone.*: `, "Europe/Berlin"},
		{`Which one \[\d+\]: `, "telegram"},
		{`token \(.*\): `, "42:secret"},
	} {
		c.sees(q.question)
		s.types(c, q.answer)
		s.answers++
	}
	code := c.sees(`[A-Z2-9]{4}-[A-Z2-9]{4}`)
	s.takes(unlocking + keystroke*time.Duration(len(code)))
	s.phone.Say(7, code)
	s.hears("hob can reach you here")
	if s.round != "" {
		c.sees(`Install hob as a service.* `)
		s.types(c, "")
		s.answers++
		c.sees(`hob is installed and runs`)
	} else {
		c.declines()
	}
	if code := c.ends(); code != 0 {
		s.Fatalf("exit code %d:\n%s", code, c.shown)
	}
}

// TestStopwatchWithAModelAndAPhone goes from a fresh machine to a message from a phone that a model answers.
func TestStopwatchWithAModelAndAPhone(t *testing.T) {
	s := newStopwatch(t)
	switch s.round {
	case "":
		s.setsUp()
		up := exec.CommandContext(t.Context(), "hob", "up", "--no-chat", "--listen", "127.0.0.1:0") // what the service would run
		up.Env = s.env()
		if err := up.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = up.Process.Signal(os.Interrupt)
			_ = up.Wait()
		}()
	case "setup":
		s.setsUp()
	case "reboot":
		s.phone.Skip(5000) // the platform goes on counting
		t.Cleanup(func() {
			if doc, err := os.ReadFile(filepath.Join(s.home, ".hob", "config.toml")); err != nil || !strings.Contains(string(doc), "[channels.telegram]") {
				t.Errorf("the config: %s, %v", doc, err)
			}
		})
	default:
		t.Skip("another round")
	}
	// No number of a message is used again after the reboot: hob would take it for one that it has had.
	s.phone.Write(map[string]any{"from": s.phone.Person(7, "Sam"), "text": "hello?", "message_id": 5000 + int64(len(s.round))})
	s.hears("Hello from the scripted model.")
	s.within("a model and a phone ("+s.round+")", 3*time.Minute)
	if s.answers > 8 {
		t.Errorf("%d answers", s.answers)
	}
}
