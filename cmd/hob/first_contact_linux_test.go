package main_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// contact is hob, a platform and a model.
type contact struct {
	*testing.T
	scene
	kind  string
	home  string
	model *llmtest.Server
	known map[string]bool // messages that were waited for, by place and id
}

// TestFirstContact is everything that happens from the first message on, with the real main and each platform's wire: set up, pair, chat,
// approve, groups, strangers, questions, files, what comes while hob is down, and a hob that is killed in the middle of an answer.
func TestFirstContact(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits as people do")
	}
	for kind, open := range map[string]func(*testing.T) scene{"telegram": onTelegram, "matrix": onMatrix, "irc": onIRC} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := &contact{T: t, scene: open(t), kind: kind, home: readmeHome(t), model: llmtest.NewServer(), known: map[string]bool{}}
			t.Cleanup(c.model.Close)
			c.model.Otherwise(c.thinks)
			c.runs("config", "set", "model.backend", "compatible", "model.model", "scripted", "model.base_url", c.model.URL)
			stop := c.up()
			c.pair()
			c.chats()
			c.approves()
			c.groups()
			c.chooses()
			c.files()
			stop(syscall.SIGTERM)
			c.says(sam, "", "are you there?")
			stop = c.up()
			c.hears(sam, "heard: are you there?")
			stop = c.killed(stop)
			c.says(sam, "", "good night")
			c.hears(sam, "heard: good night")
			c.counts(sam, "are you there?", 1)
			c.counts(mallory, "", 1) // what Sam has sent him
			c.counts(family, "", 2)
			c.counts(other, "", 0)
			stop(syscall.SIGTERM)
		})
	}
}

// thinks is the model: it does what it is told by words that no tool knows.
func (c *contact) thinks(r llmtest.Request) llmtest.Turn {
	last := r.Messages[len(r.Messages)-1]
	use := func(tool string, args map[string]any) llmtest.Turn {
		text, err := json.Marshal(args)
		if err != nil {
			panic(err) // they are texts
		}
		return llmtest.Streamed(llmtest.Use(tool, string(text)))
	}
	words := last.Content[strings.LastIndex(last.Content, "] ")+1:]
	switch file := regexp.MustCompile(`attachments/\d+/\S+\.txt`).FindString(last.Content); {
	case last.Role == "tool":
		return llmtest.Streamed(llmtest.Say("It says: " + last.Content))
	case file != "":
		return use("read", map[string]any{"path": file})
	case strings.Contains(words, "what is in my notes?"):
		return use("read", map[string]any{"path": "notes.md"})
	case strings.Contains(words, "greet mallory"):
		return use("message", map[string]any{"to": c.kind + ":" + c.address(mallory), "content": "hello there"})
	case strings.Contains(words, "make tea"):
		return use("ask", map[string]any{"questions": []any{map[string]any{"question": "Which tea?", "options": []any{
			map[string]any{"label": "green"}, map[string]any{"label": "black"},
		}}}})
	case strings.Contains(words, "send me my notes"):
		return use("message", map[string]any{"to": "owner", "content": "Here they are.", "attachments": []string{"notes.md"}})
	case strings.Contains(words, "think"):
		return llmtest.Streamed(thought())
	}
	return llmtest.Streamed(llmtest.Say("heard: " + strings.TrimSpace(words)))
}

// thought is the answer that is interrupted.
func thought() llm.Answer {
	return llmtest.Say("I have thought about it for a long time, and this is the one answer.")
}

// pair sets the channel up and makes Sam its owner by the code that the terminal shows, after a wrong one of somebody else's.
func (c *contact) pair() {
	c.Helper()
	c.runs(append([]string{"channels", "add", c.kind}, c.flags...)...)
	if !soon(func() bool { return strings.Contains(c.runs("channels", "list"), "ok") }) {
		c.Fatalf("hob does not listen: %s", c.runs("channels", "list"))
	}
	c.says(sam, "", "hello?") // he is nobody yet: silence
	cmd := c.command("pairing", "start", c.kind)
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	shown := ""
	read := bufio.NewReader(out)
	shows := func(pattern string) (found string) {
		for found == "" {
			line, err := read.ReadString('\n')
			shown += line
			if err != nil {
				c.Fatalf("hob pairing start does not show %s: %v\n%s", pattern, err, shown)
			}
			found = regexp.MustCompile(pattern).FindString(line)
		}
		return found
	}
	code := shows(`\b[A-Z2-9]{4}-[A-Z2-9]{4}\b`)
	c.enters(mallory)
	c.says(mallory, "", "AAAA-AAAA")
	shows("wrong code from .*4")
	c.counts(sam, "", 0)
	c.enters(sam)
	c.says(sam, "", code)
	shows("bound: ")
	if err := cmd.Wait(); err != nil {
		c.Errorf("hob pairing start: %v\n%s", err, shown)
	}
}

// chats: a question that needs a tool.
func (c *contact) chats() {
	c.Helper()
	c.says(sam, "", "what is in my notes?")
	c.hears(sam, "buy milk")
}

// approves: what goes to somebody else waits for the owner's word, and for nobody else's; meanwhile he can talk of other things.
func (c *contact) approves() {
	c.Helper()
	c.says(sam, "", "greet mallory")
	question := c.hears(sam, "/approve ")
	word := regexp.MustCompile(`/approve [A-Z0-9]+`).FindString(question.text)
	c.picks(mallory, question, word)
	c.says(sam, "", "good morning")
	c.hears(sam, "heard: good morning")
	c.counts(mallory, "", 0)
	c.picks(sam, question, word)
	c.hears(mallory, "hello there")
	c.says(mallory, "", "what is in my notes?") // he is a stranger still
}

// groups: hob answers in the group that is listed, when it is called.
func (c *contact) groups() {
	c.Helper()
	c.says(sam, other, "hob: good day")
	c.says(sam, family, "good day")
	c.says(mallory, family, "hob: /status") // nobody has commands here
	c.hears(family, "heard: /status")
	c.says(sam, family, "hob: good evening")
	c.hears(family, "heard: good evening")
}

// chooses: a question's options are buttons or numbers.
func (c *contact) chooses() {
	c.Helper()
	c.says(sam, "", "make tea")
	question := c.hears(sam, "Which tea?")
	if c.kind == "irc" {
		c.hears(sam, "(Answer with the number") // the last line of the question, which IRC carries line by line
	}
	c.picks(sam, question, "2")
	c.hears(sam, "the owner answered: black")
}

// files: one comes and is read, one goes.
func (c *contact) files() {
	c.Helper()
	if by, ok := c.stage.(courier); ok {
		by.brings(sam, "list.txt", "eggs and flour\n", "my shopping")
		c.hears(sam, "eggs and flour")
	}
	c.says(sam, "", "send me my notes")
	if _, ok := c.stage.(courier); !ok {
		c.hears(sam, "[file notes.md, 9 bytes, was not sent: irc carries no files")
		return
	}
	c.hears(sam, "Here they are.")
	sent := func(m message) bool { return m.file != nil && m.file.Name == "notes.md" && m.file.Data == "buy milk\n" }
	if !soon(func() bool { return slices.ContainsFunc(c.heard(sam), sent) }) {
		c.Errorf("the file does not come: %+v", c.heard(sam))
	}
}

// killed kills hob in the middle of an answer, which comes once and in the same message when hob is back.
func (c *contact) killed(stop func(syscall.Signal)) func(syscall.Signal) {
	c.Helper()
	half := llmtest.Turn{Answer: thought(), Break: llmtest.Hang}
	wire := half.Wire(0)
	half.At = strings.Index(wire, "time")
	before := len(c.model.Requests())
	c.model.Push(half)
	c.says(sam, "", "think")
	if err := c.model.Await(c.Context(), before+1); err != nil {
		c.Fatal(err)
	}
	draft := message{}
	if c.grows {
		draft = c.hears(sam, "I have thought")
		noted := regexp.MustCompile(`"state":\s*"sent"`)
		if !soon(func() bool { // hob has noted which message it is: killed before that, it would have to repeat it
			out, err := c.command("outbox", "list", "--state", "draft", "--json").Output()
			return err == nil && noted.Match(out)
		}) {
			c.Fatal("the beginning of the answer is not noted as sent")
		}
	}
	stop(syscall.SIGKILL)
	stop = c.up()
	if answer := c.hears(sam, "the one answer"); c.grows && answer.id != draft.id {
		c.Errorf("the answer is another message than its beginning: %+v, %+v", draft, answer)
	}
	c.counts(sam, "I have thought", 1)
	return stop
}

// command is hob on the command line, at home.
func (c *contact) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(c.Context(), "hob", args...)
	cmd.Env = append(os.Environ(), "HOB_HOME="+filepath.Join(c.home, "h"), "TZ=UTC", "TELEGRAM_TOKEN=42:secret", "MATRIX_TOKEN=secret", "IRC_PASSWORD=secret")
	return cmd
}

// runs is what a command prints, which must end well.
func (c *contact) runs(args ...string) string {
	c.Helper()
	out, err := c.command(args...).CombinedOutput()
	if err != nil {
		c.Fatalf("hob %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// up starts hob; what it returns ends it by a signal, and waits for the end.
func (c *contact) up() (stop func(syscall.Signal)) {
	c.Helper()
	cmd := c.command("up", "--no-chat", "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "hob ready in ") {
		c.Fatalf("hob up said %q, %v", line, err)
	}
	return func(s syscall.Signal) {
		c.Helper()
		if err := cmd.Process.Signal(s); err != nil {
			c.Error(err)
		}
		if err := cmd.Wait(); err != nil && s != syscall.SIGKILL {
			c.Errorf("hob up: %v", err)
		}
	}
}

// hears waits for a message that has a text in it, and was not waited for with this text yet.
func (c *contact) hears(where, text string) (m message) {
	c.Helper()
	var all []message
	ok := soon(func() bool {
		all = c.heard(where)
		i := slices.IndexFunc(all, func(m message) bool { return strings.Contains(m.text, text) && !c.known[where+m.id+text] })
		if i >= 0 {
			m = all[i]
			c.known[where+m.id+text] = true
		}
		return i >= 0
	})
	if !ok {
		c.Fatalf("%s does not hear %q but %+v", where, text, all)
	}
	return m
}

// counts checks how many messages with a text in them were heard.
func (c *contact) counts(where, text string, n int) {
	c.Helper()
	all := c.heard(where)
	if list := slices.DeleteFunc(slices.Clone(all), func(m message) bool { return !strings.Contains(m.text, text) }); len(list) != n {
		c.Errorf("%s has heard %q %d times, want %d: %+v", where, text, len(list), n, all)
	}
}

// soon waits for something that people wait for.
func soon(reached func() bool) bool {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	// IRC takes a line every two seconds: after a restart an answer waits half a minute behind others, also on an idle machine.
	end := time.After(3 * time.Minute)
	for !reached() {
		select {
		case <-look.C:
		case <-end:
			return false
		}
	}
	return true
}
