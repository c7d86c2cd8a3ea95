package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/channels"
	"hob/channels/channelstest"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/store"
)

// notices are what hob says of itself, oldest first, as "ADDRESS TEXT".
func notices(rows []api.OutboxRow) (list []string) {
	for _, r := range slices.Backward(rows) {
		if strings.HasPrefix(r.Key, "notice:") {
			list = append(list, string(r.To)+" "+r.Body)
		}
	}
	return list
}

// like reports whether texts begin as these do, one for one.
func like(texts []string, begins ...string) bool {
	return slices.EqualFunc(texts, begins, strings.HasPrefix)
}

func (r *running) notices() []string {
	r.t.Helper()
	rows, err := client.List(r.t.Context(), r.client, api.Outbox, event.Filter{Limit: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	return notices(rows)
}

func (r *running) end() {
	r.t.Helper()
	if err := r.stop(); err != nil {
		r.t.Fatal(err)
	}
}

// TestOneNoticeForOneWrongSection starts hob again and again with a channel whose secret is missing: the owner is told once, where he can read
// it, and again only when it is missing anew.
func TestOneNoticeForOneWrongSection(t *testing.T) {
	t.Parallel() // most of it is waiting
	home := t.TempDir()
	const config = "[owner]\naddresses = [\"chat:7\", \"topic:*\"]\n" +
		"[channels.chat]\nkind = \"telegram\"\ntoken = \"file:token\"\napi_base = \"http://127.0.0.1:9\"\n" +
		"[channels.topic]\nkind = \"ntfy\"\nserver = \"http://127.0.0.1:9\"\ntopic = \"t\"\nreceive = false\n"
	const missing = "topic:* There is something wrong with the config:\nchannels.chat: token: file:token: there is no file"
	write(t, home, config)
	for n := range 2 {
		r := start(t, home)
		r.until("the notice", func() bool { return len(r.notices()) > 0 })
		if got := r.notices(); !like(got, missing) || !strings.Contains(got[0], "hob doctor") || strings.Contains(strings.Join(got, ""), "no longer") {
			t.Errorf("start %d: told %q", n, got)
		}
		r.end()
	}
	secret := filepath.Join(home, "token")
	if err := os.WriteFile(secret, []byte("1:abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, home)
	r.until("the next fault", func() bool { return len(r.notices()) > 1 })
	if got := r.notices(); !like(got, missing, "topic:* Channel chat does not work: ") {
		t.Errorf("when it is mended: told %q", got)
	}
	r.end()
	if err := os.Remove(secret); err != nil {
		t.Fatal(err)
	}
	r = start(t, home)
	r.until("the notice of the secret that is missing again", func() bool { return len(r.notices()) > 2 })
	if got := r.notices(); len(got) != 3 || !strings.HasPrefix(got[2], missing) {
		t.Errorf("when it is missing again: told %q", got)
	}
	write(t, home, config+"[channels.other]\nkind = \"ntfy\"\n")
	r.until("the second fault", func() bool { return len(r.notices()) == 4 })
	if got := r.notices()[3]; !strings.Contains(got, "channels.other") || strings.Contains(got, "channels.chat") {
		t.Errorf("of a second fault: %q", got)
	}
}

// TestARefusedTokenIsToldAtOnce: what will hardly be over by itself is told within seconds, in the platform's words and with what to do, and once.
func TestARefusedTokenIsToldAtOnce(t *testing.T) {
	t.Parallel() // most of it is waiting
	tg, err := channelstest.NewTelegram("", "7001:secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tg.Close)
	home := t.TempDir()
	put(t, "7001:another", home, "token")
	write(t, home, fmt.Sprintf("[owner]\naddresses = [\"chat:42\"]\n[channels.chat]\nkind = \"telegram\"\ntoken = \"file:token\"\napi_base = %q\n", tg.URL()))
	r := start(t, home)
	begun := time.Now()
	r.until("the notice", func() bool { return len(r.notices()) > 0 })
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("told after %s", took)
	}
	if got := r.notices(); !like(got, "cli:main Channel chat does not work: ") || !strings.Contains(got[0], "Unauthorized") || !strings.Contains(got[0], "set token") || strings.Contains(got[0], "retry after") {
		t.Errorf("told %q", got)
	}
	c := r.channel("chat")
	if c.Receiving.State != channels.Down || strings.Contains(c.Receiving.LastError, "retry after") {
		t.Errorf("receiving: %+v", c.Receiving)
	}
}

// channel is a channel as the API shows it.
func (r *running) channel(name string) api.Channel {
	r.t.Helper()
	c, err := client.Show(r.t.Context(), r.client, api.ShowChannel, name)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// TestOneAddressIsNotTheChannel lets one chat have too much again and again: the message waits, and nothing is said of the channel.
func TestOneAddressIsNotTheChannel(t *testing.T) {
	t.Parallel() // most of it is waiting
	home := t.TempDir()
	s := newStudio(t, home, "")
	s.telegram.Fail("sendMessage", slices.Repeat([]channelstest.TelegramFault{{Status: 429, RetryAfter: 1}}, 4)...)
	if _, err := client.Do(t.Context(), s.client, api.TestChannel, "telegram", api.TestMessage{Send: "true"}); err != nil {
		t.Fatal(err)
	}
	s.until("the message", func() bool { return len(s.telegram.Sent()) > 0 && s.channel("telegram").Sending.State == channels.OK })
	if c := s.channel("telegram"); c.Sending.LastError != "" {
		t.Errorf("sending: %+v", c.Sending)
	}
	if got := s.notices(); len(got) != 0 {
		t.Errorf("told %q", got)
	}
}

func (h *house) notices() []string {
	h.t.Helper()
	rows, err := store.NewView(h.Store.Reader(), time.Now).OutboxRows(h.t.Context(), event.Filter{Limit: 1000})
	if err != nil {
		h.t.Fatal(err)
	}
	return notices(rows)
}

// tells waits until so many notices are there, and looks how the last one begins.
func (h *house) tells(n int, begins string) {
	h.t.Helper()
	r := &running{t: h.t}
	r.until(fmt.Sprintf("notice %d, %s", n, begins), func() bool { return len(h.notices()) >= n })
	if got := h.notices(); len(got) != n || !strings.HasPrefix(got[n-1], begins) {
		h.t.Errorf("told %q, want %d, the last one like %q", got, n, begins)
	}
}

// TestChannelTroubleIsToldOnce lets a channel fail to send and work again, over a restart: the owner hears of each fault once, elsewhere.
func TestChannelTroubleIsToldOnce(t *testing.T) {
	home := t.TempDir()
	write(t, home, "[owner]\naddresses = [\"x:7\", \"broken:7\", \"y:7\"]\n")
	h := newHouse(t, home)
	h.says(h.x, h.by("7", "hello"))
	fails := func(name string) {
		for range 3 {
			h.Host.Sent(name, errors.New("refused"))
		}
	}
	fails("x")
	h.tells(1, "y:7 Channel x does not send: refused.")
	h.Host.Sent("x", nil)
	fails("x")
	h.tells(2, "y:7 Channel x no longer sends: refused.")
	fails("y") // the next one is told where sending works best
	h.tells(3, "x:7 Channel y does not work: refused.")

	h.close()
	h = newHouse(t, home)
	h.n = 100
	h.says(h.x, h.by("7", "back again"))
	fails("x") // it has not worked since
	fails("y")
	h.Host.Sent("y", nil)
	fails("y")
	h.tells(4, "x:7 Channel y no longer sends: refused.")
	h.Host.Sent("x", nil)
	h.Host.Replace(map[string]channels.Section{"x": {Kind: "place", Fingerprint: "new", Channel: h.x}, "y": {Kind: "place", Channel: h.y}})
	(&running{t: t}).until("the new section", func() bool {
		return slices.ContainsFunc(h.Host.Health(), func(c channels.ChannelHealth) bool { return c.Fingerprint == "new" })
	})
	fails("x")
	h.tells(5, "y:7 Channel x does not work: refused.")
}

// The owner is reached elsewhere after the channel of his address was removed from the config, and there again after it came back.
func TestTheOwnerIsNotOnARemovedChannel(t *testing.T) {
	t.Parallel()
	tg, err := channelstest.NewTelegram("", "7001:secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tg.Close)
	home := t.TempDir()
	put(t, "7001:secret", home, "token")
	const owner = "[owner]\naddresses = [\"chat:42\"]\n"
	channel := fmt.Sprintf("[channels.chat]\nkind = \"telegram\"\ntoken = \"file:token\"\napi_base = %q\n", tg.URL())
	write(t, home, owner+channel)
	r := start(t, home)
	for n, config := range []string{"", owner, owner + channel} {
		if n > 0 {
			write(t, home, config)
			r.until("the change of the config", func() bool {
				rows, err := client.List(r.t.Context(), r.client, api.Channels, client.Filter{})
				return err == nil && slices.ContainsFunc(rows, func(c api.Channel) bool { return c.Name == "chat" }) == strings.Contains(config, "channels.chat")
			})
		}
		text, want := fmt.Sprint("text ", n), event.Address("chat:42")
		if config == owner {
			want = event.CLI
		}
		sent, err := client.Do(t.Context(), r.client, api.SendText, "", api.Outgoing{To: "owner", Text: text})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := client.List(t.Context(), r.client, api.Outbox, client.Filter{Limit: 10})
		if i := slices.IndexFunc(rows, func(row api.OutboxRow) bool { return row.ID == sent.Outbox }); err != nil || i < 0 || rows[i].To != want {
			t.Errorf("%s is not sent to %s: %v, %+v", text, want, err, rows)
		}
	}
}
