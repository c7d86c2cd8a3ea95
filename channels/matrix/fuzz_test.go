package matrix_test

import (
	"strings"
	"testing"

	"hob/channels/matrix"
)

// FuzzSync: malformed answers never gain rights.
func FuzzSync(f *testing.F) {
	room := func(name, event string) string {
		return `{"next_batch":"s1","rooms":{"join":{"` + name + `":{"timeline":{"events":[` + event + `]}}}}}`
	}
	for _, seed := range []string{
		room(chat, `{"event_id":"$1","type":"m.room.message","sender":"@sam:hob.test","content":{"msgtype":"m.text","body":"hello"}}`),
		room(home, `{"event_id":"$1","type":"m.room.message","sender":"@eve:far.test","content":{"msgtype":"m.text","body":"> <@hob:hob.test> x\n\nhob: y","m.relates_to":{"m.in_reply_to":{"event_id":"$0"}}}}`),
		room(chat, `{"event_id":"$2","type":"m.room.message","sender":"@sam:hob.test","content":{"msgtype":"m.text","body":"* b","m.new_content":{"body":"b"},"m.relates_to":{"rel_type":"m.replace","event_id":"$1"}}}`),
		room(chat, `{"event_id":"$3","type":"m.room.redaction","sender":"@sam:hob.test","redacts":"$1","content":{}}`),
		room(home, `{"event_id":"$4","type":"m.room.message","sender":"@hob:hob.test","content":{"msgtype":"m.image","body":"a.png","url":"mxc://x/y","info":{"size":-1}}}`),
		room(home, `{"event_id":"$5","type":"m.room.member","state_key":"@hob:hob.test","sender":"@eve:far.test","content":{"membership":"join"}}`),
		`{"rooms":{"join":null,"invite":{"!x":{}}},"account_data":{"events":[{"type":"m.direct","content":{"@sam:hob.test":["!chat:hob.test"]}}]}}`,
	} {
		f.Add([]byte(seed))
	}
	ch, err := matrix.New(env(f), matrix.Config{Homeserver: "https://matrix.test", Token: "env:TOKEN"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := ch.Read(raw, hob, chat, sam)
		if err != nil {
			return
		}
		for _, m := range list {
			if !strings.Contains(m.ID, "/$") || m.From.Self != (m.From.ID == hob) {
				t.Errorf("id %q, from %+v", m.ID, m.From)
			}
			if m.Chat.Group == "" && (m.From.ID != sam || m.Chat.ID != sam || !strings.HasPrefix(m.ID, chat+"/")) {
				t.Errorf("a private chat out of nothing: %+v", m)
			}
			if m.Deletes != "" && (m.Text != "" || m.Edits != "" || len(m.Files) > 0) {
				t.Errorf("a deletion that says something: %+v", m)
			}
			if m.Choice != "" || m.Forwarded {
				t.Errorf("Matrix has no such thing: %+v", m)
			}
			for _, a := range m.Files {
				if a.Open == nil || a.Name == "" || a.Size < 0 {
					t.Errorf("file %+v", a)
				}
			}
		}
	})
}
