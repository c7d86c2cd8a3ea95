package signal_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	signalchannel "hob/channels/signal"
)

// FuzzMessage: malformed messages never gain rights.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"envelope":{"sourceUuid":"` + sam + `","dataMessage":{"timestamp":1,"message":"x"}}}`,
		`{"envelope":{"sourceUuid":"` + sam + `","dataMessage":{"timestamp":1,"message":"😀\uFFFC","mentions":[{"uuid":"` + own + `","start":2,"length":1}],"groupInfo":{"groupId":"g"}}}}`,
		`{"envelope":{"sourceUuid":"` + sam + `","dataMessage":{"timestamp":1,"message":"a","mentions":[{"start":0,"length":9223372036854775807},{"start":1,"length":1}]}}}`,
		`{"envelope":{"sourceUuid":"` + sam + `","editMessage":{"targetSentTimestamp":1,"dataMessage":{"timestamp":2,"attachments":[{"id":"../x"}]}}}}`,
		`{"envelope":{"sourceUuid":"` + own + `","syncMessage":{"sentMessage":{"destinationUuid":"` + own + `","timestamp":1,"message":"note"}}}}`,
		`{"envelope":{"sourceUuid":"` + sam + `","syncMessage":{"sentMessage":{"destinationUuid":"` + own + `","timestamp":1,"message":"not his to say"}}}}`,
	} {
		f.Add([]byte(seed))
	}
	ch, err := signalchannel.New(env(f), signalchannel.Config{Account: phone})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, ok := ch.Read(raw, own)
		if !ok {
			return
		}
		if m.From.ID == own && !m.From.Self && !strings.HasPrefix(m.ID, "note/") {
			t.Errorf("hob's own words are somebody's: %+v", m)
		}
		if !utf8.ValidString(m.Text) || m.ID == "" || m.Chat.Group == "" && m.Chat.ID != m.From.ID {
			t.Errorf("%+v", m)
		}
		for _, a := range m.Files {
			if a.Open == nil || a.Name == "" || a.MIME == "" || a.Size < 0 {
				t.Errorf("file %+v", a)
			}
		}
	})
}

// FuzzEvents: events are read as they were written, and nothing else is read as an event.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("id:1-2\nevent:receive\ndata:{}\n\n:\n:\ndata: a\ndata:b\r\n\r\n\n"))
	f.Add([]byte("data\n\nid\n\ndata:cut off"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		ids, data, err := signalchannel.Events(stream)
		if !errors.Is(err, io.EOF) {
			t.Fatalf("ended with %v", err)
		}
		for _, d := range data {
			for line := range bytes.SplitSeq(d, []byte("\n")) {
				if !bytes.Contains(stream, line) {
					t.Errorf("%q out of nothing", line)
				}
			}
		}
		if len(ids) > bytes.Count(stream, []byte("\n")) {
			t.Errorf("%d events", len(ids))
		}
	})
}

func TestEvents(t *testing.T) {
	long := strings.Repeat("x", 200_000) // more than a buffer holds
	ids, data, _ := signalchannel.Events([]byte("id:1-2\nevent:receive\ndata:{}\n\n:\n:\ndata: a\ndata:b\r\n\r\n\ndata:" + long + "\n\ndata:cut off\n"))
	if !slices.Equal(ids, []string{"1-2", "", "", ""}) {
		t.Errorf("ids %q", ids)
	}
	for i, want := range []string{"{}", "a\nb", "", long} {
		if string(data[i]) != want {
			t.Errorf("data %d: %.40q", i, data[i])
		}
	}
	if _, _, err := signalchannel.Events(bytes.Repeat([]byte("x"), 9<<20)); errors.Is(err, io.EOF) {
		t.Error("a line without an end is read for ever")
	}
}
