package main_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/channels/channelstest"
	"hob/daemon/llm/llmtest"
)

// wizardry is what a wizard meets: a model server on this machine, and a Telegram with its owner's phone.
type wizardry struct {
	*testing.T
	home  string
	model *llmtest.Server
	phone *channelstest.Telegram
}

// newWizardry starts both.
func newWizardry(t *testing.T) *wizardry {
	t.Helper()
	w := &wizardry{T: t, home: t.TempDir(), model: llmtest.NewServer()}
	t.Cleanup(w.model.Close)
	w.model.Otherwise(tried)
	var err error
	if w.phone, err = channelstest.NewTelegram("", "42:secret"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.phone.Close)
	return w
}

// command makes a command of hob that finds the model server as one of this machine.
func (w *wizardry) command(ctx context.Context, args ...string) (cmd *exec.Cmd, screen, terminal *os.File) {
	cmd, screen, terminal = onTerminal(ctx, w.T, args...)
	cmd.Env = w.env()
	return cmd, screen, terminal
}

// env is the environment of a fresh machine: no keys of providers, and a home without a config.
func (w *wizardry) env() []string {
	return append(os.Environ(), "HOB_HOME="+filepath.Join(w.home, "h"), "HOME="+w.home, "TZ=UTC", "TERM=dumb",
		"OLLAMA_HOST="+strings.TrimSuffix(strings.TrimPrefix(w.model.URL, "http://"), "/v1"), "ANTHROPIC_API_KEY=", "OPENROUTER_API_KEY=", "OPENAI_API_KEY=")
}

// doc is config.toml.
func (w *wizardry) doc() string {
	doc, err := os.ReadFile(filepath.Join(w.home, "h", "config.toml"))
	if err != nil && !os.IsNotExist(err) {
		w.Fatal(err)
	}
	return string(doc)
}

// conversation is a wizard on a terminal.
type conversation struct {
	*wizardry
	cmd    *exec.Cmd
	screen *os.File
	shown  string
	seen   int // what of shown was waited for
}

// begin starts hob setup.
func (w *wizardry) begin() *conversation {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 2*time.Minute) // its end closes the terminal, on which a prompt may never come
	w.Cleanup(cancel)
	cmd, screen, terminal := w.command(ctx, "setup", "--channel-key", "api_base="+w.phone.URL())
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	_ = terminal.Close() // the command has its own, and reading ends with the command
	return &conversation{wizardry: w, cmd: cmd, screen: screen}
}

// sees waits for a text, and returns what the pattern matches.
func (c *conversation) sees(pattern string) string {
	c.Helper()
	want := regexp.MustCompile(pattern)
	for b := make([]byte, 4096); ; {
		if at := want.FindStringIndex(c.shown[c.seen:]); at != nil {
			found := c.shown[c.seen+at[0] : c.seen+at[1]]
			c.seen += at[1]
			return found
		}
		n, err := c.screen.Read(b)
		c.shown += string(b[:n])
		if err != nil {
			c.Fatalf("%v while waiting for %q; shown:\n%s", err, pattern, c.shown)
		}
	}
}

// types answers a question.
func (c *conversation) types(text string) {
	c.Helper()
	if _, err := c.screen.WriteString(text + "\n"); err != nil {
		c.Fatal(err)
	}
}

// ends waits for the end of the command.
func (c *conversation) ends() int {
	for b := make([]byte, 4096); ; {
		n, err := c.screen.Read(b)
		c.shown += string(b[:n])
		if err != nil {
			break
		}
	}
	_ = c.cmd.Wait()
	return c.cmd.ProcessState.ExitCode()
}

// wizardStep is a question and its answer; bind: the phone sends what the question shows.
type wizardStep struct {
	question, answer string
	bind             bool
}

// firstRun are the questions of a fresh home, on a machine with one model server.
func firstRun() []wizardStep {
	return []wizardStep{
		{question: `Which model shall think for hob \[1\]: `, answer: "1"},
		{question: `Your name.*\[none\]: `, answer: "Sam"},
		{question: `Your time zone.*: `, answer: "Europe/Berlin"},
		{question: `Which one \[\d+\]: `, answer: "telegram"},
		{question: `token \(.*\): `, answer: "42:secret"},
		{question: `[A-Z2-9]{4}-[A-Z2-9]{4}`, bind: true},
	}
}

// takes answers steps. The phone sends the code of a pairing.
func (c *conversation) takes(steps []wizardStep) {
	c.Helper()
	for _, s := range steps {
		found := c.sees(s.question)
		if s.bind {
			c.phone.Say(7, found)
			continue
		}
		c.types(s.answer)
	}
}

// declines answers the question for the service, which a machine without a service manager does not ask.
func (c *conversation) declines() {
	c.Helper()
	if strings.Contains(c.sees(`Install hob as a service|\nDone`), "Install") {
		c.types("n")
	}
}

// hears waits until the phone has got a message that holds a text.
func (w *wizardry) hears(text string) {
	w.Helper()
	if !soon(func() bool {
		for _, m := range w.phone.Sent() {
			if strings.Contains(m.Text, text) {
				return true
			}
		}
		return false
	}) {
		w.Fatalf("the phone has not got %q: %v", text, w.phone.Sent())
	}
}

// TestSetupOnATerminal goes from a fresh home to an answered message from a phone, with at most eight answers. A second run changes nothing.
func TestSetupOnATerminal(t *testing.T) {
	w := newWizardry(t)
	c := w.begin()
	steps := firstRun()
	if len(steps) > 8 {
		t.Errorf("%d answers", len(steps))
	}
	c.takes(steps[:len(steps)-1])
	c.takes(steps[len(steps)-1:])
	w.hears("hob can reach you here")
	c.declines()
	if code := c.ends(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, c.shown)
	}
	up := exec.CommandContext(t.Context(), "hob", "up", "--no-chat", "--listen", "127.0.0.1:0") // what the service would run
	up.Env = w.env()
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	w.phone.Say(7, "hello?")
	w.hears("Hello from the scripted model.")
	_ = up.Process.Signal(os.Interrupt)
	_ = up.Wait()
	for _, want := range []string{"This model can do chores", "The token belongs to @hob_test_bot", "is your account on telegram"} {
		if !strings.Contains(c.shown, want) {
			t.Errorf("not shown: %s\n%s", want, c.shown)
		}
	}
	if strings.Contains(c.shown, "42:secret") || strings.Contains(w.doc(), "42:secret") {
		t.Errorf("the secret is shown, or in the config:\n%s\n%s", c.shown, w.doc())
	}
	first := w.files()
	again := w.begin()
	again.takes([]wizardStep{
		{question: `\d+  keep .*/scripted(.|\s)*Which model shall think`}, {question: `Your name.*\[Sam\]: `}, {question: `Your time zone.*\[Europe/Berlin\]: `}, {question: `telegram \(telegram\) is set up(.|\s)*Which one \[\d+\]: `},
	})
	again.declines()
	if code := again.ends(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, again.shown)
	}
	if second := w.files(); !maps.Equal(first, second) {
		t.Errorf("a second run changed\n%v\nto\n%v", first, second)
	}
	last := w.begin()
	last.takes([]wizardStep{{question: `Which model shall think`, answer: "none"}, {question: `Your name.*: `}, {question: `Your time zone.*: `}, {question: `Which one \[\d+\]: `}})
	last.declines()
	if code := last.ends(); code != 0 || !strings.Contains(w.doc(), `backend = "builtin"`) || strings.Contains(w.doc(), "scripted") {
		t.Errorf("exit code %d, without a model:\n%s\n%s", code, w.doc(), last.shown)
	}
}

// TestSetupUnderstandsPeople: "n" declines what is offered, and a city is enough for a time zone; the server of this machine has no word that
// only the config knows.
func TestSetupUnderstandsPeople(t *testing.T) {
	w := newWizardry(t)
	c := w.begin()
	c.takes([]wizardStep{
		{question: `1  (the server|ollama) at http(.|\s)*Which model shall think for hob \[1\]: `, answer: "n"},
		{question: `Your name.*\[none\]: `, answer: "Sam"},
		{question: `Your time zone.*: `, answer: "nowhere"},
		{question: `there is no time zone "nowhere"(.|\s)*Your time zone.*: `, answer: "new york"},
		{question: `Your time zone is America/New_York\.(.|\s)*Which one \[\d+\]: `, answer: "no"},
	})
	c.declines()
	if code := c.ends(); code != 0 || w.doc() != "[owner]\nname = \"Sam\"\ntimezone = \"America/New_York\"\n" {
		t.Errorf("exit code %d, config:\n%s\n%s", code, w.doc(), c.shown)
	}
}

// files are config.toml and the kept secrets, by their names.
func (w *wizardry) files() map[string]string {
	w.Helper()
	all := map[string]string{"config.toml": w.doc()}
	secrets, _ := filepath.Glob(filepath.Join(w.home, "h", "secrets", "*")) // the pattern is right
	for _, path := range secrets {
		text, err := os.ReadFile(path)
		if err != nil {
			w.Fatal(err)
		}
		all[filepath.Base(path)] = string(text)
	}
	return all
}

// TestSetupKilledAtEveryAnswer kills the wizard at each question, runs it again to its end, and compares the home with that of an undisturbed run.
func TestSetupKilledAtEveryAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the wizard many times")
	}
	for at := range firstRun() {
		for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
			t.Run(fmt.Sprintf("%d %v", at, sig), func(t *testing.T) {
				t.Parallel()
				w := newWizardry(t)
				c := w.begin()
				c.takes(firstRun()[:at])
				c.sees(firstRun()[at].question)
				if err := c.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				if code := c.ends(); code == 0 {
					t.Errorf("the exit code of a wizard that was interrupted is 0:\n%s", c.shown)
				}
				check := exec.CommandContext(t.Context(), "hob", "config", "validate")
				check.Env = w.env()
				if out, err := check.CombinedOutput(); err != nil {
					t.Fatalf("the config is broken: %s", out)
				}
				last := w.begin()
				t.Cleanup(func() {
					if t.Failed() {
						t.Logf("the second run:\n%s", last.shown)
					}
				})
				last.sees(`Which model shall think for hob \[\d+\]: `)
				last.types("")
				last.sees(`Your name.*: `)
				last.types("Sam")
				last.sees(`Your time zone.*: `)
				last.types("Europe/Berlin")
				if strings.Contains(last.sees(`pair your account on telegram|Which one`), "pair") {
					last.sees(`Which one \[1\]: `)
					last.types("")
				} else {
					last.takes([]wizardStep{{question: ` \[\d+\]: `, answer: "telegram"}, {question: `token \(.*\): `, answer: "42:secret"}})
				}
				last.takes(firstRun()[len(firstRun())-1:])
				last.sees(`is your account on telegram`)
				w.hears("hob can reach you here")
				last.declines()
				if code := last.ends(); code != 0 {
					t.Fatalf("exit code %d:\n%s", code, last.shown)
				}
				got := w.files()
				for _, want := range []string{`name = "Sam"`, `timezone = "Europe/Berlin"`, `model = "scripted"`, `token = "file:secrets/telegram-token"`, "[channels.telegram]"} {
					if strings.Count(got["config.toml"], want) != 1 {
						t.Errorf("%s is not in the config once:\n%s", want, got["config.toml"])
					}
				}
				if len(got) != 2 || got["telegram-token"] != "42:secret\n" {
					t.Errorf("left in the home: %v", got)
				}
			})
		}
	}
}

// TestSetupWithAModelThatIsNone takes a model back that fails its trial, with its key, when the owner does not want to keep it.
func TestSetupWithAModelThatIsNone(t *testing.T) {
	w := newWizardry(t)
	w.model.Otherwise(func(llmtest.Request) llmtest.Turn { return llmtest.Streamed(llmtest.Say("I only talk.")) })
	c := w.begin()
	c.takes([]wizardStep{
		{question: `(\d+)  another server(.|\s)*Which model shall think for hob \[1\]: `, answer: "another"},
		{question: `address of the server.*: `, answer: w.model.URL},
		{question: `key \(.*\): `, answer: "sk-very-secret"},
		{question: `cannot do chores for you: it does not call tools(.|\s)*Keep it all the same\? \[y/N\] `, answer: ""},
	})
	c.sees(`Which model shall think for hob \[1\]: `)
	if got := w.files(); len(got) != 1 || strings.Contains(got["config.toml"], "=") { // a comment keeps an empty file apart from a damaged one
		t.Errorf("left: %v", got)
	}
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := c.ends(); code != 1 || strings.Contains(c.shown, "sk-very-secret") {
		t.Errorf("exit code %d:\n%s", code, c.shown)
	}
}

// TestSetupWithATokenThatIsNone: what cannot be a token is refused by its form before anything is written. The platform is not asked, and the
// question comes again.
func TestSetupWithATokenThatIsNone(t *testing.T) {
	w := newWizardry(t)
	c := w.begin()
	steps := firstRun()
	c.takes(steps[:4])
	c.takes([]wizardStep{
		{question: `token \(.*\): `, answer: "abc"},
	})
	c.sees(`what was given is not a bot token`)
	if got := w.files(); len(got) != 1 || strings.Contains(w.doc(), "telegram") {
		t.Errorf("a wrong token has left: %v", got)
	}
	if n := w.phone.Calls("getMe"); n != 0 {
		t.Errorf("the platform was asked %d times", n)
	}
	c.takes(steps[4:])
	w.hears("hob can reach you here")
	c.declines()
	if code := c.ends(); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, c.shown)
	}
	if got := w.files(); len(got) != 2 || got["telegram-token"] != "42:secret\n" {
		t.Errorf("left in the home: %v", got)
	}
}

// With --yes a model or a zone that cannot be used is said, and does not keep the other flags from being set.
func TestSetupWithFlagsTakesEveryStep(t *testing.T) {
	w := newWizardry(t)
	w.model.Otherwise(func(llmtest.Request) llmtest.Turn { return llmtest.Streamed(llmtest.Say("I only talk.")) })
	cmd := exec.CommandContext(t.Context(), "hob", "setup", "--yes", "--model", "compatible/m", "--base-url", w.model.URL, "--zone", "Nowhere/X", "--name", "Sam",
		"--channel", "telegram", "--channel-key", "token=file:token", "--channel-key", "api_base="+w.phone.URL())
	cmd.Env = w.env()
	home := filepath.Join(w.home, "h")
	if err := errors.Join(os.Mkdir(home, 0o700), os.WriteFile(filepath.Join(home, "token"), []byte("42:secret\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	out, _ := cmd.CombinedOutput() // its exit code is looked at
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "cannot do chores for you") || !strings.Contains(string(out), `there is no time zone "Nowhere/X"`) {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if doc := w.doc(); !strings.Contains(doc, `name = "Sam"`) || !strings.Contains(doc, "[channels.telegram]") || strings.Contains(doc, "Nowhere") {
		t.Errorf("set was:\n%s\n%s", doc, out)
	}
}

// Another model of the same backend keeps the address and the key that no flag gives.
func TestSetupKeepsTheServer(t *testing.T) {
	w := newWizardry(t)
	home := filepath.Join(w.home, "h")
	const section = "[model]\nbackend = \"compatible\"\nmodel = %q\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key = %q\n"
	for _, key := range []string{"env:PATH", "sk-as-it-is"} {
		if err := errors.Join(os.MkdirAll(home, 0o700), os.WriteFile(filepath.Join(home, "config.toml"), fmt.Appendf(nil, section, "old", key), 0o600)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "hob", "setup", "--yes", "--no-test", "--model", "compatible/new")
		cmd.Env = w.env()
		if out, err := cmd.CombinedOutput(); err != nil || w.doc() != fmt.Sprintf(section, "new", key) {
			t.Errorf("%v, set is:\n%s\n%s", err, w.doc(), out)
		}
	}
}
