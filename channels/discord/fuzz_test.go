package discord_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"hob/channels/discord"
)

// FuzzMessage: malformed events never gain rights.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"id":"5","channel_id":"9","author":{"id":"42"},"content":"<@7001> <@!7001>, hello <@43>","mentions":[{"id":"43","username":"kim"},{"id":"7001"}]}`,
		`{"id":"5","channel_id":"9","author":{"id":"42"},"type":19,"message_reference":{"message_id":"4"},"referenced_message":{"author":{"id":"7001"}}}`,
		`{"id":"5","channel_id":"9","author":{"id":"42"},"message_reference":{"type":1,"message_id":"4"},"message_snapshots":[{"message":{"content":"x"}}]}`,
		`{"id":"5","channel_id":"9","author":{"id":"42"},"flags":8192,"attachments":[{"size":-1,"duration_secs":1e300}],"timestamp":"2026-11-21T22:00:00.123000+00:00"}`,
		`{"id":"5","channel_id":"9","author":{"id":"7001","bot":true},"webhook_id":"1","sticker_items":[{"name":"wave"}],"poll":{"question":{"text":"when?"}}}`,
		`{"author":{},"mentions":[{"id":""}],"content":"<@><@!>"}`,
	} {
		f.Add([]byte(seed))
	}
	ch, err := discord.New(env(f, nil), discord.Config{Token: "env:TOKEN"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, ok := ch.Read(raw, "7001")
		if !ok {
			return
		}
		if !strings.Contains(m.ID, "/") || m.Choice != "" || m.Edits != "" || m.Deletes != "" {
			t.Errorf("a message became more: %+v", m)
		}
		if m.From.Self != (m.From.ID == "7001") {
			t.Errorf("from %+v", m.From)
		}
		if !utf8.ValidString(m.Text) {
			t.Errorf("text %q", m.Text)
		}
		if m.Forwarded && m.ReplyTo != "" {
			t.Errorf("passed on, and an answer: %+v", m)
		}
		for _, a := range m.Files {
			if a.Open == nil || a.Name == "" || a.MIME == "" {
				t.Errorf("file %q %q", a.Name, a.MIME)
			}
		}
	})
}
