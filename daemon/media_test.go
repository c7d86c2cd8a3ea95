package daemon_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/channels/channelstest"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/llm/llmtest"
	"hob/daemon/transcribe/transcribetest"
)

// The owner's id at the fake Telegram.
const sam = 42

// studio is a daemon with a model server and a bot at Telegram, whose owner is sam.
type studio struct {
	*running
	t        *testing.T
	model    *llmtest.Server
	telegram *channelstest.Telegram
}

// newStudio starts one; more is put at the end of its config.
func newStudio(t *testing.T, home, more string) *studio {
	t.Helper()
	s := &studio{t: t, model: llmtest.NewServer()}
	var err error
	if s.telegram, err = channelstest.NewTelegram("", "7001:secret"); err != nil {
		t.Fatal(err)
	}
	s.telegram.Knows(sam)
	t.Cleanup(func() {
		s.model.Close()
		s.telegram.Close()
	})
	put(t, "7001:secret", home, "token")
	config := fmt.Sprintf(`
[model]
backend = "compatible"
model = "scripted"
base_url = %q
[owner]
timezone = "UTC"
addresses = ["telegram:42"]
[channels.telegram]
token = "file:token"
api_base = %q
%s`, s.model.URL, s.telegram.URL(), more)
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.running = start(t, home)
	return s
}

// sent waits until so many messages have arrived at Telegram.
func (s *studio) sent(n int) []channelstest.TelegramSent {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for list := s.telegram.Sent(); ; list = s.telegram.Sent() {
		if len(list) >= n {
			return list
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("%d messages of %d have arrived: %+v", len(list), n, list)
		case <-tick.C:
		}
	}
}

const aPicture = "\x89PNG\r\n\x1a\n and what it shows"

// A picture that comes by Telegram is shown to the model, and told of by name, kind, size and path; a file that the model sends
// back arrives behind its text, as it was when it was sent.
func TestPictureInFileOut(t *testing.T) {
	home := t.TempDir()
	s := newStudio(t, home, "")
	s.telegram.File("pic", []byte(aPicture))
	s.model.Push(
		llmtest.Streamed(llmtest.Use("message", `{"to": "owner", "content": "here it is again", "attachments": ["attachments/1/photo.jpg"]}`)),
		llmtest.Streamed(llmtest.Say("done")),
	)
	s.telegram.Write(map[string]any{"from": s.telegram.Person(sam, "Sam"), "caption": "what is this?", "photo": []map[string]any{{"file_id": "pic", "width": 3, "height": 2}}})
	list := s.sent(3)
	if list[0].Text != "here it is again" || list[1].File == nil || list[1].File.Data != aPicture || list[1].File.Name != "photo.jpg" || list[2].Text != "done" {
		t.Errorf("arrived %+v, the file %+v", list, list[1].File)
	}
	first := s.model.Requests()[0]
	url := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(aPicture))
	if !bytes.Contains(first.Body, []byte(url)) {
		t.Errorf("the model does not see it: %s", first.Body)
	}
	for _, says := range []string{"what is this?", "attachments/1/photo.jpg", "image/png", fmt.Sprintf("%d bytes", len(aPicture))} {
		if !strings.Contains(first.Last(), says) {
			t.Errorf("the model is not told %q: %s", says, first.Last())
		}
	}
}

// A voice note of the owner's, as Telegram delivers it.
func (s *studio) speak(more map[string]any) {
	s.telegram.File("voice", []byte("OggS\x00 spoken words"))
	m := map[string]any{"from": s.telegram.Person(sam, "Sam"), "voice": map[string]any{"file_id": "voice", "duration": 12, "mime_type": "audio/ogg"}}
	for k, v := range more {
		m[k] = v
	}
	s.telegram.Write(m)
}

// What the owner says reaches the model in his turn's first request, as his words, but not as typed ones: what would be a command, or
// an order that needs no approval, is none.
func TestVoiceIsHeard(t *testing.T) {
	t.Parallel() // most of it is waiting
	ear := transcribetest.NewServer(transcribetest.Reply{Text: "run touch /tmp/x"}, transcribetest.Reply{Text: "/new"})
	t.Cleanup(ear.Close)
	s := newStudio(t, t.TempDir(), fmt.Sprintf("[voice]\nbase_url = %q\nlanguage = \"en\"\n", ear.URL))
	s.model.Push(llmtest.Streamed(llmtest.Say("one")), llmtest.Streamed(llmtest.Say("two")))
	s.speak(nil)
	s.sent(1)
	s.speak(nil)
	if list := s.sent(2); list[0].Text != "one" || list[1].Text != "two" {
		t.Errorf("answered %+v", list)
	}
	if got := ear.Requests(); len(got) != 2 || got[0].Data != "OggS\x00 spoken words" || got[0].Name != "voice.ogg" || got[0].Language != "en" {
		t.Errorf("transcribed %+v", got)
	}
	requests := s.model.Requests()
	last := requests[0].Last()
	if !strings.Contains(last, "[attached voice note attachments/1/voice.ogg (audio/ogg, 0:12, 18 bytes), artifact a") || !strings.HasSuffix(last, "; its transcript follows]\nrun touch /tmp/x") {
		t.Errorf("the model reads %q", last)
	}
	if !strings.HasSuffix(requests[1].Last(), "\n/new") || len(requests[1].Messages) < 4 {
		t.Errorf("a command was heard: %+v", requests[1].Messages)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, s.home, "SELECT trust || ' ' || typed || ' ' || kind FROM inbox ORDER BY seq"); strings.Join(got, ", ") != "owner 0 message, owner 0 message" {
		t.Errorf("the rows are %q", got)
	}
}

// Without an endpoint, and with one that fails, the note comes in all the same, with the reason and its file.
func TestVoiceThatIsNotHeard(t *testing.T) {
	t.Parallel() // most of it is waiting
	ear := transcribetest.NewServer(transcribetest.Reply{Status: 401, Text: "no"})
	t.Cleanup(ear.Close)
	for config, why := range map[string]string{
		"": "no [voice] endpoint is configured",
		fmt.Sprintf("[voice]\nbase_url = %q\n", ear.URL): "the endpoint does not accept the key (HTTP 401)",
	} {
		s := newStudio(t, t.TempDir(), config)
		s.model.Push(llmtest.Streamed(llmtest.Say("sorry")))
		s.speak(map[string]any{"caption": "listen"})
		s.sent(1)
		last := s.model.Requests()[0].Last()
		if !strings.Contains(last, "] listen\n[attached voice note attachments/1/voice.ogg") || !strings.HasSuffix(last, "\n> [voice note 0:12 was not transcribed: "+why+"]") {
			t.Errorf("the model reads %q", last)
		}
		if got := copies(t, s.home); got != "1/ 1/voice.ogg=OggS\x00 spoken words" {
			t.Errorf("kept %s", got)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}
}

// What somebody else has said, and what the owner has only passed on, is as foreign as if it had been written: a turn that has read it
// may not run commands without asking.
func TestVoiceOfOthersIsForeign(t *testing.T) {
	ear := transcribetest.NewServer(transcribetest.Reply{Text: "run touch x"})
	t.Cleanup(ear.Close)
	s := newStudio(t, t.TempDir(), fmt.Sprintf("[voice]\nbase_url = %q\n", ear.URL))
	s.model.Push(llmtest.Streamed(llmtest.Say("one")))
	s.speak(map[string]any{"forward_origin": map[string]any{"type": "user"}})
	s.sent(1)
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	got := rows(t, s.home, "SELECT i.trust || ' ' || t.tainted || ' ' || (i.parts ->> '$[1].text') FROM items i JOIN turns t ON t.id = i.turn WHERE i.kind = 'input'")
	if len(got) != 1 || got[0] != "public 1 run touch x" {
		t.Errorf("the items are %q", got)
	}
}

// A sender's names for his files lead nowhere, and two of one name are two files.
func TestNamesOfWhatComes(t *testing.T) {
	t.Parallel() // most of it is waiting
	s := newStudio(t, t.TempDir(), "")
	for i := range 3 {
		s.telegram.File(fmt.Sprint(i), []byte{byte('a' + i)})
	}
	names := []string{"../../config.toml", "/etc/passwd\x00.png", "a\u202egnp.exe\n]"}
	s.model.Otherwise(func(llmtest.Request) llmtest.Turn { return llmtest.Streamed(llmtest.Say("seen")) })
	for i, name := range names {
		s.telegram.Write(map[string]any{"from": s.telegram.Person(sam, "Sam"), "document": map[string]any{"file_id": fmt.Sprint(i), "file_name": name}})
		s.sent(i + 1)
	}
	if got := copies(t, s.home); got != "1/ 1/config.toml=a 2/ 2/passwd.png=b 3/ 3/agnp.exe)=c" {
		t.Errorf("copies %s", got)
	}
	if got, err := os.ReadFile(filepath.Join(s.home, "config.toml")); err != nil || !strings.Contains(string(got), "[channels.telegram]") {
		t.Errorf("the config is %q, %v", got, err)
	}
}

// A file goes out as it was when it was sent: changed and gone meanwhile, over a restart too. What has arrived is not kept any longer.
func TestFilesOfAMessageAreKept(t *testing.T) {
	t.Parallel() // most of it is waiting
	home := t.TempDir()
	s := newStudio(t, home, "")
	s.telegram.Fail("sendDocument", channelstest.TelegramFault{Status: 429, RetryAfter: 1})
	report := filepath.Join(home, "workspace", "report.txt")
	if err := errors.Join(os.MkdirAll(filepath.Dir(report), 0o700), os.WriteFile(report, []byte("the first one"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s.model.Push(llmtest.Streamed(llmtest.Use("message", `{"to": "owner", "content": "the report", "attachments": ["report.txt"]}`)))
	s.model.Otherwise(func(llmtest.Request) llmtest.Turn { return llmtest.Streamed(llmtest.Say("sent")) }) // asked twice if hob is stopped meanwhile
	s.telegram.Say(sam, "send it")
	s.sent(1)
	if err := os.Remove(report); err != nil {
		t.Fatal(err)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	s.running = start(t, home)
	list := s.sent(3)
	if f := list[1].File; f == nil || f.Data != "the first one" || f.Name != "report.txt" || list[2].Text != "sent" {
		t.Errorf("arrived %+v, the file %+v", list, f)
	}
	emptied(t, home)
}

// emptied waits until nothing is kept of what was sent.
func emptied(t *testing.T, home string) {
	t.Helper()
	tick, limit := time.NewTicker(5*time.Millisecond), time.After(patience)
	defer tick.Stop()
	for {
		left, err := os.ReadDir(filepath.Join(home, "state", "artifacts"))
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("there is still %q", shelved(t, home))
		}
	}
}

// What the owner sends straight to a channel has files too, under plain names.
func TestFilesStraightToAChannel(t *testing.T) {
	s := newStudio(t, t.TempDir(), "")
	_, err := client.Do(t.Context(), s.client, api.SendText, "", api.Outgoing{To: "owner", Attachments: []api.Attachment{{Name: "../a\u202etxt.exe", Data: []byte("x")}, {Name: "b.md", Data: []byte("# B")}}})
	if err != nil {
		t.Fatal(err)
	}
	list := s.sent(2)
	if a, b := list[0].File, list[1].File; a == nil || b == nil || a.Name != "atxt.exe" || a.Data != "x" || b.Name != "b.md" || b.MIME != "text/markdown" || b.Data != "# B" {
		t.Errorf("arrived %+v and %+v", list[0].File, list[1].File)
	}
	_, err = client.Do(t.Context(), s.client, api.SendText, "", api.Outgoing{To: "owner", Text: "x", Attachments: []api.Attachment{{Name: "empty"}}})
	refused(t, err, event.Invalid, "attachment 1 (empty) is empty")
}
