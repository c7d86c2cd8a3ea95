package main_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels/channelstest"
)

// The people and the group of the journey.
const (
	sam     int64 = 7
	mallory int64 = 66
	family  int64 = -1001
)

// journey is hob and a Telegram.
type journey struct {
	*testing.T
	home  string
	tg    *channelstest.Telegram
	heard map[int64]bool // messages that were waited for
}

// TestFirstContact is everything that happens from the first message on: set up, pair, chat, approve, a group, a stranger, and messages that
// come while hob is down.
func TestFirstContact(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds hob")
	}
	tg, err := channelstest.NewTelegram("", "42:secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tg.Close)
	t.Setenv("TELEGRAM_TOKEN", "42:secret")
	j := journey{t, readmeHome(t), tg, map[int64]bool{}}
	config := fmt.Sprintf("[channels.telegram]\ntoken = \"env:TELEGRAM_TOKEN\"\napi_base = %q\ngroups = [\"%d\"]\n", tg.URL(), family)
	if err := os.WriteFile(filepath.Join(j.home, "h", "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	stop := foreground(t, j.home, "go run ./cmd/hob up")

	tg.Say(sam, "hello?") // nobody yet: silence
	j.pair()
	tg.Say(sam, "read notes.md")
	j.hears(sam, "buy milk")

	tg.Knows(mallory)
	tg.Say(sam, fmt.Sprintf("send telegram:%d hello there", mallory))
	question := j.hears(sam, "/approve")
	button := slices.IndexFunc(question.Buttons[0], func(b channelstest.TelegramButton) bool { return strings.HasPrefix(b.Data, "/approve ") })
	if button < 0 {
		t.Fatalf("the question has the buttons %+v", question.Buttons)
	}
	tg.Press(mallory, question.ID, question.Buttons[0][button].Data) // not the owner: nothing happens
	tg.Say(sam, "list files")
	j.hears(sam, "notes.md")
	j.silent(mallory, 0)
	tg.Press(sam, question.ID, question.Buttons[0][button].Data)
	j.hears(mallory, "hello there")

	tg.Say(mallory, "help") // a stranger, though hob has written to him
	tg.Write(map[string]any{"from": tg.Person(sam, "Sam"), "chat": tg.Group(family, "Family"), "text": "help"})
	tg.Write(map[string]any{
		"from": tg.Person(sam, "Sam"), "chat": tg.Group(family, "Family"), "text": "@hob_test_bot help",
		"entities": []map[string]any{{"type": "mention", "offset": 0, "length": 13}},
	})
	j.hears(family, "")
	tg.Say(sam, "read notes.md")
	j.hears(sam, "buy milk")

	stop()
	tg.Say(sam, "find milk in *.md")
	stop = foreground(t, j.home, "go run ./cmd/hob up")
	defer stop()
	j.hears(sam, "notes.md")
	j.silent(mallory, 1)
	j.silent(family, 1)
}

// pair makes Sam the owner by the code that the terminal shows, after a wrong one of somebody else's.
func (j journey) pair() {
	j.Helper()
	cmd := exec.CommandContext(j.Context(), "hob", "pairing", "start", "telegram")
	cmd.Env = append(os.Environ(), "HOB_HOME="+filepath.Join(j.home, "h"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		j.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		j.Fatal(err)
	}
	shown := ""
	read := bufio.NewReader(out)
	shows := func(pattern string) (found string) {
		for found == "" {
			line, err := read.ReadString('\n')
			shown += line
			if err != nil {
				j.Fatalf("hob pairing start does not show %s: %v\n%s", pattern, err, shown)
			}
			found = regexp.MustCompile(pattern).FindString(line)
		}
		return found
	}
	code := shows(`\b[A-Z2-9]{4}-[A-Z2-9]{4}\b`)
	j.tg.Say(mallory, "AAAA-AAAA")
	shows("wrong code from .*4")
	j.tg.Say(sam, code)
	shows("bound: Sam")
	if err := cmd.Wait(); err != nil {
		j.Errorf("hob pairing start: %v\n%s", err, shown)
	}
}

// hears waits for a message in a chat that was not waited for yet.
func (j journey) hears(chat int64, text string) channelstest.TelegramSent {
	j.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	end := time.After(30 * time.Second)
	for {
		sent := j.tg.Sent()
		if i := slices.IndexFunc(sent, func(s channelstest.TelegramSent) bool {
			return s.Chat == chat && strings.Contains(s.Text, text) && !j.heard[s.ID]
		}); i >= 0 {
			j.heard[sent[i].ID] = true
			return sent[i]
		}
		select {
		case <-look.C:
		case <-end:
			j.Fatalf("chat %d does not hear %q; sent was %+v", chat, text, sent)
		}
	}
}

// silent checks that a chat has heard no more than n messages.
func (j journey) silent(chat int64, n int) {
	j.Helper()
	sent := slices.DeleteFunc(j.tg.Sent(), func(s channelstest.TelegramSent) bool { return s.Chat != chat })
	if len(sent) > n {
		j.Errorf("chat %d has heard %+v", chat, sent)
	}
}
