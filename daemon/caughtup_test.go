package daemon_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"hob/channels/channelstest"
	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
)

// What Telegram has kept from before a restore is answered only when the owner says so: he is asked once, in the chat, and killing hob
// in between changes nothing.
func TestTelegramAfterARestore(t *testing.T) {
	t.Parallel() // most of it is waiting
	tg, err := channelstest.NewTelegram("", "42:secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tg.Close)
	home := t.TempDir()
	put(t, "42:secret", home, "token")
	write(t, home, fmt.Sprintf("[owner]\naddresses = [\"telegram:7\"]\n[channels.telegram]\ntoken = \"file:token\"\napi_base = %q\n", tg.URL()))
	sent := func(text string) (found []string) {
		for _, s := range tg.Sent() {
			if strings.Contains(s.Text, text) {
				found = append(found, s.Text)
			}
		}
		return found
	}
	r := start(t, home)
	tg.Say(7, "say one")
	r.until("the first answer", func() bool { return len(sent("one")) == 1 })
	made, err := client.Do(t.Context(), r.client, api.CreateBackup, "", api.BackupPath{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	tg.Say(7, "say two")
	tg.Say(7, "say three")
	if _, _, err := daemon.RestoreBackup(t.Context(), home, made.Path); err != nil {
		t.Fatal(err)
	}
	r = start(t, home)
	held := func() int {
		rows, err := client.List(t.Context(), r.client, api.Inbox, event.Filter{State: "held"})
		if err != nil {
			t.Fatal(err)
		}
		return len(rows)
	}
	r.until("both are held", func() bool { return held() == 2 })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, home)
	r.until("the question", func() bool { return len(sent("brought 2 messages")) == 1 })
	question := sent("brought 2 messages")[0]
	if !strings.Contains(question, "“say two”") || !strings.Contains(question, "“say three”") {
		t.Errorf("the question is %q", question)
	}
	if len(sent("two"))+len(sent("three")) != 2 { // in the question alone
		t.Errorf("answered before: %+v", tg.Sent())
	}
	tg.Say(7, regexp.MustCompile(`/approve [A-Z0-9]+`).FindString(question))
	r.until("the answers", func() bool { return held() == 0 && len(sent("three")) == 2 })
	if n := len(sent("brought")); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
