package slack_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"hob/channels/slack"
)

// FuzzEnvelope: malformed envelopes never gain rights.
func FuzzEnvelope(f *testing.F) {
	for _, seed := range []string{
		`{"type":"events_api","payload":{"event":{"type":"message","channel":"D1","user":"U042","text":"hi &amp; <@U0HOB>","ts":"1.000001"}}}`,
		`{"type":"events_api","payload":{"event":{"type":"app_mention","channel":"C001","user":"U042","text":"x","ts":"1.000001","thread_ts":"0.000001","files":[{"id":"F1","size":-1}]}}}`,
		`{"type":"events_api","payload":{"event":{"type":"message","subtype":"message_changed","channel":"C001","message":{"ts":"1.0","text":"b","edited":{"ts":"2.0"}},"previous_message":{"text":"a"}}}}`,
		`{"type":"events_api","payload":{"event":{"type":"message","subtype":"message_deleted","channel":"D1","deleted_ts":"1.0","previous_message":{"user":"U042"}}}}`,
		`{"type":"events_api","payload":{"event":{"type":"message","channel":"D1","user":"U042","ts":"1.0","attachments":[{"is_share":true,"text":"x","files":[{}]}],"blocks":[{"type":"new"}]}}}`,
		`{"type":"interactive","payload":{"type":"block_actions","user":{"id":"U042"},"container":{"channel_id":"D1","message_ts":"1.0"},"actions":[{"value":"/stop","action_ts":"2.0"}]}}`,
		`{"type":"slash_commands","payload":{"user_id":"U042","text":"status","trigger_id":"1"}}`,
	} {
		f.Add([]byte(seed))
	}
	ch, err := slack.New(env(f), slack.Config{AppToken: "env:APP", BotToken: "env:BOT"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, ok := ch.Read(raw, me)
		if !ok {
			return
		}
		if m.ID == "" || m.Edits != "" && !strings.HasPrefix(m.ID, m.Edits+"/") || m.Deletes != "" && (m.ID == m.Deletes || m.Text != "" || m.Files != nil) {
			t.Errorf("%+v", m)
		}
		if m.Chat.Group == "" && m.Chat.ID != m.From.ID {
			t.Errorf("a private chat of somebody else: %+v", m)
		}
		if m.From.Self && m.From.ID != me {
			t.Errorf("from %+v", m.From)
		}
		if m.Choice != "" && m.Text != "" || !utf8.ValidString(m.Text) {
			t.Errorf("%+v", m)
		}
		for _, a := range m.Files {
			if a.Open == nil || a.Name == "" || a.MIME == "" || a.Size < 0 {
				t.Errorf("file %+v", a)
			}
		}
	})
}

// FuzzWords: any text terminates, and no mark of Slack's stays half open.
func FuzzWords(f *testing.F) {
	for _, seed := range []string{"<@U1> <#C1|x> <!here> <https://x.example|x> &lt;b&gt; &amp;amp;", "<<@U1>|>", "<|>", "<@>", "<!date^1^{date}|x>", ">&<"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := slack.Words(text)
		if !strings.ContainsAny(text, "<&") && got != text {
			t.Errorf("%q became %q", text, got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q became %q, which is no UTF-8", text, got)
		}
	})
}
