package telegram_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"hob/channels/telegram"
)

// FuzzUpdate: malformed updates never gain rights.
func FuzzUpdate(f *testing.F) {
	for _, seed := range []string{
		`{"update_id":1,"message":{"message_id":2,"chat":{"id":42,"type":"private"},"from":{"id":42},"text":"/start x"}}`,
		`{"message":{"chat":{"type":"supergroup"},"text":"😀@hob hello","entities":[{"type":"mention","offset":2,"length":4}],"media_group_id":"1"}}`,
		`{"message":{"text":"/a@hob b","entities":[{"type":"bot_command","length":6},{"type":"mention","offset":2,"length":4}]}}`,
		`{"edited_message":{"message_id":2,"caption":"@hob","caption_entities":[{"type":"mention","length":4}],"photo":[{"file_id":"a","width":-1}]}}`,
		`{"edited_message":{"message_id":2,"location":{"latitude":1e400}}}`,
		`{"message":{"checklist":{"tasks":[{}]},"dice":{},"poll":null,"story":{}}}`,
		`{"callback_query":{"id":"1","from":{"id":42},"message":{"message_id":1,"chat":{"id":42,"type":"private"}},"data":"/stop"}}`,
		`{"message":{"reply_to_message":{"from":{"id":7001},"forum_topic_created":{}},"entities":[{"type":"text_mention","length":9223372036854775807,"offset":1,"user":{"id":7001}}]}}`,
	} {
		f.Add([]byte(seed))
	}
	ch, err := telegram.New(env(f), telegram.Config{Token: "env:TOKEN"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, ok := ch.Read(raw, 7001, "hob")
		if !ok {
			return
		}
		if !strings.HasPrefix(m.ID, "7001/") || m.Edits != "" && !strings.HasPrefix(m.ID, m.Edits+"/") {
			t.Errorf("id %q, edits %q", m.ID, m.Edits)
		}
		if !utf8.ValidString(m.Text) {
			t.Errorf("text %q", m.Text)
		}
		if m.Chat.Group == "" && !bytes.Contains(raw, []byte("private")) && !bytes.Contains(raw, []byte(`\u`)) {
			t.Errorf("a private chat out of nothing: %+v", m.Chat)
		}
		if m.From.Self && m.From.ID != "7001" {
			t.Errorf("from %+v", m.From)
		}
		if m.Choice != "" && m.Text != "" {
			t.Errorf("a button with a text: %+v", m)
		}
		for _, a := range m.Files {
			if a.Open == nil || a.Name == "" || a.MIME == "" {
				t.Errorf("file %s", fmt.Sprintf("%+v", a))
			}
		}
	})
}
